#pragma once

// The memory that kernels see. An access has to lie at a multiple of its size, in global memory within what a test made
// visible, and in shared memory where no other lane, warp or engine may still be at work.

#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <vector>

#include "tools/ptx/order.h"

namespace quest::testing::ptx {

struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Memory of the host that kernels may touch.
class GlobalMemory {
 public:
  void show(const void* data, std::size_t bytes);
  void hide(const void* data);
  [[nodiscard]] void* at(std::uint64_t address, std::size_t bytes);

 private:
  std::map<std::uint64_t, std::size_t> regions_;
};
GlobalMemory& global_memory();

// Host memory that kernels may touch while this lives.
class Shown {
 public:
  Shown(const void* data, std::size_t bytes) : data_(data) { global_memory().show(data, bytes); }
  ~Shown() { global_memory().hide(data_); }
  Shown(const Shown&) = delete;
  Shown& operator=(const Shown&) = delete;

 private:
  const void* data_;
};

// Where the copy engine and wgmma find 16 bytes of a tile in rows of 128 bytes: the "128-byte swizzle".
inline std::uint64_t swizzled(std::uint64_t address) { return address ^ ((address >> 7U & 7U) << 4U); }

// Who touches shared memory: a lane itself, or an engine that it set to work.
struct Actor {
  std::size_t warp = 0;
  std::uint8_t lane = 0;
  Access access{};  // as the order counts it
};

class SharedMemory {
 public:
  SharedMemory(std::size_t bytes, const Order& order);
  void read(std::uint64_t address, std::size_t bytes, void* to, const Actor& actor);
  // For what will not be used: nobody has to wait for it, and what somebody may still be writing is NaN.
  void peek(std::uint64_t address, std::size_t bytes, void* to, const Actor& actor) const;
  void write(std::uint64_t address, std::size_t bytes, const void* from, const Actor& actor);
  // For atomic operations, which need no order among themselves.
  [[nodiscard]] void* at(std::uint64_t address, std::size_t bytes);

 private:
  void check(std::uint64_t address, std::size_t bytes) const;
  [[nodiscard]] bool is_engine(const Actor& actor) const { return actor.access.agent >= order_.warps(); }

  const Order& order_;
  std::vector<std::byte> bytes_;
  std::vector<Access> written_;
  std::map<std::uint16_t, std::vector<Access>> read_;  // by each agent that ever did
};

}  // namespace quest::testing::ptx
