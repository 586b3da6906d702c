#include "data/augment/mixing.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/lerp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "data/augment/draws.h"

namespace quest::data {
namespace {

// The logarithm of a number from the gamma distribution, which itself may be too small for a double: Marsaglia and
// Tsang, "A simple method for generating gamma variables", 2000, and for shapes below 1 the power of a uniform number.
double log_gamma_variate(double shape, base::Random& random) {
  double boost = 0.0;
  if (shape < 1.0) {
    boost = std::log(1.0 - random.uniform()) / shape;
    shape += 1.0;
  }
  const double d = shape - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  while (true) {
    const double x = random.normal();
    const double v = 1.0 + c * x;
    if (v <= 0.0) continue;
    const double log_cube = 3.0 * std::log(v);
    if (std::log(1.0 - random.uniform()) < 0.5 * x * x + d * (1.0 - v * v * v + log_cube)) {
      return std::log(d) + log_cube + boost;
    }
  }
}

struct Decision {
  PictureBox box;
  double pixel_weight = 1.0;
  double target_weight = 1.0;
};

Decision cut_box(double kept, const PictureSize& size, base::Random& random) {
  const double ratio = std::sqrt(1.0 - kept);
  // A box is moved as a whole and then cut off at the border.
  const auto range = [&](std::int64_t length) -> std::pair<std::int64_t, std::int64_t> {
    const auto half = static_cast<std::int64_t>(static_cast<double>(length) * ratio) / 2;
    const auto centre = whole_number_to(length - 1, random);
    return {std::max(centre - half, std::int64_t{0}), std::min(centre + half, length)};
  };
  const auto [top, bottom] = range(size.height);
  const auto [left, right] = range(size.width);
  const PictureBox box{top, left, bottom - top, right - left};
  const auto area = static_cast<double>(size.height) * static_cast<double>(size.width);
  return {.box = box, .target_weight = 1.0 - static_cast<double>(box.height * box.width) / area};
}

Decision decide(const MixingOptions& options, const PictureSize& size, base::Random& random) {
  if (random.uniform() >= options.probability) return {};
  const bool has_both = options.mixup > 0.0 && options.cutmix > 0.0;
  const bool cuts = has_both ? random.uniform() < options.cutmix_share : options.cutmix > 0.0;
  const double kept = symmetric_beta(cuts ? options.cutmix : options.mixup, random);
  if (cuts) return cut_box(kept, size, random);
  return {.pixel_weight = kept, .target_weight = kept};
}

void expect_whole_groups(std::int64_t group, const Draw& draw) {
  const auto end = draw.first + std::ssize(draw.samples);
  if (draw.first % group == 0 && (end % group == 0 || end == draw.step_samples)) return;
  throw std::invalid_argument("augment.mix_group = " + std::to_string(group) +
                              " must divide the samples of every pass; one has samples " + std::to_string(draw.first) +
                              " to " + std::to_string(end - 1) + " of its step's " + std::to_string(draw.step_samples));
}

constexpr const char* kPartner = "mix_partner";
constexpr const char* kBox = "mix_box";
constexpr const char* kPixelWeight = "mix_pixel_weight";
constexpr const char* kTargetWeight = "mix_target_weight";

}  // namespace

std::vector<std::pair<std::string, at::Tensor>> MixPlan::named() const {
  if (!partner.defined()) return {};
  return {{kPartner, partner}, {kBox, box}, {kPixelWeight, pixel_weight}, {kTargetWeight, target_weight}};
}

MixPlan MixPlan::of(const Batch& batch) {
  return {batch.get(kPartner), batch.get(kBox), batch.get(kPixelWeight), batch.get(kTargetWeight)};
}

MixPlan plan_mixing(const MixingOptions& options, const Draw& draw, const PictureSize& size) {
  if (!options.mixes()) return {};
  const auto count = std::ssize(draw.samples);
  const auto group = options.group > 0 ? options.group : count;
  if (options.group > 0) expect_whole_groups(group, draw);
  MixPlan plan{.partner = at::empty({count}, at::kLong),
               .box = at::empty({count, 4}, at::kLong),
               .pixel_weight = at::empty({count}, at::kFloat),
               .target_weight = at::empty({count}, at::kFloat)};
  for (std::int64_t first = 0; first < count; first += group) {
    const auto end = std::min(first + group, count);
    base::Random random(draw.seed, {base::kMixing, static_cast<std::uint64_t>(draw.step),
                                    static_cast<std::uint64_t>(draw.first + first)});
    const auto decision = decide(options, size, random);
    for (auto i = first; i < end; ++i) {
      const auto& box = decision.box;
      plan.partner.mutable_data_ptr<std::int64_t>()[i] = first + end - 1 - i;
      std::ranges::copy(std::to_array({box.top, box.left, box.height, box.width}),
                        plan.box.mutable_data_ptr<std::int64_t>() + 4 * i);
      plan.pixel_weight.mutable_data_ptr<float>()[i] = static_cast<float>(decision.pixel_weight);
      plan.target_weight.mutable_data_ptr<float>()[i] = static_cast<float>(decision.target_weight);
    }
  }
  return plan;
}

at::Tensor inside_boxes(const at::Tensor& boxes, const PictureSize& size) {
  const auto along = [&](std::int64_t axis, std::int64_t length, at::IntArrayRef shape) {
    const auto place = at::arange(length, boxes.options()).view(shape) - boxes.select(1, axis).view({-1, 1, 1, 1});
    return (place >= 0).logical_and_(place < boxes.select(1, axis + 2).view({-1, 1, 1, 1}));
  };
  return along(0, size.height, {1, 1, -1, 1}).logical_and(along(1, size.width, {1, 1, 1, -1}));
}

at::Tensor mixed_images(const at::Tensor& images, const MixPlan& plan) {
  if (!plan.partner.defined()) return images;
  const auto inside = inside_boxes(plan.box, {images.size(2), images.size(3)});
  const auto weight = plan.pixel_weight.view({-1, 1, 1, 1}).masked_fill(inside, 0.0);
  return at::lerp(images.index_select(0, plan.partner), images, weight.to(images.scalar_type()));
}

at::Tensor mixed_targets(const at::Tensor& labels, std::int64_t classes, double smoothing, const MixPlan& plan) {
  const double off = smoothing / static_cast<double>(classes);
  const auto targets = at::full({labels.size(0), classes}, off, labels.options().dtype(at::kFloat))
                           .scatter_(1, labels.view({-1, 1}), 1.0 - smoothing + off);
  if (!plan.partner.defined()) return targets;
  return at::lerp(targets.index_select(0, plan.partner), targets, plan.target_weight.view({-1, 1}));
}

double symmetric_beta(double alpha, base::Random& random) {
  const double own = log_gamma_variate(alpha, random);
  const double other = log_gamma_variate(alpha, random);
  return 1.0 / (1.0 + std::exp(other - own));
}

}  // namespace quest::data
