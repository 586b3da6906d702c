#pragma once

// Threads that talk to each other as the processes of a training do.

#include <ATen/core/Tensor.h>

#include <barrier>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "train/distributed/communicator.h"

namespace quest::testing {

class ThreadsAsProcesses {
 public:
  // Calls `work` in that many threads and throws what the first of them threw.
  static void run(int count, const std::function<void(train::Communicator& processes)>& work) {
    ThreadsAsProcesses all(count);
    std::vector<std::exception_ptr> problems(static_cast<std::size_t>(count));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < count; ++rank) {
      threads.emplace_back([&, rank] {
        Process process(all, rank);
        try {
          work(process);
        } catch (...) {
          problems[static_cast<std::size_t>(rank)] = std::current_exception();
        }
      });
    }
    for (auto& thread : threads) thread.join();
    for (const auto& problem : problems) {
      if (problem) std::rethrow_exception(problem);
    }
  }

 private:
  explicit ThreadsAsProcesses(int count) : count_(count), meeting_(count) {}

  class Process final : public train::Communicator {
   public:
    Process(ThreadsAsProcesses& all, int rank) : Communicator(rank, all.count_), all_(all) {}

    std::unique_ptr<Pending> start_all_reduce_sum(const at::Tensor& tensor) override {
      if (rank() == 0) all_.shared_ = at::Tensor();
      barrier();
      {
        const std::scoped_lock lock(all_.mutex_);
        all_.shared_ = all_.shared_.defined() ? all_.shared_ + tensor : tensor.clone();
      }
      barrier();
      tensor.copy_(all_.shared_);
      barrier();
      return std::make_unique<Done>();
    }
    void broadcast(const at::Tensor& tensor, int root) override {
      if (rank() == root) all_.shared_ = tensor.clone();
      barrier();
      tensor.copy_(all_.shared_);
      barrier();
    }
    void barrier() override { all_.meeting_.arrive_and_wait(); }

   private:
    struct Done final : Pending {
      void wait() override {}
    };

    ThreadsAsProcesses& all_;
  };

  int count_;
  std::barrier<> meeting_;
  std::mutex mutex_;
  at::Tensor shared_;
};

}  // namespace quest::testing
