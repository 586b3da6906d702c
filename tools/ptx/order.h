#pragma once

// Which accesses to shared memory are known to have happened before others: vector clocks of the warps of a block, of
// the engines that each of them sets to work, and of the copies that each barrier waits for.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace quest::testing::ptx {

inline constexpr std::uint8_t kSeveralLanes = 255;
// An instruction that all lanes execute together has read before any of them goes on.
inline constexpr std::uint8_t kAllTogether = 254;

// What works on while the warp that started it goes on, until that warp waits for it.
enum class Engine : std::uint8_t {
  copies,    // into shared memory, cp.async
  products,  // wgmma
  stores,    // from shared memory, cp.async.bulk
};
inline constexpr std::size_t kEngines = 3;

// Time 0: never.
struct Access {
  std::uint32_t time = 0;
  std::uint16_t agent = 0;
  std::uint8_t lane = 0;
};

// The latest time of every agent that someone knows of.
class Clock {
 public:
  std::uint32_t& operator[](std::size_t agent) {
    if (agent >= times_.size()) times_.resize(agent + 1);
    return times_[agent];
  }
  std::uint32_t operator[](std::size_t agent) const { return agent < times_.size() ? times_[agent] : 0; }
  void join(const Clock& other) {
    times_.resize(std::max(times_.size(), other.times_.size()));
    for (std::size_t i = 0; i < other.times_.size(); ++i) times_[i] = std::max(times_[i], other.times_[i]);
  }

 private:
  std::vector<std::uint32_t> times_;
};

// What a warp knows, and what it tells those who wait for it.
struct Knowledge {
  Clock over;    // accesses that have happened
  Clock fenced;  // ordinary ones that engines know of as well

  void join(const Knowledge& other) {
    over.join(other.over);
    fenced.join(other.fenced);
  }
};

class Order {
 public:
  explicit Order(std::size_t warps)
      : warps_(warps),
        known_(warps),
        now_((1 + kEngines) * warps, 1),
        met_(warps, 1),
        awaited_(kEngines * warps),
        started_(kEngines * warps) {}

  [[nodiscard]] std::size_t warps() const { return warps_; }

  [[nodiscard]] Access access(std::size_t warp, std::uint8_t lane) const { return access_of(warp, lane); }
  [[nodiscard]] Access access(Engine engine, std::size_t warp, std::uint8_t lane) const {
    return access_of(agent(engine, warp), lane);
  }
  // A bulk copy, by the barrier that waits for it: barriers are counted from 0.
  [[nodiscard]] Access bulk_copy(std::size_t barrier, std::uint32_t time, std::uint8_t lane) const {
    return {time, static_cast<std::uint16_t>(agent_of_barrier(barrier)), lane};
  }

  [[nodiscard]] std::string name(const Access& access) const {
    if (access.agent >= now_.size()) return "the copy engine";
    const std::string engine = access.agent >= warps_ ? "an engine started by " : "";
    const std::string lane = access.lane < kAllTogether ? "lane " + std::to_string(access.lane) + " of " : "";
    return engine + lane + "warp " + std::to_string(access.agent % warps_);
  }

  // Whether a lane may rely on an earlier access being over.
  [[nodiscard]] bool is_over(const Access& earlier, std::size_t warp, std::uint8_t lane) const {
    if (earlier.time == 0) return true;
    const bool same_lane = earlier.lane == lane || earlier.lane == kAllTogether;
    if (earlier.agent == warp) return same_lane || earlier.time < met_[warp];
    if (earlier.time <= known_[warp].over[earlier.agent]) return true;
    const bool own_engine = earlier.agent % warps_ == warp && earlier.agent < now_.size();
    return own_engine && same_lane && earlier.time <= awaited_[earlier.agent - warps_];
  }
  // Whether engines that the warp starts see an earlier ordinary access.
  [[nodiscard]] bool is_fenced(const Access& earlier, std::size_t warp) const {
    return earlier.time == 0 || earlier.agent >= warps_ || earlier.time <= known_[warp].fenced[earlier.agent];
  }

  // All lanes of the warp have met.
  void meet(std::size_t warp) { release(warp, /*all_lanes=*/true); }
  void fence(std::size_t warp) {
    known_[warp].fenced = known_[warp].over;
    known_[warp].fenced[warp] = now_[warp]++;
  }

  // What those learn who wait for the warp at this point, at which all its lanes arrive or only some: these do not
  // speak for what others have done since all met.
  Knowledge release(std::size_t warp, bool all_lanes) {
    for (std::size_t engine = 0; engine < kEngines; ++engine) {
      std::uint32_t& known = known_[warp].over[warps_ * (1 + engine) + warp];
      known = std::max(known, awaited_[warps_ * engine + warp]);
    }
    if (all_lanes) met_[warp] = ++now_[warp];
    Knowledge released = known_[warp];
    released.over[warp] = met_[warp] - 1;
    return released;
  }
  void acquire(std::size_t warp, const Knowledge& released) { known_[warp].join(released); }

  // Closes the group of what the engine was told to do since the last one.
  void commit(Engine engine, std::size_t warp) { started_[group(engine, warp)].push_back(now_[agent(engine, warp)]++); }
  void await(Engine engine, std::size_t warp, std::size_t still_pending) {
    auto& started = started_[group(engine, warp)];
    while (started.size() > still_pending) {
      awaited_[group(engine, warp)] = started.front();
      started.pop_front();
    }
  }
  // The products of a group of warps are one: who knows that its own are over knows it of the others'.
  void share_products(std::size_t first_warp, std::size_t count) {
    for (std::size_t warp = first_warp; warp < first_warp + count; ++warp) {
      for (std::size_t other = first_warp; other < first_warp + count; ++other) {
        std::uint32_t& known = known_[warp].over[agent(Engine::products, other)];
        known = std::max(known, awaited_[group(Engine::products, other)]);
      }
    }
  }
  // What those learn who wait for all copies started so far.
  Knowledge release_copies(std::size_t warp) {
    Knowledge released;
    released.over[agent(Engine::copies, warp)] = now_[agent(Engine::copies, warp)]++;
    return released;
  }
  [[nodiscard]] Knowledge release_bulk_copy(std::size_t barrier, std::uint32_t time) const {
    Knowledge released;
    released.over[agent_of_barrier(barrier)] = time;
    return released;
  }

 private:
  [[nodiscard]] Access access_of(std::size_t agent, std::uint8_t lane) const {
    return {now_[agent], static_cast<std::uint16_t>(agent), lane};
  }
  // Agents: the warps, the engines of one kind after those of the other, the barriers.
  [[nodiscard]] std::size_t group(Engine engine, std::size_t warp) const {
    return warps_ * static_cast<std::size_t>(engine) + warp;
  }
  [[nodiscard]] std::size_t agent(Engine engine, std::size_t warp) const { return warps_ + group(engine, warp); }
  [[nodiscard]] std::size_t agent_of_barrier(std::size_t barrier) const { return now_.size() + barrier; }

  std::size_t warps_;
  std::vector<Knowledge> known_;
  std::vector<std::uint32_t> now_;      // of warps and their engines
  std::vector<std::uint32_t> met_;      // since when all lanes of a warp have met
  std::vector<std::uint32_t> awaited_;  // of engines
  std::vector<std::deque<std::uint32_t>> started_;
};

}  // namespace quest::testing::ptx
