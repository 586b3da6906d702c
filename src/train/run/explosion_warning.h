#pragma once

// The warnings of growing attention logits, for the records of a run.

#include <vector>

#include "ops/rules/explosion.h"
#include "train/run/layer_record.h"

namespace quest::train {

using ops::ExplosionOptions;
using ops::ExplosionWarning;

class LayerExplosionDetector {
 public:
  explicit LayerExplosionDetector(ExplosionOptions options = {}) : detector_(options) {}

  // Records of a layer in the order of their steps.
  std::vector<ExplosionWarning> add(const LayerRecord& record) {
    return detector_.add({record.step, record.layer, record.max_logit, record.key_norm});
  }

 private:
  ops::ExplosionDetector detector_;
};

}  // namespace quest::train
