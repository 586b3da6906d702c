#pragma once

// Which accesses to shared memory are known to have happened before others: vector clocks of the warps of a block and
// of the asynchronous copies that each of them starts.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace quest::testing::ptx {

inline constexpr std::uint8_t kSeveralLanes = 255;
// An instruction that all lanes execute together has read before any of them goes on.
inline constexpr std::uint8_t kAllTogether = 254;

// A warp's copies are agents of their own, numbered after the warps. Time 0: never.
struct Access {
  std::uint32_t time = 0;
  std::uint16_t agent = 0;
  std::uint8_t lane = 0;
};

// The latest time of every agent that someone knows of.
class Clock {
 public:
  explicit Clock(std::size_t agents = 0) : times_(agents) {}
  std::uint32_t& operator[](std::size_t agent) { return times_[agent]; }
  std::uint32_t operator[](std::size_t agent) const { return times_[agent]; }
  void join(const Clock& other) {
    times_.resize(std::max(times_.size(), other.times_.size()));
    for (std::size_t i = 0; i < other.times_.size(); ++i) times_[i] = std::max(times_[i], other.times_[i]);
  }

 private:
  std::vector<std::uint32_t> times_;
};

class Order {
 public:
  explicit Order(std::size_t warps)
      : warps_(warps), known_(warps, Clock(2 * warps)), now_(2 * warps, 1), awaited_(warps), committed_(warps) {}

  [[nodiscard]] std::size_t warps() const { return warps_; }

  [[nodiscard]] Access access(std::size_t warp, std::uint8_t lane) const {
    return {now_[warp], static_cast<std::uint16_t>(warp), lane};
  }
  [[nodiscard]] Access copy(std::size_t warp, std::uint8_t lane) const {
    return {now_[copies(warp)], static_cast<std::uint16_t>(copies(warp)), lane};
  }

  // Whether a lane may rely on an earlier access being over.
  [[nodiscard]] bool is_over(const Access& earlier, std::size_t warp, std::uint8_t lane) const {
    if (earlier.time == 0) return true;
    if (earlier.agent == warp) {
      return earlier.lane == lane || earlier.lane == kAllTogether || earlier.time < now_[warp];
    }
    const bool own_copy = earlier.agent == copies(warp) && earlier.lane == lane;
    return earlier.time <= known_[warp][earlier.agent] || (own_copy && earlier.time <= awaited_[warp]);
  }

  // All lanes of the warp have met.
  void meet(std::size_t warp) {
    known_[warp][copies(warp)] = std::max(known_[warp][copies(warp)], awaited_[warp]);
    ++now_[warp];
  }

  // What those learn who wait for the warp at this point.
  Clock release(std::size_t warp) {
    Clock released = known_[warp];
    released[warp] = now_[warp];
    released[copies(warp)] = std::max(released[copies(warp)], awaited_[warp]);
    meet(warp);
    return released;
  }
  void acquire(std::size_t warp, const Clock& released) { known_[warp].join(released); }

  void commit_copies(std::size_t warp) { committed_[warp].push_back(now_[copies(warp)]++); }
  void await_copies(std::size_t warp, std::size_t still_pending) {
    while (committed_[warp].size() > still_pending) {
      awaited_[warp] = committed_[warp].front();
      committed_[warp].pop_front();
    }
  }
  // What those learn who wait for all copies started so far.
  Clock release_copies(std::size_t warp) {
    Clock released(2 * warps_);
    released[copies(warp)] = now_[copies(warp)]++;
    return released;
  }

 private:
  [[nodiscard]] std::size_t copies(std::size_t warp) const { return warps_ + warp; }

  std::size_t warps_;
  std::vector<Clock> known_;
  std::vector<std::uint32_t> now_;
  std::vector<std::uint32_t> awaited_;
  std::vector<std::deque<std::uint32_t>> committed_;
};

}  // namespace quest::testing::ptx
