#pragma once

// Runs independent tasks on torch's threads. Each worker takes the next few tasks when it is free, so uneven tasks
// balance; the tasks write disjoint outputs, so the result does not depend on who ran what.

#include <torch/csrc/stable/ops.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>

namespace quest::ops {

// Waking a second thread costs a few microseconds; below this much arithmetic it does not pay.
inline constexpr double kSerialFlops = 2e5;
// What a task costs before its first product (packing, addresses), in arithmetic that would take as long.
inline constexpr double kTaskFlops = 1e4;
// Small enough a chunk that the slowest worker is late by a few percent.
inline constexpr std::int64_t kChunksPerWorker = 16;

template <typename Run>
void run_tasks(std::int64_t tasks, double flops, const Run& run) {
  if (tasks <= 0) {
    return;
  }
  const auto workers = std::min<std::int64_t>(torch::stable::get_num_threads(), tasks);
  if (workers <= 1 || flops + kTaskFlops * static_cast<double>(tasks) < kSerialFlops) {
    run(std::int64_t{0}, tasks);
    return;
  }
  const std::int64_t chunk = std::max<std::int64_t>(1, tasks / (workers * kChunksPerWorker));
  std::atomic<std::int64_t> next{0};
  std::atomic_flag failed;
  std::exception_ptr failure;
  torch::stable::parallel_for(0, workers, 1, [&](std::int64_t, std::int64_t) {
    try {
      for (std::int64_t begin = next.fetch_add(chunk); begin < tasks; begin = next.fetch_add(chunk)) {
        run(begin, std::min(begin + chunk, tasks));
      }
    } catch (...) {
      if (!failed.test_and_set()) {
        failure = std::current_exception();
      }
    }
  });
  if (failure) {
    std::rethrow_exception(failure);
  }
}

}  // namespace quest::ops
