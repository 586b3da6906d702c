#include "bench/step_contest.h"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <vector>

#include "app/train_options.h"
#include "base/scratch_folder.h"
#include "bench/measure.h"
#include "bench/python_clock.h"
#include "bench/step_bare.h"
#include "bench/step_engine.h"
#include "bench/step_settings.h"
#include "train/monitor/monitor.h"

namespace quest::bench {
namespace {

constexpr int kWarmUpSteps = 3;

class StepContest {
 public:
  StepContest(const app::TaskRecipe& recipe, const StepPlan& plan)
      : recipe_(recipe),
        plan_(plan),
        processes_(train::communicator_from_environment(plan.device)),
        scratch_("quest-bench-step"),
        twin_(make_task()),
        bare_(*twin_, recipe.recipe(), plan.device, *processes_) {
    if (processes_->size() > 1)
      throw std::runtime_error("expected one process, not " + std::to_string(processes_->size()));
    (void)bare_.run(kWarmUpSteps);
    pass_load_seconds_ =
        plan.load_cost > 0.0 ? plan.load_cost * bare_.run(kWarmUpSteps) / kWarmUpSteps / passes() : 0.0;
    engine_ = make_engine("unwatched", 0, 0);
    if (train::Monitor(twin_->model(), 1).layers() > 0) watching_ = make_engine("watched", 1, 0);
    if (plan.workers > 0) ahead_ = make_engine("ahead", 0, plan.workers);
    start_python();
  }

  StepTimes measure(const std::function<void(double)>& on_progress) {
    const int steps = plan_.steps;
    std::vector<Contestant> contestants = {[&] { return bare_.run(steps); }, [&] { return engine_->run(steps); }};
    for (const auto& engine : {watching_.get(), ahead_.get()}) {
      if (engine != nullptr) contestants.emplace_back([engine, steps] { return engine->run(steps); });
    }
    if (python_) contestants.emplace_back([&] { return python_->seconds(steps); });
    const MeasurePlan turns = {.least_repetitions = plan_.rounds,
                               .most_repetitions = plan_.rounds,
                               .sample_seconds = 0.0,
                               .budget_seconds = 0.0};
    const auto measured = measure_interleaved(contestants, turns, on_progress);
    auto next = measured.begin();
    const auto milliseconds = [&] { return (next++)->median_ms / steps; };
    StepTimes times{.monitor_every = recipe_.recipe().train.monitor_every};
    times.bare = milliseconds();
    times.unwatched = milliseconds();
    if (watching_) times.watched = milliseconds();
    if (ahead_) times.unwatched_with_workers = milliseconds();
    if (python_) times.python = milliseconds();
    times.python_problem = python_problem_;
    times.relative_spread = std::ranges::max(measured, {}, &Measurement::relative_spread).relative_spread;
    times.load = 1e3 * (bare_.load_seconds() + pass_load_seconds_ * passes());
    if (const auto update = bare_.update_seconds()) times.update = 1e3 * *update;
    return times;
  }

 private:
  [[nodiscard]] double passes() const { return static_cast<double>(bare_.passes()); }

  [[nodiscard]] std::unique_ptr<train::Task> make_task() const {
    return app::make_task(recipe_, plan_.device, *processes_);
  }

  [[nodiscard]] std::unique_ptr<EngineSteps> make_engine(const char* name, std::int64_t monitor_every,
                                                         int workers) const {
    return std::make_unique<EngineSteps>(make_task(), recipe_.recipe(), plan_.device, *processes_,
                                         EngineOptions{.folder = scratch_ / name,
                                                       .workers = workers,
                                                       .monitor_every = monitor_every,
                                                       .load_seconds = pass_load_seconds_});
  }

  // A loop that cannot take a step is left out.
  void start_python() {
    const auto& loop = recipe_.entry().python_loop;
    if (!loop) {
      python_problem_ = "the task declares none";
      return;
    }
    LoopFacts facts{.device = plan_.device.str(), .threads = plan_.threads};
    if (loop->facts) facts.of_task = loop->facts(*twin_);
    python_ = std::make_unique<PythonClock>(plan_.python, with_step_loop(loop->program),
                                            loop_settings(recipe_.fields(), facts));
    try {
      (void)python_->seconds(1);
    } catch (const std::runtime_error& error) {
      python_problem_ = error.what();
      python_.reset();
    }
  }

  const app::TaskRecipe& recipe_;
  const StepPlan& plan_;
  std::unique_ptr<train::Communicator> processes_;
  base::ScratchFolder scratch_;
  std::unique_ptr<train::Task> twin_;
  BareSteps bare_;
  double pass_load_seconds_ = 0.0;
  std::unique_ptr<EngineSteps> engine_;
  std::unique_ptr<EngineSteps> watching_;
  std::unique_ptr<EngineSteps> ahead_;
  std::unique_ptr<PythonClock> python_;
  std::string python_problem_;
};

}  // namespace

StepTimes measure_steps(const app::TaskRecipe& recipe, const StepPlan& plan,
                        const std::function<void(double)>& on_progress) {
  return StepContest(recipe, plan).measure(on_progress);
}

}  // namespace quest::bench
