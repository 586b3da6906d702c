#pragma once

// That a computation gives the same bits on one thread, on several, and a second time.

#include <ATen/Parallel.h>

#include <functional>
#include <vector>

#include "tests/testing/tensors.h"

namespace quest::testing {

inline void expect_same_for_any_threads(const std::function<std::vector<at::Tensor>()>& compute) {
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const std::vector<at::Tensor> expected = compute();
  for (const int threads : {1, 2, 3, 5}) {
    at::set_num_threads(threads);
    const std::vector<at::Tensor> actual = compute();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(identical(actual[i], expected[i])) << "result " << i << " on " << threads << " threads";
    }
  }
  at::set_num_threads(before);
}

}  // namespace quest::testing
