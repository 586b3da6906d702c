#pragma once

// From a picture as it was read to what the model sees of it, for training and for evaluation.

#include <optional>

#include "base/random.h"
#include "data/augment/augment_options.h"
#include "data/augment/rand_augment.h"

namespace quest::data {

// Serves any number of threads.
class Augmenter {
 public:
  // Throws std::invalid_argument for options that do not go together.
  explicit Augmenter(const AugmentOptions& options);

  // Squares of image_size pixels. Throws std::invalid_argument for a picture that would need augment.crop and has none.
  [[nodiscard]] Picture training(const Picture& picture, base::Random& random) const;
  [[nodiscard]] Picture evaluation(const Picture& picture) const;

  // The same as normalised planes [3, image_size, image_size]; for training, with random erasing.
  void write_training(const Picture& picture, base::Random& random, float* planes) const;
  void write_evaluation(const Picture& picture, float* planes) const;

 private:
  [[nodiscard]] Picture cut(const Picture& picture, base::Random& random) const;

  AugmentOptions options_;
  std::optional<RandAugment> rand_augment_;
  Color outside_;  // what geometric operations show beyond the picture: the mean colour
};

}  // namespace quest::data
