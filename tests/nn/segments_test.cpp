// Sums over segments against loops, their derivatives, and that nobody's order of work shows in them.

#include "quest/nn/segments.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <limits>

#include "tests/nn/threads.h"
#include "tests/testing/finite_difference.h"
#include "tests/testing/tensors.h"

namespace quest::testing {
namespace {

using nn::Segments;

Segments four_segments() { return nn::segments_from_offsets(at::tensor({0, 3, 3, 4, 9}, at::kInt), 9); }

Segments shuffled_segments() { return nn::segments_from_numbers(at::tensor({2, 0, 3, 3, 0, 2, 2}, at::kLong), 4); }

at::Tensor plain_sum(const at::Tensor& values, const Segments& segments) {
  std::vector<std::int64_t> sizes = values.sizes().vec();
  sizes[0] = segments.count();
  at::Tensor sums = at::zeros(sizes, at::kDouble);
  for (std::int64_t row = 0; row < values.size(0); ++row) {
    sums[segments.segment[row].item<std::int64_t>()] += values[row].to(at::kDouble);
  }
  return sums;
}

TEST(Segments, KnowWhereTheirRowsLie) {
  const Segments sorted = four_segments();
  EXPECT_TRUE(identical(sorted.segment, at::tensor({0, 0, 0, 2, 3, 3, 3, 3, 3}, at::kLong)));
  EXPECT_EQ(sorted.count(), 4);
  const Segments shuffled = shuffled_segments();
  EXPECT_TRUE(identical(shuffled.offsets, at::tensor({0, 2, 2, 5, 7}, at::kLong)));
  EXPECT_TRUE(identical(shuffled.order, at::tensor({1, 4, 0, 5, 6, 2, 3}, at::kLong)));
}

TEST(Segments, SumsMeansAndRowsAreThoseOfALoop) {
  torch::manual_seed(1);
  for (const Segments& segments : {four_segments(), shuffled_segments()}) {
    for (const auto& shape : std::vector<std::vector<std::int64_t>>{{}, {5}, {3, 2}}) {
      std::vector<std::int64_t> sizes = {segments.rows()};
      sizes.insert(sizes.end(), shape.begin(), shape.end());
      const at::Tensor values = at::randn(sizes);
      const at::Tensor sums = plain_sum(values, segments);
      EXPECT_TRUE(close(nn::segment_sum(values, segments), sums, {.of_largest = 1e-6}));
      const at::Tensor counts = plain_sum(at::ones_like(values), segments).clamp_min(1.0);
      EXPECT_TRUE(close(nn::segment_mean(values, segments), sums / counts, {.of_largest = 1e-6}));
      const at::Tensor rows = nn::segment_rows(sums, segments);
      EXPECT_TRUE(identical(rows, sums.index_select(0, segments.segment)));
    }
  }
}

TEST(Segments, HaveDerivativesOfEveryOrder) {
  torch::manual_seed(2);
  for (const Segments& segments : {four_segments(), shuffled_segments()}) {
    const auto wide = [](std::int64_t rows) { return at::randn({rows, 3}, at::kDouble).requires_grad_(); };
    const auto sum = [&](const std::vector<at::Tensor>& x) { return nn::segment_sum(x[0].sin(), segments).square(); };
    const auto mean = [&](const std::vector<at::Tensor>& x) { return nn::segment_mean(x[0].sin(), segments).square(); };
    const auto rows = [&](const std::vector<at::Tensor>& x) { return nn::segment_rows(x[0].sin(), segments).square(); };
    EXPECT_TRUE(gradcheck(sum, {wide(segments.rows())}));
    EXPECT_TRUE(gradcheck(mean, {wide(segments.rows())}));
    EXPECT_TRUE(gradcheck(rows, {wide(segments.count())}));
    EXPECT_TRUE(gradgradcheck(sum, {wide(segments.rows())}));
    EXPECT_TRUE(gradgradcheck(rows, {wide(segments.count())}));
  }
}

TEST(Segments, NoThreadAndNoRunShowsInASum) {
  torch::manual_seed(3);
  const Segments segments = nn::segments_from_numbers(at::randint(500, {20000}, at::kLong), 500);
  const at::Tensor values = at::randn({20000, 24});
  const at::Tensor rows = at::randn({500, 24});
  expect_same_for_any_threads([&] {
    const at::Tensor x = rows.clone().requires_grad_();
    (nn::segment_rows(x, segments) * values).sum().backward();
    return std::vector<at::Tensor>{nn::segment_sum(values, segments), x.grad()};
  });
}

TEST(Segments, MayBeEmptyOrHaveNoRows) {
  const Segments none = nn::segments_from_offsets(at::tensor({0}, at::kInt), 0);
  EXPECT_EQ(nn::segment_sum(at::zeros({0, 3}), none).sizes(), (at::IntArrayRef{0, 3}));
  EXPECT_EQ(nn::segment_rows(at::zeros({0, 3}), none).sizes(), (at::IntArrayRef{0, 3}));
  const Segments empty = nn::segments_from_offsets(at::tensor({0, 0, 0}, at::kInt), 0);
  EXPECT_TRUE(all_zero(nn::segment_mean(at::zeros({0, 3}), empty)));
}

TEST(Segments, NaNStaysInItsSegment) {
  at::Tensor values = at::ones({9, 2});
  values[3][1] = std::numeric_limits<float>::quiet_NaN();
  const at::Tensor sums = nn::segment_sum(values, four_segments());
  EXPECT_EQ(at::isnan(sums).sum().item<std::int64_t>(), 1);
  EXPECT_TRUE(at::isnan(sums[2][1]).item<bool>());
}

TEST(Segments, SayHowManyRowsTheyTake) {
  EXPECT_THROW(static_cast<void>(nn::segment_sum(at::zeros({8, 2}), four_segments())), c10::Error);
  EXPECT_THROW(static_cast<void>(nn::segment_rows(at::zeros({9, 2}), four_segments())), c10::Error);
}

}  // namespace
}  // namespace quest::testing
