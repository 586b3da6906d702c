#include "app/training_plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "terminal/curve.h"
#include "terminal/table.h"

namespace quest::app {
namespace {

// A pass backward computes two products for each one forward: for the input's gradient and for the weight's.
constexpr double kStepOverForward = 3.0;

std::string flop_text(double flop) {
  constexpr std::array<const char*, 5> kUnits = {"MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP"};
  std::size_t unit = 0;
  double scaled = flop / 1e6;
  for (; scaled >= 1000.0 && unit + 1 < kUnits.size(); ++unit) scaled /= 1000.0;
  return terminal::three_digits(scaled) + " " + kUnits[unit];
}

std::string model_table(const TrainingPlan& plan) {
  base::Table table{.columns = {{"part of the model", base::Align::left}, "parameters"}};
  for (const auto& [name, parameters] : plan.parts) table.add_row({name, grouped(parameters)});
  table.add_rule();
  table.add_row({"all", grouped(plan.parameters())});
  return terminal::text_of(table);
}

std::string cost_table(const TrainingPlan& plan) {
  base::Table table{.columns = {{"cost", base::Align::left}, "", {"", base::Align::left}}};
  const double step = kStepOverForward * plan.forward_flop * static_cast<double>(plan.step_samples);
  const bool is_known = plan.forward_flop > 0.0;
  table.add_row({"forward, one sample", is_known ? flop_text(plan.forward_flop) : "-", ""});
  table.add_row({"one step", is_known ? flop_text(step) : "-", "forward and backward"});
  table.add_row({"all steps", is_known ? flop_text(step * static_cast<double>(plan.steps)) : "-", ""});
  table.add_rule();
  table.add_row({"weights", bytes_text(plan.memory.weights), ""});
  table.add_row({"gradients", bytes_text(plan.memory.gradients), ""});
  table.add_row({"optimiser", bytes_text(plan.memory.optimizer), ""});
  if (plan.memory.average > 0.0) table.add_row({"average of the weights", bytes_text(plan.memory.average), ""});
  table.add_row(
      {"forward and backward", bytes_text(plan.memory.activations), "of one batch, estimated from smaller ones"});
  table.add_row({"memory", bytes_text(plan.memory.total()), "besides the data and torch itself"});
  return terminal::text_of(table);
}

std::string epochs_text(double epochs) {
  const bool is_whole = epochs == std::floor(epochs);
  return (is_whole ? grouped(std::llround(epochs)) : terminal::three_digits(epochs)) +
         (epochs == 1 ? " epoch" : " epochs");
}

std::string schedule_text(const TrainingPlan& plan, const terminal::TerminalStyle& style) {
  const auto last = static_cast<double>(plan.steps - 1);
  const auto rate = [&](double position) { return plan.learning_rate(std::llround(position * last)); };
  return terminal::curve(rate, {.title = "learning rate", .left = "step 1", .right = "step " + grouped(plan.steps)},
                         style);
}

}  // namespace

std::int64_t TrainingPlan::parameters() const {
  return std::accumulate(parts.begin(), parts.end(), std::int64_t{0},
                         [](std::int64_t sum, const auto& part) { return sum + part.second; });
}

std::string plan_text(const TrainingPlan& plan, const terminal::TerminalStyle& style) {
  return "Task " + plan.task + ", recipe " + plan.recipe + "; nothing is trained.\n\n" + model_table(plan) + "\n" +
         cost_table(plan) + "\n" + grouped(plan.samples) + " samples, " + grouped(plan.step_samples) +
         " a step: " + grouped(plan.steps_per_epoch) + " steps an epoch, " + grouped(plan.steps) + " in " +
         epochs_text(plan.epochs()) + ".\n\n" + schedule_text(plan, style);
}

std::string plan_json(const TrainingPlan& plan) {
  nlohmann::ordered_json json = {{"task", plan.task},
                                 {"recipe", plan.recipe},
                                 {"parameters", plan.parameters()},
                                 {"flops_forward", std::llround(plan.forward_flop)},
                                 {"memory_bytes", std::llround(plan.memory.total())},
                                 {"memory",
                                  {{"weights", plan.memory.weights},
                                   {"gradients", plan.memory.gradients},
                                   {"optimizer", plan.memory.optimizer},
                                   {"average", plan.memory.average},
                                   {"activations", plan.memory.activations}}},
                                 {"samples", plan.samples},
                                 {"samples_per_step", plan.step_samples},
                                 {"steps_per_epoch", plan.steps_per_epoch},
                                 {"steps", plan.steps}};
  return json.dump(2) + "\n";
}

std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  const std::size_t sign = number < 0 ? 1 : 0;
  for (std::size_t end = text.size(); end > sign + 3;) {
    end -= 3;
    text.insert(end, ",");
  }
  return text;
}

std::string bytes_text(double bytes) {
  constexpr std::array<const char*, 4> kUnits = {"KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  double scaled = bytes / 1024.0;
  for (; scaled >= 1024.0 && unit + 1 < kUnits.size(); ++unit) scaled /= 1024.0;
  return terminal::three_digits(scaled) + " " + kUnits[unit];
}

}  // namespace quest::app
