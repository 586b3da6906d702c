#pragma once

// Dropout as a keyed hash of (seed, batch, head, row) and the key's index, so that any entry can be drawn again in any
// order, on any device. One hash gives 16 bits to each of two keys: keys eight apart in a group of sixteen, which one
// lane of a tensor core's operand has side by side, whether keys are its rows or its columns.

#include <cstdint>

namespace quest::kernels {

inline constexpr std::uint32_t kDropoutFirstFactor = 0x7feb352dU;
inline constexpr std::uint32_t kDropoutSecondFactor = 0x846ca68bU;

// Keys whose 16 bits are below it are dropped.
constexpr std::uint32_t dropout_threshold(float p) {
  const auto nearest = static_cast<std::uint32_t>(p * 65536.0F + 0.5F);
  return nearest > 65535 ? 65535 : nearest;
}

struct DropoutRow {
  std::uint32_t first_key;
  std::uint32_t second_key;

  constexpr DropoutRow(std::uint64_t seed, std::int64_t batch, std::int64_t head, std::int64_t row)
      : first_key(0), second_key(0) {
    const std::uint64_t golden = 0x9e3779b97f4a7c15ULL;
    std::uint64_t x = mix(seed + golden);
    x = mix(x ^ (static_cast<std::uint64_t>(batch) * golden + 1));
    x = mix(x ^ (static_cast<std::uint64_t>(head) * golden + 2));
    x = mix(x ^ (static_cast<std::uint64_t>(row) * golden + 3));
    first_key = static_cast<std::uint32_t>(x);
    second_key = static_cast<std::uint32_t>(x >> 32);
  }

 private:
  static constexpr std::uint64_t mix(std::uint64_t x) {
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ULL;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
  }
};

}  // namespace quest::kernels
