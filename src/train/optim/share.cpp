#include "train/optim/share.h"

#include <torch/torch.h>

#include <algorithm>

namespace quest::train {

Share::Share(const FlatParameters& parameters, Communicator& processes) : Share(parameters) {
  if (processes.size() == 1) return;
  const std::int64_t each = end_ / processes.size();
  TORCH_CHECK(each * processes.size() == end_ && each % kSliceUnit == 0, "buffers of ", end_,
              " elements cannot be shared by ", processes.size(), " processes; make FlatParameters with as many parts");
  processes_ = &processes;
  begin_ = each * processes.rank();
  end_ = begin_ + each;
}

Piece Share::range(std::int64_t begin, std::int64_t end) const {
  const std::int64_t first = std::clamp(begin, begin_, end_);
  return {first - begin_, std::clamp(end, begin_, end_) - first};
}

std::vector<Piece> Share::pieces(std::span<const Slice> slices, const Piece& range) const {
  std::vector<Piece> pieces;
  pieces.reserve(slices.size());
  for (const Slice& slice : slices) {
    const Piece own = this->range(slice.offset, slice.offset + slice.numel());
    pieces.push_back({own.begin - range.begin, own.count});
  }
  return pieces;
}

void Share::add_up(const at::Tensor& numbers) const {
  if (!is_whole()) processes_->all_reduce_sum(numbers);
}

at::Tensor Share::joined(const at::Tensor& part) const {
  if (is_whole()) return part;
  const bool is_first = processes_->rank() == 0;
  at::Tensor all;
  if (is_first) all = at::empty({numel() * processes_->size()}, part.options().device(at::kCPU));
  for (int rank = 0; rank < processes_->size(); ++rank) {
    const at::Tensor sent = rank == processes_->rank() ? part : at::empty_like(part);
    processes_->broadcast(sent, rank);
    if (is_first) all.narrow(0, rank * numel(), numel()).copy_(sent);
  }
  return all;
}

void Share::hand_out(const at::Tensor& joined, const at::Tensor& part) const {
  if (is_whole()) {
    if (joined.defined()) part.copy_(joined);
    return;
  }
  const at::Tensor sent = at::zeros_like(part);
  for (int rank = 0; rank < processes_->size(); ++rank) {
    if (joined.defined()) sent.copy_(joined.narrow(0, rank * numel(), numel()));
    processes_->broadcast(sent, 0);
    if (rank == processes_->rank()) part.copy_(sent);
  }
}

}  // namespace quest::train
