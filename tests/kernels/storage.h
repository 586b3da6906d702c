#pragma once

// Plain buffers of float32, bfloat16 or float16 with strides, read and written one element at a time in double.

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "kernels/attention_problem.h"
#include "tools/ptx/small_floats.h"

namespace quest::testing {

using kernels::StorageType;

// Half an ulp relative to the value: the best any kernel that stores in this type can do.
inline double unit_roundoff(StorageType type) {
  switch (type) {
    case StorageType::float32:
      return std::ldexp(1.0, -24);
    case StorageType::bfloat16:
      return std::ldexp(1.0, -8);
    case StorageType::float16:
      return std::ldexp(1.0, -11);
  }
  return 0.0;
}

inline double load(const void* data, StorageType type, std::int64_t index) {
  switch (type) {
    case StorageType::float32:
      return static_cast<const float*>(data)[index];
    case StorageType::bfloat16:
      return bfloat16_value(static_cast<const std::uint16_t*>(data)[index]);
    case StorageType::float16:
      return float16_value(static_cast<const std::uint16_t*>(data)[index]);
  }
  return 0.0;
}

inline void store(void* data, StorageType type, std::int64_t index, double value) {
  switch (type) {
    case StorageType::float32:
      static_cast<float*>(data)[index] = static_cast<float>(value);
      break;
    case StorageType::bfloat16:
      static_cast<std::uint16_t*>(data)[index] = bfloat16_bits(static_cast<float>(value));
      break;
    case StorageType::float16:
      static_cast<std::uint16_t*>(data)[index] = float16_bits(value);
      break;
  }
}

enum class Layout { dense, heads_inside_rows, padded_rows };

// [B, H, N, D] in one of the layouts callers really have. The gaps of padded rows hold NaN.
class Buffer {
 public:
  Buffer() = default;
  Buffer(StorageType type, Layout layout, std::int64_t batch, std::int64_t heads, std::int64_t rows, std::int64_t dim)
      : type_(type), batch_(batch), heads_(heads), rows_(rows), dim_(dim) {
    const std::int64_t pad = layout == Layout::padded_rows ? 3 : 0;
    row_stride_ = layout == Layout::heads_inside_rows ? heads * dim : dim + pad;
    head_stride_ = layout == Layout::heads_inside_rows ? dim : rows * row_stride_;
    batch_stride_ = layout == Layout::heads_inside_rows ? rows * row_stride_ : heads * head_stride_;
    const auto size = static_cast<std::size_t>(batch * batch_stride_);
    if (type == StorageType::float32) {
      wide_.assign(size, std::numeric_limits<float>::quiet_NaN());
    } else {
      narrow_.assign(size, 0x7FFF);
    }
  }

  [[nodiscard]] StorageType type() const { return type_; }
  [[nodiscard]] std::int64_t batch() const { return batch_; }
  [[nodiscard]] std::int64_t heads() const { return heads_; }
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t dim() const { return dim_; }

  [[nodiscard]] double get(std::int64_t b, std::int64_t h, std::int64_t row, std::int64_t d) const {
    return load(data(), type_, offset(b, h, row, d));
  }
  void set(std::int64_t b, std::int64_t h, std::int64_t row, std::int64_t d, double value) {
    store(data(), type_, offset(b, h, row, d), value);
  }

  [[nodiscard]] kernels::Input input() const { return {data(), batch_stride_, head_stride_, row_stride_}; }
  [[nodiscard]] kernels::Output output() { return {data(), batch_stride_, head_stride_, row_stride_}; }

  template <typename Function>
  void fill(Function value) {
    for (std::int64_t b = 0; b < batch_; ++b) {
      for (std::int64_t h = 0; h < heads_; ++h) {
        for (std::int64_t row = 0; row < rows_; ++row) {
          for (std::int64_t d = 0; d < dim_; ++d) {
            set(b, h, row, d, value());
          }
        }
      }
    }
  }

  // Whether the gaps of padded rows still hold what the constructor put there.
  [[nodiscard]] bool gaps_untouched() const {
    for (std::int64_t row = 0; row < batch_ * heads_ * rows_; ++row) {
      for (std::int64_t d = dim_; head_stride_ == rows_ * row_stride_ && d < row_stride_; ++d) {
        if (!std::isnan(load(data(), type_, row * row_stride_ + d))) {
          return false;
        }
      }
    }
    return true;
  }

  // The elements in [B, H, N, D] order, without the gaps.
  [[nodiscard]] std::vector<double> values() const {
    std::vector<double> result;
    for (std::int64_t b = 0; b < batch_; ++b) {
      for (std::int64_t h = 0; h < heads_; ++h) {
        for (std::int64_t row = 0; row < rows_; ++row) {
          for (std::int64_t d = 0; d < dim_; ++d) {
            result.push_back(get(b, h, row, d));
          }
        }
      }
    }
    return result;
  }

 private:
  [[nodiscard]] std::int64_t offset(std::int64_t b, std::int64_t h, std::int64_t row, std::int64_t d) const {
    return b * batch_stride_ + h * head_stride_ + row * row_stride_ + d;
  }
  [[nodiscard]] const void* data() const {
    return type_ == StorageType::float32 ? static_cast<const void*>(wide_.data()) : narrow_.data();
  }
  [[nodiscard]] void* data() {
    return type_ == StorageType::float32 ? static_cast<void*>(wide_.data()) : narrow_.data();
  }

  StorageType type_ = StorageType::float32;
  std::int64_t batch_ = 0, heads_ = 0, rows_ = 0, dim_ = 0;
  std::int64_t batch_stride_ = 0, head_stride_ = 0, row_stride_ = 0;
  std::vector<float> wide_;
  std::vector<std::uint16_t> narrow_;
};

// The same numbers on every platform, unlike the distributions of <random>.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  double uniform() { return static_cast<double>(engine_() >> 11U) * 0x1.0p-53; }
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(6.283185307179586 * uniform());
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace quest::testing
