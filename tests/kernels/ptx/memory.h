#pragma once

// The memory that kernels see. Every access is checked: global memory for what a test made visible, shared memory also
// for accesses that another lane, warp or copy may still be making.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <vector>

#include "tests/kernels/ptx/order.h"

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

class SharedMemory {
 public:
  SharedMemory(std::size_t bytes, Order& order);
  void read(std::uint64_t address, std::size_t bytes, void* to, std::size_t warp, std::uint8_t lane);
  void write(std::uint64_t address, std::size_t bytes, const void* from, std::size_t warp, std::uint8_t lane);
  // By an asynchronous copy that the lane starts.
  void copy_in(std::uint64_t address, std::size_t bytes, const void* from, std::size_t warp, std::uint8_t lane);

 private:
  void check_range(std::uint64_t address, std::size_t bytes) const;
  void overwrite(std::uint64_t address, std::size_t bytes, const void* from, std::size_t warp, std::uint8_t lane,
                 const Access& access);

  Order& order_;
  std::vector<std::byte> bytes_;
  std::vector<Access> written_;
  std::vector<Access> read_;  // by each warp
};

}  // namespace quest::testing::ptx
