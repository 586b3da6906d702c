#pragma once

// A block of warps, its shared memory and the barriers at which they meet. Warps run one after the other, each until it
// has to wait: hazards are found by what orders accesses, not by running them in the wrong order.

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "tests/kernels/ptx/warp.h"

namespace quest::testing::ptx {

struct Launch {
  const Kernel& kernel;
  std::array<std::uint32_t, 3> grid{};
  std::uint32_t threads = 0;
  std::size_t dynamic_shared = 0;
  std::vector<std::byte> parameters;
};

void run(const Launch& launch);

class Block {
 public:
  explicit Block(const Launch& launch);
  void run(const std::array<std::uint32_t, 3>& index);

  [[nodiscard]] const Kernel& kernel() const { return launch_.kernel; }
  [[nodiscard]] const std::vector<std::byte>& parameters() const { return launch_.parameters; }
  [[nodiscard]] std::uint32_t special(Special name) const;
  [[nodiscard]] Order& order() { return order_; }
  [[nodiscard]] SharedMemory& shared() { return *shared_; }
  [[nodiscard]] std::string where(const Warp& warp) const;

  // All lanes of a warp arrive and wait; threads: 0 for all of the block.
  void wait_at_barrier(Warp& warp, std::uint32_t barrier, std::uint32_t threads);
  // Whether any lane of the block has a true predicate; into a register when all have arrived.
  void reduce_at_barrier(Warp& warp, std::uint32_t barrier, int result, int predicate);

  // Barriers in shared memory, at which arriving and waiting are apart.
  void set_up_barrier(std::uint64_t address, std::uint32_t arrivals);
  void arrive(std::uint64_t address, const Clock& released);
  [[nodiscard]] bool has_passed(std::uint64_t address, std::uint32_t parity, const Warp& warp);

 private:
  struct Barrier {
    std::vector<Warp*> waiting{};
    std::vector<int> results{};
    std::uint32_t expected = 0;
    bool any = false;
    Clock released{};
  };
  struct SharedBarrier {
    std::uint32_t arrivals = 0;
    std::uint32_t missing = 0;
    std::uint32_t phase = 0;
    Clock arriving{};
    Clock passed{};
  };

  void pass_complete_barriers();
  SharedBarrier& shared_barrier(std::uint64_t address);

  const Launch& launch_;
  std::array<std::uint32_t, 3> index_{};
  Order order_;
  std::optional<SharedMemory> shared_;
  std::deque<Warp> warps_;
  std::map<std::uint32_t, Barrier> barriers_;
  std::map<std::uint64_t, SharedBarrier> shared_barriers_;
};

}  // namespace quest::testing::ptx
