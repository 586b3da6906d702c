#include "app/interrupt.h"

#include <atomic>
#include <csignal>

namespace quest::app {
namespace {

std::atomic<bool> requested = false;
static_assert(std::atomic<bool>::is_always_lock_free);

void handle_signals(void (*handler)(int)) {
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, handler);
}

void on_signal(int) {
  requested = true;
  handle_signals(SIG_DFL);
}

}  // namespace

InterruptRequest::InterruptRequest() {
  requested = false;
  handle_signals(on_signal);
}

InterruptRequest::~InterruptRequest() { handle_signals(SIG_DFL); }

bool InterruptRequest::made() { return requested; }

}  // namespace quest::app
