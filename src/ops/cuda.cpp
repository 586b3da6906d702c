// The operators on NVIDIA GPUs: kernels queued on torch's current stream of the tensors' device.

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <torch/csrc/stable/accelerator.h>

#include <algorithm>
#include <vector>

#include "kernels/cuda/attention.h"
#include "kernels/cuda/choice.h"
#include "ops/device_operators.h"

namespace quest::ops {
namespace {

namespace kernel = kernels::cuda;

constexpr int kOldestCapability = 80;

void check_cuda(const char* what, cudaError_t error) {
  if (error != cudaSuccess) {
    fail(what, " failed on the GPU: ", cudaGetErrorString(error), " (", cudaGetErrorName(error), ")");
  }
}

// Of torch's C functions this one alone lives in its CUDA library, which a torch without CUDA does not have: looked up
// when first needed, so that this library loads beside every torch.
cudaStream_t current_stream(int device) {
  using Function = AOTITorchError (*)(std::int32_t, void**);
  static const auto function = [] {
    void* library = dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_NOLOAD);
    void* symbol = library == nullptr ? nullptr : dlsym(library, "aoti_torch_get_current_cuda_stream");
    if (symbol == nullptr) {
      fail("this torch has no CUDA stream to run on; install a torch that was built with CUDA");
    }
    return reinterpret_cast<Function>(symbol);
  }();
  void* stream = nullptr;
  TORCH_ERROR_CODE_CHECK(function(device, &stream));
  return static_cast<cudaStream_t>(stream);
}

int attribute(cudaDeviceAttr name, int device) {
  int value = 0;
  check_cuda("asking for the device's properties", cudaDeviceGetAttribute(&value, name, device));
  return value;
}

const kernel::DeviceInfo& device_info(int device) {
  static const auto devices = [] {
    int count = 0;
    check_cuda("counting the devices", cudaGetDeviceCount(&count));
    std::vector<kernel::DeviceInfo> infos(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      infos[static_cast<std::size_t>(i)] = {
          .compute_capability =
              10 * attribute(cudaDevAttrComputeCapabilityMajor, i) + attribute(cudaDevAttrComputeCapabilityMinor, i),
          .multiprocessors = attribute(cudaDevAttrMultiProcessorCount, i),
          .block_shared_memory = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, i)};
    }
    return infos;
  }();
  const auto& info = devices.at(static_cast<std::size_t>(device));
  if (info.compute_capability < kOldestCapability) {
    fail("the fused kernels need a GPU of compute capability 8.0 or newer, cuda:", device, " has ",
         info.compute_capability / 10, '.', info.compute_capability % 10, "; use the reference path");
  }
  return info;
}

class CudaDevice {
 public:
  explicit CudaDevice(const Tensor& like)
      : guard_(like.get_device_index()),
        launch_{.device = device_info(like.get_device_index()), .stream = current_stream(like.get_device_index())} {}

  [[nodiscard]] std::int64_t forward_workspace(const PreparedProblem& prepared) const {
    return kernel::forward_workspace(served(prepared), launch_.device);
  }

  void forward(const PreparedProblem& prepared, const kernels::ForwardOutputs& outputs) const {
    check_cuda("attention_forward", kernel::forward(prepared.problem(), outputs, launch_));
  }

  [[nodiscard]] std::int64_t backward_workspace(const PreparedProblem& prepared, bool gain_grad) const {
    return kernel::backward_workspace(served(prepared), gain_grad, launch_.device);
  }

  void backward(const PreparedProblem& prepared, const kernels::BackwardArguments& arguments) const {
    check_cuda("attention_backward", kernel::backward(prepared.problem(), arguments, launch_));
  }

  void mask_backward(const PreparedProblem& prepared, const kernels::BackwardArguments& arguments,
                     const kernels::MaskGradient& gradient) const {
    check_cuda("attention_backward of the mask",
               kernel::mask_backward(prepared.problem(), arguments, gradient, launch_));
  }

  [[nodiscard]] static std::int64_t statistics_workspace(const PreparedProblem& prepared) {
    return kernel::statistics_workspace(served(prepared));
  }

  void statistics(const PreparedProblem& prepared, const kernels::StatisticsOutputs& outputs) const {
    check_cuda("attention_statistics", kernel::statistics(prepared.problem(), outputs, launch_));
  }

  void dropout_factors(float dropout_p, std::uint64_t seed, Sizes sizes, float* factors) const {
    check_cuda("dropout_factors",
               kernel::dropout_factors(dropout_p, seed, sizes[0], sizes[1], sizes[2], sizes[3], factors, launch_));
  }

  static Tensor sum_to(const Tensor& matrix, std::int64_t rows, std::int64_t columns) {
    const Sizes sizes = sizes_of(matrix);
    std::vector<std::int64_t> summed;
    if (sizes[0] != rows) summed.push_back(0);
    if (sizes[1] != columns) summed.push_back(1);
    return summed.empty() ? matrix : torch::stable::sum(matrix, summed, /*keepdim=*/true);
  }

 private:
  static const kernels::AttentionProblem& served(const PreparedProblem& prepared) {
    const auto& problem = prepared.problem();
    const std::int64_t dim = std::max(problem.dim, problem.value_dim);
    if (dim > kernel::kLargestDim) {
      fail("the fused CUDA kernels take head dimensions up to ", kernel::kLargestDim, ", got ", dim,
           "; use the reference path");
    }
    return problem;
  }

  torch::stable::accelerator::DeviceGuard guard_;
  kernel::Launch launch_;
};

}  // namespace
}  // namespace quest::ops

STABLE_TORCH_LIBRARY_IMPL(quest, CUDA, library) { quest::ops::implement<quest::ops::CudaDevice>(library); }
