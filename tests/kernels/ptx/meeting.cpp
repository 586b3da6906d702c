// Where lanes and warps meet: barriers, votes and shuffles. And where they part or end.

#include <array>

#include "tests/kernels/ptx/block.h"
#include "tests/kernels/ptx/decode.h"

namespace quest::testing::ptx {
namespace {

void wait_for_block(Warp& warp, const Instruction& instruction) {
  const auto& at = instruction.operands;
  warp.block().wait_at_barrier(warp, warp.get<std::uint32_t>(at[0], 0),
                               at.size() > 1 ? warp.get<std::uint32_t>(at[1], 0) : 0);
}

void reduce_over_block(Warp& warp, const Instruction& instruction) {
  const auto& at = instruction.operands;
  warp.block().reduce_at_barrier(warp, warp.get<std::uint32_t>(at[1], 0), at[0], at[2]);
}

void meet_within_warp(Warp& warp, const Instruction&) { warp.block().order().meet(warp.index()); }

template <bool all>
void vote(Warp& warp, const Instruction& instruction) {
  bool result = all;
  warp.for_each_lane([&](std::size_t lane) {
    const bool own = warp.get<bool>(instruction.operands[1], lane);
    result = all ? result && own : result || own;
  });
  warp.for_each_lane([&](std::size_t lane) { warp.set(instruction.operands[0], lane, result); });
}

void ballot(Warp& warp, const Instruction& instruction) {
  std::uint32_t votes = 0;
  warp.for_each_lane([&](std::size_t lane) {
    if (warp.get<bool>(instruction.operands[1], lane)) votes |= 1U << lane;
  });
  warp.for_each_lane([&](std::size_t lane) { warp.set(instruction.operands[0], lane, votes); });
}

// Operands: result, whether the source was in range, value, lane or mask, clamp and segments, lanes that take part.
template <bool butterfly>
void shuffle(Warp& warp, const Instruction& instruction) {
  const auto& at = instruction.operands;
  std::array<std::uint32_t, kLanes> values{};
  warp.for_each_lane([&](std::size_t lane) { values[lane] = warp.get<std::uint32_t>(at[2], lane); });
  std::array<std::uint32_t, kLanes> sources{};
  std::array<bool, kLanes> in_range{};
  warp.for_each_lane([&](std::size_t lane) {
    const auto by = warp.get<std::uint32_t>(at[3], lane);
    const auto limits = warp.get<std::uint32_t>(at[4], lane);
    const std::uint32_t segments = limits >> 8U & 31U;
    const auto own = static_cast<std::uint32_t>(lane);
    const std::uint32_t last = (own & segments) | (limits & 31U & ~segments);
    const std::uint32_t source = butterfly ? own ^ by : (own & segments) | (by & 31U & ~segments);
    in_range[lane] = source <= last;
    sources[lane] = in_range[lane] ? source : own;
    if ((warp.lanes() >> sources[lane] & 1U) == 0) throw Fault("a shuffle reads a lane that takes no part");
  });
  warp.for_each_lane([&](std::size_t lane) {
    warp.set(at[0], lane, values[sources[lane]]);
    warp.set(at[1], lane, in_range[lane]);
  });
}

void set_up_barrier(Warp& warp, const Instruction& instruction) {
  warp.for_each_lane([&](std::size_t lane) {
    warp.block().set_up_barrier(warp.get<std::uint32_t>(instruction.operands[0], lane),
                                warp.get<std::uint32_t>(instruction.operands[1], lane));
  });
}

void arrive(Warp& warp, const Instruction& instruction) {
  const Clock released = warp.block().order().release(warp.index());
  warp.for_each_lane(
      [&](std::size_t lane) { warp.block().arrive(warp.get<std::uint32_t>(instruction.operands[1], lane), released); });
}

void arrive_after_copies(Warp& warp, const Instruction& instruction) {
  const Clock released = warp.block().order().release_copies(warp.index());
  warp.for_each_lane(
      [&](std::size_t lane) { warp.block().arrive(warp.get<std::uint32_t>(instruction.operands[0], lane), released); });
}

void test_barrier(Warp& warp, const Instruction& instruction) {
  const auto& at = instruction.operands;
  warp.for_each_lane([&](std::size_t lane) {
    const bool passed =
        warp.block().has_passed(warp.get<std::uint32_t>(at[1], lane), warp.get<std::uint32_t>(at[2], lane), warp);
    warp.set(at[0], lane, passed);
    if (!passed) warp.asked_in_vain();
  });
}

void go_on(Warp&, const Instruction&) {}

void end(Warp& warp, const Instruction&) { warp.end_lanes(); }

Execute barrier_in_shared_memory(const Name& name) {
  if (name[1] == "init") return set_up_barrier;
  if (name[1] == "arrive") return arrive;
  return name[1] == "test_wait" && has_part(name, "parity") ? test_barrier : nullptr;
}

Execute meeting_of_lanes(const Name& name, Instruction& instruction) {
  instruction.meets = true;
  if (name[0] == "bar" && name[1] == "sync") return wait_for_block;
  if (name[0] == "bar" && name[1] == "red" && has_part(name, "or")) return reduce_over_block;
  instruction.meeting_mask = instruction.operands.back();
  if (name[0] == "bar" && name[1] == "warp") return meet_within_warp;
  if (name[0] == "vote" && has_part(name, "any")) return vote<false>;
  if (name[0] == "vote" && has_part(name, "all")) return vote<true>;
  if (name[0] == "vote" && has_part(name, "ballot")) return ballot;
  if (name[0] == "shfl" && instruction.operands.size() == 6) {
    if (has_part(name, "bfly")) return shuffle<true>;
    if (has_part(name, "idx")) return shuffle<false>;
  }
  return nullptr;
}

}  // namespace

Execute meeting(const Name& name, Instruction& instruction) {
  if (name[0] == "bra") return go_on;
  if (name[0] == "ret" || name[0] == "exit") return end;
  if (name[0] == "mbarrier") return barrier_in_shared_memory(name);
  if (name[0] == "cp" && has_part(name, "mbarrier") && has_part(name, "noinc")) return arrive_after_copies;
  const bool meets = name[0] == "bar" || name[0] == "vote" || name[0] == "shfl";
  return meets ? meeting_of_lanes(name, instruction) : nullptr;
}

}  // namespace quest::testing::ptx
