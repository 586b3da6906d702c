#include "data/stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>

#include "tests/testing/messages.h"

namespace quest::data {
namespace {

using quest::testing::message_of;
using Samples = std::vector<std::int64_t>;

// A stream over so many samples.
struct Kind {
  std::string name;
  std::function<std::unique_ptr<Stream>(std::int64_t samples, const StreamOptions& options)> make;
};

Samples sizes_of(std::int64_t samples, std::int64_t most) {
  Samples sizes;
  std::mt19937_64 random(17);
  for (std::int64_t i = 0; i < samples; ++i) sizes.push_back(1 + static_cast<std::int64_t>(random() % most));
  return sizes;
}

// Those that cut an order of samples into steps.
std::vector<Kind> ordered_kinds() {
  return {{"shuffled", [](auto samples, const auto& options) { return shuffled_stream(samples, options); }},
          {"repeated",
           [](auto samples, const auto& options) {
             return repeated_stream(samples, options.step_batch() % 2 == 0 ? 2 : options.step_batch(), options);
           }},
          {"blocks",
           [](auto samples, const auto& options) {
             return shuffled_stream(samples, options, BlockOrder{.block = 3, .together = 2});
           }},
          {"contiguous", [](auto samples, const auto& options) { return contiguous_stream(samples, options); }}};
}

std::vector<Kind> all_kinds() {
  auto kinds = ordered_kinds();
  kinds.push_back(
      {"sized", [](auto samples, const auto& options) { return sized_stream(sizes_of(samples, 4), options); }});
  return kinds;
}

// Of all processes and passes, in their order.
std::vector<Draw> draws_of_step(Stream& stream, std::int64_t step, std::int64_t processes) {
  std::vector<Draw> all;
  for (std::int64_t rank = 0; rank < processes; ++rank) {
    const auto own = stream.draws(step, rank);
    EXPECT_FALSE(own.empty()) << "step " << step << " rank " << rank;
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

Samples samples_of(const std::vector<Draw>& draws) {
  Samples all;
  for (const auto& draw : draws) all.insert(all.end(), draw.samples.begin(), draw.samples.end());
  return all;
}

Samples samples_of_step(Stream& stream, std::int64_t step, std::int64_t processes) {
  return samples_of(draws_of_step(stream, step, processes));
}

Samples sorted(Samples samples) {
  std::ranges::sort(samples);
  return samples;
}

Samples every_sample(std::int64_t count) {
  Samples every(static_cast<std::size_t>(count));
  std::iota(every.begin(), every.end(), 0);
  return every;
}

auto content(const Draw& draw) {
  return std::tuple(draw.seed, draw.step, draw.epoch, draw.step_samples, draw.first, draw.samples);
}

void expect_same(const std::vector<Draw>& actual, const std::vector<Draw>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) EXPECT_EQ(content(actual[i]), content(expected[i])) << i;
}

std::vector<std::uint64_t> random_bits(const std::vector<Draw>& draws) {
  std::vector<std::uint64_t> bits;
  for (const auto& draw : draws) {
    for (std::size_t i = 0; i < draw.samples.size(); ++i) bits.push_back(draw.random(i).bits());
  }
  return bits;
}

// Sizes of a training, drawn anew each time.
struct Sizes {
  StreamOptions options;
  std::int64_t samples;
};

Sizes random_sizes(std::mt19937_64& random) {
  const auto from_one_to = [&](std::int64_t most) { return 1 + static_cast<std::int64_t>(random() % most); };
  StreamOptions options{
      .batch = from_one_to(7), .accumulate = from_one_to(4), .processes = from_one_to(4), .seed = random()};
  return {options, options.step_batch() + from_one_to(120)};
}

TEST(ShuffledStream, TakesEverySampleOnceAnEpoch) {
  for (const std::int64_t samples : {7, 32, 61}) {
    const auto stream = shuffled_stream(samples, {.batch = 4, .accumulate = 2, .seed = 1});
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
      Samples taken;
      for (std::int64_t step = 0; step < stream->steps_per_epoch(); ++step) {
        const auto of_step = samples_of_step(*stream, epoch * stream->steps_per_epoch() + step, 1);
        taken.insert(taken.end(), of_step.begin(), of_step.end());
      }
      EXPECT_EQ(sorted(taken), every_sample(samples)) << samples << " " << epoch;
    }
  }
}

TEST(OrderedStreams, SeveralProcessesTakeWhatOneWithTheLargerBatchTakes) {
  std::mt19937_64 random(3);
  for (const auto& kind : ordered_kinds()) {
    for (int round = 0; round < 60; ++round) {
      const auto [options, samples] = random_sizes(random);
      const auto several = kind.make(samples, options);
      const auto one = kind.make(samples, {.batch = options.step_batch(), .seed = options.seed});
      SCOPED_TRACE(kind.name + " round " + std::to_string(round));
      // A rest that is too small for all processes is taken by one alone.
      ASSERT_GE(several->steps_per_epoch(), one->steps_per_epoch() - 1);
      for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
        for (std::int64_t step = 0; step < several->steps_per_epoch(); ++step) {
          const auto of_several = draws_of_step(*several, epoch * several->steps_per_epoch() + step, options.processes);
          const auto of_one = draws_of_step(*one, epoch * one->steps_per_epoch() + step, 1);
          ASSERT_EQ(samples_of(of_several), samples_of(of_one)) << epoch << " " << step;
          EXPECT_EQ(of_several.front().epoch, epoch);
          if (several->steps_per_epoch() == one->steps_per_epoch()) {
            ASSERT_EQ(random_bits(of_several), random_bits(of_one)) << epoch << " " << step;
          }
        }
      }
    }
  }
}

TEST(EveryStream, PassesOfAStepAreTheWholeStep) {
  std::mt19937_64 random(4);
  for (const auto& kind : all_kinds()) {
    for (int round = 0; round < 40; ++round) {
      const auto [options, samples] = random_sizes(random);
      const auto stream = kind.make(samples + 300, options);
      SCOPED_TRACE(kind.name + " round " + std::to_string(round));
      for (std::int64_t step = 0; step < 2 * stream->steps_per_epoch(); ++step) {
        const auto draws = draws_of_step(*stream, step, options.processes);
        std::int64_t count = 0;
        for (const auto& draw : draws) {
          ASSERT_EQ(draw.first, count);
          ASSERT_FALSE(draw.samples.empty());
          ASSERT_LE(static_cast<std::int64_t>(draw.samples.size()), options.batch);
          count += static_cast<std::int64_t>(draw.samples.size());
        }
        for (const auto& draw : draws) ASSERT_EQ(draw.step_samples, count);
        ASSERT_LE(static_cast<std::int64_t>(draws.size()), options.accumulate * options.processes);
      }
    }
  }
}

TEST(EveryStream, IsAFunctionOfSeedStepAndRankInWhateverOrderItIsAsked) {
  const StreamOptions options{.batch = 5, .accumulate = 2, .processes = 2, .seed = 8};
  for (const auto& kind : all_kinds()) {
    SCOPED_TRACE(kind.name);
    const auto asked_before = kind.make(203, options);
    std::vector<std::pair<std::int64_t, std::int64_t>> places;
    for (std::int64_t step = 0; step < 6 * asked_before->steps_per_epoch(); ++step) {
      for (std::int64_t rank = 0; rank < 2; ++rank) places.emplace_back(step, rank);
    }
    std::shuffle(places.begin(), places.end(), std::mt19937(2));
    places.resize(50);
    for (const auto& [step, rank] : places) {
      const auto fresh = kind.make(203, options);
      expect_same(asked_before->draws(step, rank), fresh->draws(step, rank));
    }
  }
}

TEST(EveryStream, OrdersDifferBetweenEpochsAndSeeds) {
  for (const auto& kind : all_kinds()) {
    if (kind.name == "contiguous") continue;
    const auto stream = kind.make(40, {.batch = 8, .seed = 1});
    const auto other_seed = kind.make(40, {.batch = 8, .seed = 2});
    EXPECT_NE(samples_of_step(*stream, 0, 1), samples_of_step(*stream, stream->steps_per_epoch(), 1)) << kind.name;
    EXPECT_NE(samples_of_step(*stream, 0, 1), samples_of_step(*other_seed, 0, 1)) << kind.name;
  }
}

TEST(EveryStream, RandomNumbersDifferBetweenSamplesStepsAndSeeds) {
  for (const auto& kind : all_kinds()) {
    std::set<std::uint64_t> seen;
    std::size_t count = 0;
    for (const std::uint64_t seed : {1, 2}) {
      const StreamOptions options{.batch = 4, .accumulate = 2, .processes = 2, .seed = seed};
      const auto stream = kind.make(90, options);
      for (std::int64_t step = 0; step < 3 * stream->steps_per_epoch(); ++step) {
        const auto bits = random_bits(draws_of_step(*stream, step, 2));
        seen.insert(bits.begin(), bits.end());
        count += bits.size();
      }
    }
    EXPECT_EQ(seen.size(), count) << kind.name;
  }
}

TEST(ShuffledStream, LeavesARestThatWouldNotGiveEveryProcessASample) {
  EXPECT_EQ(shuffled_stream(33, {.batch = 8, .processes = 2})->steps_per_epoch(), 2);
  EXPECT_EQ(shuffled_stream(34, {.batch = 8, .processes = 2})->steps_per_epoch(), 3);
}

TEST(ShuffledStream, RefusesMoreProcessesThanSamples) {
  EXPECT_THROW((void)shuffled_stream(3, {.batch = 1, .processes = 4}), std::invalid_argument);
  EXPECT_EQ(message_of([] { (void)shuffled_stream(3, {.batch = 1, .processes = 4}); }),
            "the training set has 3 samples for 4 processes; start fewer processes");
  EXPECT_EQ(message_of([] { (void)shuffled_stream(3, {.batch = 0}); }), "expected at least one sample a step, got 0");
}

TEST(RepeatedStream, GivesTheCopiesOfASampleTogetherInOneStep) {
  for (const std::int64_t processes : {1, 2, 4}) {
    const auto stream =
        repeated_stream(60, 3, {.batch = 12 / processes, .accumulate = 1, .processes = processes, .seed = 7});
    ASSERT_EQ(stream->steps_per_epoch(), 5) << "an epoch is as long as without copies";
    std::set<std::int64_t> of_run;
    for (std::int64_t epoch = 0; epoch < 30; ++epoch) {
      std::set<std::int64_t> of_epoch;
      for (std::int64_t step = 0; step < 5; ++step) {
        const auto samples = samples_of_step(*stream, 5 * epoch + step, processes);
        ASSERT_EQ(samples.size(), 12U);
        for (std::size_t i = 0; i < samples.size(); i += 3) {
          EXPECT_EQ(samples[i], samples[i + 1]);
          EXPECT_EQ(samples[i], samples[i + 2]);
          EXPECT_TRUE(of_epoch.insert(samples[i]).second) << samples[i] << " came twice in epoch " << epoch;
        }
      }
      EXPECT_EQ(of_epoch.size(), 20U);
      of_run.insert(of_epoch.begin(), of_epoch.end());
    }
    EXPECT_EQ(of_run.size(), 60U) << "every sample has its turn";
  }
}

TEST(RepeatedStream, RefusesStepsThatWouldTearCopiesApart) {
  EXPECT_EQ(message_of([] { (void)repeated_stream(60, 3, {.batch = 5, .accumulate = 2}); }),
            "expected the samples of a step to be a multiple of the 3 copies of each, got 10; change the batch size or "
            "the number of copies");
  EXPECT_NO_THROW((void)repeated_stream(60, 3, {.batch = 5, .processes = 3}));
}

TEST(RepeatedStream, OfOneCopyIsTheShuffledOne) {
  const StreamOptions options{.batch = 5, .processes = 2, .seed = 9};
  const auto repeated = repeated_stream(33, 1, options);
  const auto once = shuffled_stream(33, options);
  for (std::int64_t step = 0; step < 9; ++step) expect_same(repeated->draws(step, 1), once->draws(step, 1));
  EXPECT_EQ(message_of([] { (void)repeated_stream(33, 0, {.batch = 5}); }),
            "expected at least one copy of a sample, got 0");
}

TEST(ContiguousStream, EveryReaderGoesThroughItsOwnStretchInOrder) {
  for (const std::int64_t processes : {1, 2, 3}) {
    const auto stream = contiguous_stream(65, {.batch = 2, .accumulate = 6 / processes, .processes = processes});
    ASSERT_EQ(stream->steps_per_epoch(), 5);
    for (std::int64_t step = 0; step < 12; ++step) {
      Samples expected;
      for (std::int64_t reader = 0; reader < 12; ++reader) expected.push_back(reader * 5 + step % 5);
      EXPECT_EQ(samples_of_step(*stream, step, processes), expected) << step;
    }
  }
}

TEST(ContiguousStream, ReadsThePiecesThatFillAllStretchesOnceAnEpoch) {
  const auto stream = contiguous_stream(65, {.batch = 12});
  Samples taken;
  for (std::int64_t step = 0; step < 5; ++step) {
    const auto of_step = samples_of_step(*stream, step, 1);
    taken.insert(taken.end(), of_step.begin(), of_step.end());
  }
  EXPECT_EQ(sorted(taken), every_sample(60));
}

TEST(ContiguousStream, RefusesFewerPiecesThanReaders) {
  EXPECT_EQ(message_of([] { (void)contiguous_stream(11, {.batch = 3, .accumulate = 2, .processes = 2}); }),
            "expected at least as many pieces as the 12 samples of a step, got 11; make batches smaller, or pieces "
            "shorter");
  EXPECT_EQ(message_of([] { (void)contiguous_stream(11, {.batch = 0}); }), "expected at least one reader, got 0");
}

std::int64_t size_of(const Samples& samples, const Samples& sizes) {
  std::int64_t size = 0;
  for (const auto sample : samples) size += sizes[static_cast<std::size_t>(sample)];
  return size;
}

TEST(SizedStream, PassesHoldWhatFitsAndOneSampleAtLeast) {
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    const auto sizes = sizes_of(150, 30);
    const StreamOptions options{.batch = 25, .accumulate = 2, .processes = 2, .seed = seed};
    const auto stream = sized_stream(sizes, options);
    // Behind the epochs whose lengths were looked at, too.
    for (std::int64_t step = 0; step < 20 * stream->steps_per_epoch(); ++step) {
      std::set<std::int64_t> of_step;
      std::size_t count = 0;
      const auto draws = draws_of_step(*stream, step, 2);
      ASSERT_EQ(draws.size(), 4U);
      for (std::size_t i = 0; i < draws.size(); ++i) {
        const auto& samples = draws[i].samples;
        EXPECT_TRUE(size_of(samples, sizes) <= 25 || samples.size() == 1) << step;
        if (i + 1 < draws.size()) {
          const auto next = sizes[static_cast<std::size_t>(draws[i + 1].samples.front())];
          EXPECT_GT(size_of(samples, sizes) + next, 25) << "there was room for one more in step " << step;
        }
        of_step.insert(samples.begin(), samples.end());
        count += samples.size();
      }
      EXPECT_EQ(of_step.size(), count) << "processes share a sample in step " << step;
    }
  }
}

TEST(BlockOrder, KeepsNeighboursNearEachOther) {
  constexpr std::int64_t kSamples = 1003;
  constexpr BlockOrder kBlocks{.block = 20, .together = 4};
  const auto stream = shuffled_stream(kSamples, {.batch = kSamples, .seed = 5}, kBlocks);
  const auto order = stream->draws(0, 0).front().samples;
  EXPECT_EQ(std::set(order.begin(), order.end()).size(), 1003U);
  EXPECT_NE(order, stream->draws(1, 0).front().samples);
  // A block is begun before the four that follow the one that is begun next; few of its samples wait much longer.
  std::vector<std::int64_t> begun;
  std::int64_t waiting_in_old_blocks = 0;
  std::int64_t steps_of_one = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto block = order[i] / kBlocks.block;
    const auto found = std::ranges::find(begun, block);
    if (found == begun.end()) {
      begun.push_back(block);
    } else if (begun.end() - found > 4 * kBlocks.together) {
      ++waiting_in_old_blocks;
    }
    steps_of_one += i > 0 && order[i] == order[i - 1] + 1 ? 1 : 0;
  }
  EXPECT_EQ(begun.size(), 51U);
  EXPECT_FALSE(std::ranges::is_sorted(begun));
  EXPECT_LT(waiting_in_old_blocks, 60);
  EXPECT_LT(steps_of_one, 60);
  EXPECT_EQ(message_of([&] { (void)shuffled_stream(5, {.batch = 1}, BlockOrder{.block = 0}); }),
            "expected at least one sample a block, got 0");
}

TEST(SizedStream, AnEpochHasNoSampleTwiceAndNearlyAll) {
  const auto sizes = sizes_of(400, 10);
  const auto stream = sized_stream(sizes, {.batch = 40, .processes = 2, .seed = 3});
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    std::set<std::int64_t> seen;
    std::size_t count = 0;
    for (std::int64_t step = 0; step < stream->steps_per_epoch(); ++step) {
      const auto samples = samples_of_step(*stream, epoch * stream->steps_per_epoch() + step, 2);
      seen.insert(samples.begin(), samples.end());
      count += samples.size();
    }
    EXPECT_EQ(seen.size(), count);
    EXPECT_GE(count, 360U) << "more was left out than a few passes";
  }
}

TEST(SizedStream, RefusesTooLittleForOneStep) {
  const Samples sizes = {10, 10, 10};
  EXPECT_NO_THROW((void)sized_stream(sizes, {.batch = 10, .processes = 3}));
  EXPECT_EQ(message_of([&] { (void)sized_stream(sizes, {.batch = 10, .accumulate = 2, .processes = 2}); }),
            "the training set does not fill one step of 4 passes of size 10; make passes smaller, or start fewer "
            "processes");
  EXPECT_THROW((void)sized_stream({}, {.batch = 10}), std::invalid_argument);
  EXPECT_EQ(message_of([&] { (void)sized_stream(sizes, {.batch = 0}); }),
            "expected at least one element a pass, got 0");
}

}  // namespace
}  // namespace quest::data
