#include "bench/step_turns.h"

#include <stdexcept>
#include <utility>

namespace quest::bench {
namespace {

struct Ended {};

}  // namespace

TurnThread::TurnThread(std::function<void(const std::function<void()>&)> work)
    : work_(std::move(work)), thread_([this] { run(); }) {}

TurnThread::~TurnThread() {
  if (!is_over_) {
    is_ending_ = true;
    turn_.release();
  }
  thread_.join();
}

void TurnThread::run() {
  turn_.acquire();
  try {
    if (!is_ending_) work_([this] { pause(); });
  } catch (const Ended&) {  // as the destructor asked
  } catch (...) {
    problem_ = std::current_exception();
  }
  is_over_ = true;
  turn_is_over_.release();
}

void TurnThread::pause() {
  turn_is_over_.release();
  turn_.acquire();
  if (is_ending_) throw Ended{};
}

void TurnThread::resume() {
  if (is_over_) throw std::logic_error("work that is over has no further turn");
  turn_.release();
  turn_is_over_.acquire();
  if (problem_) std::rethrow_exception(std::exchange(problem_, nullptr));
}

}  // namespace quest::bench
