#include "tools/ptx/memory.h"

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
    message << "the address " << std::hex << address << " is no multiple of " << std::dec << bytes;
    throw Fault(message.str());
  }
}

[[noreturn]] void throw_unordered(const char* what, std::uint64_t address, const std::string& other,
                                  const char* doing) {
  throw Fault(std::string(what) + " shared memory at " + std::to_string(address) + " where " + other +
              " may still be " + doing + ": nothing orders the two");
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

SharedMemory::SharedMemory(std::size_t bytes, const Order& order)
    : order_(order), bytes_(bytes, kUnwritten), written_(bytes) {}

void SharedMemory::check(std::uint64_t address, std::size_t bytes) const {
  check_alignment(address, bytes);
  if (address + bytes > bytes_.size()) {
    throw Fault(std::to_string(bytes) + " bytes of shared memory at " + std::to_string(address) + " of " +
                std::to_string(bytes_.size()));
  }
}

void* SharedMemory::at(std::uint64_t address, std::size_t bytes) {
  check(address, bytes);
  return &bytes_[address];
}

void SharedMemory::read(std::uint64_t address, std::size_t bytes, void* to, const Actor& actor) {
  check(address, bytes);
  auto& own_reads = read_[actor.access.agent];
  own_reads.resize(bytes_.size());
  for (std::uint64_t i = address; i < address + bytes; ++i) {
    const Access& written = written_[i];
    if (!order_.is_over(written, actor.warp, actor.lane)) {
      throw_unordered("reads", i, order_.name(written), "writing");
    }
    if (is_engine(actor) && !order_.is_fenced(written, actor.warp)) {
      throw Fault("an engine reads shared memory at " + std::to_string(i) + " where " + order_.name(written) +
                  " wrote, without a fence between the two");
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
  check(address, bytes);
  std::memcpy(to, &bytes_[address], bytes);
  for (std::uint64_t i = address; i < address + bytes; ++i) {
    const bool sure = order_.is_over(written_[i], actor.warp, actor.lane) && order_.is_fenced(written_[i], actor.warp);
    if (!sure) std::memset(to, static_cast<int>(kUnwritten), bytes);
  }
}

void SharedMemory::write(std::uint64_t address, std::size_t bytes, const void* from, const Actor& actor) {
  check(address, bytes);
  const auto* values = static_cast<const std::byte*>(from);
  for (std::uint64_t i = address; i < address + bytes; ++i) {
    // Flags are set by whoever finds a reason; who comes first does not matter where all write the same.
    const bool changes = bytes_[i] != values[i - address];
    if (changes && !order_.is_over(written_[i], actor.warp, actor.lane)) {
      throw_unordered("writes", i, order_.name(written_[i]), "writing");
    }
    for (const auto& [agent, reads] : read_) {
      if (!order_.is_over(reads[i], actor.warp, actor.lane)) {
        throw_unordered("writes", i, order_.name(reads[i]), "reading");
      }
    }
    written_[i] = actor.access;
  }
  std::memcpy(&bytes_[address], from, bytes);
}

}  // namespace quest::testing::ptx
