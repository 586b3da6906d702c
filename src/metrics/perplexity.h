#pragma once

#include <cmath>
#include <optional>

#include "metrics/mean.h"

namespace quest::metrics {

// exp of the mean negative log-likelihood of the tokens.
class Perplexity final : public Mean {
 public:
  // Where the target is `ignored` there is no token.
  explicit Perplexity(std::optional<std::int64_t> ignored = std::nullopt) : ignored_(ignored) {}

  using Mean::add;  // the sum of the negative log-likelihoods, and of how many tokens
  // [..., classes] and [...].
  void add(const at::Tensor& logits, const at::Tensor& targets);

  [[nodiscard]] double value() const override { return std::exp(Mean::value()); }

 private:
  std::optional<std::int64_t> ignored_;
};

}  // namespace quest::metrics
