// In a build without CUDA.

#include "app/usage_error.h"
#include "bench/device_clock.h"

namespace quest::bench {

void require_gpu() {
  throw app::UsageError(
      "--device cuda: this program was built without CUDA; build it with the preset \"cuda\" against a torch "
      "with CUDA");
}

std::string gpu_text() { return "not supported by this build"; }

int compute_capability() { return 0; }

Contestant replay(const std::function<void()>& /*work*/, int /*runs*/) {
  require_gpu();
  return {};
}

}  // namespace quest::bench
