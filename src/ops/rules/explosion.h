#pragma once

// Warns of attention logits that grow as they do before a training diverges: the largest logit of a head has doubled
// within 200 steps.
//
// Two things keep it quiet in a healthy training. Early on, logits double many times while they are small, so a level
// below 25 is never reported: there one key outweighs e^25, tens of billions of, keys with a logit of 0, and a row of
// any length looks at that key alone. And the largest logit of a batch is noisy, so a level counts when two records in
// a row have it.

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace quest::ops {

struct ExplosionOptions {
  std::int64_t within_steps = 200;  // or four records, where there are fewer in these steps
  double factor = 2.0;
  double least_logit = 25.0;
};

struct ExplosionWarning {
  struct Figures {
    std::int64_t step = 0;
    double max_logit = 0.0;
    double key_norm = 0.0;  // of the key behind it
  };

  std::string layer;
  std::size_t head = 0;
  Figures before;
  Figures now;

  // "layer blocks.3.attn head 5: max logit doubled in 200 steps (12.1 → 25.3), key norm 8.2 → 15.9"
  [[nodiscard]] std::string text() const;
};

// What one layer showed at one step, one entry per head.
struct LayerLogits {
  std::int64_t step = 0;
  std::string layer;
  std::span<const double> max_logit;
  std::span<const double> key_norm;
};

class ExplosionDetector {
 public:
  explicit ExplosionDetector(ExplosionOptions options = {}) : options_(options) {}

  // Those of a layer in the order of their steps. A head that was reported is reported again when its logit has doubled
  // once more.
  std::vector<ExplosionWarning> add(const LayerLogits& logits);

 private:
  struct Head {
    std::deque<ExplosionWarning::Figures> recent;
    double reported = 0.0;
  };

  [[nodiscard]] const ExplosionWarning::Figures* start_of_growth(Head& head) const;

  ExplosionOptions options_;
  std::map<std::pair<std::string, std::size_t>, Head> heads_;
};

}  // namespace quest::ops
