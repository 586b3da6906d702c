#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "train/distributed/backends.h"

namespace quest::train {

c10::intrusive_ptr<c10d::Backend> nccl_backend(const BackendPlace& place) {
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = place.timeout;
  return c10::make_intrusive<c10d::ProcessGroupNCCL>(place.store, place.launch.rank, place.launch.size, options);
}

}  // namespace quest::train
