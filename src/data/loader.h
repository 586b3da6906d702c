#pragma once

// Reads batches ahead of the training: threads load passes in any order, next() gives them in theirs.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "data/batch.h"
#include "data/stream.h"

namespace quest::data {

struct LoaderOptions {
  int workers = 0;  // threads; 0: next() loads by itself
  std::int64_t rank = 0;
  std::int64_t first_step = 0;
  std::int64_t end_step = 0;
  bool pin = false;  // for a GPU
};

class Loader {
 public:
  // Called from any thread, several at once.
  using Load = std::function<Batch(const Draw&)>;

  struct Pass {
    Draw draw;
    Batch batch;
    bool ends_step = false;
  };

  Loader(std::unique_ptr<Stream> stream, Load load, const LoaderOptions& options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // Throws what loading this pass threw, and std::out_of_range behind the last step.
  [[nodiscard]] Pass next();

 private:
  struct Job {
    Pass pass;
    std::exception_ptr problem;
    bool is_taken = false;
    bool is_done = false;
  };

  void plan_ahead();
  void run(Job& job) const;
  void work();

  std::unique_ptr<Stream> stream_;
  Load load_;
  LoaderOptions options_;
  std::int64_t next_step_;
  std::deque<std::shared_ptr<Job>> jobs_;  // in the order of next()
  std::mutex mutex_;
  std::condition_variable work_to_do_;
  std::condition_variable work_done_;
  bool is_over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace quest::data
