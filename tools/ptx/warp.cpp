#include "tools/ptx/warp.h"

#include <algorithm>
#include <limits>
#include <string>

#include "tools/ptx/block.h"

namespace quest::testing::ptx {

void Warp::start() {
  const Kernel& kernel = block_.kernel();
  registers_.resize(static_cast<std::size_t>(kernel.registers) * kLanes);
  state_ = State::ready;
  living_ = lanes_ = kAllLanes;
  parked_ = 0;
  place_ = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    for (const auto& [value, number] : kernel.constants) set(number, lane, value);
    for (const auto& [special, number] : kernel.specials) {
      const auto thread = static_cast<std::uint32_t>(index_ * kLanes + lane);
      set(number, lane, special == Special::thread ? thread : block_.special(special));
    }
  }
}

Actor Warp::actor(std::uint8_t lane) const { return {index_, lane, block_.order().access(index_, lane)}; }

Actor Warp::actor(Engine engine, std::uint8_t lane) const {
  return {index_, lane, block_.order().access(engine, index_, lane)};
}

bool Warp::run() {
  constexpr int kStepsToAskAgain = 2;  // a branch back and the question
  asks_ = false;
  int steps = 0;
  for (; state_ == State::ready && !asks_; ++steps) step();
  return !asks_ || steps > kStepsToAskAgain;
}

void Warp::step() {
  const Instruction& instruction = block_.kernel().instructions[static_cast<std::size_t>(place_)];
  if (instruction.meets && !all_have_met(instruction)) {
    for_each_lane([&](std::size_t lane) { places_[lane] = place_; });
    parked_ |= lanes_;
    choose_lanes();
    return;
  }
  if (instruction.meets) parked_ &= ~lanes_;
  const std::uint32_t all = lanes_;
  const int next = place_ + 1;
  if (instruction.guard != kNone) {
    for_each_lane([&](std::size_t lane) {
      if (get<bool>(instruction.guard, lane) == instruction.guard_negated) lanes_ &= ~(1U << lane);
    });
  }
  if (lanes_ != 0) {
    try {
      instruction.execute(*this, instruction);
    } catch (const Fault& fault) {
      throw Fault(block_.where(*this) + ", at '" + std::string(instruction.text) + "': " + fault.what());
    }
  }
  if (instruction.target == kNone && all == living_) {  // the usual case: everybody goes on together
    lanes_ = all;
    place_ = next;
    return;
  }
  const std::uint32_t left_behind = all & living_ & ~lanes_;
  for (std::uint32_t rest = all & living_; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const bool took_branch = instruction.target != kNone && (left_behind >> static_cast<unsigned>(lane) & 1U) == 0;
    places_[lane] = took_branch ? instruction.target : next;
  }
  choose_lanes();
}

void Warp::take_lanes_at(int place) {
  place_ = place;
  lanes_ = 0;
  for (std::uint32_t rest = living_; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    if (places_[lane] == place_) lanes_ |= 1U << static_cast<unsigned>(lane);
  }
}

void Warp::choose_lanes() {
  if (living_ == 0) {
    state_ = State::ended;
    return;
  }
  int first = std::numeric_limits<int>::max();
  for (std::uint32_t rest = living_ & ~parked_; rest != 0; rest &= rest - 1) {
    first = std::min(first, places_[std::countr_zero(rest)]);
  }
  if ((living_ & ~parked_) != 0) {
    take_lanes_at(first);
    return;
  }
  // Others may have ended since these began to wait.
  for (std::uint32_t rest = living_; rest != 0; rest &= rest - 1) {
    take_lanes_at(places_[std::countr_zero(rest)]);
    if (all_have_met(block_.kernel().instructions[static_cast<std::size_t>(place_)])) return;
  }
  throw Fault(block_.where(*this) + ": lanes wait for each other at different places");
}

bool Warp::all_have_met(const Instruction& instruction) const {
  if (lanes_ == living_) return true;
  std::uint32_t expected = kAllLanes;
  if (instruction.meeting_mask != kNone) {
    expected = get<std::uint32_t>(instruction.meeting_mask, static_cast<std::size_t>(std::countr_zero(lanes_)));
  }
  return (expected & living_ & ~lanes_) == 0;
}

}  // namespace quest::testing::ptx
