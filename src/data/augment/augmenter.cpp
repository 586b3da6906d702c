#include "data/augment/augmenter.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "data/augment/color_jitter.h"
#include "data/augment/draws.h"

namespace quest::data {
namespace {

Color mean_color(const PixelStatistics& statistics) {
  Color color{};
  std::ranges::transform(statistics.mean, color.begin(),
                         [](double mean) { return static_cast<std::uint8_t>(rounded(255.0 * mean)); });
  return color;
}

}  // namespace

Augmenter::Augmenter(const AugmentOptions& options) : options_(options), outside_() {
  if (options.image_size < 1) {
    throw std::invalid_argument("expected an image size of at least one pixel to augment pictures for, got " +
                                std::to_string(options.image_size));
  }
  if (const auto problem = problem_of(options); !problem.empty()) throw std::invalid_argument(problem);
  if (options.statistics.mean.size() != outside_.size()) {
    throw std::invalid_argument("pictures have three channels; augment.mean and augment.deviation have one number");
  }
  outside_ = mean_color(options.statistics);
  rand_augment_ = parse_rand_augment(options.policy);
}

Picture Augmenter::cut(const Picture& picture, base::Random& random) const {
  const auto side = options_.image_size;
  switch (options_.crop) {
    case Crop::none:
      break;
    case Crop::random_resized: {
      const auto box = random_box({picture.height, picture.width}, options_.random_crop, random);
      return resized(picture, box, {side, side}, options_.interpolation);
    }
    case Crop::simple:
      return random_padded_crop(picture, {side, options_.padding, options_.edge}, options_.interpolation, random);
  }
  if (picture.height == side && picture.width == side) return picture;
  const auto given = std::to_string(picture.height) + "x" + std::to_string(picture.width);
  throw std::invalid_argument("with augment.crop = \"none\" pictures of " + std::to_string(side) + "x" +
                              std::to_string(side) + " pixels are expected, got one of " + given +
                              "; set augment.crop to \"random_resized\" or \"simple\"");
}

Picture Augmenter::training(const Picture& picture, base::Random& random) const {
  auto result = cut(picture, random);
  if (random.uniform() < options_.flip) result = mirrored(std::move(result));
  if (rand_augment_) result = apply(*rand_augment_, std::move(result), outside_, random);
  if (options_.policy == "3-augment") result = one_of_three(std::move(result), random);
  if (options_.color_jitter > 0.0) result = color_jittered(std::move(result), options_.color_jitter, random);
  return result;
}

Picture Augmenter::evaluation(const Picture& picture) const {
  const auto shorter_side = static_cast<double>(options_.image_size) / options_.evaluated_part;
  return centre_crop(picture, static_cast<std::int64_t>(shorter_side), options_.image_size, options_.interpolation);
}

void Augmenter::write_training(const Picture& picture, base::Random& random, float* planes) const {
  write_planes(training(picture, random), options_.statistics, planes);
  const PictureSize size{options_.image_size, options_.image_size};
  const auto box = erased_box(size, options_.erasing, random);
  erase(planes, size, box, random.bits());
}

void Augmenter::write_evaluation(const Picture& picture, float* planes) const {
  write_planes(evaluation(picture), options_.statistics, planes);
}

}  // namespace quest::data
