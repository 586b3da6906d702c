#include "train/engine/loss_sums.h"

#include <stdexcept>

namespace quest::train {
namespace {

std::string list_of(const std::vector<std::string>& names) {
  std::string list;
  for (const auto& name : names) list += (list.empty() ? "\"" : ", \"") + name + "\"";
  return list.empty() ? "none" : list;
}

}  // namespace

void LossSums::add(const Losses& losses, double share) {
  std::vector<std::string> names;
  std::vector<at::Tensor> values = {losses.total.detach() * share};
  for (const auto& [name, value] : losses.parts) {
    names.push_back(name);
    values.push_back(value.detach() * share);
  }
  if (sums_.empty()) {
    names_ = std::move(names);
    sums_ = std::move(values);
    return;
  }
  if (names != names_) {
    throw std::logic_error(
        "every pass of a step must have a loss of the same parts in the same order; the first pass has " +
        list_of(names_) + ", a later one " + list_of(names) + "; give 0 for what a batch lacks");
  }
  for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += values[i];
}

}  // namespace quest::train
