#include "metrics/average_precision.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>

namespace quest::metrics {
namespace {

struct Scored {
  double score;
  bool is_positive;
};

// None without a positive sample.
std::optional<double> average_precision(std::vector<Scored> samples) {
  const auto positives = static_cast<double>(std::ranges::count_if(samples, &Scored::is_positive));
  if (positives == 0.0) return std::nullopt;
  if (std::ranges::any_of(samples, [](const Scored& sample) { return std::isnan(sample.score); })) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  std::ranges::sort(samples, std::ranges::greater{}, &Scored::score);
  double sum = 0.0;
  double above = 0.0;
  double positives_above = 0.0;
  for (auto sample = samples.begin(); sample != samples.end();) {
    const double threshold = sample->score;
    double added = 0.0;
    for (; sample != samples.end() && sample->score == threshold; ++sample) {
      above += 1.0;
      added += sample->is_positive ? 1.0 : 0.0;
    }
    positives_above += added;
    sum += added * positives_above / above;
  }
  return sum / positives;
}

}  // namespace

void AveragePrecision::add(const at::Tensor& scores, const at::Tensor& targets) {
  if (scores.dim() != 2 || scores.size(1) != labels_ || scores.sizes() != targets.sizes()) {
    std::ostringstream text;
    text << "expected scores and targets [samples, " << labels_ << "], got " << scores.sizes() << " and "
         << targets.sizes();
    throw std::invalid_argument(text.str());
  }
  if (!(targets.eq(0) | targets.eq(1) | targets.isnan()).all().item<bool>()) {
    throw std::invalid_argument("expected targets that are 1, 0, or NaN where they are not known; got others");
  }
  rows_.push_back(at::cat({scores.to(at::kDouble), targets.to(at::kDouble)}, 1).cpu());
}

at::Tensor AveragePrecision::state() const {
  std::vector<at::Tensor> rows = {at::empty({0, 2 * labels_}, at::kDouble)};
  rows.insert(rows.end(), rows_.begin(), rows_.end());
  return at::cat(rows);
}

std::vector<std::optional<double>> AveragePrecision::per_label() const {
  const auto columns = state().t().contiguous();
  const auto samples = columns.size(1);
  std::vector<std::optional<double>> values;
  for (std::int64_t label = 0; label < labels_; ++label) {
    const auto* scores = columns.const_data_ptr<double>() + label * samples;
    const auto* targets = scores + labels_ * samples;
    std::vector<Scored> known;
    for (std::int64_t i = 0; i < samples; ++i) {
      if (!std::isnan(targets[i])) known.push_back({scores[i], targets[i] == 1.0});
    }
    values.push_back(average_precision(std::move(known)));
  }
  return values;
}

double AveragePrecision::value() const {
  double sum = 0.0;
  double count = 0.0;
  for (const auto& value : per_label()) {
    sum += value.value_or(0.0);
    count += value ? 1.0 : 0.0;
  }
  return sum / count;
}

}  // namespace quest::metrics
