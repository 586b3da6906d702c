#pragma once

// The statistics of one call of attention, reduced to a few figures per head.

#include <quest/nn/attention.h>

#include <cstdint>
#include <string>

#include "train/run/layer_record.h"

namespace quest::train {

// Quantiles of norms are taken over at most that many tokens of each head, spread evenly over the batch.
inline constexpr std::int64_t kQuantileTokens = 4096;

// Of a batch that is not packed, with a gain, where there is one, that broadcasts to [H, D].
// [H, figures], on the device of the probe: a few kernel calls, and nothing waits for them.
[[nodiscard]] at::Tensor summarize(const nn::AttentionProbe& probe);

// What summarize gave, once it is on the CPU.
[[nodiscard]] LayerRecord layer_record(const at::Tensor& summary, std::int64_t step, std::string layer);

}  // namespace quest::train
