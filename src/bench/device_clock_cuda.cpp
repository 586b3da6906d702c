#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <torch/cuda.h>

#include <memory>

#include "app/usage_error.h"
#include "bench/device_clock.h"

namespace quest::bench {
namespace {

constexpr int kWarmUpRuns = 2;
constexpr double kSecondsPerMillisecond = 1e-3;

struct Event {
  cudaEvent_t handle = nullptr;
  Event() { C10_CUDA_CHECK(cudaEventCreate(&handle)); }
  ~Event() { static_cast<void>(cudaEventDestroy(handle)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
};

struct Replay {
  at::cuda::CUDAGraph graph;
  Event start;
  Event stop;
};

cudaDeviceProp properties() {
  cudaDeviceProp result{};
  C10_CUDA_CHECK(cudaGetDeviceProperties(&result, 0));
  return result;
}

}  // namespace

void require_gpu() {
  if (!torch::cuda::is_available()) throw app::UsageError("--device cuda: torch finds no GPU; run with --device cpu");
}

std::string gpu_text() {
  if (!torch::cuda::is_available()) return "none that torch can use";
  const auto device = properties();
  int version = 0;
  C10_CUDA_CHECK(cudaRuntimeGetVersion(&version));
  return std::string(device.name) + ", compute capability " + std::to_string(device.major) + "." +
         std::to_string(device.minor) + ", CUDA " + std::to_string(version / 1000) + "." +
         std::to_string(version % 1000 / 10);
}

int compute_capability() {
  if (!torch::cuda::is_available()) return 0;
  const auto device = properties();
  return 10 * device.major + device.minor;
}

Contestant replay(const std::function<void()>& work, int runs) {
  const auto captured = std::make_shared<Replay>();
  const auto stream = c10::cuda::getStreamFromPool();
  const c10::cuda::CUDAStreamGuard on_stream(stream);
  for (int i = 0; i < kWarmUpRuns; ++i) work();
  C10_CUDA_CHECK(cudaStreamSynchronize(stream.stream()));
  captured->graph.capture_begin();
  work();
  captured->graph.capture_end();
  return [captured, runs] {
    const cudaStream_t current = c10::cuda::getCurrentCUDAStream().stream();
    C10_CUDA_CHECK(cudaEventRecord(captured->start.handle, current));
    captured->graph.replay();
    C10_CUDA_CHECK(cudaEventRecord(captured->stop.handle, current));
    C10_CUDA_CHECK(cudaEventSynchronize(captured->stop.handle));
    float milliseconds = 0.0F;
    C10_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, captured->start.handle, captured->stop.handle));
    return kSecondsPerMillisecond * milliseconds / runs;
  };
}

}  // namespace quest::bench
