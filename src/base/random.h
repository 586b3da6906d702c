#pragma once

// A counter-based generator: the n-th number of a stream depends on the stream's name and n alone, so whoever draws
// first, and on how many threads, changes nothing.

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <numbers>

namespace quest::base {

class Random {
 public:
  Random(std::uint64_t seed, std::initializer_list<std::uint64_t> stream) : key_(mix(seed)) {
    for (const std::uint64_t name : stream) key_ = mix(key_ ^ mix(name + kStep));
  }

  std::uint64_t bits() { return mix(key_ + ++counter_ * kStep); }

  // In [0, 1), 53 random bits.
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

  std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>(uniform() * static_cast<double>(bound));
  }

  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }

 private:
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;

  static std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }

  std::uint64_t key_;
  std::uint64_t counter_ = 0;
};

// First name of a stream, so that no two purposes share numbers; a program of its own may have names of its own.
inline constexpr std::uint64_t kDropout = 2;
inline constexpr std::uint64_t kBatchOrder = 4;
inline constexpr std::uint64_t kValidationSplit = 6;
inline constexpr std::uint64_t kAugmentation = 7;
inline constexpr std::uint64_t kMixing = 8;

}  // namespace quest::base
