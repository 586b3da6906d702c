#pragma once

// Scratch memory of one thread, kept between calls: a task takes less time than the page faults of fresh memory would.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <new>
#include <vector>

namespace quest::kernels::cpu {

class Workspace {
 public:
  static Workspace& of_this_thread() {
    thread_local Workspace workspace;
    return workspace;
  }

  struct Buffer {
    float** pointer;
    std::int64_t floats;
  };

  // Points each buffer at its own aligned piece. The buffers handed out before are dead.
  void provide(std::initializer_list<Buffer> buffers) {
    std::size_t total = 0;
    for (const Buffer& buffer : buffers) total += padded(buffer.floats);
    grow(total);
    float* next = memory_.get();
    for (const Buffer& buffer : buffers) {
      *buffer.pointer = next;
      next += padded(buffer.floats);
    }
  }

  double* provide_doubles(std::int64_t count) {
    if (doubles_.size() < static_cast<std::size_t>(count)) doubles_.resize(count);
    return doubles_.data();
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(float* memory) const { ::operator delete(memory, kAlignment); }
  };

  static std::size_t padded(std::int64_t floats) { return static_cast<std::size_t>(floats + 15) / 16 * 16; }

  void grow(std::size_t floats) {
    if (floats <= capacity_) return;
    memory_.reset();
    capacity_ = 0;
    memory_.reset(static_cast<float*>(::operator new(floats * sizeof(float), kAlignment)));
    capacity_ = floats;
    // Padding takes part in arithmetic whose results are thrown away: it must hold numbers.
    std::fill_n(memory_.get(), floats, 0.0F);
  }

  std::unique_ptr<float, Free> memory_;
  std::size_t capacity_ = 0;
  std::vector<double> doubles_;
};

}  // namespace quest::kernels::cpu
