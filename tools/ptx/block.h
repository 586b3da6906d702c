#pragma once

// A block of warps, its shared memory and the barriers at which they meet. Warps run one after the other, each until it
// has to wait: hazards are found by what orders accesses, not by accesses in the wrong order.

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "tools/ptx/warp.h"

namespace quest::testing::ptx {

struct Launch {
  const Kernel& kernel;
  std::array<std::uint32_t, 3> grid{};
  std::uint32_t threads = 0;
  std::size_t dynamic_shared = 0;
  std::vector<std::byte> parameters;
};

// In which order blocks, and the warps of a block, have their turn.
enum class Turns { forwards, backwards };
void set_turns(Turns turns);

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

  // At a barrier, all lanes of a warp; threads: how many meet there, 0 for all of the block.
  void wait_at_barrier(Warp& warp, std::uint32_t barrier, std::uint32_t threads);
  void arrive_at_barrier(Warp& warp, std::uint32_t barrier, std::uint32_t threads);
  // Puts into a register of all that wait there whether the predicate is true for any of their lanes, or for all.
  enum class Reduction { any, all };
  void reduce_at_barrier(Warp& warp, std::uint32_t barrier, std::uint32_t threads, Reduction reduction, int result,
                         int predicate);

  // Until the products of all four warps of a group are under way, which are over together. Orders nothing else.
  void await_products_of_group(Warp& warp);

  // Barriers in shared memory, at which arriving and waiting are apart.
  void set_up_barrier(std::uint64_t address, std::uint32_t arrivals);
  void arrive(std::uint64_t address, const Knowledge& released);
  [[nodiscard]] bool has_passed(std::uint64_t address, std::uint32_t parity, const Warp& warp);
  // Bytes that a phase waits for beside the arrivals, and a lane that copies them.
  void expect_bytes(std::uint64_t address, std::uint32_t bytes);
  [[nodiscard]] Actor bulk_copier(std::uint64_t address, const Warp& warp, std::uint8_t lane);
  void complete_bytes(std::uint64_t address, std::uint32_t bytes);

 private:
  struct Barrier {
    std::vector<Warp*> waiting{};
    std::uint32_t arrived = 0;
    std::uint32_t expected = 0;
    int result = kNone;
    Reduction reduction = Reduction::any;
    bool any = false;
    bool all = true;
    Knowledge released{};
  };
  struct SharedBarrier {
    std::size_t number = 0;
    std::uint32_t arrivals = 0;
    std::uint32_t missing = 0;
    std::int64_t missing_bytes = 0;
    std::uint32_t phase = 0;
    std::uint32_t copies = 0;
    Knowledge arriving{};
    Knowledge passed{};
  };

  Barrier& arrival(const Warp& warp, std::uint32_t barrier, std::uint32_t threads);
  void pass_if_complete(Barrier& barrier);
  void pass_complete_barriers();
  SharedBarrier& shared_barrier(std::uint64_t address);
  static void pass_if_complete(SharedBarrier& barrier);

  const Launch& launch_;
  std::array<std::uint32_t, 3> index_{};
  Order order_;
  std::optional<SharedMemory> shared_;
  std::deque<Warp> warps_;
  std::map<std::uint32_t, Barrier> barriers_;
  std::map<std::size_t, std::vector<Warp*>> groups_;  // the warps of each that have come to wait for products
  std::map<std::uint64_t, SharedBarrier> shared_barriers_;
};

}  // namespace quest::testing::ptx
