#include "train/engine/sampler.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

#include "kernels/sequence.h"
#include "base/random.h"

namespace quest::train {
Sampler::Sampler(const Sizes& sizes, std::uint64_t seed) : sizes_(sizes), seed_(seed) {
  if (sizes.samples < sizes.processes) {
    throw std::invalid_argument("the training set has " + std::to_string(sizes.samples) + " samples for " +
                                std::to_string(sizes.processes) + " processes; start fewer processes");
  }
}

std::int64_t Sampler::steps_per_epoch() const {
  const bool rest_is_enough = sizes_.samples % step_samples() >= sizes_.processes;
  return sizes_.samples / step_samples() + (rest_is_enough ? 1 : 0);
}

void Sampler::shuffle(std::int64_t epoch) {
  if (epoch == shuffled_epoch_) return;
  order_.resize(static_cast<std::size_t>(sizes_.samples));
  std::iota(order_.begin(), order_.end(), 0);
  // Not std::shuffle: its result differs between standard libraries.
  base::Random random(seed_, {base::kBatchOrder, static_cast<std::uint64_t>(epoch)});
  for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random.below(i)]);
  shuffled_epoch_ = epoch;
}

std::vector<Sampler::Pass> Sampler::passes(std::int64_t step, std::int64_t rank) {
  const std::int64_t epoch_of_step = epoch(step);
  shuffle(epoch_of_step);
  const std::int64_t begin = step % steps_per_epoch() * step_samples();
  const std::int64_t count = std::min(step_samples(), sizes_.samples - begin);
  const std::int64_t own_begin = begin + count * rank / sizes_.processes;
  const std::int64_t own_end = begin + count * (rank + 1) / sizes_.processes;
  const std::int64_t pass_count = kernels::ceil_div(own_end - own_begin, sizes_.batch);
  std::vector<Pass> result;
  for (std::int64_t pass = 0; pass < pass_count; ++pass) {
    const std::int64_t first = own_begin + (own_end - own_begin) * pass / pass_count;
    const std::int64_t last = own_begin + (own_end - own_begin) * (pass + 1) / pass_count;
    result.push_back({.batch = {.epoch = epoch_of_step, .samples = {order_.begin() + first, order_.begin() + last}},
                      .weight = static_cast<double>(last - first) / static_cast<double>(count)});
  }
  return result;
}

}  // namespace quest::train
