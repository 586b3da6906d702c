#pragma once

// Vector code over the bytes of pictures: what resampling and blurring spend their time in. Whole numbers only, so that
// every instruction set gives the same bytes.

#include <cstdint>

namespace quest::data::kernels {

// Resampled values are sums of bytes times weights, which have so many bits behind the point.
inline constexpr int kWeightBits = 22;
// What rows must have behind their last byte, of any value: vectors end there.
inline constexpr std::int64_t kRowPadding = 64;

// Output i is the sum over t < taps of input first[i] + t times weights[i · taps + t].
struct Taps {
  const std::int32_t* first;
  const std::int32_t* weights;
  std::int64_t taps;
  std::int64_t outputs;
};

// kRowsAcross rows of pixels of three bytes at once; both strides count bytes and include the padding.
inline constexpr std::int64_t kRowsAcross = 4;
void resample_across(const std::uint8_t* rows, std::int64_t stride, const Taps& taps, std::uint8_t* out,
                     std::int64_t out_stride);

// One row of outputs from `taps` rows.
void resample_down(const std::uint8_t* rows, std::int64_t stride, const std::int32_t* weights, std::int64_t taps,
                   std::int64_t bytes, std::uint8_t* out);

// Each byte becomes inner · (the sum of the bytes up to `radius` steps away) + outer · (those one step further), with
// 24 bits behind the point. What lies so far on both sides must be there.
struct Box {
  std::int64_t radius;
  std::uint32_t inner;
  std::uint32_t outer;
};
void box_average(const std::uint8_t* bytes, std::int64_t step, const Box& box, std::int64_t count, std::uint8_t* out);

}  // namespace quest::data::kernels
