// Boxes, borders and sizes: their distributions, and pictures that nobody expects.

#include "data/augment/crop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>
#include <vector>

#include "tests/data/made_pictures.h"

namespace quest::data {
namespace {

using quest::testing::made_picture;

// The largest distance between the fractions of `values` up to a place and what a uniform distribution says.
double distance_from_uniform(std::vector<double> values, double least, double most) {
  std::ranges::sort(values);
  double worst = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double expected = (values[i] - least) / (most - least);
    const auto count = static_cast<double>(values.size());
    worst = std::max({worst, std::abs(expected - static_cast<double>(i) / count),
                      std::abs(expected - static_cast<double>(i + 1) / count)});
  }
  return worst;
}

TEST(RandomBox, HasUniformAreasAndLogarithmsOfAspects) {
  constexpr PictureSize kSize{4000, 4000};
  std::vector<double> areas;
  std::vector<double> aspects;
  std::vector<double> places;
  base::Random random(1, {});
  for (int i = 0; i < 20000; ++i) {
    const auto box = random_box(kSize, {}, random);
    ASSERT_TRUE(box.top >= 0 && box.left >= 0 && box.top + box.height <= 4000 && box.left + box.width <= 4000);
    const auto height = static_cast<double>(box.height);
    const auto width = static_cast<double>(box.width);
    // Where no aspect ratio makes a box too long for the picture, none is drawn again.
    if (height * width > 0.7 * 4000 * 4000) continue;
    areas.push_back(height * width / (4000.0 * 4000.0));
    aspects.push_back(std::log(width / height));
    places.push_back(static_cast<double>(box.top) / (4000.0 - height));
  }
  // The limit is what Kolmogorov and Smirnov's test passes 999 times in 1,000.
  const double limit = 1.95 / std::sqrt(static_cast<double>(areas.size()));
  EXPECT_LT(distance_from_uniform(areas, 0.08, 0.7), limit);
  EXPECT_LT(distance_from_uniform(aspects, std::log(0.75), std::log(4.0 / 3.0)), limit);
  EXPECT_LT(distance_from_uniform(places, 0.0, 1.0), limit);
}

TEST(RandomBox, ReachesAllOfThePicture) {
  base::Random random(2, {});
  std::set<std::int64_t> tops;
  std::set<std::int64_t> ends;
  for (int i = 0; i < 2000; ++i) {
    const auto box = random_box({7, 9}, {}, random);
    tops.insert(box.top);
    ends.insert(box.left + box.width);
  }
  EXPECT_EQ(*tops.begin(), 0);
  EXPECT_EQ(*ends.rbegin(), 9);
}

TEST(RandomBox, IsInTheMiddleWhereNoAspectFits) {
  base::Random random(3, {});
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(random_box({90, 2}, {.least_area = 0.9}, random), (PictureBox{43, 0, 3, 2}));
    EXPECT_EQ(random_box({2, 90}, {.least_area = 0.9}, random), (PictureBox{0, 43, 2, 3}));
  }
}

TEST(RandomBox, IsNeverEmptyAndAlwaysInside) {
  base::Random random(4, {});
  for (const PictureSize size : {PictureSize{1, 1}, {1, 2}, {3, 1}, {1, 10000}, {10000, 1}, {2, 3}}) {
    for (int i = 0; i < 300; ++i) {
      const auto box = random_box(size, {}, random);
      ASSERT_TRUE(box.height >= 1 && box.width >= 1 && box.top >= 0 && box.left >= 0);
      ASSERT_TRUE(box.top + box.height <= size.height && box.left + box.width <= size.width);
    }
  }
}

TEST(Resize, ServesExtremePictures) {
  for (const PictureSize size : {PictureSize{1, 1}, {1, 20000}, {20000, 1}, {3, 2}}) {
    const auto picture = made_picture(size.height, size.width);
    for (const auto interpolation : {Interpolation::bilinear, Interpolation::bicubic}) {
      const auto result = resized(picture, whole(picture), {32, 48}, interpolation);
      EXPECT_EQ(result.rgb.size(), 32U * 48U * 3U);
      const auto middle = centre_crop(picture, 256, 224, interpolation);
      EXPECT_EQ(middle.rgb.size(), 224U * 224U * 3U);
    }
  }
}

TEST(Resize, LeavesOneColorAsItIs) {
  Picture picture{57, 91, {}};
  for (int i = 0; i < 57 * 91; ++i) picture.rgb.insert(picture.rgb.end(), {7, 200, 255});
  const auto result = resized(picture, {1, 2, 50, 60}, {31, 150}, Interpolation::bicubic);
  for (std::size_t i = 0; i < result.rgb.size(); i += 3) {
    ASSERT_EQ(result.rgb[i], 7);
    ASSERT_EQ(result.rgb[i + 1], 200);
    ASSERT_EQ(result.rgb[i + 2], 255);
  }
}

TEST(Resize, RefusesBoxesThatDoNotLieInThePicture) {
  const auto picture = made_picture(4, 5);
  for (const PictureBox box : {PictureBox{0, 0, 5, 5}, {0, 1, 4, 5}, {-1, 0, 2, 2}, {0, 0, 0, 5}, {4, 0, 1, 1}}) {
    EXPECT_THROW(static_cast<void>(resized(picture, box, {2, 2}, Interpolation::bicubic)), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(cropped(picture, box)), std::invalid_argument);
  }
  EXPECT_THROW(static_cast<void>(resized(picture, whole(picture), {0, 2}, Interpolation::bicubic)),
               std::invalid_argument);
}

TEST(PaddedCrop, IsEveryWindowOnThePaddedPicture) {
  const auto picture = made_picture(6, 6);
  for (const Edge edge : {Edge::reflect, Edge::black}) {
    // Pixel by pixel with two rows and columns around it: -2 -1 0 1 2 3 4 5 6 7.
    const auto pixel = [&](std::int64_t row, std::int64_t column, std::size_t channel) -> int {
      const std::vector<std::int64_t> mirror = {2, 1, 0, 1, 2, 3, 4, 5, 4, 3};
      const bool is_outside = std::min(row, column) < 0 || std::max(row, column) > 5;
      if (edge == Edge::black && is_outside) return 0;
      const auto place = 6 * mirror[static_cast<std::size_t>(row + 2)] + mirror[static_cast<std::size_t>(column + 2)];
      return picture.rgb[3 * static_cast<std::size_t>(place) + channel];
    };
    std::set<std::pair<std::int64_t, std::int64_t>> seen;
    base::Random random(5, {});
    for (int i = 0; i < 400; ++i) {
      const auto crop = random_padded_crop(picture, {6, 2, edge}, Interpolation::bicubic, random);
      const auto is_window = [&](std::int64_t top, std::int64_t left) {
        for (std::int64_t at = 0; at < 36; ++at) {
          for (std::size_t c = 0; c < 3; ++c) {
            if (crop.rgb[3 * static_cast<std::size_t>(at) + c] != pixel(top + at / 6, left + at % 6, c)) return false;
          }
        }
        return true;
      };
      bool found = false;
      for (std::int64_t top = -2; top <= 2; ++top) {
        for (std::int64_t left = -2; left <= 2; ++left) {
          if (!is_window(top, left)) continue;
          found = true;
          seen.emplace(top, left);
        }
      }
      ASSERT_TRUE(found) << i;
    }
    EXPECT_EQ(seen.size(), 25U);
  }
}

TEST(PaddedCrop, OfALongPictureIsAWindowOfAllOfItResized) {
  const auto picture = made_picture(10, 31);
  const auto all = resized(picture, whole(picture), {20, 62}, Interpolation::bicubic);
  base::Random random(6, {});
  std::set<std::int64_t> lefts;
  for (int i = 0; i < 300; ++i) {
    base::Random same = random;
    const auto top = random_offset(20, {20, 4}, same);
    const auto left = random_offset(62, {20, 4}, same);
    lefts.insert(left);
    const auto crop = random_padded_crop(picture, {20, 4}, Interpolation::bicubic, random);
    for (std::int64_t row = 0; row < 20; ++row) {
      for (std::int64_t column = 0; column < 20; ++column) {
        const auto from = 3 * (62 * reflected(top + row, 20) + reflected(left + column, 62));
        ASSERT_EQ(crop.rgb[static_cast<std::size_t>(3 * (20 * row + column))], all.rgb[static_cast<std::size_t>(from)]);
      }
    }
  }
  EXPECT_EQ(*lefts.begin(), -4);
  EXPECT_EQ(*lefts.rbegin(), 46);
}

}  // namespace
}  // namespace quest::data
