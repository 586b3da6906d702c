// Loops that take turns, and work ahead that rests meanwhile.

#include "bench/step_turns.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "bench/step_gate.h"

namespace quest::bench {
namespace {

TEST(TurnThread, WorksOnlyWhileItHasItsTurn) {
  std::string order;
  TurnThread thread([&order](const auto& pause) {
    for (const char* word : {"a", "b"}) {
      order += word;
      pause();
    }
    order += "c";
  });
  EXPECT_EQ(order, "") << "nothing before the first turn";
  for (const char* expected : {"a1", "a1b2"}) {
    thread.resume();
    order += std::to_string(1 + order.size() / 2);
    EXPECT_EQ(order, expected);
    EXPECT_FALSE(thread.is_over());
  }
  thread.resume();
  EXPECT_EQ(order, "a1b2c");
  EXPECT_TRUE(thread.is_over());
  EXPECT_THROW(thread.resume(), std::logic_error);
}

TEST(TurnThread, ThrowsWhatTheWorkThrew) {
  TurnThread thread([](const auto& pause) {
    pause();
    throw std::runtime_error("the disk is full");
  });
  thread.resume();
  EXPECT_THROW(thread.resume(), std::runtime_error);
  EXPECT_TRUE(thread.is_over());
  EXPECT_THROW(thread.resume(), std::logic_error);
}

TEST(TurnThread, EndsInTheMiddleOfTheWorkAndCleansUp) {
  bool cleaned = false;
  bool went_on = false;
  {
    TurnThread thread([&](const auto& pause) {
      const auto clean = [&](int*) { cleaned = true; };
      int something = 0;
      const std::unique_ptr<int, decltype(clean)> guard(&something, clean);
      pause();
      went_on = true;
    });
    thread.resume();
    EXPECT_FALSE(cleaned);
  }
  EXPECT_TRUE(cleaned);
  EXPECT_FALSE(went_on);
}

TEST(TurnThread, ThatNeverHadATurnEndsToo) {
  bool begun = false;
  {
    const TurnThread thread([&](const auto& /*pause*/) { begun = true; });
  }
  EXPECT_FALSE(begun);
}

TEST(Gate, NobodyIsInsideWhenItIsClosed) {
  Gate gate;
  std::atomic<int> passages = 0;
  std::atomic<int> inside = 0;
  std::atomic<bool> is_over = false;
  std::vector<std::jthread> workers;
  for (int i = 0; i < 3; ++i) {
    workers.emplace_back([&] {
      while (!is_over) {
        const Gate::Passage passage(gate);
        ++inside;
        ++passages;
        std::this_thread::yield();
        --inside;
      }
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(passages, 0) << "closed at first";
  for (int turn = 0; turn < 100; ++turn) {
    const int before = passages;
    gate.open();
    while (passages == before) std::this_thread::yield();
    gate.close();
    ASSERT_EQ(inside, 0);
    const int closed_at = passages;
    std::this_thread::yield();
    ASSERT_EQ(passages, closed_at);
  }
  is_over = true;
  gate.open();
}

TEST(SpendProcessorTime, TakesThatMuchOfTheThreadsOwn) {
  const double begin = base::steady_seconds();
  spend_processor_time(0.02);
  EXPECT_GE(base::steady_seconds() - begin, 0.0199);
  spend_processor_time(0.0);
}

}  // namespace
}  // namespace quest::bench
