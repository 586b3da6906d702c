#include "cli/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace quest::cli {
namespace {

constexpr int kWarmUpRuns = 3;
constexpr double kMillisecondsPerSecond = 1e3;

// The fastest of a few runs, which also fill caches and thread pools.
double warm_up(const Contestant& contestant) {
  double fastest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kWarmUpRuns; ++i) fastest = std::min(fastest, contestant());
  return fastest;
}

double mean_of_runs(const Contestant& contestant, int runs) {
  double seconds = 0.0;
  for (int i = 0; i < runs; ++i) seconds += contestant();
  return seconds / runs;
}

int runs_per_sample(double run_seconds, double sample_seconds) {
  const double runs = std::ceil(sample_seconds / std::max(run_seconds, 1e-7));
  return static_cast<int>(std::clamp(runs, 1.0, 1e5));
}

}  // namespace

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::vector<Measurement> measure_interleaved(std::span<const Contestant> contestants, const MeasurePlan& plan,
                                             const std::function<void(double)>& on_progress) {
  std::vector<int> runs;
  double round_seconds = 0.0;
  for (const auto& contestant : contestants) {
    const double seconds = warm_up(contestant);
    runs.push_back(runs_per_sample(seconds, plan.sample_seconds));
    round_seconds += seconds * runs.back();
  }
  const double affordable = plan.budget_seconds / std::max(round_seconds, 1e-9);
  const int most = std::max(plan.least_repetitions, plan.most_repetitions);
  const int repetitions =
      static_cast<int>(std::clamp(affordable, static_cast<double>(plan.least_repetitions), static_cast<double>(most)));

  std::vector<std::vector<double>> samples(contestants.size());
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    for (std::size_t turn = 0; turn < contestants.size(); ++turn) {
      // Who starts rotates, so that nobody always runs first after a pause.
      const std::size_t i = (turn + static_cast<std::size_t>(repetition)) % contestants.size();
      samples[i].push_back(mean_of_runs(contestants[i], runs[i]));
    }
    on_progress(static_cast<double>(repetition + 1) / repetitions);
  }

  std::vector<Measurement> measurements;
  for (const auto& sample : samples) {
    const double median = quantile(sample, 0.5);
    measurements.push_back({.median_ms = median * kMillisecondsPerSecond,
                            .relative_spread = (quantile(sample, 0.75) - quantile(sample, 0.25)) / median});
  }
  return measurements;
}

double quantile(std::vector<double> sample, double fraction) {
  if (sample.empty()) throw std::invalid_argument("the quantile of an empty sample is not defined");
  std::ranges::sort(sample);
  const double position = fraction * static_cast<double>(sample.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const auto above = std::min(below + 1, sample.size() - 1);
  const double weight = position - static_cast<double>(below);
  return sample[below] * (1.0 - weight) + sample[above] * weight;
}

double geometric_mean(std::span<const double> values) {
  double log_sum = 0.0;
  for (const double value : values) log_sum += std::log(value);
  return std::exp(log_sum / static_cast<double>(values.size()));
}

}  // namespace quest::cli
