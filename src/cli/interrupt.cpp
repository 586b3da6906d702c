#include "cli/interrupt.h"

#include <atomic>
#include <csignal>

namespace quest::cli {
namespace {

std::atomic<bool> requested = false;
static_assert(std::atomic<bool>::is_always_lock_free);

void on_signal(int) {
  requested = true;
  std::signal(SIGINT, SIG_DFL);
}

}  // namespace

InterruptRequest::InterruptRequest() {
  requested = false;
  std::signal(SIGINT, on_signal);
}

InterruptRequest::~InterruptRequest() { std::signal(SIGINT, SIG_DFL); }

bool InterruptRequest::made() { return requested; }

}  // namespace quest::cli
