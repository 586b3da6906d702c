#pragma once

#include <span>
#include <vector>

namespace quest::data {

// CIE L*a*b* (white of D65, seen by 2 degrees) of sRGB colours from 0 to 1, three numbers each.
[[nodiscard]] std::vector<double> lab_of(std::span<const float> rgb);

}  // namespace quest::data
