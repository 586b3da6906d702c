#include "train/liveness.h"

#include <algorithm>
#include <string>

namespace quest::train {

Liveness::Liveness(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size, Duration period)
    : store_(store->clone()),
      rank_(rank),
      period_(period),
      counts_(static_cast<std::size_t>(size), 0),
      last_change_(static_cast<std::size_t>(size), Clock::now()),
      thread_([this] { watch(); }) {}

Liveness::~Liveness() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stop_requested_.notify_all();
  thread_.join();
}

// Talks to the store without the lock: the store may take its time.
void Liveness::count() {
  const auto key = [](std::size_t rank) { return "alive/" + std::to_string(rank); };
  store_->add(key(static_cast<std::size_t>(rank_)), 1);
  for (std::size_t rank = 0; rank < counts_.size(); ++rank) {
    const std::int64_t now = store_->add(key(rank), 0);
    const std::lock_guard lock(mutex_);
    last_contact_ = Clock::now();
    if (now != counts_[rank]) last_change_[rank] = last_contact_;
    counts_[rank] = now;
  }
}

void Liveness::watch() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    lock.unlock();
    try {
      count();
    } catch (const std::exception&) {
      return;  // The store is gone, and last_contact_ will say so.
    }
    lock.lock();
    stop_requested_.wait_for(lock, period_, [this] { return stop_; });
  }
}

std::optional<int> Liveness::silent_for(Duration most) const {
  const std::lock_guard lock(mutex_);
  // What happened after the last contact nobody can know.
  const auto first = std::min_element(last_change_.begin(), last_change_.end());
  if (last_contact_ - *first >= most) return static_cast<int>(first - last_change_.begin());
  if (Clock::now() - last_contact_ >= most) return 0;
  return std::nullopt;
}

}  // namespace quest::train
