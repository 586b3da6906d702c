#include "train/optim/flat_parameters.h"

#include <torch/torch.h>

#include <algorithm>
#include <map>
#include <set>

namespace quest::train {
namespace {

std::int64_t round_up(std::int64_t count, std::int64_t unit) { return (count + unit - 1) / unit * unit; }

void check_parameter(const NamedParameter& parameter, const at::Tensor& first, std::set<const void*>& seen) {
  const at::Tensor& value = parameter.value;
  TORCH_CHECK(value.defined(), "parameter '", parameter.name, "' is an undefined tensor");
  TORCH_CHECK(value.scalar_type() == at::kFloat, "parameter '", parameter.name, "' must be float32 to be trained, is ",
              value.scalar_type(), "; lower precision belongs to the forward pass");
  TORCH_CHECK(value.device() == first.device(), "parameter '", parameter.name, "' is on ", value.device(),
              ", the first one on ", first.device(), "; move the model to one device");
  TORCH_CHECK(value.is_leaf() && value.requires_grad(), "parameter '", parameter.name,
              "' must be a leaf that requires gradients; leave frozen parameters out");
  TORCH_CHECK(seen.insert(value.unsafeGetTensorImpl()).second, "parameter '", parameter.name,
              "' is given twice; give a shared parameter once");
}

}  // namespace

std::int64_t Slice::numel() const { return c10::multiply_integers(shape); }

at::Tensor Slice::of(const at::Tensor& flat) const { return flat.narrow(0, offset, numel()).view(shape); }

double GroupRange::lr_scale_at(const Moment& moment) const {
  return lr_schedule ? lr_scale * lr_schedule(moment) : lr_scale;
}

FlatParameters::FlatParameters(const std::vector<ParameterGroup>& groups, std::int64_t parts) {
  std::int64_t size = 0;
  std::set<const void*> seen;
  for (const ParameterGroup& group : groups) {
    TORCH_CHECK(!group.parameters.empty(), "a group of parameters must not be empty");
    const std::int64_t begin = size;
    for (auto parameter = group.parameters.rbegin(); parameter != group.parameters.rend(); ++parameter) {
      check_parameter(*parameter, slices_.empty() ? parameter->value : slices_.front().parameter, seen);
      slices_.push_back({parameter->name, parameter->value, size, parameter->value.sizes().vec(), groups_.size()});
      size += round_up(parameter->value.numel(), kSliceUnit);
    }
    groups_.push_back({group.lr_scale, group.weight_decay, group.decays, group.lr_schedule, begin, size, {}});
  }
  TORCH_CHECK(!slices_.empty(), "a model to train must have parameters that require gradients, has none");
  for (std::size_t g = 0, first = 0; g < groups_.size(); ++g) {
    const std::size_t count = groups[g].parameters.size();
    groups_[g].slices = std::span(slices_).subspan(first, count);
    first += count;
  }
  size = round_up(size, parts * kSliceUnit);
  const auto options = slices_.front().parameter.options().requires_grad(false);
  const torch::NoGradGuard no_grad;
  values_ = at::zeros({size}, options);
  gradients_ = at::zeros({size}, options);
  for (Slice& slice : slices_) {
    const at::Tensor value = slice.of(values_);
    value.copy_(slice.parameter);
    slice.parameter.set_data(value);
    slice.parameter.mutable_grad() = slice.of(gradients_);
  }
}

std::int64_t FlatParameters::parameter_count() const {
  std::int64_t count = 0;
  for (const Slice& slice : slices_) count += slice.numel();
  return count;
}

void FlatParameters::zero_gradients() { gradients_.zero_(); }

void FlatParameters::zero_frozen_gradients(const Moment& moment) {
  for (const GroupRange& group : groups_) {
    if (group.lr_scale_at(moment) == 0.0) gradients_.narrow(0, group.begin, group.end - group.begin).zero_();
  }
}

NamedTensors named_slices(const FlatParameters& parameters, const std::string& kind, const at::Tensor& flat) {
  NamedTensors tensors;
  tensors.reserve(parameters.slices().size());
  for (const Slice& slice : parameters.slices()) tensors.emplace_back(kind + "." + slice.name, slice.of(flat));
  return tensors;
}

void load_named_slices(const FlatParameters& parameters, const std::string& kind, const NamedTensors& tensors,
                       const at::Tensor& flat) {
  std::map<std::string_view, const at::Tensor*> by_name;
  for (const auto& [name, tensor] : tensors) by_name.emplace(name, &tensor);
  const torch::NoGradGuard no_grad;
  for (const Slice& slice : parameters.slices()) {
    const std::string name = kind + "." + slice.name;
    const auto found = by_name.find(name);
    TORCH_CHECK(found != by_name.end(), "the saved state has no tensor '", name,
                "'; it was written by another model or another optimiser");
    const at::Tensor& saved = *found->second;
    TORCH_CHECK(saved.sizes() == at::IntArrayRef(slice.shape), "the saved tensor '", name, "' has shape ",
                saved.sizes(), ", the model's has ", at::IntArrayRef(slice.shape));
    slice.of(flat).copy_(saved);
  }
}

}  // namespace quest::train
