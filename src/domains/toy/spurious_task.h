#pragma once

// The paper's spurious-attention task: a tiny transformer has to find the one token that differs from the rest and to
// tell its class. In half of the training samples that token also carries a fixed pattern: easier to learn, and absent
// from the test. A run takes a second, so that thousands are trained side by side.

#include <memory>
#include <span>
#include <string>

#include "domains/packed_task.h"
#include "domains/toy/spurious_settings.h"

namespace quest::toy {

inline constexpr const char* kTaskName = "toy";

class SpuriousRun : public domains::PackedRun {
 public:
  SpuriousRun() = default;
  explicit SpuriousRun(const SpuriousSettings& settings) : settings_(settings) {}

  void describe(recipe::Fields& fields) override;
  [[nodiscard]] const SpuriousSettings& settings() const { return settings_; }

 private:
  std::string task_ = kTaskName;
  SpuriousSettings settings_;
};

class SpuriousTask : public domains::PackedTask {
 public:
  [[nodiscard]] std::unique_ptr<domains::PackedRun> run() const override;
  // On the device "auto", those that the GPU's engine takes are trained there, and the others on the CPU.
  void train(std::span<const domains::PackedRun* const> runs, const domains::PackedSurroundings& around) const override;
  [[nodiscard]] double python_rate(const domains::PackedRun& run, const std::string& python,
                                   int processes) const override;
};

[[nodiscard]] std::unique_ptr<domains::PackedTask> spurious_task();

}  // namespace quest::toy
