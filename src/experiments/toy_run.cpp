#include "experiments/toy_run.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

#include "kernels/cpu/sweep/lane_models.h"
#include "kernels/cpu/sweep/train.h"

namespace quest::experiments {
namespace {

namespace sweep = kernels::sweep;
using Group = std::span<const ToyTraining>;

bool share_a_vector(const ToyTraining& a, const ToyTraining& b) {
  return a.formulation == b.formulation && a.realization == b.realization;
}

std::vector<Group> groups_of(std::span<const ToyTraining> trainings) {
  const auto lanes = static_cast<std::size_t>(kernels::cpu::model_lanes());
  std::vector<Group> groups;
  for (std::size_t first = 0; first < trainings.size();) {
    std::size_t end = first + 1;
    while (end < trainings.size() && end - first < lanes && share_a_vector(trainings[first], trainings[end])) ++end;
    groups.push_back(trainings.subspan(first, end - first));
    first = end;
  }
  return groups;
}

class Sweep {
 public:
  Sweep(const ToySettings& settings, std::span<const ToyTraining> trainings, const ToyCallbacks& callbacks)
      : settings_(settings), callbacks_(callbacks), groups_(groups_of(trainings)) {
    for (const ToyTraining& training : trainings) {
      if (!data_.contains(training.realization)) {
        data_[training.realization] = sweep::draw_realization(settings.sizes, settings.seed, training.realization);
      }
    }
  }

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
  [[nodiscard]] bool stopped() const { return failed_ || callbacks_.should_stop(); }

  void count_epoch(Group group) {
    const std::lock_guard lock(mutex_);
    callbacks_.on_epoch(group.size());
  }

  void work() {
    try {
      for (std::size_t g = next_++; g < groups_.size() && !stopped(); g = next_++) train(groups_[g]);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      failed_ = true;
    }
  }

  void train(Group group) {
    const ToyTraining& first = group.front();
    std::vector<sweep::SweepJob> jobs;
    for (const ToyTraining& training : group) {
      jobs.push_back({.learning_rate = training.learning_rate,
                      .weight_decay = training.weight_decay,
                      .initialization = static_cast<std::uint64_t>(training.initialization)});
    }
    const auto model = toy_model(formulation_from_name(first.formulation), settings_.wiring, settings_.sizes.tokens);
    const auto figures = kernels::cpu::train_together({.model = model,
                                                       .seed = settings_.seed,
                                                       .realization = static_cast<std::uint64_t>(first.realization),
                                                       .epochs = settings_.epochs,
                                                       .batch = settings_.batch},
                                                      data_.at(first.realization), jobs, [&] {
                                                        count_epoch(group);
                                                        return stopped();
                                                      });
    if (!figures) return;
    std::vector<ToyResult> results;
    results.reserve(group.size());
    for (std::size_t i = 0; i < group.size(); ++i) results.push_back({group[i], (*figures)[i]});
    const std::lock_guard lock(mutex_);
    callbacks_.on_finished(results);
  }

  const ToySettings& settings_;
  const ToyCallbacks& callbacks_;
  std::vector<Group> groups_;
  std::map<int, sweep::Realization> data_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace

void run_trainings(const ToySettings& settings, std::span<const ToyTraining> trainings, int threads,
                   const ToyCallbacks& callbacks) {
  Sweep(settings, trainings, callbacks).run(threads);
}

}  // namespace quest::experiments
