#include "tools/ptx/block.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

namespace quest::testing::ptx {
namespace {

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                         std::free);
  return status == 0 ? text.get() : name;
}

Turns& turns() {
  static Turns value = Turns::forwards;
  return value;
}

// The one whose turn it is at the given step.
std::size_t turn(std::size_t step, std::size_t count) { return turns() == Turns::forwards ? step : count - 1 - step; }

}  // namespace

void set_turns(Turns value) { turns() = value; }

Block::Block(const Launch& launch) : launch_(launch), order_(launch.threads / kLanes) {
  for (std::size_t warp = 0; warp < order_.warps(); ++warp) warps_.emplace_back(*this, warp);
}

std::uint32_t Block::special(Special name) const {
  switch (name) {
    case Special::block_x:
      return index_[0];
    case Special::block_y:
      return index_[1];
    case Special::block_z:
      return index_[2];
    case Special::threads:
      return launch_.threads;
    case Special::blocks_x:
      return launch_.grid[0];
    case Special::blocks_y:
      return launch_.grid[1];
    case Special::thread:
      break;
  }
  return 0;
}

std::string Block::where(const Warp& warp) const {
  return demangled(kernel().name) + ", block " + std::to_string(index_[0]) + ", warp " + std::to_string(warp.index());
}

void Block::run(const std::array<std::uint32_t, 3>& index) {
  index_ = index;
  order_ = Order(warps_.size());
  shared_.emplace(kernel().dynamic_shared() + launch_.dynamic_shared, order_);
  barriers_.clear();
  groups_.clear();
  shared_barriers_.clear();
  for (Warp& warp : warps_) warp.start();
  bool progress = true;
  while (progress) {
    progress = false;
    for (std::size_t step = 0; step < warps_.size(); ++step) {
      Warp& warp = warps_[turn(step, warps_.size())];
      if (warp.state() == Warp::State::ready && warp.run()) progress = true;
    }
    pass_complete_barriers();
  }
  for (const Warp& warp : warps_) {
    if (warp.state() != Warp::State::ended) throw Fault(where(warp) + ": waits for ever at a barrier");
  }
}

Block::Barrier& Block::arrival(const Warp& warp, std::uint32_t barrier, std::uint32_t threads) {
  Barrier& met = barriers_[barrier];
  met.expected = threads;
  met.arrived += kLanes;
  met.released.join(order_.release(warp.index(), /*all_lanes=*/true));
  return met;
}

void Block::wait_at_barrier(Warp& warp, std::uint32_t barrier, std::uint32_t threads) {
  Barrier& met = arrival(warp, barrier, threads);
  met.waiting.push_back(&warp);
  warp.wait();
  pass_if_complete(met);
}

void Block::arrive_at_barrier(Warp& warp, std::uint32_t barrier, std::uint32_t threads) {
  pass_if_complete(arrival(warp, barrier, threads));
}

void Block::reduce_at_barrier(Warp& warp, std::uint32_t barrier, std::uint32_t threads, Reduction reduction, int result,
                              int predicate) {
  Barrier& met = barriers_[barrier];
  met.result = result;
  met.reduction = reduction;
  warp.for_each_lane([&](std::size_t lane) {
    const bool own = warp.get<bool>(predicate, lane);
    met.any |= own;
    met.all &= own;
  });
  wait_at_barrier(warp, barrier, threads);
}

void Block::pass_if_complete(Barrier& barrier) {
  const auto living = static_cast<std::uint32_t>(
      std::count_if(warps_.begin(), warps_.end(), [](const Warp& warp) { return warp.state() != Warp::State::ended; }));
  if (barrier.arrived == 0 || barrier.arrived < (barrier.expected == 0 ? living * kLanes : barrier.expected)) return;
  for (Warp* warp : barrier.waiting) {
    order_.acquire(warp->index(), barrier.released);
    for (std::size_t lane = 0; barrier.result != kNone && lane < kLanes; ++lane) {
      warp->set(barrier.result, lane, barrier.reduction == Reduction::any ? barrier.any : barrier.all);
    }
    warp->go_on();
  }
  barrier = {};
}

void Block::await_products_of_group(Warp& warp) {
  constexpr std::size_t kWarpsOfGroup = 4;
  const std::size_t group = warp.index() / kWarpsOfGroup;
  auto& waiting = groups_[group];
  waiting.push_back(&warp);
  warp.wait();
  if (waiting.size() < kWarpsOfGroup) return;
  order_.share_products(group * kWarpsOfGroup, kWarpsOfGroup);
  for (Warp* other : std::exchange(waiting, {})) other->go_on();
}

// Those that wait for everybody who has not ended.
void Block::pass_complete_barriers() {
  for (auto& [name, barrier] : barriers_) pass_if_complete(barrier);
}

void Block::set_up_barrier(std::uint64_t address, std::uint32_t arrivals) {
  const std::size_t number = shared_barriers_.size();
  SharedBarrier& barrier = shared_barriers_.try_emplace(address, SharedBarrier{.number = number}).first->second;
  barrier.arrivals = barrier.missing = arrivals;
  barrier.phase = 0;
}

Block::SharedBarrier& Block::shared_barrier(std::uint64_t address) {
  const auto found = shared_barriers_.find(address);
  if (found == shared_barriers_.end()) {
    throw Fault("no barrier was set up in shared memory at " + std::to_string(address));
  }
  return found->second;
}

void Block::pass_if_complete(SharedBarrier& barrier) {
  if (barrier.missing != 0 || barrier.missing_bytes != 0) return;
  ++barrier.phase;
  barrier.missing = barrier.arrivals;
  barrier.passed = std::exchange(barrier.arriving, Knowledge());
}

void Block::arrive(std::uint64_t address, const Knowledge& released) {
  SharedBarrier& barrier = shared_barrier(address);
  if (barrier.missing == 0) throw Fault("more arrivals at a barrier than it was set up for");
  barrier.arriving.join(released);
  --barrier.missing;
  pass_if_complete(barrier);
}

bool Block::has_passed(std::uint64_t address, std::uint32_t parity, const Warp& warp) {
  const SharedBarrier& barrier = shared_barrier(address);
  if (barrier.phase % 2 == parity) return false;
  order_.acquire(warp.index(), barrier.passed);
  return true;
}

void Block::expect_bytes(std::uint64_t address, std::uint32_t bytes) { shared_barrier(address).missing_bytes += bytes; }

Actor Block::bulk_copier(std::uint64_t address, const Warp& warp, std::uint8_t lane) {
  SharedBarrier& barrier = shared_barrier(address);
  return {warp.index(), lane, order_.bulk_copy(barrier.number, ++barrier.copies, lane)};
}

void Block::complete_bytes(std::uint64_t address, std::uint32_t bytes) {
  SharedBarrier& barrier = shared_barrier(address);
  barrier.missing_bytes -= bytes;
  barrier.arriving.join(order_.release_bulk_copy(barrier.number, barrier.copies));
  pass_if_complete(barrier);
}

void run(const Launch& launch) {
  if (launch.threads == 0 || launch.threads % kLanes != 0) {
    throw Fault("a block of " + std::to_string(launch.threads) + " threads; this interpreter knows whole warps only");
  }
  Block block(launch);
  const auto [width, height, depth] = launch.grid;
  const std::size_t blocks = std::size_t{width} * height * depth;
  for (std::size_t step = 0; step < blocks; ++step) {
    const std::size_t index = turn(step, blocks);
    block.run({static_cast<std::uint32_t>(index % width), static_cast<std::uint32_t>(index / width % height),
               static_cast<std::uint32_t>(index / width / height)});
  }
}

}  // namespace quest::testing::ptx
