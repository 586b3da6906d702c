#pragma once

// Memory on the GPU that belongs to one owner, and errors as exceptions.

#include <cuda_runtime_api.h>

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace quest::toy::engine::cuda {

inline void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw std::runtime_error(std::string(what) + " failed: " + cudaGetErrorString(error));
}

template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count) : count_(count) {
    void* memory = nullptr;
    check(cudaMalloc(&memory, count * sizeof(T)), "taking memory on the GPU");
    memory_.reset(static_cast<T*>(memory));
  }

  explicit DeviceArray(std::span<const T> values) : DeviceArray(values.size()) { upload(values); }

  [[nodiscard]] T* data() const { return memory_.get(); }

  void upload(std::span<const T> values) {
    check(cudaMemcpy(data(), values.data(), values.size_bytes(), cudaMemcpyHostToDevice), "copying to the GPU");
  }

  void clear() { check(cudaMemset(data(), 0, count_ * sizeof(T)), "clearing memory of the GPU"); }

  [[nodiscard]] std::vector<T> download() const {
    std::vector<T> values(count_);
    check(cudaMemcpy(values.data(), data(), count_ * sizeof(T), cudaMemcpyDeviceToHost), "copying from the GPU");
    return values;
  }

 private:
  struct Free {
    void operator()(T* memory) const { cudaFree(memory); }
  };
  std::size_t count_;
  std::unique_ptr<T, Free> memory_;
};

}  // namespace quest::toy::engine::cuda
