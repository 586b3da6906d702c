#pragma once

// Which training samples each step takes. A pure function of seed, step and rank, so that a resumed run needs no other
// state; and cut from the whole step's samples, so that several processes together take what one process with the
// larger batch takes.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/random.h"

namespace quest::data {

// One process's samples of one pass forward and backward.
struct Draw {
  std::uint64_t seed = 0;
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  std::int64_t step_samples = 0;  // of all processes and passes
  std::int64_t first = 0;         // place of samples.front() among them
  std::vector<std::int64_t> samples;

  // What happens to a sample at random is drawn from this, whichever process, pass or thread reads it.
  [[nodiscard]] base::Random random(std::size_t sample) const;
};

struct StreamOptions {
  std::int64_t batch = 0;       // samples of one process and pass; the stream by size: what a pass may hold
  std::int64_t accumulate = 1;  // passes per step
  std::int64_t processes = 1;
  std::uint64_t seed = 0;

  [[nodiscard]] std::int64_t step_batch() const { return batch * accumulate * processes; }
};

// Used by one thread at a time.
class Stream {
 public:
  Stream() = default;
  virtual ~Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  [[nodiscard]] virtual std::int64_t steps_per_epoch() const = 0;
  // What the process `rank` does in a step, pass by pass; never nothing.
  [[nodiscard]] virtual std::vector<Draw> draws(std::int64_t step, std::int64_t rank) = 0;
};

// An order for files that are read faster from their beginning to their end than at random: the samples are cut into
// blocks of consecutive ones, the blocks come in a new order each epoch, and so many of them at a time are shuffled
// together, a new block coming in as another one goes out.
struct BlockOrder {
  std::int64_t block = 512;
  std::int64_t together = 16;
};

// Every sample once an epoch, in a new order each time. The last step of an epoch takes what is left, unless that is
// too little to give every process a sample. Throws std::invalid_argument for fewer samples than processes.
[[nodiscard]] std::unique_ptr<Stream> shuffled_stream(std::int64_t samples, const StreamOptions& options);
[[nodiscard]] std::unique_ptr<Stream> shuffled_stream(std::int64_t samples, const StreamOptions& options,
                                                      const BlockOrder& blocks);

// An epoch is as long, but a sample that comes comes `copies` times in a row and in one step, to be augmented in as
// many ways; only one in `copies` samples comes in an epoch. Where the last step of an epoch ends inside such a row,
// the rest of that row is left out. Throws std::invalid_argument for steps of a number of samples that is no multiple
// of `copies`.
[[nodiscard]] std::unique_ptr<Stream> repeated_stream(std::int64_t samples, std::int64_t copies,
                                                      const StreamOptions& options);
[[nodiscard]] std::unique_ptr<Stream> repeated_stream(std::int64_t samples, std::int64_t copies,
                                                      const StreamOptions& options, const BlockOrder& blocks);

// `pieces` consecutive pieces of one text or recording are read by as many readers as a step has samples, each going
// through its own stretch in order: sample r of step t is piece r · stretch + t. What does not fill all stretches is
// left out.
[[nodiscard]] std::unique_ptr<Stream> contiguous_stream(std::int64_t pieces, const StreamOptions& options);

// Samples of different sizes (nodes, points, tokens): a pass takes shuffled samples while their sizes together stay
// within options.batch, and one at least. Passes that do not fill a step are left out.
[[nodiscard]] std::unique_ptr<Stream> sized_stream(std::span<const std::int64_t> sizes, const StreamOptions& options);

}  // namespace quest::data
