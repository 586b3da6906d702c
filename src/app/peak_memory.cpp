#include "app/peak_memory.h"

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <memory>
#include <mutex>

namespace quest::app {
namespace {

class AllocationCounter : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, std::int64_t size, std::size_t, std::size_t, c10::Device) override {
    const std::scoped_lock lock(mutex_);  // a pass backward on a GPU has a thread of its own
    held_ += size;
    peak_ = std::max(peak_, held_);
  }
  [[nodiscard]] bool memoryProfilingEnabled() const override { return true; }
  [[nodiscard]] std::int64_t peak() const { return peak_; }

 private:
  std::mutex mutex_;
  std::int64_t held_ = 0;
  std::int64_t peak_ = 0;
};

}  // namespace

double peak_bytes(const std::function<void()>& action) {
  const auto counter = std::make_shared<AllocationCounter>();
  const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, counter);
  action();
  return static_cast<double>(counter->peak());
}

}  // namespace quest::app
