#include "eval/calibration.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/nll_loss.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <limits>

#include "eval/part_by_part.h"
#include "metrics/calibration.h"
#include "train/engine/classifier.h"

namespace quest::eval {
namespace {

using Json = nlohmann::ordered_json;
using Bins = std::vector<metrics::Calibration::Bin>;
using Numbers = std::vector<double>;

// Sums over a batch: the negative log-likelihood, then the state of metrics::Calibration.
Numbers sums_of_batch(const train::Classifier::Prediction& prediction, std::int64_t bins) {
  metrics::Calibration calibration(bins);
  calibration.add(prediction.logits, prediction.labels);
  const auto log_probabilities = prediction.logits.to(at::kDouble).log_softmax(1);
  const auto nll = at::nll_loss(log_probabilities, prediction.labels, {}, at::Reduction::Sum);
  const auto all = at::cat({nll.view({1}).cpu(), calibration.state().flatten()});
  return {all.const_data_ptr<double>(), all.const_data_ptr<double>() + all.numel()};
}

std::string interval_text(std::size_t bin, std::size_t bins) {
  std::array<char, 32> text{};
  const auto edge = [&](std::size_t i) { return static_cast<double>(i) / static_cast<double>(bins); };
  std::snprintf(text.data(), text.size(), "%.2f–%.2f", edge(bin), edge(bin + 1));
  return text.data();
}

Json reliability_diagram(const Bins& bins, const std::string& split) {
  Json run = {{"name", "this run"}, {"x", Json::array()}, {"y", Json::array()}};
  Json samples = {{"name", "samples"}, {"x", Json::array()}, {"y", Json::array()}};
  for (std::size_t i = 0; i < bins.size(); ++i) {
    samples["x"].push_back(interval_text(i, bins.size()));
    samples["y"].push_back(bins[i].samples);
    if (bins[i].samples == 0.0) continue;
    run["x"].push_back(bins[i].confidence);
    run["y"].push_back(bins[i].accuracy);
  }
  const Json diagonal = {{"name", "as confident as right"}, {"x", {0.0, 1.0}}, {"y", {0.0, 1.0}}};
  return {
      {"id", kCalibration},
      {"title", "Reliability"},
      {"caption",
       "How often the model is right, over how confident it is: the largest probability of its softmax. "
       "Samples of the split \"" +
           split + "\" in " + std::to_string(bins.size()) + " bins of equal width; below the diagonal it is too sure."},
      {"panels",
       {{{"title", "accuracy in each bin"},
         {"kind", "line"},
         {"x_title", "confidence"},
         {"y_title", "accuracy"},
         {"series", {std::move(run), diagonal}}},
        {{"title", "samples in each bin"},
         {"kind", "bars"},
         {"x_title", "confidence"},
         {"y_title", "samples"},
         {"series", Json::array({std::move(samples)})}}}}};
}

Findings findings_of(const Numbers& sums, std::int64_t bins, const std::string& split) {
  metrics::Calibration calibration(bins);
  calibration.set_state(at::tensor(sums, at::kDouble).narrow(0, 1, 3 * bins).view({3, bins}));
  const auto all = calibration.all();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  return {.metrics = {{"nll", sums.front() / all.samples},
                      {"expected_calibration_error", calibration.value()},
                      {"largest_calibration_error", calibration.largest_error()},
                      {"accuracy", all.samples > 0.0 ? all.accuracy : kNan},
                      {"mean_confidence", all.samples > 0.0 ? all.confidence : kNan},
                      {"samples", all.samples}},
          .figures = {reliability_diagram(calibration.bins(), split)}};
}

class Calibration final : public Evaluation {
 public:
  void describe(recipe::Fields& fields) override {
    fields.text("calibration.split", split_,
                "whose samples; without one those of \"test\", or of the last where a task has no split of that name");
    fields.integer("calibration.bins", bins_, recipe::IntegerRange{.least = 1, .most = 1000},
                   "of equal width, for the confidence");
  }

  [[nodiscard]] std::string obstacle(const train::Task& task) const override {
    if (dynamic_cast<const train::Classifier*>(&task) != nullptr) return "";
    return "needs a task that classifies (it has logits)";
  }

  [[nodiscard]] Findings run(const Subject& subject, const Callbacks& callbacks) override {
    auto& task = dynamic_cast<train::Classifier&>(subject.task);
    split_ = chosen_split(task.splits());
    const std::int64_t samples = task.size(split_);
    const std::int64_t batch = task.evaluation_batch();
    const Parts parts{
        .name = std::string(kCalibration), .count = (samples + batch - 1) / batch, .width = 1 + 3 * bins_};
    const auto batches = part_by_part(subject, callbacks, parts, [&](std::int64_t part) {
      return sums_of_batch(task.predict(split_, part * batch, std::min((part + 1) * batch, samples)), bins_);
    });
    Numbers sums(static_cast<std::size_t>(parts.width));
    for (const auto& numbers : batches) std::ranges::transform(sums, numbers, sums.begin(), std::plus{});
    return findings_of(sums, bins_, split_);
  }

 private:
  [[nodiscard]] std::string chosen_split(const std::vector<std::string>& splits) const {
    const bool has_choice = std::ranges::find(splits, split_) != splits.end();
    if (has_choice) return split_;
    if (split_.empty()) return std::ranges::find(splits, "test") != splits.end() ? "test" : splits.back();
    std::string names;
    for (const auto& name : splits) names += (names.empty() ? "" : ", ") + name;
    throw recipe::RecipeError("calibration.split: expected one of " + names + ", got " + split_);
  }

  std::string split_;
  std::int64_t bins_ = 15;
};

}  // namespace

std::unique_ptr<Evaluation> make_calibration() { return std::make_unique<Calibration>(); }

}  // namespace quest::eval
