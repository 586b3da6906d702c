#include "train/distributed/liveness.h"

#include <algorithm>
#include <string>

namespace quest::train {
namespace {
const std::string kGone = "gone";
}

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
  try {
    leave();
  } catch (const std::exception&) {
    return;  // Nobody is left to tell.
  }
}

// The process that keeps the store goes last, or the others would take its end for a failure and say so.
void Liveness::leave() {
  constexpr std::chrono::seconds kLongestFarewell{2};
  const auto end = Clock::now() + kLongestFarewell;
  auto left = static_cast<std::size_t>(store_->add("left", 1));
  while (rank_ == 0 && left < counts_.size() && Clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    left = static_cast<std::size_t>(store_->add("left", 0));
  }
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
  if (!store_->check({kGone})) return;
  const std::vector<std::uint8_t> declared = store_->get(kGone);
  const std::lock_guard lock(mutex_);
  declared_ = std::stoi(std::string(declared.begin(), declared.end()));
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
  if (declared_) return declared_;
  // What happened after the last contact nobody can know.
  const auto first = std::min_element(last_change_.begin(), last_change_.end());
  if (last_contact_ - *first >= most) return static_cast<int>(first - last_change_.begin());
  if (Clock::now() - last_contact_ >= most) return 0;
  return std::nullopt;
}

void Liveness::declare_gone(int rank) {
  if (rank == 0) return;  // and the store with it
  try {
    store_->compareSet(kGone, "", std::to_string(rank));
  } catch (const std::exception&) {
    return;
  }
  // The end of rank 0 would end the store.
  if (rank_ == 0) std::this_thread::sleep_for(3 * period_);
}

}  // namespace quest::train
