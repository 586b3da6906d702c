#include "data/sets/holdout.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <stdexcept>

#include "base/random.h"

namespace quest::data {

Holdout stratified_holdout(std::span<const std::int64_t> labels, std::span<const std::string> classes, double share,
                           std::uint64_t seed) {
  std::vector<std::vector<std::int64_t>> cases(classes.size());
  for (std::size_t i = 0; i < labels.size(); ++i) cases[labels[i]].push_back(static_cast<std::int64_t>(i));
  Holdout result;
  for (std::size_t label = 0; label < classes.size(); ++label) {
    auto& own = cases[label];
    if (own.size() < 2) {
      throw std::runtime_error("the class \"" + classes[label] + "\" has " + std::to_string(own.size()) +
                               " training case; holding some back for validation needs two of every class, so train "
                               "with data.protocol = \"paper\"");
    }
    base::Random random(seed, {base::kValidationSplit, label});
    for (std::size_t i = own.size(); i > 1; --i) std::swap(own[i - 1], own[random.below(i)]);
    const auto wanted = std::lround(share * static_cast<double>(own.size()));
    const auto held = std::clamp<std::int64_t>(wanted, 1, std::ssize(own) - 1);
    result.validation.insert(result.validation.end(), own.begin(), own.begin() + held);
    result.training.insert(result.training.end(), own.begin() + held, own.end());
  }
  std::ranges::sort(result.training);
  std::ranges::sort(result.validation);
  return result;
}

}  // namespace quest::data
