#pragma once

#include "kernels/cuda/launch.h"
#include "tests/kernels/kernel_case.h"

namespace quest::testing {

// All kernels of a problem as they would run on one kind of GPU. They may touch what the problem consists of, their
// results and as much workspace as they ask for; the last two are NaN before.
KernelResults run_cuda_kernels(const TestProblem& test, const kernels::cuda::DeviceInfo& gpu);

}  // namespace quest::testing
