// Prints where optimisers and schedules of ours lead, for test_torch.py to compare: a name, then numbers, per line.

#include <torch/torch.h>

#include <cmath>
#include <iomanip>
#include <iostream>

#include "train/optim/optimizer.h"
#include "train/optim/schedule.h"

namespace {

using quest::train::OptimizerOptions;
using quest::train::ScheduleOptions;

constexpr std::int64_t kSteps = 100;
constexpr std::int64_t kElements = 37;

void print_rates(const std::string& name, const ScheduleOptions& options) {
  std::cout << name;
  for (std::int64_t t = 0; t < kSteps; ++t) std::cout << ' ' << learning_rate(options, 0.1, t, kSteps, 10);
  std::cout << '\n';
}

void print_parameters(const std::string& name, const OptimizerOptions& options,
                      const ScheduleOptions& schedule = {.name = "constant"}) {
  std::vector<float> start(kElements);
  for (std::int64_t i = 0; i < kElements; ++i)
    start[i] = static_cast<float>(std::sin(1.0 + 2.3 * static_cast<double>(i)));
  const auto value = torch::tensor(start).set_requires_grad(true);
  quest::train::FlatParameters parameters({{1.0, options.weight_decay, {{"value", value}}}});
  quest::train::Optimizer optimizer(parameters, options);
  for (std::int64_t t = 0; t < kSteps; ++t) {
    float* gradient = value.grad().mutable_data_ptr<float>();
    for (std::int64_t i = 0; i < kElements; ++i) {
      const auto wave = 0.3 * static_cast<double>(i) + 0.7 * static_cast<double>(t);
      gradient[i] = static_cast<float>(std::sin(wave) + 0.1 * std::cos(5.0 * wave));
    }
    optimizer.step(learning_rate(schedule, 0.01, t, kSteps, 10), {.beta1 = scheduled_momentum(schedule, t, kSteps)});
  }
  std::cout << name;
  for (const float x : std::span(value.const_data_ptr<float>(), kElements)) std::cout << ' ' << x;
  std::cout << '\n';
}

}  // namespace

int main() {
  std::cout << std::setprecision(17);
  print_parameters("adamw", {.name = "adamw", .weight_decay = 0.05});
  print_parameters("adam", {.name = "adam", .weight_decay = 0.05, .beta1 = 0.8, .beta2 = 0.99});
  print_parameters("radam", {.name = "radam", .weight_decay = 0.05});
  print_parameters("radam_soon", {.name = "radam", .beta2 = 0.9});
  print_parameters("sgd", {.name = "sgd", .weight_decay = 0.05});
  print_parameters("sgd_plain", {.name = "sgd", .momentum = 0.0});
  print_parameters("sgd_nesterov", {.name = "sgd", .weight_decay = 0.05, .nesterov = true});
  print_parameters("adamw_one_cycle", {.name = "adamw", .weight_decay = 0.05}, {.name = "one_cycle"});
  print_rates("cosine", {.min_lr = 1e-3});
  print_rates("cosine_warm", {.warmup_steps = 20, .warmup_lr = 0.025, .min_lr = 1e-3});
  print_rates("polynomial", {.name = "polynomial", .power = 2.0});
  print_rates("one_cycle", {.name = "one_cycle"});
  print_rates("one_cycle_own", {.name = "one_cycle", .pct_start = 0.04, .div_factor = 10, .final_div_factor = 100});
}
