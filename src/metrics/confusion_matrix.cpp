#include "metrics/confusion_matrix.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/bincount.h>
#include <ATen/ops/zeros.h>

#include <sstream>
#include <stdexcept>
#include <string>

namespace quest::metrics {

ConfusionMatrix::ConfusionMatrix(std::int64_t classes, std::optional<std::int64_t> ignored)
    : classes_(classes), ignored_(ignored) {
  if (classes < 1) throw std::invalid_argument("expected at least one class, got " + std::to_string(classes));
  counts_ = at::zeros({classes, classes}, at::kDouble);
}

void ConfusionMatrix::add(const at::Tensor& predicted, const at::Tensor& labels) {
  if (predicted.sizes() != labels.sizes()) {
    std::ostringstream text;
    text << "expected as many predicted classes as labels, got " << predicted.sizes() << " and " << labels.sizes();
    throw std::invalid_argument(text.str());
  }
  auto given = labels.flatten().to(at::kLong);
  auto taken_for = predicted.flatten().to(at::kLong);
  if (ignored_) {
    const auto counts = given.ne(*ignored_);
    given = given.masked_select(counts);
    taken_for = taken_for.masked_select(counts);
  }
  if (given.numel() == 0) return;
  check(given, "labels");
  check(taken_for, "predicted classes");
  const auto pairs = at::bincount(given * classes_ + taken_for, {}, classes_ * classes_);
  counts_ += pairs.view({classes_, classes_}).to(counts_.options());
}

void ConfusionMatrix::check(const at::Tensor& classes, const char* what) const {
  for (const auto value : {classes.min().item<std::int64_t>(), classes.max().item<std::int64_t>()}) {
    if (value >= 0 && value < classes_) continue;
    throw std::invalid_argument("expected " + std::string(what) + " from 0 to " + std::to_string(classes_ - 1) +
                                ", got " + std::to_string(value));
  }
}

std::vector<std::optional<double>> ConfusionMatrix::per_class() const {
  const auto predicted = counts_.sum(0);
  const auto labels = counts_.sum(1);
  std::vector<std::optional<double>> scores;
  for (std::int64_t i = 0; i < classes_; ++i) {
    const Counts counts{counts_[i][i].item<double>(), predicted[i].item<double>(), labels[i].item<double>()};
    const bool is_seen = counts.predicted + counts.labels > 0.0 && i != ignored_;
    scores.push_back(is_seen ? std::optional(score(counts)) : std::nullopt);
  }
  return scores;
}

double ConfusionMatrix::value() const {
  double sum = 0.0;
  double seen = 0.0;
  for (const auto& score : per_class()) {
    sum += score.value_or(0.0);
    seen += score ? 1.0 : 0.0;
  }
  return sum / seen;
}

}  // namespace quest::metrics
