#pragma once

// A training into a folder of its own, and what it left there.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "data/weights/safetensors.h"
#include "tests/testing/temporary_folder.h"
#include "tests/train/quiet_listener.h"
#include "train/engine/engine.h"

namespace quest::testing {

struct TinyRun {
  TemporaryFolder folder;
  QuietListener listener;
  train::Ending ending;
};

inline constexpr std::int64_t kToTheEnd = std::numeric_limits<std::int64_t>::max();

// Stops after so many steps where asked to.
inline void train_in(TinyRun& run, train::Task& task, const train::Recipe& recipe, std::int64_t steps = kToTheEnd,
                     int workers = 0) {
  train::RunFolder folder(run.folder.path());
  const auto processes = train::communicator_from_environment(at::kCPU);
  std::int64_t taken = 0;
  run.ending =
      train::train(task, recipe, {*processes, run.listener, &folder, [&] { return ++taken >= steps; }, workers});
}

inline data::TensorFile weights(const TinyRun& run, const char* name = train::kLastWeights) {
  return data::load_safetensors(run.folder.path() / name);
}

inline void expect_same_bits(const data::TensorFile& a, const data::TensorFile& b) {
  ASSERT_EQ(a.tensors.size(), b.tensors.size());
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    EXPECT_EQ(a.tensors[i].first, b.tensors[i].first);
    EXPECT_TRUE(at::equal(a.tensors[i].second, b.tensors[i].second)) << a.tensors[i].first;
  }
}

inline void expect_same_checkpoints(const TinyRun& a, const TinyRun& b) {
  expect_same_bits(weights(a), weights(b));
  expect_same_bits(weights(a, train::kBestWeights), weights(b, train::kBestWeights));
  expect_same_bits(weights(a, train::kResumeCheckpoint), weights(b, train::kResumeCheckpoint));
}

inline double largest_difference(const data::TensorFile& a, const data::TensorFile& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    largest = std::max(largest, (a.tensors[i].second - b.tensors[i].second).abs().max().item<double>());
  }
  return largest;
}

inline nlohmann::json json_of(const TinyRun& run, const char* name) {
  return nlohmann::json::parse(text_of(run.folder.path() / name));
}

// What `action` throws, as text; empty when it throws nothing.
template <typename Action>
std::string error_of(const Action& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace quest::testing
