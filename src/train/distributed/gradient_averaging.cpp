#include "train/distributed/gradient_averaging.h"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/torch.h>

#include <functional>
#include <utility>

namespace quest::train {
namespace {

class Hook : public torch::autograd::PostAccumulateGradHook {
 public:
  explicit Hook(std::function<void()> function) : function_(std::move(function)) {}
  void operator()(const at::Tensor& /*parameter*/) override { function_(); }

 private:
  std::function<void()> function_;
};

}  // namespace

GradientAveraging::GradientAveraging(FlatParameters& parameters, Communicator& communicator, const Share& share,
                                     std::int64_t bucket_bytes)
    : parameters_(parameters), communicator_(communicator), is_whole_(share.is_whole()) {
  if (communicator.size() == 1 || !is_whole_) return;
  const std::vector<Slice>& slices = parameters.slices();
  ready_.resize(slices.size());
  std::int64_t begin = 0;
  std::size_t members = 0;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    ++members;
    bucket_of_slice_.push_back(buckets_.size());
    const std::int64_t end = i + 1 < slices.size() ? slices[i + 1].offset : parameters.gradients().numel();
    if ((end - begin) * static_cast<std::int64_t>(sizeof(float)) >= bucket_bytes || i + 1 == slices.size()) {
      buckets_.push_back({parameters.gradients().narrow(0, begin, end - begin), members, 0, nullptr});
      begin = end;
      members = 0;
    }
  }
  for (std::size_t i = 0; i < slices.size(); ++i) {
    torch::autograd::impl::set_post_acc_grad_hooks(slices[i].parameter,
                                                   std::make_unique<Hook>([this, i] { gradient_ready(i); }));
  }
}

GradientAveraging::~GradientAveraging() {
  if (buckets_.empty()) return;
  for (const Slice& slice : parameters_.slices()) {
    torch::autograd::impl::set_post_acc_grad_hooks(slice.parameter, nullptr);
  }
}

void GradientAveraging::begin() {
  active_ = true;
  next_ = 0;
  std::fill(ready_.begin(), ready_.end(), false);
  for (Bucket& bucket : buckets_) bucket.missing = bucket.slices;
}

void GradientAveraging::gradient_ready(std::size_t slice) {
  if (!active_) return;
  TORCH_CHECK(!ready_[slice], "the gradient of '", parameters_.slices()[slice].name,
              "' grew after it may have been averaged; call begin() before the last backward pass of a step only");
  ready_[slice] = true;
  --buckets_[bucket_of_slice_[slice]].missing;
  while (next_ < buckets_.size() && buckets_[next_].missing == 0) start_next();
}

void GradientAveraging::start_next() {
  Bucket& bucket = buckets_[next_++];
  bucket.gradients.div_(communicator_.size());
  bucket.pending = communicator_.start_all_reduce_sum(bucket.gradients);
}

void GradientAveraging::finish() {
  active_ = false;
  if (!is_whole_) {
    parameters_.gradients().div_(communicator_.size());
    communicator_.reduce_scatter_sum(parameters_.gradients());
    return;
  }
  while (next_ < buckets_.size()) start_next();
  for (Bucket& bucket : buckets_) {
    if (bucket.pending) std::exchange(bucket.pending, nullptr)->wait();
  }
}

}  // namespace quest::train
