#pragma once

// The same work for each of many things on a few threads of its own.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace quest::base {

// body(i) for i from 0 to count - 1, from any of the threads; the first thing it throws comes out of this call, and
// ends the work.
template <typename Body>
void for_each_on_threads(std::int64_t count, int threads, const Body& body) {
  std::atomic<std::int64_t> next = 0;
  std::mutex mutex;
  std::exception_ptr problem;
  const auto work = [&] {
    try {
      for (auto i = next++; i < count; i = next++) body(i);
    } catch (...) {
      next = count;
      const std::scoped_lock lock(mutex);
      if (!problem) problem = std::current_exception();
    }
  };
  std::vector<std::thread> helpers;
  for (std::int64_t i = 1; i < std::min<std::int64_t>(threads, count); ++i) helpers.emplace_back(work);
  work();
  for (auto& helper : helpers) helper.join();
  if (problem) std::rethrow_exception(problem);
}

}  // namespace quest::base
