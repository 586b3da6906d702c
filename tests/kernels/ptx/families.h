#pragma once

// One problem for each way that kernels have of their own with it.

#include <gtest/gtest.h>

#include <ostream>

#include "kernels/cuda/launch.h"
#include "tests/kernels/kernel_case.h"

namespace quest::testing {

inline constexpr kernels::cuda::DeviceInfo kA100{
    .compute_capability = 80, .multiprocessors = 108, .block_shared_memory = 166912};
inline constexpr kernels::cuda::DeviceInfo kH200{
    .compute_capability = 90, .multiprocessors = 132, .block_shared_memory = 232448};

// QUEST without options, one head of as many queries as keys.
inline KernelCase plain_case(std::int64_t length, std::int64_t dim, StorageType type, kernels::Causal causal) {
  return {.queries = length,
          .keys = length,
          .dim = dim,
          .value_dim = dim,
          .kv_heads = 1,
          .batch = 1,
          .heads = 1,
          .type = type,
          .causal = causal};
}

struct Family {
  const char* name;
  kernels::cuda::DeviceInfo gpu;
  std::int64_t length;
  std::int64_t dim;
  StorageType type;

  [[nodiscard]] KernelCase test(kernels::Causal causal) const { return plain_case(length, dim, type, causal); }
};
inline void PrintTo(const Family& family, std::ostream* stream) { *stream << family.name; }

inline constexpr Family kFamilies[] = {
    {"tiled_d32", kA100, 140, 32, StorageType::float16},     {"tiled_d64", kA100, 140, 64, StorageType::bfloat16},
    {"tiled_d128", kA100, 140, 128, StorageType::bfloat16},  {"tiled_d256", kA100, 140, 256, StorageType::float16},
    {"tiled_float32", kA100, 140, 64, StorageType::float32}, {"short_d16", kH200, 70, 16, StorageType::bfloat16},
    {"short_d64", kH200, 197, 64, StorageType::bfloat16},    {"short_d80", kH200, 257, 80, StorageType::float16},
    {"long_d64", kH200, 700, 64, StorageType::bfloat16},     {"long_d128", kH200, 300, 128, StorageType::float16},
};

inline std::string family_name(const ::testing::TestParamInfo<Family>& info) { return info.param.name; }

}  // namespace quest::testing
