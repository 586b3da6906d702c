#include "train/engine/engine.h"

#include <torch/autograd.h>
#include <torch/utils.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <vector>

#include "base/random.h"
#include "data/loader.h"
#include "train/distributed/gradient_averaging.h"
#include "train/engine/autocast.h"
#include "train/engine/checkpoint.h"
#include "train/engine/late_numbers.h"
#include "train/engine/loss_sums.h"
#include "train/monitor/monitor.h"
#include "train/optim/clipping.h"
#include "train/optim/ema.h"
#include "train/optim/flat_parameters.h"
#include "train/optim/optimizer.h"
#include "train/optim/parameter_groups.h"
#include "train/optim/schedule.h"
#include "train/run/evaluation_file.h"
#include "train/run/explosion_warning.h"
#include "train/run/run_log.h"

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

// Statistics that normalisation layers gather while they train, which differ between processes.
std::vector<at::Tensor> running_statistics(const torch::nn::Module& model) {
  std::vector<at::Tensor> statistics;
  for (const auto& buffer : model.named_buffers()) {
    const std::string_view name = buffer.key();
    if (name.ends_with("running_mean") || name.ends_with("running_var")) statistics.push_back(buffer.value());
  }
  return statistics;
}

// What a step computed and nobody has read yet.
struct Unread {
  StepReport report;
  std::vector<std::string> parts;
  double scale;  // of the losses
  double samples;
  LateNumbers numbers;  // loss, parts, norm

  Unread(StepReport step, std::vector<std::string> names, double loss_scale, double step_samples, LateNumbers values)
      : report(std::move(step)),
        parts(std::move(names)),
        scale(loss_scale),
        samples(step_samples),
        numbers(std::move(values)) {}
};

// A step that cannot be gone on from.
struct Divergence {
  std::int64_t step;
  std::string reason;
};

class Engine {
 public:
  Engine(Task& task, const Recipe& recipe, const Surroundings& around)
      : task_(task),
        recipe_(recipe),
        around_(around),
        rules_(task.rules()),
        parameters_(parameter_groups(task.model(), {.weight_decay = recipe.optimizer.weight_decay,
                                                    .decay_all = recipe.optimizer.decay_all,
                                                    .layer_decay = recipe.optimizer.layer_decay,
                                                    .rules = rules_}),
                    is_sharded() ? around.processes.size() : 1),
        share_(is_sharded() ? Share(parameters_, around.processes) : Share(parameters_)),
        optimizer_(parameters_, recipe.optimizer, share_),
        averaging_(parameters_, around.processes, share_),
        monitor_(task.model(), around.folder != nullptr ? recipe.train.monitor_every : 0),
        running_(running_statistics(task.model())) {
    if (recipe.train.ema > 0) ema_.emplace(parameters_);
    auto stream = task.stream(stream_options(recipe, around.processes));
    steps_per_epoch_ = stream->steps_per_epoch();
    total_steps_ = train::total_steps(recipe.train, steps_per_epoch_);
    begin();
    loader_.emplace(
        std::move(stream), [&task](const data::Draw& draw) { return task.load(draw); },
        data::LoaderOptions{.workers = around.workers,
                            .rank = around.processes.rank(),
                            .first_step = state_.step,
                            .end_step = total_steps_,
                            .pin = device() != at::kCPU});
  }

  Ending run() {
    if (is_out_of_patience() && state_.step < total_steps_) return end("stopped early");  // before it could say so
    while (state_.step < total_steps_) {
      step();
      const bool is_last = state_.step == total_steps_;
      const bool evaluates = is_last || is_evaluation_due();
      const bool saves = !evaluates && is_due(recipe_.train.checkpoint_every);
      if (evaluates || saves || stop_was_asked_) read_step();
      if (divergence_) return crash();
      if (evaluates) {
        evaluate();
        const bool is_over = is_last || is_out_of_patience();
        if (is_over || is_time_to_save()) save();
        if (is_over && !is_last) return end("stopped early");
      } else if (saves) {
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
  [[nodiscard]] bool is_sharded() const { return recipe_.train.shard == "optimizer"; }
  [[nodiscard]] bool writes() const { return around_.folder != nullptr; }
  [[nodiscard]] Moment moment(std::int64_t step) const { return {step, total_steps_, steps_per_epoch_}; }
  [[nodiscard]] bool is_due(std::int64_t every) const { return every > 0 && state_.step % every == 0; }
  [[nodiscard]] bool is_evaluation_due() const {
    if (recipe_.train.eval_steps > 0) return is_due(recipe_.train.eval_steps);
    return is_due(recipe_.train.eval_every * steps_per_epoch_);
  }
  [[nodiscard]] bool is_out_of_patience() const {
    return recipe_.train.patience > 0 && state_.evaluations_since_best >= recipe_.train.patience;
  }
  [[nodiscard]] at::Device device() const { return parameters_.values().device(); }
  [[nodiscard]] Trained trained() { return {task_.model(), optimizer_, ema_ ? &*ema_ : nullptr, task_.state()}; }

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
    for (const auto& parameter : task_.model().parameters()) {
      if (!parameter.requires_grad()) around_.processes.broadcast(parameter, 0);
    }
    for (const auto& buffer : task_.model().buffers()) around_.processes.broadcast(buffer, 0);
    for (const auto& [name, tensor] : task_.state()) around_.processes.broadcast(tensor, 0);
    optimizer_.agree(around_.processes);
    if (!ema_) return;
    const auto average = ema_->state();
    for (const auto& [name, tensor] : average) around_.processes.broadcast(tensor, 0);
    ema_->load_state(average);
  }

  // The step's own random numbers, so that a resumed run draws what the uninterrupted one drew.
  void seed_generators() const {
    base::Random random(recipe_.seed, {base::kDropout, static_cast<std::uint64_t>(state_.step),
                                       static_cast<std::uint64_t>(around_.processes.rank())});
    torch::manual_seed(random.bits());
  }

  void step() {
    seed_generators();
    task_.model().train();
    parameters_.zero_gradients();
    monitor_.begin(state_.step + 1);
    const auto now = moment(state_.step);
    LossSums sums;
    double samples = 0.0;  // of the step, over all processes
    double weight = 0.0;   // what this process's losses are means of
    for (bool is_first = true, is_last = false; !is_last; is_first = false) {
      const auto pass = loader_->next();
      is_last = pass.ends_step;
      const auto losses = losses_of(pass.batch.to(device()), now);
      if (is_first) {
        read_step();  // the GPU has this pass to do meanwhile
        if (divergence_) return;
        watch(monitor_.end());
      }
      const double own = losses.weight.value_or(static_cast<double>(pass.batch.samples()));
      samples = static_cast<double>(pass.draw.step_samples);
      weight += own;
      const double share = own / samples * static_cast<double>(around_.processes.size());
      if (is_last) averaging_.begin();
      (losses.total * share).backward();
      sums.add(losses, share);
    }
    averaging_.finish();
    average_running_statistics();
    update(now, sums, samples, samples / agree(weight));
  }

  Losses losses_of(const data::Batch& batch, const Moment& now) {
    const Autocast autocast(recipe_.train.precision == "bfloat16", device().type());
    return task_.loss(batch, now);
  }

  // `scale` turns shares of the step's samples into shares of what the losses are means of.
  void update(const Moment& now, const LossSums& sums, double samples, double scale) {
    const torch::NoGradGuard no_grad;
    if (scale != 1.0) parameters_.gradients().mul_(scale);
    parameters_.zero_frozen_gradients(now);
    const double lr = learning_rate(recipe_.schedule, base_learning_rate(recipe_, around_.processes), now.step,
                                    total_steps_, steps_per_epoch_);
    auto numbers = sums.tensors();
    numbers.push_back(clip_gradients(parameters_, share_, recipe_.optimizer.clip_norm, recipe_.optimizer.clip_each));
    for (auto& number : numbers) number = number.to(at::kDouble);
    UpdateChanges changes{.beta1 = scheduled_momentum(recipe_.schedule, now.step, total_steps_), .moment = now};
    if (rules_.weight_decay) changes.weight_decay = rules_.weight_decay(now);
    ++state_.step;
    StepReport report;
    report.step = state_.step;
    report.total_steps = total_steps_;
    report.epoch = moment(state_.step).epoch();
    report.lr = lr;
    unread_.emplace(std::move(report), sums.names(), scale / static_cast<double>(around_.processes.size()), samples,
                    LateNumbers(at::stack(numbers)));
    optimizer_.step(lr, changes);
    if (!share_.is_whole()) around_.processes.all_gather(parameters_.values());
    if (ema_) ema_->update(recipe_.train.ema);
    task_.after_update(now);
  }

  void average_running_statistics() {
    if (around_.processes.size() == 1) return;
    const torch::NoGradGuard no_grad;
    for (const auto& statistic : running_) {
      around_.processes.all_reduce_sum(statistic);
      statistic.div_(around_.processes.size());
    }
  }

  // The weight over the processes, and whether any was asked to stop.
  double agree(double weight) {
    stop_was_asked_ = around_.should_stop();
    if (around_.processes.size() > 1) {
      auto both = torch::tensor({weight, stop_was_asked_ ? 1.0 : 0.0}, at::kDouble);
      around_.processes.all_reduce_sum(both);
      weight = both[0].item<double>();
      stop_was_asked_ = both[1].item<double>() > 0;
    }
    TORCH_CHECK(weight > 0.0, "the loss of a step must be a mean over something; its weight is ", weight);
    return weight;
  }

  // What the last step found, where nobody has read it yet.
  void read_step() {
    if (!unread_) return;
    const auto numbers = unread_->numbers.read();
    auto losses = at::tensor(at::ArrayRef<double>(numbers).slice(0, numbers.size() - 1));
    if (around_.processes.size() > 1) around_.processes.all_reduce_sum(losses);
    losses.mul_(unread_->scale);
    auto& report = unread_->report;
    report.loss = losses[0].item<double>();
    for (std::size_t i = 0; i < unread_->parts.size(); ++i) {
      report.parts[unread_->parts[i]] = losses[static_cast<std::int64_t>(i) + 1].item<double>();
    }
    report.grad_norm = numbers.back();
    record(report, unread_->samples);
    if (!std::isfinite(report.loss)) divergence_ = {report.step, "the loss is " + std::to_string(report.loss)};
    if (std::isfinite(report.loss) && !std::isfinite(report.grad_norm)) {
      divergence_ = {report.step, "the norm of the gradient is " + std::to_string(report.grad_norm)};
    }
    unread_.reset();
  }

  void watch(const std::vector<LayerRecord>& layers) {
    for (const auto& layer : layers) {
      log_->add_layer(layer);
      for (const auto& warning : explosions_.add(layer)) around_.listener.on_message(warning.text());
    }
  }

  void record(StepReport& report, double samples) {
    if (!writes()) return;
    pace_.add(samples);
    report.samples_per_second = pace_.samples_per_second();
    report.flop_per_second = kTrainingPasses * task_.forward_flops() * report.samples_per_second /
                             static_cast<double>(around_.processes.size());
    const bool is_shown = report.step % recipe_.train.log_every == 0 || report.step == total_steps_;
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
    const double value = selected(selection.metric);
    const bool is_best = !state_.best || selection.prefers(value, *state_.best);
    if (is_best) state_.best = value;
    state_.evaluations_since_best = is_best ? 0 : state_.evaluations_since_best + 1;
    if (writes()) {
      const double epoch = moment(state_.step).epoch();
      log_->add_evaluation(state_.step, epoch, metrics_);
      if (is_best) keep_best(epoch);
      around_.listener.on_evaluation(state_.step, epoch, metrics_, is_best);
    }
    pace_.restart();
  }

  [[nodiscard]] double selected(const std::string& name) const {
    if (const auto found = metrics_.find(name); found != metrics_.end()) return found->second;
    std::string known;
    for (const auto& [other, value] : metrics_) known += (known.empty() ? "" : ", ") + other;
    throw std::logic_error("the task selects its best weights by \"" + name + "\", and its evaluation has " +
                           (known.empty() ? "no metrics" : known) + "; name one of these in selection()");
  }

  void keep_best(double epoch) {
    save_weights(kBestWeights);
    nlohmann::ordered_json values;
    for (const auto& [name, value] : under_all_names(metrics_, task_.splits())) values[name] = value;
    write_evaluation(around_.folder->path(), kBestEvaluation, {{"step", state_.step}, {"epoch", epoch}}, values);
  }

  // The processes' clocks differ, and sharing the optimiser's state they save together.
  bool is_time_to_save() {
    const bool is_time = seconds_since(last_save_) >= recipe_.train.checkpoint_seconds;
    if (share_.is_whole()) return is_time;
    const auto decided = torch::tensor({is_time ? 1.0 : 0.0}, at::kDouble);
    around_.processes.broadcast(decided, 0);
    return decided.item<double>() > 0;
  }

  void save() {
    if (!writes()) {
      if (!share_.is_whole()) (void)optimizer_.state();  // the first process writes the parts of all
      return;
    }
    save_checkpoint(*around_.folder / kResumeCheckpoint, trained(), state_);
    save_weights(kLastWeights);
    last_save_ = Clock::now();
    pace_.restart();
  }

  void save_weights(const char* name) {
    const AverageShown shown(ema_);
    data::save_safetensors(*around_.folder / name, weights_of(task_.model()));
  }

  Ending crash() {
    state_.step = divergence_->step;
    if (writes()) {
      log_->write_crash(divergence_->step, divergence_->reason);
      around_.listener.on_message(divergence_->reason + " at iteration " + std::to_string(divergence_->step));
    }
    return end("crashed at iteration " + std::to_string(divergence_->step));
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
  ParameterRules rules_;
  FlatParameters parameters_;
  Share share_;
  Optimizer optimizer_;
  std::optional<Ema> ema_;
  GradientAveraging averaging_;
  Monitor monitor_;
  std::vector<at::Tensor> running_;
  std::int64_t steps_per_epoch_ = 0;
  std::int64_t total_steps_ = 0;
  std::optional<data::Loader> loader_;
  LayerExplosionDetector explosions_;
  std::unique_ptr<RunLog> log_;  // null where nothing is written
  TrainState state_;
  std::optional<Unread> unread_;
  std::optional<Divergence> divergence_;
  metrics::Values metrics_;
  Pace pace_;
  Clock::time_point last_save_ = Clock::now();
  bool stop_was_asked_ = false;
};

}  // namespace

data::StreamOptions stream_options(const Recipe& recipe, const Communicator& processes) {
  return {.batch = recipe.train.batch_size,
          .accumulate = recipe.train.accumulate,
          .processes = processes.size(),
          .seed = recipe.seed};
}

double base_learning_rate(const Recipe& recipe, const Communicator& processes) {
  return base_learning_rate(recipe.optimizer,
                            recipe.train.batch_size * recipe.train.accumulate * std::int64_t{processes.size()});
}

Ending train(Task& task, const Recipe& recipe, const Surroundings& around) {
  return Engine(task, recipe, around).run();
}

}  // namespace quest::train
