#pragma once

// Tells which process of a training has ended: each one counts in a store that all can reach, and watches the others
// count. A backend only knows that a connection broke, and a process that breaks its own in answer looks the same.

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

namespace quest::train {

class Liveness {
 public:
  using Duration = std::chrono::milliseconds;

  Liveness(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size, Duration period = std::chrono::seconds(1));
  ~Liveness();
  Liveness(const Liveness&) = delete;
  Liveness& operator=(const Liveness&) = delete;

  // The process that somebody has declared to be gone, else the one that has been silent for longest, if that is at
  // least `most`. Rank 0 answers for a lost store.
  [[nodiscard]] std::optional<int> silent_for(Duration most) const;

  // Tells all others, who then need not find out, and cannot take those who leave because of it for the cause. Returns
  // when they had time to hear it.
  void declare_gone(int rank);

 private:
  using Clock = std::chrono::steady_clock;

  void count();
  void watch();
  void leave();

  c10::intrusive_ptr<c10d::Store> store_;
  int rank_;
  Duration period_;
  mutable std::mutex mutex_;
  std::condition_variable stop_requested_;
  bool stop_ = false;
  Clock::time_point last_contact_ = Clock::now();  // with the store
  std::optional<int> declared_;
  std::vector<std::int64_t> counts_;
  std::vector<Clock::time_point> last_change_;
  std::thread thread_;
};

}  // namespace quest::train
