#pragma once

// Training cases held back to choose weights by, so that the test split is left alone.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace quest::data {

struct Holdout {
  std::vector<std::int64_t> training;  // both in ascending order, no case in both
  std::vector<std::int64_t> validation;
};

// Of each class the share, rounded, but at least one case on either side. The labels are places in `classes`; the seed
// alone decides which cases. Throws std::runtime_error that names a class with fewer than two cases.
[[nodiscard]] Holdout stratified_holdout(std::span<const std::int64_t> labels, std::span<const std::string> classes,
                                         double share, std::uint64_t seed);

}  // namespace quest::data
