#include "data/augment/augment_options.h"

#include <stdexcept>

#include "data/augment/rand_augment.h"

namespace quest::data {
namespace {

std::string policy_problem(const AugmentOptions& options) {
  const auto& policy = options.policy;
  if (policy == "none" || policy == "3-augment") return "";
  try {
    if (!parse_rand_augment(policy)) {
      return R"(augment.policy must be "none", "3-augment" or RandAugment's, such as "rand-m9-mstd0.5-inc1"; got ")" +
             policy + "\"";
    }
  } catch (const std::invalid_argument& problem) {
    return std::string("augment.policy: ") + problem.what();
  }
  if (options.color_jitter == 0.0) return "";
  return "augment.color_jitter is not applied beside RandAugment; set it to 0, or augment.policy to \"none\" or "
         "\"3-augment\"";
}

}  // namespace

std::string problem_of(const AugmentOptions& options) {
  if (auto problem = policy_problem(options); !problem.empty()) return problem;
  const auto& [mean, deviation] = options.statistics;
  if (mean.size() != deviation.size() || (mean.size() != 1 && mean.size() != 3)) {
    return "augment.mean and augment.deviation must have a number for each channel, three or one; got " +
           std::to_string(mean.size()) + " and " + std::to_string(deviation.size());
  }
  if (options.crop == Crop::simple && options.image_size > 0 && 2 * options.padding >= options.image_size) {
    return "augment.padding must be below half of an image's side of " + std::to_string(options.image_size) +
           " pixels; got " + std::to_string(options.padding);
  }
  return "";
}

}  // namespace quest::data
