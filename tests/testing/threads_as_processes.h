#pragma once

// The processes of a training as threads of this program, so that a test can look into each of them.

#include <ATen/ATen.h>

#include <barrier>
#include <exception>
#include <functional>
#include <future>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include "train/distributed/communicator.h"

namespace quest::testing {

class Meeting {
 public:
  explicit Meeting(int size) : tensors_(static_cast<std::size_t>(size)), all_are_here_(size) {}

  [[nodiscard]] int size() const { return static_cast<int>(tensors_.size()); }
  void wait() { all_are_here_.arrive_and_wait(); }
  void leave() { all_are_here_.arrive_and_drop(); }

  // Every thread's tensor becomes what `combine` makes of them all.
  void exchange(int rank, const at::Tensor& tensor,
                const std::function<at::Tensor(const std::vector<at::Tensor>&)>& combine) {
    const at::NoGradGuard no_grad;
    tensors_[static_cast<std::size_t>(rank)] = tensor;
    wait();
    for (const auto& other : tensors_) {
      if (other.sizes() != tensor.sizes()) throw std::logic_error("processes exchange tensors of different shapes");
    }
    const auto result = combine(tensors_);
    wait();
    tensor.copy_(result);
  }

 private:
  std::vector<at::Tensor> tensors_;
  std::barrier<> all_are_here_;
};

class ThreadCommunicator final : public train::Communicator {
 public:
  ThreadCommunicator(Meeting& meeting, int rank) : Communicator(rank, meeting.size()), meeting_(meeting) {}

  std::unique_ptr<Pending> start_all_reduce_sum(const at::Tensor& tensor) override {
    struct Done final : Pending {
      void wait() override {}
    };
    meeting_.exchange(rank(), tensor, [](const std::vector<at::Tensor>& all) {
      auto sum = all.front().clone();
      for (std::size_t i = 1; i < all.size(); ++i) sum += all[i];
      return sum;
    });
    return std::make_unique<Done>();
  }
  void broadcast(const at::Tensor& tensor, int root) override {
    meeting_.exchange(rank(), tensor, [root](const auto& all) { return all[static_cast<std::size_t>(root)].clone(); });
  }
  // The parts of others become what nobody may use.
  void reduce_scatter_sum(const at::Tensor& parts) override {
    const at::Tensor own = own_part(parts);
    start_all_reduce_sum(parts);
    const at::Tensor sum = own.clone();
    parts.fill_(std::numeric_limits<double>::quiet_NaN());
    own.copy_(sum);
  }
  void all_gather(const at::Tensor& parts) override {
    meeting_.exchange(rank(), parts, [](const std::vector<at::Tensor>& all) {
      std::vector<at::Tensor> own;
      const auto count = static_cast<std::int64_t>(all.size());
      for (std::int64_t i = 0; i < count; ++i) {
        own.push_back(all[static_cast<std::size_t>(i)].chunk(count)[static_cast<std::size_t>(i)]);
      }
      return at::cat(own);
    });
  }
  void barrier() override { meeting_.wait(); }

 private:
  Meeting& meeting_;
};

// Throws what the first of them throws.
inline void as_processes(int count, const std::function<void(train::Communicator&)>& body) {
  Meeting meeting(count);
  std::vector<std::future<void>> threads;
  for (int rank = 0; rank < count; ++rank) {
    threads.push_back(std::async(std::launch::async, [&meeting, &body, rank] {
      ThreadCommunicator communicator(meeting, rank);
      try {
        body(communicator);
      } catch (...) {
        meeting.leave();
        throw;
      }
    }));
  }
  for (auto& thread : threads) thread.wait();
  for (auto& thread : threads) thread.get();
}

}  // namespace quest::testing
