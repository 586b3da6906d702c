#include "data/loader.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <atomic>
#include <chrono>
#include <future>
#include <limits>
#include <stdexcept>

#include "tests/testing/messages.h"

namespace quest::data {
namespace {

using quest::testing::message_of;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr StreamOptions kOptions{.batch = 3, .accumulate = 2, .processes = 2, .seed = 4};
constexpr std::int64_t kSamples = 59;
constexpr std::int64_t kSteps = 13;

std::unique_ptr<Stream> stream() { return shuffled_stream(kSamples, kOptions); }

// Samples and a random number for each.
Batch load(const Draw& draw) {
  const auto samples = torch::tensor(draw.samples);
  auto noise = torch::empty({samples.size(0)}, at::kDouble);
  for (std::size_t i = 0; i < draw.samples.size(); ++i) {
    noise[static_cast<std::int64_t>(i)] = draw.random(i).normal();
  }
  return {samples.size(0), {{"samples", samples}, {"noise", noise}}};
}

// Passes are ready in another order than that in which they were begun.
Batch load_unevenly(const Draw& draw) {
  std::this_thread::sleep_for(milliseconds(draw.random(0).below(4)));
  return load(draw);
}

std::vector<Loader::Pass> all_passes(Loader& loader) {
  std::vector<Loader::Pass> passes;
  try {
    while (true) passes.push_back(loader.next());
  } catch (const std::out_of_range&) {
  }
  return passes;
}

std::vector<Loader::Pass> all_passes(const LoaderOptions& options) {
  Loader loader(stream(), load_unevenly, options);
  return all_passes(loader);
}

void expect_same(const std::vector<Loader::Pass>& actual, std::span<const Loader::Pass> expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    EXPECT_EQ(actual[i].draw.step, expected[i].draw.step) << i;
    EXPECT_EQ(actual[i].draw.samples, expected[i].draw.samples) << i;
    EXPECT_EQ(actual[i].ends_step, expected[i].ends_step) << i;
    EXPECT_EQ(actual[i].batch.samples(), expected[i].batch.samples()) << i;
    EXPECT_TRUE(at::equal(actual[i].batch["samples"], expected[i].batch["samples"])) << i;
    EXPECT_TRUE(at::equal(actual[i].batch["noise"], expected[i].batch["noise"])) << i;
  }
}

TEST(Loader, GivesTheStreamsPassesInOrder) {
  for (const int workers : {0, 2}) {
    for (const std::int64_t rank : {0, 1}) {
      Loader loader(stream(), load_unevenly, {.workers = workers, .rank = rank, .end_step = kSteps});
      const auto expected = stream();
      for (std::int64_t step = 0; step < kSteps; ++step) {
        const auto draws = expected->draws(step, rank);
        for (std::size_t i = 0; i < draws.size(); ++i) {
          const auto pass = loader.next();
          EXPECT_EQ(pass.draw.step, step);
          EXPECT_EQ(pass.draw.samples, draws[i].samples);
          EXPECT_TRUE(at::equal(pass.batch["samples"], torch::tensor(draws[i].samples)));
          EXPECT_EQ(pass.ends_step, i + 1 == draws.size());
        }
      }
      EXPECT_THROW((void)loader.next(), std::out_of_range);
    }
  }
}

TEST(Loader, GivesTheSameBatchesWithAnyNumberOfWorkers) {
  const auto alone = all_passes({.workers = 0, .end_step = kSteps});
  ASSERT_GT(alone.size(), static_cast<std::size_t>(kSteps)) << "some steps have several passes";
  for (const int workers : {1, 2, 7}) {
    SCOPED_TRACE(workers);
    expect_same(all_passes({.workers = workers, .end_step = kSteps}), alone);
  }
}

TEST(Loader, BeginsWhereARunGoesOn) {
  const auto whole = all_passes({.workers = 2, .end_step = kSteps});
  for (const std::int64_t first : {1, 5, 12, 13}) {
    const auto begin = std::ranges::find_if(whole, [&](const auto& pass) { return pass.draw.step >= first; });
    for (const int workers : {0, 3}) {
      SCOPED_TRACE("from step " + std::to_string(first) + " with workers: " + std::to_string(workers));
      expect_same(all_passes({.workers = workers, .first_step = first, .end_step = kSteps}), {begin, whole.end()});
    }
  }
}

TEST(Loader, HasNothingBehindTheLastStep) {
  for (const int workers : {0, 3}) {
    Loader loader(stream(), load, {.workers = workers, .end_step = 2});
    EXPECT_FALSE(all_passes(loader).empty());
    for (int again = 0; again < 2; ++again) {
      EXPECT_EQ(message_of([&] { (void)loader.next(); }), "the training has no step 3");
    }
    Loader empty(stream(), load, {.workers = workers, .first_step = 2, .end_step = 2});
    EXPECT_THROW((void)empty.next(), std::out_of_range);
  }
}

struct BadSample : std::runtime_error {
  using runtime_error::runtime_error;
};

TEST(Loader, WhatAPassThrowsConcernsThatPassAlone) {
  const auto expected = all_passes({.end_step = kSteps});
  const auto is_bad = [](const Draw& draw) { return draw.step % 3 == 1 && draw.first == 0; };
  for (const int workers : {0, 1, 2, 7}) {
    Loader loader(stream(),
                  [&](const Draw& draw) {
                    if (is_bad(draw)) throw BadSample("sample of step " + std::to_string(draw.step));
                    return load_unevenly(draw);
                  },
                  {.workers = workers, .end_step = kSteps});
    int bad = 0;
    for (const auto& pass : expected) {
      if (is_bad(pass.draw)) {
        ++bad;
        EXPECT_THROW((void)loader.next(), BadSample) << workers << " " << pass.draw.step;
      } else {
        EXPECT_TRUE(at::equal(loader.next().batch["noise"], pass.batch["noise"])) << workers << " " << pass.draw.step;
      }
    }
    EXPECT_EQ(bad, 4);
    EXPECT_THROW((void)loader.next(), std::out_of_range);
  }
}

TEST(Loader, LoadsAtTheSameTime) {
  constexpr int kWorkers = 3;
  std::mutex mutex;
  std::condition_variable changed;
  int inside = 0;
  int most = 0;
  Loader loader(stream(),
                [&](const Draw& draw) {
                  std::unique_lock lock(mutex);
                  most = std::max(most, ++inside);
                  changed.notify_all();
                  // The first wait for each other; where they do not meet, the test fails instead of hanging.
                  changed.wait_for(lock, seconds(20), [&] { return most == kWorkers; });
                  --inside;
                  return load(draw);
                },
                {.workers = kWorkers, .end_step = kSteps});
  (void)all_passes(loader);
  EXPECT_EQ(most, kWorkers);
}

TEST(Loader, WithoutWorkersLoadsWhereItIsAsked) {
  std::vector<std::thread::id> threads;
  Loader loader(stream(),
                [&](const Draw& draw) {
                  threads.push_back(std::this_thread::get_id());
                  return load(draw);
                },
                {.end_step = 3});
  (void)loader.next();
  EXPECT_EQ(threads, std::vector{std::this_thread::get_id()}) << "no pass is loaded before it is asked for";
}

// Tells who asks it for what.
class WatchedStream final : public Stream {
 public:
  WatchedStream(std::atomic<std::int64_t>& last_step, std::int64_t passes) : last_step_(last_step), passes_(passes) {}
  [[nodiscard]] std::int64_t steps_per_epoch() const override { return 1000; }
  std::vector<Draw> draws(std::int64_t step, std::int64_t /*rank*/) override {
    EXPECT_EQ(std::this_thread::get_id(), owner_) << "a stream is used by one thread";
    last_step_ = step;
    return std::vector<Draw>(static_cast<std::size_t>(passes_), Draw{.step = step, .samples = {0}});
  }

 private:
  std::thread::id owner_ = std::this_thread::get_id();
  std::atomic<std::int64_t>& last_step_;
  std::int64_t passes_;
};

TEST(Loader, DoesNotReadTheWholeTrainingAhead) {
  std::atomic<std::int64_t> last_step = -1;
  Loader loader(std::make_unique<WatchedStream>(last_step, 1), load, {.workers = 4, .end_step = 1000});
  for (std::int64_t step = 0; step < 100; ++step) {
    EXPECT_EQ(loader.next().draw.step, step);
    EXPECT_LE(last_step, step + 8) << "two passes for each worker";
    EXPECT_GE(last_step, step + 4) << "workers wait though there is work";
  }
}

TEST(Loader, MayEndWhileWorkersAreBusy) {
  std::promise<void> release;
  const auto released = release.get_future().share();
  std::promise<void> busy;
  std::atomic<bool> is_busy = false;
  std::atomic<int> unfinished = 0;
  auto loader = std::make_unique<Loader>(
      stream(),
      [&](const Draw& draw) {
        if (draw.step == 0) return load(draw);
        ++unfinished;
        if (!is_busy.exchange(true)) busy.set_value();
        released.wait();
        auto batch = load(draw);
        --unfinished;
        return batch;
      },
      LoaderOptions{.workers = 3, .end_step = kSteps});
  (void)loader->next();
  busy.get_future().wait();
  auto end = std::async(std::launch::async, [&] { loader.reset(); });
  EXPECT_EQ(end.wait_for(milliseconds(20)), std::future_status::timeout) << "a busy worker was left behind";
  release.set_value();
  end.get();
  EXPECT_EQ(unfinished, 0);
}

TEST(Loader, MayEndWhileManyPassesWait) {
  constexpr std::int64_t kPasses = 1000;
  std::atomic<std::int64_t> last_step = -1;
  std::atomic<int> loads = 0;
  {
    Loader loader(std::make_unique<WatchedStream>(last_step, kPasses),
                  [&](const Draw& draw) {
                    ++loads;
                    std::this_thread::sleep_for(milliseconds(1));
                    return load(draw);
                  },
                  {.workers = 2, .end_step = 5});
    (void)loader.next();
  }
  EXPECT_LT(loads, kPasses) << "what nobody will read was loaded";
}

TEST(Loader, MayEndBeforeItBegan) {
  for (const int workers : {0, 4}) {
    const Loader loader(stream(), [](const Draw&) -> Batch { throw BadSample("read"); },
                        {.workers = workers, .end_step = kSteps});
  }
}

TEST(Loader, RefusesANegativeNumberOfWorkers) {
  EXPECT_EQ(message_of([] { const Loader loader(stream(), load, {.workers = -1}); }),
            "expected no or some workers, got -1");
}

}  // namespace
}  // namespace quest::data
