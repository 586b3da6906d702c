#pragma once

#include <cstdint>

namespace quest::data {

// Of two bytes as Pillow blends them: cut to 0 to 255, and to whole numbers downwards.
inline std::uint8_t blended(std::uint8_t base, std::uint8_t value, float factor) {
  const float from = base;
  const float sum = from + factor * (static_cast<float>(value) - from);
  return static_cast<std::uint8_t>(sum <= 0.0F ? 0.0F : (sum >= 255.0F ? 255.0F : sum));
}

}  // namespace quest::data
