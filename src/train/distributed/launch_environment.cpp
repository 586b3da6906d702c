#include "train/distributed/launch_environment.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <stdexcept>

namespace quest::train {
namespace {

std::string required(const ReadVariable& read, const std::string& name) {
  if (const auto value = read(name); value && !value->empty()) return *value;
  throw std::invalid_argument("WORLD_SIZE is set but " + name +
                              " is not; start every process by torchrun, or set RANK, " +
                              "WORLD_SIZE, MASTER_ADDR and MASTER_PORT");
}

std::int64_t whole_number(const std::string& name, const std::string& text, std::int64_t least, std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    throw std::invalid_argument(name + " must be a whole number from " + std::to_string(least) + " to " +
                                std::to_string(most) + ", is '" + text + "'");
  }
  return value;
}

}  // namespace

LaunchEnvironment launch_environment(const ReadVariable& read) {
  LaunchEnvironment result;
  const auto size = read("WORLD_SIZE");
  if (!size) return result;
  result.size = static_cast<int>(whole_number("WORLD_SIZE", *size, 1, 1 << 20));
  if (result.size == 1) return result;
  result.rank = static_cast<int>(whole_number("RANK", required(read, "RANK"), 0, result.size - 1));
  result.master_address = required(read, "MASTER_ADDR");
  result.master_port = static_cast<std::uint16_t>(whole_number("MASTER_PORT", required(read, "MASTER_PORT"), 1, 65535));
  result.launcher_keeps_store = read("TORCHELASTIC_USE_AGENT_STORE") == "True";
  if (result.launcher_keeps_store) {
    result.store_prefix = "/worker/attempt_" + read("TORCHELASTIC_RESTART_COUNT").value_or("0");
  }
  return result;
}

std::string address_towards(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return "";
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> targets(found, ::freeaddrinfo);
  for (const addrinfo* target = found; target != nullptr; target = target->ai_next) {
    // Connecting a datagram socket chooses the way and nothing more.
    const int socket = ::socket(target->ai_family, SOCK_DGRAM, 0);
    if (socket < 0) continue;
    sockaddr_storage own{};
    socklen_t size = sizeof(own);
    auto* address = reinterpret_cast<sockaddr*>(&own);
    const bool is_known =
        ::connect(socket, target->ai_addr, target->ai_addrlen) == 0 && ::getsockname(socket, address, &size) == 0;
    ::close(socket);
    std::array<char, NI_MAXHOST> text{};
    if (is_known && ::getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0) {
      return text.data();
    }
  }
  return "";
}

std::optional<std::string> environment_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace quest::train
