#include "domains/timeseries/time_series_task.h"

#include <torch/utils.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "data/sets/holdout.h"
#include "data/sets/locator.h"
#include "data/sets/time_series.h"
#include "data/sets/uea_locator.h"
#include "models/time_series_fields.h"
#include "train/engine/classifier.h"

namespace quest::timeseries {
namespace {

struct TimeSeriesTaskOptions {
  data::TimeSeriesSource source;
  std::string protocol = kPaperProtocol;
  double validation_share = 0.2;
  models::TimeSeriesOptions model{1, 1, 1};  // the data settles these
};

void describe_data(recipe::Fields& fields, TimeSeriesTaskOptions& options) {
  fields.text("data.name", options.source.name, "a data set of the UEA archive; empty: the only one in data.folder");
  fields.text("data.folder", options.source.folder, "where its files are looked for first");
  fields.choice("data.protocol", options.protocol, {kPaperProtocol, kHoldoutProtocol},
                "what chooses the best weights: the test split, or training cases held back");
  fields.number("data.validation_share", options.validation_share,
                {.least = 0, .most = 1, .least_is_excluded = true, .most_is_excluded = true},
                "holdout: share of each class's training cases that is held back");
  fields.rule([&options] {
    const bool is_named = !options.source.name.empty() || !options.source.folder.empty();
    return is_named ? "" : "expected the name of a data set in data.name or its folder in data.folder, got neither";
  });
}

data::TimeSeriesPart cases_of(const data::TimeSeriesPart& part, std::span<const std::int64_t> cases) {
  const auto index = torch::tensor(at::ArrayRef<std::int64_t>(cases.data(), cases.size()), at::kLong);
  return {.values = part.values.index_select(0, index),
          .lengths = part.lengths.index_select(0, index),
          .labels = part.labels.index_select(0, index)};
}

data::Batch batch_of(const data::TimeSeriesPart& part) {
  return {part.labels.size(0), {{"inputs", part.values}, {"lengths", part.lengths}, {"labels", part.labels}}};
}

// The first one trains; the others are evaluated.
struct Parts {
  data::TimeSeriesPart train;
  std::vector<std::pair<std::string, data::TimeSeriesPart>> evaluated;
};

Parts parts_of(const data::TimeSeries& series, const TimeSeriesTaskOptions& options, std::uint64_t seed) {
  if (options.protocol == kPaperProtocol) return {series.train, {{"test", series.test}}};
  const auto* labels = series.train.labels.const_data_ptr<std::int64_t>();
  const auto holdout = data::stratified_holdout({labels, static_cast<std::size_t>(series.train.labels.size(0))},
                                                series.classes, options.validation_share, seed);
  return {cases_of(series.train, holdout.training),
          {{"validation", cases_of(series.train, holdout.validation)}, {"test", series.test}}};
}

models::TimeSeriesTransformer make_model(models::TimeSeriesOptions options, const data::TimeSeries& series) {
  return models::TimeSeriesTransformer(options.channels(series.train.values.size(2))
                                           .length(series.train.values.size(1))
                                           .classes(static_cast<std::int64_t>(series.classes.size())));
}

class TimeSeriesTask final : public train::Classifier {
 public:
  TimeSeriesTask(const TimeSeriesTaskOptions& options, const data::TimeSeries& series, std::uint64_t seed,
                 at::Device device)
      : parts_(parts_of(series, options, seed)), model_(make_model(options.model, series)) {
    model_->to(device);
  }

  torch::nn::Module& model() override { return *model_; }
  [[nodiscard]] std::int64_t train_size() const override { return parts_.train.labels.size(0); }
  [[nodiscard]] double forward_flops() const override { return model_->forward_flops(); }
  [[nodiscard]] std::int64_t classes() const override { return model_->options.classes(); }
  [[nodiscard]] std::int64_t size(const std::string& split) const override { return part(split).labels.size(0); }
  [[nodiscard]] std::int64_t evaluation_batch() const override { return kEvaluationBatch; }
  // The reference code keeps the later of equals and gives it the whole patience again.
  [[nodiscard]] train::Selection selection() const override { return {.metric = "accuracy", .ties_win = true}; }

  [[nodiscard]] std::vector<std::string> splits() const override {
    std::vector<std::string> names;
    for (const auto& [name, cases] : parts_.evaluated) names.push_back(name);
    return names;
  }

  [[nodiscard]] data::Batch load(const data::Draw& draw) const override {
    return batch_of(cases_of(parts_.train, draw.samples));
  }

  [[nodiscard]] data::Batch examples(const std::string& split, std::int64_t first, std::int64_t last) const override {
    const auto& cases = part(split);
    return batch_of({.values = cases.values.narrow(0, first, last - first),
                     .lengths = cases.lengths.narrow(0, first, last - first),
                     .labels = cases.labels.narrow(0, first, last - first)});
  }

  at::Tensor logits(const data::Batch& batch) override { return model_(batch["inputs"], batch["lengths"]); }

 private:
  [[nodiscard]] const data::TimeSeriesPart& part(const std::string& split) const {
    return std::ranges::find(parts_.evaluated, split, [](const auto& entry) { return entry.first; })->second;
  }

  Parts parts_;
  models::TimeSeriesTransformer model_;
};

class TimeSeriesTaskFactory final : public domains::TaskFactory {
 public:
  void describe(recipe::Fields& fields) override {
    models::describe(fields, options_.model);
    describe_data(fields, options_);
  }

  [[nodiscard]] std::vector<std::pair<std::string, std::string>> data_settings(const std::string& text) const override {
    if (!data::is_folder_name(text)) return {{"data.name", text}};
    return {{"data.folder", text}, {"data.name", ""}};
  }

  void fetch_data(const domains::Fetching& fetching) const override {
    if (data::find_time_series(options_.source) || !data::is_in_a_package(options_.source.name)) return;
    (void)data::fetch_uea(options_.source.name, data::uea_cache(), fetching.python, fetching.progress);
  }

  [[nodiscard]] std::string missing_data() const override {
    try {
      static_cast<void>(data::require_time_series(options_.source));
    } catch (const std::runtime_error& missing) {
      return missing.what();
    }
    return "";
  }

  [[nodiscard]] std::unique_ptr<train::Task> make(const train::Recipe& recipe, at::Device device) const override {
    const auto series = data::load_time_series(data::require_time_series(options_.source));
    return std::make_unique<TimeSeriesTask>(options_, series, recipe.seed, device);
  }

 private:
  TimeSeriesTaskOptions options_;
};

}  // namespace

std::unique_ptr<domains::TaskFactory> time_series_task_factory() { return std::make_unique<TimeSeriesTaskFactory>(); }

}  // namespace quest::timeseries
