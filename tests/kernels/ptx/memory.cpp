#include "tests/kernels/ptx/memory.h"

#include <cstring>
#include <sstream>
#include <string>

namespace quest::testing::ptx {
namespace {

// What nobody wrote reads as NaN in every type.
constexpr std::byte kUnwritten{0xFF};

void check_alignment(std::uint64_t address, std::size_t bytes) {
  if (address % bytes != 0) {
    std::ostringstream message;
    message << bytes << " bytes at the address " << std::hex << address << ", which is no multiple of that";
    throw Fault(message.str());
  }
}

[[noreturn]] void throw_hazard(const char* what, std::uint64_t address, const Access& earlier, const Order& order) {
  std::ostringstream message;
  const bool copy = earlier.agent >= order.warps();
  message << what << " shared memory at " << address << " while " << (copy ? "a copy started by " : "");
  if (earlier.lane < kAllTogether) message << "lane " << int{earlier.lane} << " of ";
  message << "warp " << earlier.agent % order.warps() << " may still be there: nothing orders the two";
  throw Fault(message.str());
}

}  // namespace

void GlobalMemory::show(const void* data, std::size_t bytes) {
  regions_[reinterpret_cast<std::uint64_t>(data)] = bytes;
}

void GlobalMemory::hide(const void* data) { regions_.erase(reinterpret_cast<std::uint64_t>(data)); }

void* GlobalMemory::at(std::uint64_t address, std::size_t bytes) {
  check_alignment(address, bytes);
  auto region = regions_.upper_bound(address);
  if (region == regions_.begin() || address + bytes > std::prev(region)->first + std::prev(region)->second) {
    std::ostringstream message;
    message << bytes << " bytes of global memory at " << std::hex << address << " belong to nobody";
    if (region != regions_.begin()) {
      message << ", " << std::dec << address - std::prev(region)->first << " bytes into a buffer of "
              << std::prev(region)->second;
    }
    throw Fault(message.str());
  }
  return reinterpret_cast<void*>(address);
}

GlobalMemory& global_memory() {
  static GlobalMemory memory;
  return memory;
}

SharedMemory::SharedMemory(std::size_t bytes, Order& order)
    : order_(order), bytes_(bytes, kUnwritten), written_(bytes), read_(bytes * order.warps()) {}

void SharedMemory::check_range(std::uint64_t address, std::size_t bytes) const {
  check_alignment(address, bytes);
  if (address + bytes > bytes_.size()) {
    throw Fault(std::to_string(bytes) + " bytes of shared memory at " + std::to_string(address) + " of " +
                std::to_string(bytes_.size()));
  }
}

void SharedMemory::read(std::uint64_t address, std::size_t bytes, void* to, std::size_t warp, std::uint8_t lane) {
  check_range(address, bytes);
  const Access access = order_.access(warp, lane);
  for (std::uint64_t i = address; i < address + bytes; ++i) {
    if (!order_.is_over(written_[i], warp, lane)) throw_hazard("reads", i, written_[i], order_);
    Access& last = read_[i * order_.warps() + warp];
    if (last.time != access.time || last.lane == kAllTogether) {
      last = access;
    } else if (last.lane != lane && lane != kAllTogether) {
      last.lane = kSeveralLanes;
    }
  }
  std::memcpy(to, &bytes_[address], bytes);
}

void SharedMemory::overwrite(std::uint64_t address, std::size_t bytes, const void* from, std::size_t warp,
                             std::uint8_t lane, const Access& access) {
  check_range(address, bytes);
  for (std::uint64_t i = address; i < address + bytes; ++i) {
    if (!order_.is_over(written_[i], warp, lane)) throw_hazard("writes", i, written_[i], order_);
    for (std::size_t reader = 0; reader < order_.warps(); ++reader) {
      const Access& last = read_[i * order_.warps() + reader];
      if (!order_.is_over(last, warp, lane)) throw_hazard("overwrites", i, last, order_);
    }
    written_[i] = access;
  }
  std::memcpy(&bytes_[address], from, bytes);
}

void SharedMemory::write(std::uint64_t address, std::size_t bytes, const void* from, std::size_t warp,
                         std::uint8_t lane) {
  overwrite(address, bytes, from, warp, lane, order_.access(warp, lane));
}

void SharedMemory::copy_in(std::uint64_t address, std::size_t bytes, const void* from, std::size_t warp,
                           std::uint8_t lane) {
  overwrite(address, bytes, from, warp, lane, order_.copy(warp, lane));
}

}  // namespace quest::testing::ptx
