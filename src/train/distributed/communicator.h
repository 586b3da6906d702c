#pragma once

// The processes of one training, each with its share of every batch.

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <memory>

namespace quest::train {

class Communicator {
 public:
  Communicator(int rank, int size) : rank_(rank), size_(size) {}
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

  // What has been started and must be waited for.
  class Pending {
   public:
    virtual ~Pending() = default;
    virtual void wait() = 0;
  };

  // Every process makes the same calls in the same order, with contiguous tensors of the same size, which are changed
  // in place. A call throws within a minute after another process has ended, and says which.
  virtual std::unique_ptr<Pending> start_all_reduce_sum(const at::Tensor& tensor) = 0;
  virtual void broadcast(const at::Tensor& tensor, int root) = 0;
  void all_reduce_sum(const at::Tensor& tensor) { start_all_reduce_sum(tensor)->wait(); }
  // The tensor is one-dimensional and consists of size() equal parts in the order of the ranks. This process's own part
  // becomes the sum over all processes; the others hold nothing of use afterwards.
  virtual void reduce_scatter_sum(const at::Tensor& parts) = 0;
  // The reverse: every part becomes that of its process.
  virtual void all_gather(const at::Tensor& parts) = 0;
  virtual void barrier() = 0;

 protected:
  // What reduce_scatter_sum and all_gather call this process's own.
  [[nodiscard]] at::Tensor own_part(const at::Tensor& parts) const;

 private:
  int rank_;
  int size_;
};

// By the variables that torchrun and other launchers set: RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT. Gloo serves
// tensors in the host's memory, NCCL those of GPUs. Without WORLD_SIZE, or with one process, a communicator that has
// nobody to talk to.
std::unique_ptr<Communicator> communicator_from_environment(const at::Device& device);

}  // namespace quest::train
