#pragma once

// The mean of the gradients of all processes, exchanged while the backward pass still computes the rest. Where the
// processes share the optimiser's state each needs its own part of the mean alone, which is exchanged after the pass.

#include <cstdint>
#include <memory>
#include <vector>

#include "train/distributed/communicator.h"
#include "train/optim/share.h"

namespace quest::train {

class GradientAveraging {
 public:
  // Buckets are contiguous parts of the flat gradients. They are exchanged in the order of the buffer, which is the
  // order in which a backward pass completes them.
  static constexpr std::int64_t kBucketBytes = 25 << 20;
  GradientAveraging(FlatParameters& parameters, Communicator& communicator, const Share& share,
                    std::int64_t bucket_bytes = kBucketBytes);
  ~GradientAveraging();
  GradientAveraging(const GradientAveraging&) = delete;
  GradientAveraging& operator=(const GradientAveraging&) = delete;

  // The next backward pass is the last of this step: what it completes is exchanged. Gradients of passes before it are
  // only added up.
  void begin();
  // Waits until every gradient of the share is the mean; also of parameters that no pass has reached.
  void finish();

 private:
  struct Bucket {
    at::Tensor gradients;
    std::size_t slices = 0;
    std::size_t missing = 0;
    std::unique_ptr<Communicator::Pending> pending;
  };

  void gradient_ready(std::size_t slice);
  void start_next();

  FlatParameters& parameters_;
  Communicator& communicator_;
  std::vector<Bucket> buckets_;
  std::vector<std::size_t> bucket_of_slice_;
  std::vector<bool> ready_;
  std::size_t next_ = 0;
  bool active_ = false;
  bool is_whole_;
};

}  // namespace quest::train
