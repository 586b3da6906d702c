#include "domains/toy/sweep.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>

#include "domains/toy/engine/cpu/lane_models.h"
#include "domains/toy/engine/cpu/train.h"
#include "domains/toy/engine/cuda/train.h"

namespace quest::toy {
namespace {

using Group = std::vector<const NumberedTraining*>;

// Trainings with the same key together, at most so many, wherever they stand.
template <typename KeyOf>
std::vector<Group> groups_of(std::span<const NumberedTraining> trainings, std::size_t most, const KeyOf& key_of) {
  std::vector<Group> groups;
  std::map<decltype(key_of(trainings.front().settings)), std::size_t> open;  // where the next one of a key belongs
  for (const NumberedTraining& training : trainings) {
    auto& group = open.try_emplace(key_of(training.settings), groups.size()).first->second;
    if (group < groups.size() && groups[group].size() == most) group = groups.size();
    if (group == groups.size()) groups.emplace_back();
    groups[group].push_back(&training);
  }
  return groups;
}

// What trainings on a GPU have to share.
auto shape_of(const SpuriousSettings& settings) {
  const auto& [tokens, training_samples, test_samples] = settings.sizes;
  return std::tuple(tokens, training_samples, test_samples, settings.epochs, settings.batch_size);
}

auto data_of(const SpuriousSettings& settings) { return std::tuple(settings.seed, settings.realization); }

// What trainings in one vector have to share.
auto vector_of(const SpuriousSettings& settings) {
  return std::tuple(settings.formulation.name, settings.wiring, shape_of(settings), data_of(settings));
}

engine::Realization realization_of(const SpuriousSettings& settings) {
  return engine::draw_realization(settings.sizes, settings.seed, settings.realization);
}

double epoch_of(std::span<const NumberedTraining* const> group) {
  return static_cast<double>(group.size()) / group.front()->settings.epochs;
}

std::vector<NumberedResult> numbered(std::span<const NumberedTraining* const> group,
                                     std::vector<engine::SweepResult> results) {
  std::vector<NumberedResult> all;
  for (std::size_t i = 0; i < group.size(); ++i) all.emplace_back(group[i]->number, std::move(results[i]));
  return all;
}

class SweepOnCpu {
 public:
  SweepOnCpu(std::span<const NumberedTraining> trainings, const SweepCallbacks& callbacks)
      : callbacks_(callbacks),
        groups_(groups_of(trainings, static_cast<std::size_t>(engine::cpu::model_lanes()), vector_of)) {}

  void run(int threads) {
    {
      std::vector<std::jthread> workers;
      const auto count = std::min(static_cast<std::size_t>(threads), groups_.size());
      workers.reserve(count);
      for (std::size_t i = 0; i < count; ++i) workers.emplace_back([this] { work(); });
    }
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void work() {
    try {
      for (std::size_t g = next_++; g < groups_.size() && !stopped(); g = next_++) train(groups_[g]);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }

  bool stopped() {
    const std::lock_guard lock(mutex_);
    return failure_ || callbacks_.should_stop();
  }

  void train(const Group& group) {
    const SpuriousSettings& shared = group.front()->settings;
    std::vector<engine::SweepJob> jobs;
    for (const NumberedTraining* training : group) jobs.push_back(job_of(training->settings));
    auto results = engine::cpu::train_together(recipe_of(shared), realization_of(shared), jobs, [&] {
      {
        const std::lock_guard lock(mutex_);
        callbacks_.on_progress(epoch_of(group));
      }
      return stopped();
    });
    if (!results) return;
    const std::lock_guard lock(mutex_);
    callbacks_.on_finished(numbered(group, std::move(*results)));
  }

  const SweepCallbacks& callbacks_;
  std::vector<Group> groups_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

void train_at_once_on_gpu(std::span<const NumberedTraining* const> group, const SweepCallbacks& callbacks) {
  std::map<decltype(data_of({})), engine::Realization> data;
  std::vector<engine::cuda::SweepTraining> models;
  models.reserve(group.size());
  for (const NumberedTraining* training : group) {
    const SpuriousSettings& settings = training->settings;
    const auto [drawn, is_new] = data.try_emplace(data_of(settings));
    if (is_new) drawn->second = realization_of(settings);
    models.push_back({recipe_of(settings), &drawn->second, job_of(settings)});
  }
  auto results = engine::cuda::train_together(models, [&] {
    callbacks.on_progress(epoch_of(group));
    return callbacks.should_stop();
  });
  if (results) callbacks.on_finished(numbered(group, std::move(*results)));
}

}  // namespace

void train_on_cpu(std::span<const NumberedTraining> trainings, int threads, const SweepCallbacks& callbacks) {
  SweepOnCpu(trainings, callbacks).run(threads);
}

void train_on_gpu(std::span<const NumberedTraining> trainings, const SweepCallbacks& callbacks) {
  for (const Group& group : groups_of(trainings, std::numeric_limits<std::size_t>::max(), shape_of)) {
    const int tokens = group.front()->settings.sizes.tokens;
    const auto at_once = static_cast<std::size_t>(engine::cuda::sweep_device(tokens).models_at_once);
    for (std::size_t first = 0; first < group.size() && !callbacks.should_stop(); first += at_once) {
      train_at_once_on_gpu(std::span(group).subspan(first, std::min(at_once, group.size() - first)), callbacks);
    }
  }
}

}  // namespace quest::toy
