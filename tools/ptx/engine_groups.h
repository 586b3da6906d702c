#pragma once

// What engines are told to do comes in groups, which are closed and waited for in turn.

#include "tools/ptx/block.h"

namespace quest::testing::ptx {

template <Engine engine>
void commit_group(Warp& warp, const Instruction&) {
  warp.block().order().commit(engine, warp.index());
}

// The operand: how many groups may still be under way.
template <Engine engine>
void await_groups(Warp& warp, const Instruction& instruction) {
  warp.block().order().await(engine, warp.index(), warp.get<std::uint32_t>(instruction.operands[0], 0));
}

}  // namespace quest::testing::ptx
