#include "data/augment/pixel_batch.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <set>
#include <vector>

#include "tests/testing/tensors.h"

namespace quest::data {
namespace {

using quest::testing::close;
using quest::testing::identical;

constexpr PixelScale kScale{.mean = 0.25F, .deviation = 0.5F};
constexpr testing::Bound kRounding{.absolute = 1e-6};

// Five images of three channels, higher than wide.
LabelledImages colour_images() {
  return {.images = torch::arange(5 * 3 * 4 * 2).add(1).to(at::kByte).view({5, 3, 4, 2}),
          .labels = torch::tensor({7, 3, 1, 0, 9}, at::kLong)};
}

at::Tensor normalized(const at::Tensor& bytes) { return (bytes.to(at::kDouble) / 255.0 - 0.25) / 0.5; }

TEST(PixelBatch, NormalisesTheImagesAsked) {
  const auto from = colour_images();
  const std::vector<std::int64_t> samples = {3, 0, 3};
  const auto batch = pixel_batch(from, samples, kScale);
  EXPECT_EQ(batch.samples(), 3);
  EXPECT_EQ(batch["inputs"].sizes(), (std::vector<std::int64_t>{3, 3, 4, 2}));
  EXPECT_TRUE(close(batch["inputs"], normalized(from.images.index_select(0, torch::tensor(samples))), kRounding));
  EXPECT_TRUE(identical(batch["labels"], torch::tensor({0, 7, 0}, at::kLong)));
}

TEST(PixelBatch, MovesAndMirrorsAllChannelsOfAnImageTogether) {
  const auto from = colour_images();
  std::vector<std::int64_t> samples(200);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<std::int64_t>(i) % 5;
  const auto batch = pixel_batch(from, samples, kScale, {.shift = 1, .flip = true},
                                 [](std::size_t i) { return base::Random(4, {i}); });
  std::set<std::size_t> seen;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto image = from.images[samples[i]];
    // Shifts as a window on the image with a black edge.
    std::vector<at::Tensor> possible;
    for (const auto& turned : {image, image.flip({2})}) {
      const auto padded = at::constant_pad_nd(turned, {1, 1, 1, 1});
      for (std::int64_t row = 0; row < 3; ++row) {
        for (std::int64_t column = 0; column < 3; ++column) {
          possible.push_back(normalized(padded.slice(1, row, row + 4).slice(2, column, column + 2)));
        }
      }
    }
    const auto found = std::ranges::find_if(possible, [&](const at::Tensor& expected) {
      return static_cast<bool>(close(batch["inputs"][static_cast<std::int64_t>(i)], expected, kRounding));
    });
    ASSERT_NE(found, possible.end()) << i;
    seen.insert(static_cast<std::size_t>(found - possible.begin()));
  }
  EXPECT_EQ(seen.size(), 18U) << "every shift, mirrored or not, comes once in 200 images";
}

}  // namespace
}  // namespace quest::data
