#include "bench/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>

namespace quest::bench {
namespace {

constexpr int kWarmUpRuns = 3;
constexpr int kMostRunsPerSample = 100'000;
constexpr double kMillisecondsPerSecond = 1e3;

// Fills caches and thread pools.
void warm_up(const Contestant& contestant) {
  for (int i = 0; i < kWarmUpRuns; ++i) static_cast<void>(contestant());
}

struct Sample {
  double total_seconds = 0.0;
  int runs = 0;
};

Sample take_sample(const Contestant& contestant, double least_seconds) {
  Sample sample;
  do {
    sample.total_seconds += contestant();
    ++sample.runs;
  } while (sample.total_seconds < least_seconds && sample.runs < kMostRunsPerSample);
  return sample;
}

// 1 when the least number of rounds is done and either the budget is spent or the most rounds are done.
double fraction_done(int rounds, double seconds, const MeasurePlan& plan) {
  const double of_least = static_cast<double>(rounds) / plan.least_repetitions;
  const double of_budget = seconds / std::max(plan.budget_seconds, 1e-9);
  const double of_most = static_cast<double>(rounds) / std::max(plan.least_repetitions, plan.most_repetitions);
  return std::min(1.0, std::max(of_most, std::min(of_least, of_budget)));
}

}  // namespace

std::vector<Measurement> measure_interleaved(std::span<const Contestant> contestants, const MeasurePlan& plan,
                                             const std::function<void(double)>& on_progress) {
  for (const auto& contestant : contestants) warm_up(contestant);

  std::vector<std::vector<double>> samples(contestants.size());
  double seconds = 0.0;
  double done = 0.0;
  for (std::size_t round = 0; done < 1.0; ++round) {
    for (std::size_t turn = 0; turn < contestants.size(); ++turn) {
      // Who starts rotates, so that nobody always runs first after a pause.
      const std::size_t i = (turn + round) % contestants.size();
      const auto sample = take_sample(contestants[i], plan.sample_seconds);
      samples[i].push_back(sample.total_seconds / sample.runs);
      seconds += sample.total_seconds;
    }
    done = fraction_done(static_cast<int>(round) + 1, seconds, plan);
    on_progress(done);
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

}  // namespace quest::bench
