#include "train/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "recipe/fields.h"

namespace quest::train {
namespace {

// A place in the training and its parts, in steps or in epochs.
struct Place {
  double now;
  double warmup;
  double total;
};

Place place_of(const ScheduleOptions& options, std::int64_t step, std::int64_t total_steps,
               std::int64_t steps_per_epoch) {
  const auto per_epoch = static_cast<double>(steps_per_epoch);
  const auto steps = static_cast<double>(options.warmup_steps);
  if (options.every == "step") {
    return {static_cast<double>(step), steps + options.warmup_epochs * per_epoch, static_cast<double>(total_steps)};
  }
  const double epochs = std::ceil(static_cast<double>(total_steps) / per_epoch);
  const double warmup = steps / per_epoch + options.warmup_epochs;
  const std::int64_t finished_epochs = step / steps_per_epoch;
  const auto epoch = static_cast<double>(finished_epochs);
  if (options.every == "epoch") return {epoch, warmup, epochs};
  if (options.every == "late_epoch") return {std::max(epoch - 1, 0.0), warmup, epochs};
  throw std::invalid_argument("a schedule changes the rate every 'step', 'epoch' or 'late_epoch', not every '" +
                              options.every + "'");
}

// The part of the way behind us, in [0, 1].
double progress(const ScheduleOptions& options, const Place& at) {
  const double skipped = options.warmup_apart ? at.warmup : 0.0;
  return at.total > skipped ? std::clamp((at.now - skipped) / (at.total - skipped), 0.0, 1.0) : 1.0;
}

double cosine_between(double from, double to, double part) {
  return to + (from - to) / 2 * (1 + std::cos(std::numbers::pi * part));
}

// Up to `peak` in the first part of the training, then down to `end`. The last step is the end.
double cycle(const ScheduleOptions& options, std::int64_t step, std::int64_t total_steps, double start, double peak,
             double end) {
  const auto total = static_cast<double>(total_steps);
  const double top = options.pct_start * total - 1;
  const auto now = static_cast<double>(step);
  if (now < top) return cosine_between(start, peak, now / top);
  return total - 1 > now ? cosine_between(peak, end, (now - top) / (total - 1 - top)) : end;
}

}  // namespace

double learning_rate(const ScheduleOptions& options, double base_lr, std::int64_t step, std::int64_t total_steps,
                     std::int64_t steps_per_epoch) {
  if (options.name == "one_cycle") {
    const double start = base_lr / options.div_factor;
    return cycle(options, step, total_steps, start, base_lr, start / options.final_div_factor);
  }
  const Place at = place_of(options, step, total_steps, steps_per_epoch);
  if (at.now < at.warmup) return options.warmup_lr + (base_lr - options.warmup_lr) * at.now / at.warmup;
  if (options.name == "constant") return base_lr;
  const double part = progress(options, at);
  if (options.name == "cosine") return cosine_between(base_lr, options.min_lr, part);
  if (options.name == "polynomial")
    return options.min_lr + (base_lr - options.min_lr) * std::pow(1 - part, options.power);
  throw std::invalid_argument("unknown schedule '" + options.name +
                              "'; known are cosine, polynomial, one_cycle, constant");
}

std::optional<double> scheduled_momentum(const ScheduleOptions& options, std::int64_t step, std::int64_t total_steps) {
  if (options.name != "one_cycle" || !options.cycle_momentum) return std::nullopt;
  return cycle(options, step, total_steps, options.max_momentum, options.base_momentum, options.max_momentum);
}

void describe(recipe::Fields& fields, ScheduleOptions& options) {
  fields.choice("schedule.name", options.name, {"cosine", "polynomial", "one_cycle", "constant"},
                "how the learning rate falls");
  fields.choice("schedule.every", options.every, {"step", "epoch", "late_epoch"},
                "when the rate changes; late_epoch: as DeiT, epoch e has the rate of epoch e - 1");
  fields.integer("schedule.warmup_steps", options.warmup_steps, recipe::IntegerRange::from(0),
                 "length of the linear warm-up");
  fields.number("schedule.warmup_epochs", options.warmup_epochs, recipe::Range::from(0), "the same in epochs");
  fields.number("schedule.warmup_lr", options.warmup_lr, recipe::Range::from(0), "where the warm-up starts");
  fields.flag("schedule.warmup_apart", options.warmup_apart,
              "the fall starts where the warm-up ends; false: it counts from the first step, as timm's");
  fields.number("schedule.min_lr", options.min_lr, recipe::Range::from(0), "where cosine and polynomial end");
  fields.number("schedule.power", options.power, recipe::Range::above(0), "polynomial: (1 - progress)^power");
  fields.number("schedule.pct_start", options.pct_start, recipe::Range::between(0, 1),
                "one_cycle: part of the steps that rise");
  fields.number("schedule.div_factor", options.div_factor, recipe::Range::above(0), "one_cycle: peak over first rate");
  fields.number("schedule.final_div_factor", options.final_div_factor, recipe::Range::above(0),
                "one_cycle: first over last rate");
  fields.flag("schedule.cycle_momentum", options.cycle_momentum, "one_cycle: move beta1 or momentum against the rate");
  fields.number("schedule.base_momentum", options.base_momentum, recipe::Range::from_to_below(0, 1),
                "one_cycle: at the peak");
  fields.number("schedule.max_momentum", options.max_momentum, recipe::Range::from_to_below(0, 1),
                "one_cycle: at both ends");
  fields.rule([&options]() -> std::string {
    if (options.warmup_steps == 0 || options.warmup_epochs == 0) return "";
    return "schedule.warmup_steps and schedule.warmup_epochs say the same; give one of them";
  });
}

}  // namespace quest::train
