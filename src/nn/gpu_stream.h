#pragma once

// Where a kernel of ours is queued: on torch's stream of a tensor's GPU.

#include <ATen/core/Tensor.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace quest::nn {

// While it lives, the tensor's GPU is the current one.
class GpuStream {
 public:
  explicit GpuStream(const at::Tensor& on)
      : guard_(on.device()),
        stream_(c10::impl::VirtualGuardImpl(on.device().type()).getStream(on.device()).native_handle()) {}

  operator void*() const { return stream_; }  // a cudaStream_t

 private:
  c10::DeviceGuard guard_;
  void* stream_;
};

}  // namespace quest::nn
