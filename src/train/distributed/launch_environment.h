#pragma once

// What a launcher tells a process through environment variables. Torch-free.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace quest::train {

struct LaunchEnvironment {
  int rank = 0;
  int size = 1;
  std::string master_address;
  std::uint16_t master_port = 0;
  // torchrun keeps the store itself, for every restart under another prefix; else rank 0 does.
  bool launcher_keeps_store = false;
  std::string store_prefix;
};

using ReadVariable = std::function<std::optional<std::string>(const std::string&)>;

// Throws std::invalid_argument that names the variable. One process needs no variable.
LaunchEnvironment launch_environment(const ReadVariable& read);
std::optional<std::string> environment_variable(const std::string& name);

// This host's own address, in numbers, on the way to another; empty where there is no way. Sends nothing.
std::string address_towards(const std::string& host, std::uint16_t port);

}  // namespace quest::train
