#include "data/augment/resize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "data/augment/kernels/picture_rows.h"

namespace quest::data {
namespace {

double triangle(double x) { return std::max(0.0, 1.0 - std::abs(x)); }

double cubic(double x) {
  constexpr double kA = -0.5;
  x = std::abs(x);
  if (x < 1.0) return ((kA + 2.0) * x - (kA + 3.0)) * x * x + 1.0;
  if (x < 2.0) return (((x - 5.0) * x + 8.0) * x - 4.0) * kA;
  return 0.0;
}

struct Filter {
  double (*value)(double);
  double support;
};

Filter filter_of(Interpolation interpolation) {
  return interpolation == Interpolation::bicubic ? Filter{cubic, 2.0} : Filter{triangle, 1.0};
}

// Outputs [first, first + count) of an axis resized from `from` pixels to `to`.
struct Axis {
  std::int64_t from;
  std::int64_t to;
  std::int64_t first;
  std::int64_t count;

  [[nodiscard]] bool is_copy() const { return from == to; }
};

// Of the outputs of an axis, and which inputs these need. An axis that is copied has no taps.
class Weights {
 public:
  Weights(const Axis& axis, const Filter& filter) : begin_(axis.first), end_(axis.first + axis.count) {
    if (axis.is_copy()) return;
    const double scale = static_cast<double>(axis.from) / static_cast<double>(axis.to);
    const double filter_scale = std::max(scale, 1.0);
    const double support = filter.support * filter_scale;
    most_taps_ = 2 * static_cast<std::int64_t>(std::ceil(support)) + 1;
    first_.resize(static_cast<std::size_t>(axis.count));
    weights_.resize(static_cast<std::size_t>(axis.count * most_taps_));
    std::vector<double> exact;
    for (std::int64_t i = 0; i < axis.count; ++i) {
      const double center = (static_cast<double>(axis.first + i) + 0.5) * scale;
      const auto first = std::max(static_cast<std::int64_t>(center - support + 0.5), std::int64_t{0});
      const auto end = std::min(static_cast<std::int64_t>(center + support + 0.5), axis.from);
      if (i == 0) begin_ = first;
      end_ = end;
      exact.resize(static_cast<std::size_t>(end - first));
      for (std::size_t tap = 0; tap < exact.size(); ++tap) {
        const double place = static_cast<double>(first) + static_cast<double>(tap) - center + 0.5;
        exact[tap] = filter.value(place * (1.0 / filter_scale));
      }
      first_[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(first - begin_);
      store(i, exact);
    }
  }

  // Inputs from begin() to below end() are needed; taps() count from begin().
  [[nodiscard]] std::int64_t begin() const { return begin_; }
  [[nodiscard]] std::int64_t end() const { return end_; }
  [[nodiscard]] kernels::Taps taps() const { return {first_.data(), weights_.data(), most_taps_, std::ssize(first_)}; }

 private:
  void store(std::int64_t output, const std::vector<double>& exact) {
    const double sum = std::accumulate(exact.begin(), exact.end(), 0.0);
    for (std::size_t tap = 0; tap < exact.size(); ++tap) {
      const double share = sum == 0.0 ? exact[tap] : exact[tap] / sum;
      weights_[static_cast<std::size_t>(output * most_taps_) + tap] =
          static_cast<std::int32_t>(std::round(share * (1 << kernels::kWeightBits)));
    }
  }

  std::int64_t begin_;
  std::int64_t end_;
  std::int64_t most_taps_ = 0;
  std::vector<std::int32_t> first_;
  std::vector<std::int32_t> weights_;
};

// Pixels with room behind each row, and rows in whole blocks.
class Rows {
 public:
  // Taps of weight 0 may lie behind the last pixel.
  Rows(std::int64_t height, std::int64_t width, std::int64_t taps)
      : height_(height),
        width_(width),
        stride_(3 * (width + taps) + kernels::kRowPadding),
        bytes_(static_cast<std::size_t>((height + kBlock - 1) / kBlock * kBlock * stride_)) {}

  [[nodiscard]] std::uint8_t* row(std::int64_t i) { return bytes_.data() + i * stride_; }
  [[nodiscard]] const std::uint8_t* row(std::int64_t i) const { return bytes_.data() + i * stride_; }
  [[nodiscard]] std::int64_t height() const { return height_; }
  [[nodiscard]] std::int64_t width() const { return width_; }
  [[nodiscard]] std::int64_t stride() const { return stride_; }

  static constexpr std::int64_t kBlock = kernels::kRowsAcross;

 private:
  std::int64_t height_;
  std::int64_t width_;
  std::int64_t stride_;
  std::vector<std::uint8_t> bytes_;
};

const std::uint8_t* pixel(const Picture& picture, std::int64_t row, std::int64_t column) {
  return picture.rgb.data() + 3 * (row * picture.width + column);
}

Picture empty_picture(std::int64_t height, std::int64_t width) {
  return {height, width, std::vector<std::uint8_t>(static_cast<std::size_t>(3 * height * width))};
}

Rows across(Rows rows, const kernels::Taps& taps) {
  if (taps.taps == 0) return rows;
  Rows result(rows.height(), taps.outputs, 0);
  for (std::int64_t i = 0; i < rows.height(); i += Rows::kBlock) {
    kernels::resample_across(rows.row(i), rows.stride(), taps, result.row(i), result.stride());
  }
  return result;
}

Rows down(Rows rows, const kernels::Taps& taps, std::int64_t taps_across) {
  if (taps.taps == 0) return rows;
  Rows result(taps.outputs, rows.width(), taps_across);
  for (std::int64_t i = 0; i < taps.outputs; ++i) {
    const auto first = taps.first[i];
    kernels::resample_down(rows.row(first), rows.stride(), taps.weights + i * taps.taps,
                           std::min(taps.taps, rows.height() - first), 3 * rows.width(), result.row(i));
  }
  return result;
}

// Since version 13 Pillow begins with the columns where that saves work; the result differs by the rounding in between.
bool begins_with_columns(const PictureBox& from, const PictureSize& to) {
  return to.height < from.height && from.height - to.height > 2 * (from.width - to.width);
}

void expect_inside(const PictureSize& size, const PictureBox& box, const char* what) {
  const auto lies = [](std::int64_t first, std::int64_t count, std::int64_t all) {
    return first >= 0 && count > 0 && first <= all - count;
  };
  if (lies(box.top, box.height, size.height) && lies(box.left, box.width, size.width)) return;
  throw std::invalid_argument("a box of " + std::to_string(box.height) + "x" + std::to_string(box.width) +
                              " pixels at row " + std::to_string(box.top) + ", column " + std::to_string(box.left) +
                              " does not lie in the " + what + " of " + std::to_string(size.height) + "x" +
                              std::to_string(size.width) + " pixels");
}

Picture resampled(const Picture& picture, const PictureBox& from, const PictureSize& to, const PictureBox& window,
                  Interpolation interpolation) {
  expect_inside({picture.height, picture.width}, from, "picture");
  expect_inside(to, window, "resized picture");
  const auto filter = filter_of(interpolation);
  const Weights columns({from.width, to.width, window.left, window.width}, filter);
  const Weights rows({from.height, to.height, window.top, window.height}, filter);
  const auto along_row = columns.taps();
  const auto along_column = rows.taps();
  Rows pixels(rows.end() - rows.begin(), columns.end() - columns.begin(), along_row.taps);
  for (std::int64_t i = 0; i < pixels.height(); ++i) {
    std::memcpy(pixels.row(i), pixel(picture, from.top + rows.begin() + i, from.left + columns.begin()),
                static_cast<std::size_t>(3 * pixels.width()));
  }
  pixels = begins_with_columns(from, to) ? across(down(std::move(pixels), along_column, along_row.taps), along_row)
                                         : down(across(std::move(pixels), along_row), along_column, 0);
  auto result = empty_picture(window.height, window.width);
  const auto bytes = 3 * window.width;
  for (std::int64_t i = 0; i < window.height; ++i) {
    std::memcpy(result.rgb.data() + i * bytes, pixels.row(i), static_cast<std::size_t>(bytes));
  }
  return result;
}

}  // namespace

PictureBox whole(const Picture& picture) { return {0, 0, picture.height, picture.width}; }

Picture cropped(const Picture& picture, const PictureBox& box) {
  expect_inside({picture.height, picture.width}, box, "picture");
  auto result = empty_picture(box.height, box.width);
  for (std::int64_t i = 0; i < box.height; ++i) {
    std::memcpy(result.rgb.data() + 3 * i * box.width, pixel(picture, box.top + i, box.left),
                static_cast<std::size_t>(3 * box.width));
  }
  return result;
}

Picture resized(const Picture& picture, const PictureBox& from, const PictureSize& to, Interpolation interpolation) {
  return resampled(picture, from, to, {0, 0, to.height, to.width}, interpolation);
}

Picture resized_window(const Picture& picture, const PictureSize& to, const PictureBox& window,
                       Interpolation interpolation) {
  return resampled(picture, whole(picture), to, window, interpolation);
}

}  // namespace quest::data
