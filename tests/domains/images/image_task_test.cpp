#include "domains/images/image_task.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <numeric>
#include <thread>

#include "tests/domains/images/small_images.h"
#include "tests/domains/task_experiment.h"
#include "tests/testing/temporary_folder.h"
#include "train/engine/classifier.h"

namespace quest::images {
namespace {

using testing::TemporaryFolder;

class Experiment : public testing::TaskExperiment {
 public:
  explicit Experiment(const std::vector<std::string>& assignments)
      : TaskExperiment(image_task_factory(), "images/fashion-mnist-tiny", assignments) {}
};

class ImageTask : public ::testing::Test {
 protected:
  ImageTask() { testing::write_small_image_set(data_.path()); }

  [[nodiscard]] std::vector<std::string> small(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> assignments = {"data.folder=" + data_.path().string(),
                                            "model.patch_size=14",
                                            "model.dim=16",
                                            "model.heads=2",
                                            "model.depth=1",
                                            "train.batch_size=20",
                                            "train.epochs=4",
                                            "data.shift=2",
                                            "optimizer.lr=0.01"};
    assignments.insert(assignments.end(), more.begin(), more.end());
    return assignments;
  }

  TemporaryFolder data_;
};

data::Draw draw_of(std::int64_t step, std::int64_t first, std::vector<std::int64_t> samples) {
  return {.seed = 3, .step = step, .epoch = 0, .step_samples = 8, .first = first, .samples = std::move(samples)};
}

const std::vector<std::int64_t> kSamples = {5, 17, 17, 199, 0, 42, 8, 5};

bool same(const data::Batch& a, const data::Batch& b) {
  return at::equal(a["inputs"], b["inputs"]) && at::equal(a["labels"], b["labels"]);
}

TEST_F(ImageTask, ASampleHasTheSameBitsInWhicheverPassItComes) {
  const auto task = Experiment(small()).task();
  const auto whole = task->load(draw_of(9, 0, kSamples));
  std::vector<at::Tensor> inputs;
  std::vector<at::Tensor> labels;
  for (const auto& [first, last] : {std::pair(0, 3), std::pair(3, 4), std::pair(4, 8)}) {
    const auto pass = task->load(draw_of(9, first, {kSamples.begin() + first, kSamples.begin() + last}));
    inputs.push_back(pass["inputs"]);
    labels.push_back(pass["labels"]);
  }
  EXPECT_TRUE(at::equal(whole["inputs"], at::cat(inputs)));
  EXPECT_TRUE(at::equal(whole["labels"], at::cat(labels)));
  EXPECT_EQ(whole.samples(), 8);
  EXPECT_EQ(whole["inputs"].sizes(), (std::vector<std::int64_t>{8, 1, 28, 28}));
}

TEST_F(ImageTask, AnotherStepAugmentsInAnotherWay) {
  const auto task = Experiment(small()).task();
  EXPECT_FALSE(same(task->load(draw_of(9, 0, kSamples)), task->load(draw_of(10, 0, kSamples))));
  const auto plain = Experiment(small({"data.shift=0", "data.flip=false"})).task();
  EXPECT_TRUE(same(plain->load(draw_of(9, 0, kSamples)), plain->load(draw_of(10, 0, kSamples))));
}

TEST_F(ImageTask, ThreadsLoadAtOnce) {
  const auto task = Experiment(small()).task();
  std::vector<data::Batch> expected;
  for (int step = 0; step < 16; ++step) expected.push_back(task->load(draw_of(step, 0, kSamples)));
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < wrong.size(); ++thread) {
    threads.emplace_back([&, thread] {
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const auto step = (i + 5 * thread) % expected.size();
        wrong[thread] +=
            same(task->load(draw_of(static_cast<std::int64_t>(step), 0, kSamples)), expected[step]) ? 0 : 1;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(std::accumulate(wrong.begin(), wrong.end(), 0), 0);
}

TEST_F(ImageTask, EvaluatesPicturesAsTheyAre) {
  const auto task = Experiment(small()).task();
  const auto& classifier = dynamic_cast<const train::Classifier&>(*task);
  EXPECT_EQ(classifier.size("test"), 50);
  EXPECT_EQ(classifier.classes(), 10);
  const auto all = classifier.examples("test", 0, 50);
  EXPECT_TRUE(at::equal(classifier.examples("test", 10, 20)["inputs"], all["inputs"].narrow(0, 10, 10)));
  EXPECT_TRUE(at::equal(all["labels"], at::arange(50).remainder(10)));
  // As torchvision's Normalize(0.2860, 0.3530) has it.
  const double pixel = (200 + (7 * 1 + 3 * 6 + 5 * 4) % 50) / 255.0;
  EXPECT_NEAR((all["inputs"][1][0][6][4].item<double>()), (pixel - 0.2860) / 0.3530, 1e-6);
}

TEST_F(ImageTask, MayTrainOnTheFirstSamplesAlone) {
  EXPECT_EQ(Experiment(small()).task()->train_size(), 200);
  EXPECT_EQ(Experiment(small({"data.train_samples=30"})).task()->train_size(), 30);
  EXPECT_EQ(Experiment(small({"data.train_samples=1000"})).task()->train_size(), 200);
}

TEST_F(ImageTask, Learns) {
  Experiment experiment(small({"train.epochs=20", "data.shift=0", "train.log_every=1"}));
  TemporaryFolder run;
  const auto ending = experiment.train_in(run.path());
  const auto& steps = experiment.listener.steps;
  ASSERT_GT(steps.size(), 10U);
  EXPECT_GT(steps.front().loss, 2.0);
  EXPECT_LT(steps.back().loss, 0.5 * steps.front().loss);
  EXPECT_GT(ending.metrics.at("accuracy"), 0.9) << "chance is 0.1";
}

TEST_F(ImageTask, AResumedTrainingEndsWithTheBitsOfAnUninterruptedOne) {
  TemporaryFolder whole;
  EXPECT_EQ(Experiment(small()).train_in(whole.path()).status, "finished");
  TemporaryFolder parts;
  EXPECT_EQ(Experiment(small()).train_in(parts.path(), 13, 2).status, "interrupted");
  EXPECT_EQ(Experiment(small()).train_in(parts.path(), 1'000'000, 2).status, "finished");
  EXPECT_EQ(testing::differing_tensors(whole.path(), parts.path()), std::vector<std::string>{});
}

template <class Action>
std::string reason_of(const Action& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "missing: " << part << "\nin: " << text;
}

TEST_F(ImageTask, SaysWhatIsMissing) {
  EXPECT_EQ(Experiment(small()).factory().missing_data(), "");
  std::filesystem::remove(data_.path() / "t10k-labels-idx1-ubyte");
  const Experiment experiment(small());
  const auto missing = experiment.factory().missing_data();
  expect_contains(missing, "t10k-labels-idx1-ubyte");
  expect_contains(missing, data_.path().string());
  EXPECT_EQ(reason_of([&] { static_cast<void>(experiment.task()); }), missing);
}

TEST_F(ImageTask, SaysWhatIsWrong) {
  const auto making = [&](const std::string& assignment) {
    return reason_of([&] { static_cast<void>(Experiment(small({assignment})).task()); });
  };
  expect_contains(making("model.patch_size=29"),
                  "model.patch_size must be at most the 28 pixels of an image's side; got 29");
  expect_contains(making("data.shift=28"), "data.shift: expected a whole number from 0 to 27, got 28");
  expect_contains(making("data.evaluation_batch=0"), "data.evaluation_batch");
  expect_contains(making("data.label_smoothing=1"), "data.label_smoothing");
  expect_contains(making("data.flips=true"), "the nearest is \"data.flip\"");
  std::ofstream(data_.path() / "train-labels-idx1-ubyte") << "x";
  expect_contains(making("data.flip=true"), "train-labels-idx1-ubyte");
}

}  // namespace
}  // namespace quest::images
