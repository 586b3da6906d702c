#include "data/loader.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace quest::data {
namespace {

// So that a slow sample delays nobody while the others go on.
constexpr std::size_t kPassesPerWorker = 2;

}  // namespace

Loader::Loader(std::unique_ptr<Stream> stream, Load load, const LoaderOptions& options)
    : stream_(std::move(stream)), load_(std::move(load)), options_(options), next_step_(options.first_step) {
  if (options.workers < 0)
    throw std::invalid_argument("expected no or some workers, got " + std::to_string(options.workers));
  for (int i = 0; i < options.workers; ++i) threads_.emplace_back([this] { work(); });
}

Loader::~Loader() {
  {
    const std::scoped_lock lock(mutex_);
    is_over_ = true;
  }
  work_to_do_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void Loader::plan_ahead() {
  const std::size_t wanted = std::max<std::size_t>(1, kPassesPerWorker * threads_.size());
  while (jobs_.size() < wanted && next_step_ < options_.end_step) {
    auto draws = stream_->draws(next_step_++, options_.rank);
    for (std::size_t i = 0; i < draws.size(); ++i) {
      auto job = std::make_shared<Job>();
      job->pass = {.draw = std::move(draws[i]), .batch = {}, .ends_step = i + 1 == draws.size()};
      jobs_.push_back(std::move(job));
    }
  }
}

void Loader::run(Job& job) const {
  try {
    job.pass.batch = load_(job.pass.draw);
    if (options_.pin) job.pass.batch = job.pass.batch.pinned();
  } catch (...) {
    job.problem = std::current_exception();
  }
}

void Loader::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    const auto waiting = [&] { return std::ranges::find(jobs_, false, [](const auto& job) { return job->is_taken; }); };
    work_to_do_.wait(lock, [&] { return is_over_ || waiting() != jobs_.end(); });
    if (is_over_) return;
    const auto job = *waiting();
    job->is_taken = true;
    lock.unlock();
    run(*job);
    lock.lock();
    job->is_done = true;
    work_done_.notify_all();
  }
}

Loader::Pass Loader::next() {
  std::unique_lock lock(mutex_);
  plan_ahead();
  if (jobs_.empty()) throw std::out_of_range("the training has no step " + std::to_string(options_.end_step + 1));
  work_to_do_.notify_all();
  const auto job = jobs_.front();
  if (threads_.empty()) {
    run(*job);
  } else {
    work_done_.wait(lock, [&] { return job->is_done; });
  }
  jobs_.pop_front();
  plan_ahead();
  lock.unlock();
  work_to_do_.notify_all();
  if (job->problem) std::rethrow_exception(job->problem);
  return std::move(job->pass);
}

}  // namespace quest::data
