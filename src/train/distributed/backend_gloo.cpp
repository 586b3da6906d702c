// Built with Debian's headers of gloo; the code is inside LibTorch.

#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "train/distributed/backends.h"

namespace quest::train {

c10::intrusive_ptr<c10d::Backend> gloo_backend(const BackendPlace& place) {
  auto options = c10d::ProcessGroupGloo::Options::create(place.timeout);
  options->devices.push_back(c10d::ProcessGroupGloo::createDefaultDevice());
  return c10::make_intrusive<c10d::ProcessGroupGloo>(place.store, place.rank, place.size, options);
}

}  // namespace quest::train
