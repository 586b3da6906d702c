// What a task may ask of the engine, hook by hook.

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>

#include "tests/testing/tensors.h"
#include "tests/testing/threads_as_processes.h"
#include "tests/train/tiny_run.h"
#include "tests/train/token_task.h"
#include "train/run/run_log.h"

namespace quest::train {
namespace {

using testing::as_processes;
using testing::close;
using testing::identical;
using testing::QuietListener;
using testing::TinyRun;
using testing::token_recipe;
using testing::TokenTask;
using testing::train_in;

// How a step of all samples is cut.
struct Cut {
  std::int64_t batch;
  std::int64_t accumulate;
  int processes;
};

Recipe cut_recipe(const Cut& cut) {
  auto recipe = token_recipe();
  recipe.train.batch_size = cut.batch;
  recipe.train.accumulate = cut.accumulate;
  return recipe;
}

struct Outcome {
  at::Tensor weight;
  at::Tensor bias;
  std::vector<StepReport> steps;
};

// Of the first process.
Outcome trained(const Cut& cut, bool tells_weight = true) {
  Outcome outcome;
  as_processes(cut.processes, [&](Communicator& processes) {
    TokenTask task;
    task.tells_weight = tells_weight;
    testing::TemporaryFolder temporary;
    std::optional<RunFolder> folder;
    if (processes.rank() == 0) folder.emplace(temporary.path());
    QuietListener listener;
    (void)train(task, cut_recipe(cut), {processes, listener, folder ? &*folder : nullptr});
    if (processes.rank() == 0) outcome = {task.parts().linear->weight, task.parts().linear->bias, listener.steps};
  });
  return outcome;
}

// The same descent with the gradient of the mean over all tokens, in float64.
struct Reference {
  at::Tensor weight;
  at::Tensor bias;
  std::vector<double> losses;
  std::vector<double> absolute;

  explicit Reference(int steps) {
    TokenTask task;
    const auto x = task.x.to(at::kDouble);
    const auto y = task.y.to(at::kDouble);
    const auto mask = task.mask.to(at::kDouble);
    weight = task.parts().linear->weight.detach().to(at::kDouble);
    bias = task.parts().linear->bias.detach().to(at::kDouble);
    for (int step = 0; step < steps; ++step) {
      const auto error = ((x * weight).sum(-1) + bias - y) * mask;
      losses.push_back((error.square().sum() / mask.sum()).item<double>());
      absolute.push_back((error.abs().sum() / mask.sum()).item<double>());
      const auto slope = 2.0 * error / mask.sum();
      weight = weight - 0.1 * (slope.unsqueeze(-1) * x).sum(std::vector<std::int64_t>{0, 1}).unsqueeze(0);
      bias = bias - 0.1 * slope.sum();
    }
  }
};

constexpr std::array<Cut, 7> kCuts = {{{24, 1, 1}, {8, 3, 1}, {5, 5, 1}, {12, 1, 2}, {4, 3, 2}, {7, 2, 2}, {3, 3, 3}}};

TEST(TaskContract, AStepIsTheMeanOverWhatTheLossesAreMeansOfHoweverItIsCut) {
  const Reference expected(3);
  for (const auto& cut : kCuts) {
    SCOPED_TRACE(::testing::Message() << cut.batch << " x " << cut.accumulate << " x " << cut.processes);
    const auto outcome = trained(cut);
    EXPECT_TRUE(close(outcome.weight, expected.weight, {.absolute = 1e-6}));
    EXPECT_TRUE(close(outcome.bias, expected.bias, {.absolute = 1e-6}));
    ASSERT_EQ(outcome.steps.size(), 3U);
    for (std::size_t step = 0; step < 3; ++step) {
      const auto& report = outcome.steps[step];
      EXPECT_NEAR(report.loss, expected.losses[step], 1e-6);
      ASSERT_EQ(report.parts.size(), 2U);
      EXPECT_NEAR(report.parts.at("squared"), expected.losses[step], 1e-6);
      EXPECT_NEAR(report.parts.at("absolute"), expected.absolute[step], 1e-6);
    }
  }
}

TEST(TaskContract, WithoutAWeightEverySampleCountsTheSame) {
  const auto whole = trained({24, 1, 1}, false);
  EXPECT_TRUE(close(whole.weight, Reference(3).weight, {.absolute = 1e-6})) << "one pass is a mean over its tokens";
  const auto cut = trained({8, 3, 1}, false);
  EXPECT_FALSE(close(cut.weight, whole.weight, {.absolute = 1e-4})) << "a mean of means is not the mean";
  EXPECT_TRUE(close(trained({4, 3, 2}, false).weight, trained({4, 6, 1}, false).weight, {.absolute = 1e-6}));
}

TEST(TaskContract, PartsOfTheLossAreInTheLog) {
  TinyRun run;
  TokenTask task;
  train_in(run, task, token_recipe());
  const auto lines = base::read_lines(run.folder.path() / kMetricsFile);
  int steps = 0;
  for (const auto& line : lines) {
    if (line.at("kind") != kTrainKind) continue;
    const auto& report = run.listener.steps.at(static_cast<std::size_t>(steps++));
    EXPECT_NEAR(line.at("loss_squared").get<double>(), report.parts.at("squared"), 1e-5);
    EXPECT_NEAR(line.at("loss_absolute").get<double>(), report.parts.at("absolute"), 1e-5);
  }
  EXPECT_EQ(steps, 3);
}

TEST(TaskContract, PassesOfAStepWhoseLossesHaveOtherPartsAreRefused) {
  auto recipe = token_recipe();
  recipe.train.batch_size = 12;
  recipe.train.accumulate = 2;
  // What the second pass of the first step does to its parts, and what it has then.
  using Change = std::function<void(NamedTensors&)>;
  const std::vector<std::pair<Change, std::string>> cases = {
      {[](NamedTensors& parts) { parts.emplace_back("more", parts[0].second); }, "\"squared\", \"absolute\", \"more\""},
      {[](NamedTensors& parts) { parts.pop_back(); }, "\"squared\""},
      {[](NamedTensors& parts) { parts.clear(); }, "none"},
      {[](NamedTensors& parts) { std::swap(parts[0], parts[1]); }, "\"absolute\", \"squared\""}};
  for (const auto& [change, names] : cases) {
    TinyRun run;
    TokenTask task;
    task.change_parts = [&change, pass = 0](NamedTensors& parts) mutable {
      if (pass++ == 1) change(parts);
    };
    EXPECT_EQ(
        testing::error_of([&] { train_in(run, task, recipe); }),
        "every pass of a step must have a loss of the same parts in the same order; the first pass has \"squared\", "
        "\"absolute\", a later one " +
            names + "; give 0 for what a batch lacks");
  }
}

TEST(TaskContract, ALossThatIsAMeanOverNothingIsRefused) {
  TinyRun run;
  TokenTask task;
  task.mask.zero_();
  const auto error = testing::error_of([&] { train_in(run, task, token_recipe()); });
  EXPECT_NE(error.find("the loss of a step must be a mean over something; its weight is 0"), std::string::npos)
      << error;
}

TEST(TaskContract, AfterUpdateSeesTheNewWeightsOncePerStepWithoutGradients) {
  auto recipe = token_recipe();
  recipe.train.batch_size = 4;
  recipe.train.accumulate = 2;  // three steps an epoch
  TinyRun run;
  TokenTask task;
  std::vector<Moment> moments;
  at::Tensor of_loss;
  at::Tensor of_update;
  task.change_loss = [&](const at::Tensor& loss, const Moment& moment) {
    EXPECT_EQ(moment.step, static_cast<std::int64_t>(moments.size()));
    of_loss = task.parts().linear->weight.detach().clone();
    if (of_update.defined()) {
      EXPECT_TRUE(identical(of_loss, of_update)) << "the next step begins with other weights";
    }
    return loss;
  };
  task.on_update = [&](const Moment& moment) {
    EXPECT_FALSE(at::GradMode::is_enabled());
    of_update = task.parts().linear->weight.detach().clone();
    EXPECT_FALSE(identical(of_update, of_loss)) << "nothing was updated yet";
    moments.push_back(moment);
  };
  train_in(run, task, recipe);
  ASSERT_EQ(moments.size(), 9U);
  for (std::size_t i = 0; i < moments.size(); ++i) {
    EXPECT_EQ(moments[i].step, static_cast<std::int64_t>(i));
    EXPECT_EQ(moments[i].total_steps, 9);
    EXPECT_EQ(moments[i].steps_per_epoch, 3);
  }
  EXPECT_DOUBLE_EQ(moments[4].epoch(), 4.0 / 3.0);
  EXPECT_DOUBLE_EQ(moments[3].progress(), 1.0 / 3.0);
}

// The weights after every step.
std::vector<std::pair<at::Tensor, at::Tensor>> path_of(TokenTask& task, const Recipe& recipe) {
  std::vector<std::pair<at::Tensor, at::Tensor>> path;
  const auto& linear = task.parts().linear;
  path.emplace_back(linear->weight.detach().clone(), linear->bias.detach().clone());
  task.on_update = [&](const auto&) {
    path.emplace_back(linear->weight.detach().clone(), linear->bias.detach().clone());
  };
  TinyRun run;
  train_in(run, task, recipe);
  return path;
}

TEST(TaskContract, ARuleScalesTheLearningRateOfAParameter) {
  auto recipe = token_recipe();
  recipe.train.epochs = 1;
  TokenTask plain;
  const auto expected = path_of(plain, recipe);
  TokenTask scaled;
  scaled.own_rules.change = [](const std::string& name, ParameterRule& rule) {
    if (name == "linear.bias") rule.lr_scale = 0.25;
  };
  const auto path = path_of(scaled, recipe);
  EXPECT_TRUE(identical(path[1].first, expected[1].first));
  EXPECT_TRUE(
      close(path[1].second - path[0].second, 0.25 * (expected[1].second - expected[0].second), {.of_value = 1e-5}));
}

TEST(TaskContract, TheLearningRateOfAParameterMayBeAFunctionOfTheMoment) {
  auto recipe = token_recipe();
  recipe.train.batch_size = 8;  // three steps an epoch
  TokenTask task;
  const auto& linear = task.parts().linear;
  task.change_loss = [&](const at::Tensor& loss, const auto&) {
    return 0.0 * loss + linear->weight.sum() + linear->bias.sum();
  };
  const auto schedule = [](const Moment& moment) { return 1.0 + moment.epoch(); };
  task.own_rules.change = [&](const std::string& name, ParameterRule& rule) {
    if (name == "linear.weight") rule = {.lr_scale = 0.5, .lr_schedule = schedule};
  };
  const auto path = path_of(task, recipe);
  ASSERT_EQ(path.size(), 10U);
  auto weight = path[0].first.to(at::kDouble);
  auto bias = path[0].second.to(at::kDouble);
  for (std::int64_t step = 0; step < 9; ++step) {
    weight = weight - 0.1 * 0.5 * schedule({step, 9, 3});
    bias = bias - 0.1;
    const auto& after = path[static_cast<std::size_t>(step) + 1];
    EXPECT_TRUE(close(after.first, weight, {.absolute = 1e-6})) << step;
    EXPECT_TRUE(close(after.second, bias, {.absolute = 1e-6})) << step;
  }
}

TEST(TaskContract, ARuleFreezesAParameterForSomeEpochs) {
  auto recipe = token_recipe();
  recipe.train.batch_size = 8;  // three steps an epoch
  TokenTask task;
  task.own_rules.change = [](const std::string& name, ParameterRule& rule) {
    if (name == "linear.weight")
      rule.lr_schedule = [](const Moment& moment) { return moment.epoch() < 1.5 ? 0.0 : 1.0; };
  };
  const auto path = path_of(task, recipe);
  ASSERT_EQ(path.size(), 10U);
  for (std::size_t step = 0; step < 9; ++step) {
    const bool is_frozen = step < 5;  // 4 / 3 < 1.5 < 5 / 3
    EXPECT_EQ(static_cast<bool>(identical(path[step + 1].first, path[step].first)), is_frozen) << step;
    EXPECT_FALSE(identical(path[step + 1].second, path[step].second)) << step;
  }
}

TEST(TaskContract, AFrozenParameterDoesNotCountInTheNormThatIsClipped) {
  auto recipe = token_recipe();
  recipe.optimizer.clip_norm = 0.01;
  TokenTask task;
  task.own_rules.change = [](const std::string& name, ParameterRule& rule) {
    if (name == "linear.weight") rule.lr_scale = 0.0;
  };
  const auto& linear = task.parts().linear;
  task.change_loss = [&](const at::Tensor& loss, const auto&) {
    return 0.0 * loss + 100.0 * linear->weight.sum() + 3.0 * linear->bias.sum();
  };
  const auto weight = linear->weight.detach().clone();
  const auto bias = linear->bias.detach().clone();
  TinyRun run;
  train_in(run, task, recipe);
  EXPECT_TRUE(identical(linear->weight, weight));
  EXPECT_TRUE(close(linear->bias, bias.to(at::kDouble) - 3 * 0.1 * 0.01, {.absolute = 1e-6})) << "three steps";
  for (const auto& step : run.listener.steps) EXPECT_NEAR(step.grad_norm, 3.0, 1e-6) << "the norm of what is updated";
}

TEST(TaskContract, AParameterThatWasFrozenNowAndThenGoesOnBitForBit) {
  auto recipe = token_recipe();
  recipe.train.batch_size = 8;
  recipe.optimizer = {.name = "adamw", .lr = 0.1};
  const auto train_some = [&](TinyRun& run, std::int64_t steps) {
    TokenTask task;
    task.own_rules.change = [](const std::string& name, ParameterRule& rule) {
      if (name == "linear.weight")
        rule.lr_schedule = [](const Moment& moment) { return moment.step % 3 == 1 ? 0.0 : 1.0; };
    };
    train_in(run, task, recipe, steps);
  };
  TinyRun whole;
  train_some(whole, testing::kToTheEnd);
  for (const std::int64_t steps : {1, 2, 5}) {
    TinyRun parts;
    train_some(parts, steps);
    ASSERT_EQ(parts.ending.steps, steps);
    train_some(parts, testing::kToTheEnd);
    testing::expect_same_checkpoints(whole, parts);
  }
}

TEST(TaskContract, WeightDecayMayBeAFunctionOfTheMoment) {
  auto recipe = token_recipe();
  recipe.optimizer.weight_decay = 100.0;  // not taken
  TokenTask task;
  task.change_loss = [](const at::Tensor& loss, const auto&) { return loss * 0.0; };
  const auto decay = [](const Moment& moment) { return 0.5 + moment.progress(); };
  task.own_rules.weight_decay = decay;
  const auto path = path_of(task, recipe);
  ASSERT_EQ(path.size(), 4U);
  auto expected = path[0].first.to(at::kDouble);
  for (std::int64_t step = 0; step < 3; ++step) {
    expected = expected * (1.0 - 0.1 * decay({step, 3, 1}));
    const auto& [weight, bias] = path[static_cast<std::size_t>(step) + 1];
    EXPECT_TRUE(close(weight, expected, {.of_value = 1e-6})) << step;
    EXPECT_TRUE(identical(bias, path[0].second)) << "a bias does not decay";
  }
}

// A teacher follows the weights and pulls them; it lives in the task, and a copy of it in the model.
struct Taught {
  TokenTask task;
  at::Tensor teacher = torch::ones({1, 4});
  at::Tensor updates = torch::zeros({}, at::kLong);

  Taught() {
    task.own_state = {{"teacher", teacher}, {"updates", updates}};
    task.change_loss = [this](const at::Tensor& loss, const Moment&) {
      return loss + (task.parts().linear->weight - teacher - task.parts().teacher).square().mean();
    };
    task.on_update = [this](const Moment& moment) {
      teacher.lerp_(task.parts().linear->weight, 0.3);
      task.parts().teacher.add_(0.01 * task.parts().linear->weight);
      updates += 1;
      EXPECT_EQ(updates.item<std::int64_t>(), moment.step + 1);
    };
  }
};

Recipe taught_recipe() {
  auto recipe = token_recipe();
  recipe.train.batch_size = 7;  // four steps an epoch, the last a shorter one
  return recipe;
}

TEST(TaskContract, ATasksStateGoesOnBitForBit) {
  Taught undisturbed;
  TinyRun whole;
  train_in(whole, undisturbed.task, taught_recipe());
  EXPECT_EQ(whole.ending.steps, 12);
  EXPECT_TRUE(std::ranges::any_of(weights(whole, kResumeCheckpoint).tensors,
                                  [](const auto& entry) { return entry.first == "task.teacher"; }));
  for (const std::int64_t steps : {1, 3, 4, 6, 11}) {
    TinyRun parts;
    Taught before;
    train_in(parts, before.task, taught_recipe(), steps);
    ASSERT_EQ(parts.ending.steps, steps);
    Taught after;
    train_in(parts, after.task, taught_recipe());
    EXPECT_TRUE(identical(after.teacher, undisturbed.teacher)) << steps;
    testing::expect_same_checkpoints(whole, parts);
  }
}

TEST(TaskContract, ACheckpointWithoutTheTasksStateIsRefused) {
  TinyRun run;
  TokenTask without;
  train_in(run, without, taught_recipe(), 2);
  Taught with;
  const auto error = testing::error_of([&] { train_in(run, with.task, taught_recipe()); });
  EXPECT_NE(error.find("it lacks the state of the task 'teacher'"), std::string::npos) << error;
}

TEST(TaskContract, AllProcessesGoOnWithTheStateOfTheFirst) {
  const Cut cut{4, 1, 2};
  testing::TemporaryFolder temporary;
  std::array<at::Tensor, 2> teachers;
  std::array<at::Tensor, 2> in_models;
  for (const std::int64_t steps : {2, 5}) {
    as_processes(2, [&](Communicator& processes) {
      Taught taught;
      std::optional<RunFolder> folder;
      if (processes.rank() == 0) folder.emplace(temporary.path());
      QuietListener listener;
      std::int64_t taken = 0;
      (void)train(taught.task, cut_recipe(cut),
                  {processes, listener, folder ? &*folder : nullptr, [&] { return ++taken >= steps; }});
      const auto rank = static_cast<std::size_t>(processes.rank());
      teachers[rank] = taught.teacher;
      in_models[rank] = taught.task.parts().teacher.detach();
    });
    EXPECT_TRUE(identical(teachers[0], teachers[1]));
    EXPECT_TRUE(identical(in_models[0], in_models[1]));
  }
}

TEST(TaskContract, RunningStatisticsAreTheMeanOverTheProcesses) {
  const Cut cut{12, 1, 2};
  auto recipe = cut_recipe(cut);
  recipe.train.epochs = 4;
  std::array<at::Tensor, 2> means;
  std::array<at::Tensor, 2> variances;
  std::array<std::vector<at::Tensor>, 2> seen;
  as_processes(2, [&](Communicator& processes) {
    const auto rank = static_cast<std::size_t>(processes.rank());
    TokenTask task(/*has_norm=*/true);
    const auto stream = task.stream(stream_options(recipe, processes));
    for (std::int64_t step = 0; step < 4; ++step) {
      seen[rank].push_back(task.load(stream->draws(step, processes.rank()).front())["x"].to(at::kDouble).flatten(0, 1));
    }
    QuietListener listener;
    (void)train(task, recipe, {processes, listener, nullptr});
    means[rank] = task.parts().norm->running_mean;
    variances[rank] = task.parts().norm->running_var;
  });
  EXPECT_TRUE(identical(means[0], means[1]));
  EXPECT_TRUE(identical(variances[0], variances[1]));
  auto mean = torch::zeros({4}, at::kDouble);
  auto variance = torch::ones({4}, at::kDouble);
  for (std::size_t step = 0; step < 4; ++step) {
    const auto& [first, second] = std::tie(seen[0][step], seen[1][step]);
    mean = 0.9 * mean + 0.1 * (first.mean(0) + second.mean(0)) / 2.0;
    variance = 0.9 * variance + 0.1 * (first.var(0) + second.var(0)) / 2.0;
  }
  EXPECT_TRUE(close(means[0], mean, {.absolute = 1e-6}));
  EXPECT_TRUE(close(variances[0], variance, {.absolute = 1e-6}));
}

}  // namespace
}  // namespace quest::train
