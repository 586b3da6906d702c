#include "data/stream.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

namespace quest::data {
namespace {

using Order = std::vector<std::int64_t>;

void expect_positive(std::int64_t value, const char* what) {
  if (value > 0) return;
  throw std::invalid_argument(std::string("expected at least one ") + what + ", got " + std::to_string(value));
}

Order shuffled(std::int64_t samples, std::uint64_t seed, std::int64_t epoch) {
  Order order(static_cast<std::size_t>(samples));
  std::iota(order.begin(), order.end(), 0);
  // Not std::shuffle: its result differs between standard libraries.
  base::Random random(seed, {base::kBatchOrder, static_cast<std::uint64_t>(epoch)});
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

// What is taken out of those that wait, at random, makes room for the next of its block.
Order shuffled_in_blocks(std::int64_t samples, const BlockOrder& blocks, std::uint64_t seed, std::int64_t epoch) {
  constexpr std::uint64_t kInsideBlocks = 1;
  base::Random random(seed, {base::kBatchOrder, static_cast<std::uint64_t>(epoch), kInsideBlocks});
  const auto most = static_cast<std::size_t>(blocks.block * blocks.together);
  Order order;
  Order waiting;
  const auto take = [&] {
    std::swap(waiting[random.below(waiting.size())], waiting.back());
    order.push_back(waiting.back());
    waiting.pop_back();
  };
  for (const auto block : shuffled((samples + blocks.block - 1) / blocks.block, seed, epoch)) {
    for (auto i = block * blocks.block; i < std::min(samples, (block + 1) * blocks.block); ++i) {
      if (waiting.size() == most) take();
      waiting.push_back(i);
    }
  }
  while (!waiting.empty()) take();
  return order;
}

void expect_blocks(const BlockOrder& blocks) {
  expect_positive(blocks.block, "sample a block");
  expect_positive(blocks.together, "block at a time");
}

void expect_copies(std::int64_t copies, const StreamOptions& options) {
  expect_positive(copies, "copy of a sample");
  if (options.step_batch() % copies == 0) return;
  throw std::invalid_argument("expected the samples of a step to be a multiple of the " + std::to_string(copies) +
                              " copies of each, got " + std::to_string(options.step_batch()) +
                              "; change the batch size or the number of copies");
}

// As many of the order's first samples as there is room for.
Order repeated(const Order& once, std::int64_t copies) {
  Order order(once.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = once[i / static_cast<std::size_t>(copies)];
  return order;
}

// Makes one epoch's order at a time.
class EpochOrder {
 public:
  explicit EpochOrder(std::function<Order(std::int64_t epoch)> make) : make_(std::move(make)) {}

  const Order& of(std::int64_t epoch) {
    if (epoch != epoch_) order_ = make_(epoch);
    epoch_ = epoch;
    return order_;
  }

 private:
  std::function<Order(std::int64_t)> make_;
  std::int64_t epoch_ = -1;
  Order order_;
};

// Steps are consecutive cuts of an epoch's order, shared by processes and passes as evenly as whole samples go.
class OrderedStream final : public Stream {
 public:
  OrderedStream(std::int64_t samples, const StreamOptions& options, std::function<Order(std::int64_t)> order)
      : samples_(samples), options_(options), order_(std::move(order)) {
    expect_positive(options.step_batch(), "sample a step");
    if (samples < options.processes) {
      throw std::invalid_argument("the training set has " + std::to_string(samples) + " samples for " +
                                  std::to_string(options.processes) + " processes; start fewer processes");
    }
  }

  [[nodiscard]] std::int64_t steps_per_epoch() const override {
    const bool rest_is_enough = samples_ % options_.step_batch() >= options_.processes;
    return samples_ / options_.step_batch() + (rest_is_enough ? 1 : 0);
  }

  std::vector<Draw> draws(std::int64_t step, std::int64_t rank) override {
    const std::int64_t epoch = step / steps_per_epoch();
    const auto& order = order_.of(epoch);
    const std::int64_t begin = step % steps_per_epoch() * options_.step_batch();
    const std::int64_t count = std::min(options_.step_batch(), samples_ - begin);
    const std::int64_t own_begin = count * rank / options_.processes;
    const std::int64_t own = count * (rank + 1) / options_.processes - own_begin;
    const std::int64_t passes = (own + options_.batch - 1) / options_.batch;
    std::vector<Draw> result;
    for (std::int64_t pass = 0; pass < passes; ++pass) {
      const std::int64_t first = own_begin + own * pass / passes;
      const std::int64_t last = own_begin + own * (pass + 1) / passes;
      result.push_back({.seed = options_.seed,
                        .step = step,
                        .epoch = epoch,
                        .step_samples = count,
                        .first = first,
                        .samples = {order.begin() + begin + first, order.begin() + begin + last}});
    }
    return result;
  }

 private:
  std::int64_t samples_;
  StreamOptions options_;
  EpochOrder order_;
};

class SizedStream final : public Stream {
 public:
  SizedStream(std::span<const std::int64_t> sizes, const StreamOptions& options)
      : sizes_(sizes.begin(), sizes.end()), options_(options), order_([this](std::int64_t epoch) {
          return shuffled(static_cast<std::int64_t>(sizes_.size()), options_.seed, epoch);
        }) {
    expect_positive(options.step_batch(), "element a pass");
    steps_ = std::numeric_limits<std::int64_t>::max();
    // Orders differ in how many passes they make; an epoch is as long as the shortest of these.
    for (std::int64_t epoch = 0; epoch < kEpochsLookedAt; ++epoch) {
      steps_ = std::min(steps_, static_cast<std::int64_t>(passes_of(epoch).size()) / step_passes());
    }
    if (steps_ == 0) {
      throw std::invalid_argument("the training set does not fill one step of " + std::to_string(step_passes()) +
                                  " passes of size " + std::to_string(options.batch) +
                                  "; make passes smaller, or start fewer processes");
    }
  }

  [[nodiscard]] std::int64_t steps_per_epoch() const override { return steps_; }

  std::vector<Draw> draws(std::int64_t step, std::int64_t rank) override {
    const std::int64_t epoch = step / steps_;
    const auto& passes = passes_of(epoch);
    // An order that makes fewer passes than the epoch has begins again.
    const std::int64_t begin =
        step % steps_ % (static_cast<std::int64_t>(passes.size()) / step_passes()) * step_passes();
    const std::span<const Order> of_step(passes.data() + begin, static_cast<std::size_t>(step_passes()));
    std::int64_t count = 0;
    std::vector<Draw> result;
    for (std::int64_t pass = 0; pass < step_passes(); ++pass) {
      const auto& samples = of_step[static_cast<std::size_t>(pass)];
      if (pass / options_.accumulate == rank) {
        result.push_back({.seed = options_.seed,
                          .step = step,
                          .epoch = epoch,
                          .step_samples = 0,
                          .first = count,
                          .samples = samples});
      }
      count += static_cast<std::int64_t>(samples.size());
    }
    for (auto& draw : result) draw.step_samples = count;
    return result;
  }

 private:
  static constexpr std::int64_t kEpochsLookedAt = 4;

  [[nodiscard]] std::int64_t step_passes() const { return options_.accumulate * options_.processes; }

  const std::vector<Order>& passes_of(std::int64_t epoch) {
    if (epoch == cut_epoch_) return passes_;
    passes_.clear();
    std::int64_t size = 0;
    for (const auto sample : order_.of(epoch)) {
      const auto own = sizes_[static_cast<std::size_t>(sample)];
      if (passes_.empty() || size + own > options_.batch) {
        passes_.emplace_back();
        size = 0;
      }
      passes_.back().push_back(sample);
      size += own;
    }
    cut_epoch_ = epoch;
    return passes_;
  }

  std::vector<std::int64_t> sizes_;
  StreamOptions options_;
  EpochOrder order_;
  std::int64_t steps_ = 0;
  std::int64_t cut_epoch_ = -1;
  std::vector<Order> passes_;
};

}  // namespace

base::Random Draw::random(std::size_t sample) const {
  return {seed, {base::kAugmentation, static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(first) + sample}};
}

std::unique_ptr<Stream> shuffled_stream(std::int64_t samples, const StreamOptions& options) {
  return std::make_unique<OrderedStream>(samples, options,
                                         [=](std::int64_t epoch) { return shuffled(samples, options.seed, epoch); });
}

std::unique_ptr<Stream> shuffled_stream(std::int64_t samples, const StreamOptions& options, const BlockOrder& blocks) {
  expect_blocks(blocks);
  return std::make_unique<OrderedStream>(
      samples, options, [=](std::int64_t epoch) { return shuffled_in_blocks(samples, blocks, options.seed, epoch); });
}

std::unique_ptr<Stream> repeated_stream(std::int64_t samples, std::int64_t copies, const StreamOptions& options) {
  expect_copies(copies, options);
  return std::make_unique<OrderedStream>(
      samples, options, [=](std::int64_t epoch) { return repeated(shuffled(samples, options.seed, epoch), copies); });
}

std::unique_ptr<Stream> repeated_stream(std::int64_t samples, std::int64_t copies, const StreamOptions& options,
                                        const BlockOrder& blocks) {
  expect_copies(copies, options);
  expect_blocks(blocks);
  return std::make_unique<OrderedStream>(samples, options, [=](std::int64_t epoch) {
    return repeated(shuffled_in_blocks(samples, blocks, options.seed, epoch), copies);
  });
}

std::unique_ptr<Stream> contiguous_stream(std::int64_t pieces, const StreamOptions& options) {
  const std::int64_t readers = options.step_batch();
  expect_positive(readers, "reader");
  const std::int64_t stretch = pieces / readers;
  if (stretch == 0) {
    throw std::invalid_argument("expected at least as many pieces as the " + std::to_string(readers) +
                                " samples of a step, got " + std::to_string(pieces) +
                                "; make batches smaller, or pieces shorter");
  }
  return std::make_unique<OrderedStream>(stretch * readers, options, [=](std::int64_t) {
    Order order(static_cast<std::size_t>(stretch * readers));
    for (std::int64_t i = 0; i < stretch * readers; ++i) {
      order[static_cast<std::size_t>(i)] = i % readers * stretch + i / readers;
    }
    return order;
  });
}

std::unique_ptr<Stream> sized_stream(std::span<const std::int64_t> sizes, const StreamOptions& options) {
  return std::make_unique<SizedStream>(sizes, options);
}

}  // namespace quest::data
