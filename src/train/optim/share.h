#pragma once

// The part of the flat buffers whose optimiser state a process keeps, and which it updates: all of them, or, where the
// processes share the state, an equal part each in the order of their ranks.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "train/distributed/communicator.h"
#include "train/optim/flat_parameters.h"

namespace quest::train {

// What of a slice lies in a range, seen from the range's begin; of a slice outside it, nothing.
struct Piece {
  std::int64_t begin = 0;
  std::int64_t count = 0;
};

class Share {
 public:
  // Everything.
  explicit Share(const FlatParameters& parameters) : end_(parameters.values().numel()) {}
  // This process's part. The buffers have as many parts as there are processes.
  Share(const FlatParameters& parameters, Communicator& processes);

  [[nodiscard]] bool is_whole() const { return processes_ == nullptr; }
  [[nodiscard]] std::int64_t numel() const { return end_ - begin_; }
  [[nodiscard]] at::Tensor of(const at::Tensor& flat) const { return flat.narrow(0, begin_, numel()); }

  // What lies in it of elements begin to end - 1 of the buffers, and where in of(flat) that stands.
  [[nodiscard]] Piece range(std::int64_t begin, std::int64_t end) const;
  // One for each slice, seen from the begin of that range.
  [[nodiscard]] std::vector<Piece> pieces(std::span<const Slice> slices, const Piece& range) const;

  // Numbers that are sums over this part become sums over the buffers. Every process calls it.
  void add_up(const at::Tensor& numbers) const;

  // The parts of all processes as one buffer in the host's memory of the first one, undefined on the others; the part
  // itself where it is everything. Every process calls it.
  [[nodiscard]] at::Tensor joined(const at::Tensor& part) const;
  // The reverse: to every process its part of what the first one has, zeros where that is undefined.
  void hand_out(const at::Tensor& joined, const at::Tensor& part) const;

 private:
  std::int64_t begin_ = 0;
  std::int64_t end_ = 0;
  Communicator* processes_ = nullptr;  // that have the rest; null: there is no rest
};

}  // namespace quest::train
