// Where lanes and warps meet: barriers, votes and shuffles. And where they part or end.

#include <array>

#include "tools/ptx/block.h"
#include "tools/ptx/decode.h"

namespace quest::testing::ptx {
namespace {

std::uint32_t threads_at(const Warp& warp, const Instruction& instruction, std::size_t operand) {
  const auto& at = instruction.operands;
  return at.size() > operand ? warp.get<std::uint32_t>(at[operand], 0) : 0;
}

void wait_for_block(Warp& warp, const Instruction& instruction) {
  const auto barrier = warp.get<std::uint32_t>(instruction.operands[0], 0);
  warp.block().wait_at_barrier(warp, barrier, threads_at(warp, instruction, 1));
}

void arrive_for_block(Warp& warp, const Instruction& instruction) {
  const auto barrier = warp.get<std::uint32_t>(instruction.operands[0], 0);
  warp.block().arrive_at_barrier(warp, barrier, threads_at(warp, instruction, 1));
}

// Operands: result, barrier, threads or none, predicate.
template <Block::Reduction reduction>
void reduce_over_block(Warp& warp, const Instruction& instruction) {
  const auto& at = instruction.operands;
  const std::uint32_t threads = at.size() == 4 ? threads_at(warp, instruction, 2) : 0;
  warp.block().reduce_at_barrier(warp, warp.get<std::uint32_t>(at[1], 0), threads, reduction, at[0], at.back());
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
  const Knowledge released = warp.block().order().release(warp.index(), warp.lanes() == kAllLanes);
  warp.for_each_lane(
      [&](std::size_t lane) { warp.block().arrive(warp.get<std::uint32_t>(instruction.operands[1], lane), released); });
}

void arrive_after_copies(Warp& warp, const Instruction& instruction) {
  const Knowledge released = warp.block().order().release_copies(warp.index());
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

// Arrives and says for how many bytes of bulk copies the phase waits as well.
void arrive_and_expect(Warp& warp, const Instruction& instruction) {
  const Knowledge released = warp.block().order().release(warp.index(), warp.lanes() == kAllLanes);
  warp.for_each_lane([&](std::size_t lane) {
    const auto barrier = warp.get<std::uint32_t>(instruction.operands[1], lane);
    warp.block().expect_bytes(barrier, warp.get<std::uint32_t>(instruction.operands[2], lane));
    warp.block().arrive(barrier, released);
  });
}

void fence_for_engines(Warp& warp, const Instruction&) { warp.block().order().fence(warp.index()); }

void go_on(Warp&, const Instruction&) {}

void end(Warp& warp, const Instruction&) { warp.end_lanes(); }

Execute barrier_in_shared_memory(const Name& name) {
  if (name[1] == "init") return set_up_barrier;
  if (name[1] == "arrive") return has_part(name, "expect_tx") ? arrive_and_expect : arrive;
  const bool asks = name[1] == "test_wait" || name[1] == "try_wait";
  return asks && has_part(name, "parity") ? test_barrier : nullptr;
}

// "bar" and "barrier.cta" are the same to whole warps.
Execute barrier_of_block(const Name& name) {
  if (has_part(name, "sync")) return wait_for_block;
  if (has_part(name, "arrive")) return arrive_for_block;
  if (!has_part(name, "red")) return nullptr;
  if (has_part(name, "or")) return reduce_over_block<Block::Reduction::any>;
  return has_part(name, "and") ? reduce_over_block<Block::Reduction::all> : nullptr;
}

Execute meeting_of_lanes(const Name& name, Instruction& instruction) {
  instruction.meets = true;
  const bool in_warp = has_part(name, "warp");
  if (name[0] == "barrier" || (name[0] == "bar" && !in_warp)) return barrier_of_block(name);
  instruction.meeting_mask = instruction.operands.back();
  if (name[0] == "bar") return meet_within_warp;
  if (name[0] == "vote" && has_part(name, "any")) return vote<false>;
  if (name[0] == "vote" && has_part(name, "all")) return vote<true>;
  if (name[0] == "vote" && has_part(name, "ballot")) return ballot;
  if (name[0] == "shfl" && instruction.operands.size() == 6) {
    if (has_part(name, "bfly")) return shuffle<true>;
    if (has_part(name, "idx")) return shuffle<false>;
  }
  return nullptr;
}

// What says something about registers, caches and other launches only.
bool does_nothing_here(const Name& name) {
  return name[0] == "setmaxnreg" || name[0] == "griddepcontrol" || (name[0] == "fence" && name[1] == "mbarrier_init");
}

}  // namespace

Execute meeting(const Name& name, Instruction& instruction) {
  if (name[0] == "bra" || does_nothing_here(name)) return go_on;
  if (name[0] == "ret" || name[0] == "exit") return end;
  if (name[0] == "mbarrier") return barrier_in_shared_memory(name);
  if (name[0] == "fence" && has_part(name, "proxy") && has_part(name, "async")) return fence_for_engines;
  if (name[0] == "cp" && has_part(name, "mbarrier") && has_part(name, "noinc")) return arrive_after_copies;
  const bool meets = name[0] == "bar" || name[0] == "barrier" || name[0] == "vote" || name[0] == "shfl";
  return meets ? meeting_of_lanes(name, instruction) : nullptr;
}

}  // namespace quest::testing::ptx
