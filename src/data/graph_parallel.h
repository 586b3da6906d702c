#pragma once

// The same work for each of many graphs on torch's threads. What one graph gets depends on its number alone.

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdint>
#include <functional>

namespace quest::data {

// How far something is, from 0 to 1; called by the thread that asked for it.
using Progress = std::function<void(double)>;

// body(i) for i from 0 to count - 1, from any thread; what it throws comes out of this call.
template <typename Body>
void for_each_graph(std::int64_t count, const Progress& progress, const Body& body) {
  constexpr std::int64_t kPiece = 256;
  for (std::int64_t first = 0; first < count; first += kPiece) {
    const auto last = std::min(count, first + kPiece);
    at::parallel_for(first, last, 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i) body(i);
    });
    if (progress) progress(static_cast<double>(last) / static_cast<double>(count));
  }
}

}  // namespace quest::data
