#include "bench/step_gate.h"

#include <ctime>

namespace quest::bench {
namespace {

double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  constexpr double kNanoseconds = 1e-9;
  return static_cast<double>(time.tv_sec) + kNanoseconds * static_cast<double>(time.tv_nsec);
}

}  // namespace

void Gate::open() {
  {
    const std::scoped_lock lock(mutex_);
    is_open_ = true;
  }
  changed_.notify_all();
}

void Gate::close() {
  std::unique_lock lock(mutex_);
  is_open_ = false;
  changed_.wait(lock, [this] { return inside_ == 0; });
}

Gate::Passage::Passage(Gate& gate) : gate_(gate) {
  std::unique_lock lock(gate_.mutex_);
  gate_.changed_.wait(lock, [this] { return gate_.is_open_; });
  ++gate_.inside_;
}

Gate::Passage::~Passage() {
  {
    const std::scoped_lock lock(gate_.mutex_);
    --gate_.inside_;
  }
  gate_.changed_.notify_all();
}

void spend_processor_time(double seconds) {
  const double end = thread_seconds() + seconds;
  while (thread_seconds() < end) {
  }
}

}  // namespace quest::bench
