#include "tests/kernels/ptx/memory.h"

#include <cstring>
#include <sstream>
#include <string>

namespace quest::testing::ptx {
namespace {

// What nobody wrote reads as NaN in every type.
constexpr std::byte kUnwritten{0xFF};

void check_alignment(std::uint64_t address, std::size_t alignment) {
  if (address % alignment != 0) {
    std::ostringstream message;
    message << "the address " << std::hex << address << " is no multiple of " << std::dec << alignment;
    throw Fault(message.str());
  }
}

std::string place_of(const char* what, std::uint64_t address, const Access& earlier, const Order& order) {
  std::ostringstream message;
  message << what << " shared memory at " << address << " where ";
  if (earlier.agent >= order.warps()) message << "an engine started by ";
  if (earlier.lane < kAllTogether) message << "lane " << int{earlier.lane} << " of ";
  message << "warp " << earlier.agent % order.warps();
  return message.str();
}

}  // namespace

void GlobalMemory::show(const void* data, std::size_t bytes) {
  regions_[reinterpret_cast<std::uint64_t>(data)] = bytes;
}

void GlobalMemory::hide(const void* data) { regions_.erase(reinterpret_cast<std::uint64_t>(data)); }

void* GlobalMemory::at(std::uint64_t address, std::size_t bytes, std::size_t alignment) {
  check_alignment(address, alignment);
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

SharedMemory::SharedMemory(std::size_t bytes, const Order& order)
    : order_(order), bytes_(bytes, kUnwritten), written_(bytes) {}

void SharedMemory::check_range(std::uint64_t address, std::size_t bytes) const {
  if (address + bytes > bytes_.size()) {
    throw Fault(std::to_string(bytes) + " bytes of shared memory at " + std::to_string(address) + " of " +
                std::to_string(bytes_.size()));
  }
}

void* SharedMemory::at(std::uint64_t address, std::size_t bytes) {
  check_alignment(address, bytes);
  check_range(address, bytes);
  return &bytes_[address];
}

void SharedMemory::read(std::uint64_t address, std::size_t bytes, void* to, const Actor& actor) {
  check_alignment(address, bytes);
  check_range(address, bytes);
  auto& own_reads = read_[actor.access.agent];
  own_reads.resize(bytes_.size());
  for (std::uint64_t i = address; i < address + bytes; ++i) {
    const Access& written = written_[i];
    if (!order_.is_over(written, actor.warp, actor.lane)) {
      throw Fault(place_of("reads", i, written, order_) + " may still be writing: nothing orders the two");
    }
    if (is_engine(actor) && !order_.is_fenced(written, actor.warp)) {
      throw Fault("an engine " + place_of("reads", i, written, order_) + " wrote, without a fence between the two");
    }
    Access& last = own_reads[i];
    if (last.time != actor.access.time || last.lane == kAllTogether) {
      last = actor.access;
    } else if (last.lane != actor.access.lane && actor.access.lane != kAllTogether) {
      last.lane = kSeveralLanes;
    }
  }
  std::memcpy(to, &bytes_[address], bytes);
}

void SharedMemory::peek(std::uint64_t address, std::size_t bytes, void* to, const Actor& actor) const {
  check_alignment(address, bytes);
  check_range(address, bytes);
  std::memcpy(to, &bytes_[address], bytes);
  for (std::uint64_t i = address; i < address + bytes; ++i) {
    const bool sure = order_.is_over(written_[i], actor.warp, actor.lane) && order_.is_fenced(written_[i], actor.warp);
    if (!sure) std::memset(to, static_cast<int>(kUnwritten), bytes);
  }
}

void SharedMemory::write(std::uint64_t address, std::size_t bytes, const void* from, const Actor& actor) {
  check_alignment(address, bytes);
  check_range(address, bytes);
  const auto* values = static_cast<const std::byte*>(from);
  for (std::uint64_t i = address; i < address + bytes; ++i) {
    // Flags are set by whoever finds a reason; who comes first does not matter where all write the same.
    const bool changes = bytes_[i] != values[i - address];
    if (changes && !order_.is_over(written_[i], actor.warp, actor.lane)) {
      throw Fault(place_of("writes", i, written_[i], order_) + " may still be writing: nothing orders the two");
    }
    for (const auto& [agent, reads] : read_) {
      if (!order_.is_over(reads[i], actor.warp, actor.lane)) {
        throw Fault(place_of("writes", i, reads[i], order_) + " may still be reading: nothing orders the two");
      }
    }
    written_[i] = actor.access;
  }
  std::memcpy(&bytes_[address], from, bytes);
}

}  // namespace quest::testing::ptx
