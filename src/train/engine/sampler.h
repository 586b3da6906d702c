#pragma once

// Which training samples a step takes. A pure function of the step, so that a resumed run needs no other state, and of
// the whole step's batch, so that several processes together take what one process with the larger batch takes.

#include <cstdint>
#include <vector>

#include "train/engine/task.h"

namespace quest::train {

class Sampler {
 public:
  struct Sizes {
    std::int64_t samples = 0;     // of the training set
    std::int64_t batch = 0;       // of one process, one forward and backward pass
    std::int64_t accumulate = 1;  // passes per step
    std::int64_t processes = 1;
  };

  Sampler(const Sizes& sizes, std::uint64_t seed);

  // The last step of an epoch takes what is left, unless that is too little to give every process a sample.
  [[nodiscard]] std::int64_t steps_per_epoch() const;
  [[nodiscard]] std::int64_t epoch(std::int64_t step) const { return step / steps_per_epoch(); }

  struct Pass {
    TrainBatch batch;
    double weight = 1.0;  // its share of the step's samples
  };
  // What the process `rank` does in a step, pass by pass.
  [[nodiscard]] std::vector<Pass> passes(std::int64_t step, std::int64_t rank);

 private:
  [[nodiscard]] std::int64_t step_samples() const { return sizes_.batch * sizes_.accumulate * sizes_.processes; }
  void shuffle(std::int64_t epoch);

  Sizes sizes_;
  std::uint64_t seed_;
  std::int64_t shuffled_epoch_ = -1;
  std::vector<std::int64_t> order_;
};

}  // namespace quest::train
