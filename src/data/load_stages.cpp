#include "data/load_stages.h"

#include <chrono>
#include <stdexcept>

namespace quest::data {
namespace {

std::atomic<LoadStages*> active = nullptr;

std::int64_t nanoseconds_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

LoadStages::LoadStages(std::size_t kept_files) : kept_files_(kept_files) {
  LoadStages* none = nullptr;
  if (!active.compare_exchange_strong(none, this)) throw std::logic_error("loading is being measured already");
}

LoadStages::~LoadStages() { active = nullptr; }

double LoadStages::seconds(LoadStage stage) const {
  return 1e-9 * static_cast<double>(totals_[static_cast<std::size_t>(stage)].nanoseconds);
}

std::int64_t LoadStages::count(LoadStage stage) const { return totals_[static_cast<std::size_t>(stage)].count; }

std::vector<DecodedFile> LoadStages::files() const {
  const std::scoped_lock lock(mutex_);
  return files_;
}

StageTimer::StageTimer(LoadStage stage, std::int64_t samples)
    : stages_(active.load(std::memory_order_acquire)), stage_(stage), samples_(samples) {
  if (stages_ != nullptr) begin_ = nanoseconds_now();
}

StageTimer::~StageTimer() {
  if (stages_ == nullptr) return;
  auto& total = stages_->totals_[static_cast<std::size_t>(stage_)];
  total.nanoseconds += nanoseconds_now() - begin_;
  total.count += samples_;
}

void note_file(std::string_view content, std::int64_t least_side) {
  auto* const stages = active.load(std::memory_order_acquire);
  if (stages == nullptr || stages->kept_files_ == 0) return;
  const std::scoped_lock lock(stages->mutex_);
  if (stages->files_.size() < stages->kept_files_) {
    stages->files_.push_back({.content = std::string(content), .least_side = least_side});
  }
}

}  // namespace quest::data
