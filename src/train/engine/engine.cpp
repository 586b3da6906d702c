#include "train/engine/engine.h"

#include <torch/autograd.h>
#include <torch/utils.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/random.h"
#include "train/engine/autocast.h"
#include "train/engine/checkpoint.h"
#include "train/optim/clipping.h"
#include "train/optim/ema.h"
#include "train/run/explosion_warning.h"
#include "train/optim/flat_parameters.h"
#include "train/distributed/gradient_averaging.h"
#include "train/monitor/monitor.h"
#include "train/optim/optimizer.h"
#include "train/optim/parameter_groups.h"
#include "train/run/run_log.h"
#include "train/engine/sampler.h"
#include "train/optim/schedule.h"

namespace quest::train {
namespace {

constexpr double kTrainingPasses = 3.0;  // forward, and twice its work backward

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point moment) { return std::chrono::duration<double>(Clock::now() - moment).count(); }

// Steps done since a moment, for rates.
class Pace {
 public:
  void restart() {
    start_ = Clock::now();
    samples_ = 0;
  }
  void add(double samples) { samples_ += samples; }
  [[nodiscard]] double samples_per_second() const { return samples_ / seconds_since(start_); }

 private:
  Clock::time_point start_ = Clock::now();
  double samples_ = 0;
};

// The averaged weights stand in the model while it lives, where they are kept.
class AverageShown {
 public:
  explicit AverageShown(std::optional<Ema>& ema) : ema_(ema) {
    if (ema_) ema_->swap();
  }
  ~AverageShown() {
    if (ema_) ema_->swap();
  }
  AverageShown(const AverageShown&) = delete;
  AverageShown& operator=(const AverageShown&) = delete;

 private:
  std::optional<Ema>& ema_;
};

Metrics means(const std::vector<Tally>& tallies, Communicator& processes) {
  std::vector<double> parts;
  for (const auto& tally : tallies) parts.insert(parts.end(), {tally.sum, tally.count});
  auto sums = torch::tensor(parts, at::kDouble);
  processes.all_reduce_sum(sums);
  Metrics result;
  for (std::size_t i = 0; i < tallies.size(); ++i) {
    const auto at = static_cast<std::int64_t>(2 * i);
    result[tallies[i].name] = sums[at].item<double>() / sums[at + 1].item<double>();
  }
  return result;
}

class Engine {
 public:
  Engine(Task& task, const Recipe& recipe, const Surroundings& around)
      : task_(task),
        recipe_(recipe),
        around_(around),
        sampler_({.samples = task.train_size(),
                  .batch = recipe.train.batch_size,
                  .accumulate = recipe.train.accumulate,
                  .processes = around.processes.size()},
                 recipe.seed),
        parameters_(parameter_groups(task.model(), {.weight_decay = recipe.optimizer.weight_decay,
                                                    .decay_all = recipe.optimizer.decay_all,
                                                    .layer_decay = recipe.optimizer.layer_decay})),
        optimizer_(parameters_, recipe.optimizer),
        averaging_(parameters_, around.processes),
        monitor_(task.model(), around.folder != nullptr ? recipe.train.monitor_every : 0) {
    if (recipe.train.ema > 0) ema_.emplace(parameters_);
  }

  Ending run() {
    begin();
    if (is_out_of_patience() && state_.step < total_steps())
      return end("stopped early");  // ended before it could say so
    while (state_.step < total_steps()) {
      if (const auto problem = step()) return crash(*problem);
      const bool epoch_ended = state_.step % sampler_.steps_per_epoch() == 0;
      const bool is_last = state_.step == total_steps();
      if (is_last || (epoch_ended && epochs_done() % recipe_.train.eval_every == 0)) {
        evaluate();
        const bool is_over = is_last || is_out_of_patience();
        if (is_over || seconds_since(last_save_) >= recipe_.train.checkpoint_seconds) save();
        if (is_over && !is_last) return end("stopped early");
      } else if (is_due(recipe_.train.checkpoint_every)) {
        save();
      }
      if (stop_was_asked_) {
        save();
        return end("interrupted");
      }
    }
    return end("finished");
  }

 private:
  [[nodiscard]] bool writes() const { return around_.folder != nullptr; }
  [[nodiscard]] std::int64_t total_steps() const { return recipe_.train.epochs * sampler_.steps_per_epoch(); }
  [[nodiscard]] std::int64_t epochs_done() const { return state_.step / sampler_.steps_per_epoch(); }
  [[nodiscard]] double epoch() const {
    return static_cast<double>(state_.step) / static_cast<double>(sampler_.steps_per_epoch());
  }
  [[nodiscard]] bool is_due(std::int64_t every) const { return every > 0 && state_.step % every == 0; }
  [[nodiscard]] bool is_out_of_patience() const {
    return recipe_.train.patience > 0 && state_.evaluations_since_best >= recipe_.train.patience;
  }
  [[nodiscard]] at::DeviceType device() const { return parameters_.values().device().type(); }
  [[nodiscard]] Trained trained() { return {task_.model(), optimizer_, ema_ ? &*ema_ : nullptr}; }

  // From the folder's checkpoint where there is one; every process then holds what the first one has.
  void begin() {
    if (writes() && around_.folder->can_resume()) {
      state_ = load_checkpoint(*around_.folder / kResumeCheckpoint, trained());
    }
    share_state();
    if (!writes()) return;
    log_ = std::make_unique<RunLog>(*around_.folder, state_.step);
    for (const auto& record : log_->recent_layers()) (void)explosions_.add(record);
    around_.folder->update({{"status", "running"}, {"ended", nullptr}});
    if (state_.step > 0) around_.listener.on_message("going on after step " + std::to_string(state_.step));
  }

  void share_state() {
    if (around_.processes.size() == 1) return;
    const torch::NoGradGuard no_grad;
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    auto numbers = torch::tensor({static_cast<double>(state_.step), state_.best.value_or(kNone),
                                  static_cast<double>(state_.evaluations_since_best)},
                                 at::kDouble);
    around_.processes.broadcast(numbers, 0);
    const auto* number = numbers.const_data_ptr<double>();
    state_ = {.step = static_cast<std::int64_t>(number[0]),
              .evaluations_since_best = static_cast<std::int64_t>(number[2])};
    if (!std::isnan(number[1])) state_.best = number[1];
    around_.processes.broadcast(parameters_.values(), 0);
    for (const auto& buffer : task_.model().buffers()) around_.processes.broadcast(buffer, 0);
    share(optimizer_);
    if (ema_) share(*ema_);
  }

  template <typename Holder>
  void share(Holder& holder) {
    const auto state = holder.state();
    for (const auto& [name, tensor] : state) around_.processes.broadcast(tensor, 0);
    holder.load_state(state);
  }

  // The step's own random numbers, so that a resumed run draws what the uninterrupted one drew.
  void seed_generators() const {
    base::Random random(recipe_.seed,
                                  {base::kTrainingSamples, static_cast<std::uint64_t>(state_.step),
                                   static_cast<std::uint64_t>(around_.processes.rank())});
    torch::manual_seed(random.bits());
  }

  // Why the training cannot go on, where it cannot.
  std::optional<std::string> step() {
    seed_generators();
    task_.model().train();
    parameters_.zero_gradients();
    monitor_.begin(state_.step + 1);
    const auto passes = sampler_.passes(state_.step, around_.processes.rank());
    auto loss = torch::zeros({}, parameters_.values().options());
    for (std::size_t i = 0; i < passes.size(); ++i) {
      const auto& [batch, weight] = passes[i];
      const auto weighted = loss_of(batch) * (weight * static_cast<double>(around_.processes.size()));
      if (i == 0) watch(monitor_.end());
      if (i + 1 == passes.size()) averaging_.begin();
      weighted.backward();
      loss += weighted.detach();
    }
    averaging_.finish();
    const double mean_loss = agree(loss.item<double>() / static_cast<double>(around_.processes.size()));
    const double lr =
        learning_rate(recipe_.schedule, recipe_.optimizer.lr, state_.step, total_steps(), sampler_.steps_per_epoch());
    const double norm = clip_gradients(parameters_, recipe_.optimizer.clip_norm, recipe_.optimizer.clip_each);
    ++state_.step;
    record(mean_loss, lr, norm);
    if (!std::isfinite(mean_loss)) return "the loss is " + std::to_string(mean_loss);
    if (!std::isfinite(norm)) return "the norm of the gradient is " + std::to_string(norm);
    optimizer_.step(lr, scheduled_momentum(recipe_.schedule, state_.step - 1, total_steps()));
    if (ema_) ema_->update(recipe_.train.ema);
    return std::nullopt;
  }

  at::Tensor loss_of(const TrainBatch& batch) {
    const Autocast autocast(recipe_.train.precision == "bfloat16", device());
    return task_.loss(batch);
  }

  // The mean loss over the processes, and whether any was asked to stop.
  double agree(double loss) {
    stop_was_asked_ = around_.should_stop();
    if (around_.processes.size() == 1) return loss;
    auto both = torch::tensor({loss, stop_was_asked_ ? 1.0 : 0.0}, at::kDouble);
    around_.processes.all_reduce_sum(both);
    stop_was_asked_ = both[1].item<double>() > 0;
    return both[0].item<double>();
  }

  void watch(const std::vector<LayerRecord>& layers) {
    for (const auto& layer : layers) {
      log_->add_layer(layer);
      for (const auto& warning : explosions_.add(layer)) around_.listener.on_message(warning.text());
    }
  }

  void record(double loss, double lr, double norm) {
    if (!writes()) return;
    pace_.add(static_cast<double>(recipe_.train.batch_size * recipe_.train.accumulate * around_.processes.size()));
    const double samples_per_second = pace_.samples_per_second();
    const StepReport report{.step = state_.step,
                            .total_steps = total_steps(),
                            .epoch = epoch(),
                            .loss = loss,
                            .lr = lr,
                            .grad_norm = norm,
                            .samples_per_second = samples_per_second,
                            .flop_per_second = kTrainingPasses * task_.forward_flops() * samples_per_second /
                                               static_cast<double>(around_.processes.size())};
    const bool is_shown = is_due(recipe_.train.log_every) || state_.step == total_steps();
    log_->add_step(report, is_shown);
    if (!is_shown) return;
    around_.listener.on_step(report);
    pace_.restart();
  }

  void evaluate() {
    {
      const AverageShown shown(ema_);
      metrics_ = train::evaluate(task_, recipe_, around_.processes);
    }
    const auto selection = task_.selection();
    const double value = metrics_.at(selection.metric);
    const bool is_best = !state_.best || selection.prefers(value, *state_.best);
    if (is_best) state_.best = value;
    state_.evaluations_since_best = is_best ? 0 : state_.evaluations_since_best + 1;
    if (writes()) {
      log_->add_evaluation(state_.step, epoch(), metrics_);
      if (is_best) save_weights(kBestWeights);
      around_.listener.on_evaluation(state_.step, epoch(), metrics_, is_best);
    }
    pace_.restart();
  }

  void save() {
    if (!writes()) return;
    save_checkpoint(*around_.folder / kResumeCheckpoint, trained(), state_);
    save_weights(kLastWeights);
    last_save_ = Clock::now();
    pace_.restart();
  }

  void save_weights(const char* name) {
    const AverageShown shown(ema_);
    data::save_safetensors(*around_.folder / name, weights_of(task_.model()));
  }

  Ending crash(const std::string& reason) {
    if (writes()) {
      log_->write_crash(state_.step, reason);
      around_.listener.on_message(reason + " at iteration " + std::to_string(state_.step));
    }
    return end("crashed at iteration " + std::to_string(state_.step));
  }

  Ending end(std::string status) {
    if (writes()) {
      around_.folder->update({{"status", status}, {"ended", utc_now()}});
      around_.listener.on_end(status);
    }
    around_.processes.barrier();
    return {.status = std::move(status), .steps = state_.step, .metrics = metrics_};
  }

  Task& task_;
  const Recipe& recipe_;
  const Surroundings& around_;
  Sampler sampler_;
  FlatParameters parameters_;
  Optimizer optimizer_;
  std::optional<Ema> ema_;
  GradientAveraging averaging_;
  Monitor monitor_;
  ExplosionDetector explosions_;
  std::unique_ptr<RunLog> log_;  // null where nothing is written
  TrainState state_;
  Metrics metrics_;
  Pace pace_;
  Clock::time_point last_save_ = Clock::now();
  bool stop_was_asked_ = false;
};

}  // namespace

Metrics evaluate(Task& task, const Recipe& recipe, Communicator& processes) {
  const torch::NoGradGuard no_grad;
  task.model().eval();
  const auto device = task.model().parameters().front().device().type();
  const Autocast autocast(recipe.train.precision == "bfloat16", device);
  return means(task.evaluate({.index = processes.rank(), .count = processes.size()}), processes);
}

Ending train(Task& task, const Recipe& recipe, const Surroundings& around) {
  return Engine(task, recipe, around).run();
}

}  // namespace quest::train
