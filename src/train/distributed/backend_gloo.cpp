// Built with Debian's headers of gloo; the code is inside LibTorch.

#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "train/distributed/backends.h"

namespace quest::train {
namespace {

std::shared_ptr<::gloo::transport::Device> network_device(const LaunchEnvironment& launch) {
  using c10d::ProcessGroupGloo;
  if (const auto interface = environment_variable("GLOO_SOCKET_IFNAME"); interface && !interface->empty()) {
    return ProcessGroupGloo::createDeviceForInterface(*interface);
  }
  // The name of a host often stands for an address that no other host can reach.
  const std::string address = address_towards(launch.master_address, launch.master_port);
  return address.empty() ? ProcessGroupGloo::createDefaultDevice() : ProcessGroupGloo::createDeviceForHostname(address);
}

}  // namespace

c10::intrusive_ptr<c10d::Backend> gloo_backend(const BackendPlace& place) {
  auto options = c10d::ProcessGroupGloo::Options::create(place.timeout);
  options->devices.push_back(network_device(place.launch));
  return c10::make_intrusive<c10d::ProcessGroupGloo>(place.store, place.launch.rank, place.launch.size, options);
}

}  // namespace quest::train
