#pragma once

// RandAugment as timm has it: a few operations drawn from fifteen, applied to every other picture, with a magnitude
// drawn around a given one. Written as timm writes it: "rand-m9-mstd0.5-inc1".

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/random.h"
#include "data/augment/geometry.h"

namespace quest::data {

inline constexpr double kMostMagnitude = 10.0;

struct RandAugment {
  int operations = 2;      // "n": drawn for each picture
  double magnitude = 9.0;  // "m"
  double deviation = 0.0;  // "mstd"

  bool operator==(const RandAugment&) const = default;
};

// Nothing for a text that does not begin with "rand". Throws std::invalid_argument for one that is not understood.
[[nodiscard]] std::optional<RandAugment> parse_rand_augment(std::string_view text);

struct RandOperation {
  std::string_view name;  // timm's
  bool has_sign;          // goes both ways, at random
  // The magnitude is from 0 to kMostMagnitude, below 0 for the other way.
  Picture (*apply)(Picture picture, double magnitude, const Color& outside);
};

// In timm's order.
[[nodiscard]] std::span<const RandOperation> rand_operations();

[[nodiscard]] Picture apply(const RandAugment& policy, Picture picture, const Color& outside, base::Random& random);

}  // namespace quest::data
