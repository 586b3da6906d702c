#pragma once

// As many models as a vector has lanes, trained side by side on the same batches of samples. What a lane computes does
// not depend on its neighbours.

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "domains/toy/engine/model.h"
#include "domains/toy/engine/parameters.h"
#include "domains/toy/engine/task_data.h"

namespace quest::toy::engine::cpu {

// Zeros, aligned for vectors.
class LaneFloats {
 public:
  explicit LaneFloats(std::size_t count);

  [[nodiscard]] float* data() { return memory_.get(); }
  [[nodiscard]] const float* data() const { return memory_.get(); }
  float& operator[](std::size_t i) { return memory_.get()[i]; }
  const float& operator[](std::size_t i) const { return memory_.get()[i]; }

 private:
  struct Free {
    void operator()(float* memory) const;
  };
  std::unique_ptr<float, Free> memory_;
};

// Lanes of the vectors used here; results hold one value per lane.
[[nodiscard]] int model_lanes();

struct LaneModels {
  LaneModels(const engine::Model& model, int lanes);

  void set_lane(int lane, std::span<const float> parameters, float lane_learning_rate, float lane_weight_decay);

  engine::Model model;
  engine::Layout layout;
  int lanes;
  LaneFloats weights;  // [parameter][lane], and so are the next three
  LaneFloats gradient;
  LaneFloats first_moment;
  LaneFloats second_moment;
  LaneFloats learning_rate;  // [lane]
  LaneFloats weight_decay;
  int steps = 0;
};

// Sums over samples, per lane.
struct SampleTotals {
  std::vector<float> loss;
  std::vector<float> correct;
};

// Means over the samples looked at, per lane.
struct Probe {
  std::vector<float> biased_key_norm;    // answers of biased samples
  std::vector<float> unbiased_key_norm;  // answers of the others
  std::vector<float> other_key_norm;     // tokens that are no answer
  std::vector<float> query_norm;         // of CLS
  std::vector<float> entropy;            // of CLS's attention
};

// Leaves the gradient of the mean loss in `gradient`.
SampleTotals batch_gradient(LaneModels& models, const engine::TaskData& data, std::span<const int> samples);

// One step of AdamW along `gradient`: β 0.9 and 0.999, ε 1e-8, decay apart from the gradient.
void adamw_step(LaneModels& models);

[[nodiscard]] SampleTotals evaluate(const LaneModels& models, const engine::TaskData& data);

// Looks at the first samples.
[[nodiscard]] Probe probe(const LaneModels& models, const engine::TaskData& data, int samples);

}  // namespace quest::toy::engine::cpu
