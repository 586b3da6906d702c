#include "domains/toy/toy_run.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

#include "domains/toy/engine/cpu/lane_models.h"
#include "domains/toy/engine/cpu/train.h"
#include "domains/toy/engine/cuda/train.h"

namespace quest::toy {
namespace {

using Group = std::span<const ToyTraining>;

bool share_a_vector(const ToyTraining& a, const ToyTraining& b) {
  return a.formulation == b.formulation && a.realization == b.realization;
}

std::vector<Group> groups_of(std::span<const ToyTraining> trainings) {
  const auto lanes = static_cast<std::size_t>(toy::engine::cpu::model_lanes());
  std::vector<Group> groups;
  for (std::size_t first = 0; first < trainings.size();) {
    std::size_t end = first + 1;
    while (end < trainings.size() && end - first < lanes && share_a_vector(trainings[first], trainings[end])) ++end;
    groups.push_back(trainings.subspan(first, end - first));
    first = end;
  }
  return groups;
}

std::map<int, toy::engine::Realization> data_of(const ToySettings& settings, std::span<const ToyTraining> trainings) {
  std::map<int, toy::engine::Realization> data;
  for (const ToyTraining& training : trainings) {
    if (!data.contains(training.realization)) {
      data[training.realization] = toy::engine::draw_realization(settings.sizes, settings.seed, training.realization);
    }
  }
  return data;
}

toy::engine::SweepRecipe recipe_of(const ToySettings& settings, const ToyTraining& training) {
  return {.model = toy_model(formulation_from_name(training.formulation), settings.wiring, settings.sizes.tokens),
          .seed = settings.seed,
          .realization = static_cast<std::uint64_t>(training.realization),
          .epochs = settings.epochs,
          .batch = settings.batch};
}

toy::engine::SweepJob job_of(const ToyTraining& training) {
  return {.learning_rate = training.learning_rate,
          .weight_decay = training.weight_decay,
          .initialization = static_cast<std::uint64_t>(training.initialization)};
}

std::vector<ToyResult> results_of(Group group, const std::vector<toy::engine::SweepResult>& figures) {
  std::vector<ToyResult> results;
  results.reserve(group.size());
  for (std::size_t i = 0; i < group.size(); ++i) results.push_back({group[i], figures[i]});
  return results;
}

class Sweep {
 public:
  Sweep(const ToySettings& settings, std::span<const ToyTraining> trainings, const ToyCallbacks& callbacks)
      : settings_(settings),
        callbacks_(callbacks),
        groups_(groups_of(trainings)),
        data_(data_of(settings, trainings)) {}

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
    std::vector<toy::engine::SweepJob> jobs;
    for (const ToyTraining& training : group) jobs.push_back(job_of(training));
    const auto figures =
        toy::engine::cpu::train_together(recipe_of(settings_, first), data_.at(first.realization), jobs, [&] {
          count_epoch(group);
          return stopped();
        });
    if (!figures) return;
    const std::lock_guard lock(mutex_);
    callbacks_.on_finished(results_of(group, *figures));
  }

  const ToySettings& settings_;
  const ToyCallbacks& callbacks_;
  std::vector<Group> groups_;
  std::map<int, toy::engine::Realization> data_;
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

void run_trainings_on_gpu(const ToySettings& settings, std::span<const ToyTraining> trainings,
                          const ToyCallbacks& callbacks) {
  const auto data = data_of(settings, trainings);
  const auto at_once = static_cast<std::size_t>(toy::engine::cuda::sweep_device(settings.sizes.tokens).models_at_once);
  for (std::size_t first = 0; first < trainings.size() && !callbacks.should_stop(); first += at_once) {
    const Group group = trainings.subspan(first, std::min(at_once, trainings.size() - first));
    std::vector<toy::engine::cuda::SweepTraining> models;
    models.reserve(group.size());
    for (const ToyTraining& training : group) {
      models.push_back({recipe_of(settings, training), &data.at(training.realization), job_of(training)});
    }
    const auto figures = toy::engine::cuda::train_together(models, [&] {
      callbacks.on_epoch(group.size());
      return callbacks.should_stop();
    });
    if (figures) callbacks.on_finished(results_of(group, *figures));
  }
}

}  // namespace quest::toy
