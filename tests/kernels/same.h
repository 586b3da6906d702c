#pragma once

#include "tests/kernels/storage.h"
#include "tests/testing/closeness.h"

namespace quest::testing {

inline ::testing::AssertionResult same(const Buffer& actual, const Buffer& expected) {
  return all_close(actual.values(), expected.values(), kExact,
                   {expected.batch(), expected.heads(), expected.rows(), expected.dim()});
}

}  // namespace quest::testing
