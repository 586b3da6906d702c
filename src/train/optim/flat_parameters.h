#pragma once

// All parameters of a model in one contiguous buffer and their gradients in another, so that an optimiser, an average,
// a norm or an exchange between processes is one loop. The model's own tensors become views of them.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "train/optim/moment.h"

namespace quest::train {

struct NamedParameter {
  std::string name;
  at::Tensor value;
};

// Parameters in the order of the model's definition.
struct ParameterGroup {
  double lr_scale = 1.0;
  double weight_decay = 0.0;
  std::vector<NamedParameter> parameters;
  bool decays = true;                 // false: also not by a weight decay that comes later
  FunctionOfMoment lr_schedule = {};  // none: 1
};

// Where one parameter stands in a flat buffer. Slices start at multiples of kSliceUnit; zeros fill the gaps.
struct Slice {
  std::string name;
  at::Tensor parameter;
  std::int64_t offset;
  std::vector<std::int64_t> shape;
  std::size_t group;

  [[nodiscard]] std::int64_t numel() const;
  // Its part of a buffer of this layout, in its shape.
  [[nodiscard]] at::Tensor of(const at::Tensor& flat) const;
};

inline constexpr std::int64_t kSliceUnit = 16;  // 64 bytes

struct GroupRange {
  double lr_scale;
  double weight_decay;
  bool decays;
  FunctionOfMoment lr_schedule;
  std::int64_t begin;
  std::int64_t end;
  std::span<const Slice> slices;

  // Factor of the learning rate; 0: the group is frozen.
  [[nodiscard]] double lr_scale_at(const Moment& moment) const;
};

class FlatParameters {
 public:
  // Moves the parameters. Groups keep their order; inside one the last parameter of the model comes first, because its
  // gradient is ready first. Parameters are float32, require gradients and share a device. The buffers can be cut into
  // `parts` of equal length, multiples of kSliceUnit.
  explicit FlatParameters(const std::vector<ParameterGroup>& groups, std::int64_t parts = 1);
  // Optimisers, averages and the model's tensors refer to it.
  FlatParameters(const FlatParameters&) = delete;
  FlatParameters& operator=(const FlatParameters&) = delete;

  [[nodiscard]] const at::Tensor& values() const { return values_; }
  [[nodiscard]] const at::Tensor& gradients() const { return gradients_; }
  [[nodiscard]] const std::vector<Slice>& slices() const { return slices_; }
  [[nodiscard]] const std::vector<GroupRange>& groups() const { return groups_; }
  // Elements that are parameters, without the gaps.
  [[nodiscard]] std::int64_t parameter_count() const;

  void zero_gradients();
  // Of groups that are frozen, so that they count in no norm.
  void zero_frozen_gradients(const Moment& moment);

 private:
  at::Tensor values_;
  at::Tensor gradients_;
  std::vector<Slice> slices_;
  std::vector<GroupRange> groups_;
};

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

// Per-parameter state kept in flat buffers travels as tensors named `<kind>.<parameter name>`, so that a checkpoint
// does not depend on the flat order.
NamedTensors named_slices(const FlatParameters& parameters, const std::string& kind, const at::Tensor& flat);
// The reverse: every slice of `flat` from its tensor. Names of other kinds are passed over.
void load_named_slices(const FlatParameters& parameters, const std::string& kind, const NamedTensors& tensors,
                       const at::Tensor& flat);

}  // namespace quest::train
