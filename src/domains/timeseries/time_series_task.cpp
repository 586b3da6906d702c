#include "domains/timeseries/time_series_task.h"

#include <torch/nn/functional/loss.h>
#include <torch/utils.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/sets/time_series.h"
#include "data/sets/holdout.h"
#include "data/sets/uea_locator.h"
#include "models/transformer_options.h"
#include "quest/models/time_series.h"

namespace quest::timeseries {
namespace {

namespace functional = torch::nn::functional;

struct TimeSeriesTaskOptions {
  data::TimeSeriesSource source;
  std::string protocol = kPaperProtocol;
  double validation_share = 0.2;

  models::TransformerOptions transformer = {.dim = 128, .depth = 3, .heads = 8};
  std::string head = "class_token";
  std::int64_t mlp_hidden = 256;
  double dropout = 0.1;
  bool mask_padding = false;
};

void describe_model(recipe::Fields& fields, TimeSeriesTaskOptions& options) {
  describe(fields, options.transformer);
  fields.choice("model.head", options.head, {"class_token", "concatenation"},
                "what the classifier reads: a class token, or the outputs of all time steps side by side");
  fields.integer("model.mlp_hidden", options.mlp_hidden, recipe::IntegerRange::from(1), "hidden width of the MLP");
  fields.number("model.dropout", options.dropout, recipe::Range::from_to_below(0, 1),
                "dropout everywhere, attention weights included");
  fields.flag("model.mask_padding", options.mask_padding, "keep attention off the padding of short series");
  fields.rule([&options] {
    return options.transformer.dim % 2 == 0 ? ""
                                            : "model.dim must be even, for sines and cosines of the position; got " +
                                                  std::to_string(options.transformer.dim);
  });
}

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

data::TimeSeriesPart on_device(const data::TimeSeriesPart& part, at::Device device) {
  return {.values = part.values.to(device), .lengths = part.lengths.to(device), .labels = part.labels.to(device)};
}

data::TimeSeriesPart cases_of(const data::TimeSeriesPart& part, const std::vector<std::int64_t>& cases) {
  const auto index = torch::tensor(cases, at::kLong).to(part.labels.device());
  return {.values = part.values.index_select(0, index),
          .lengths = part.lengths.index_select(0, index),
          .labels = part.labels.index_select(0, index)};
}

data::TimeSeriesPart range_of(const data::TimeSeriesPart& part, std::int64_t first, std::int64_t count) {
  return {.values = part.values.narrow(0, first, count),
          .lengths = part.lengths.narrow(0, first, count),
          .labels = part.labels.narrow(0, first, count)};
}

struct Splits {
  data::TimeSeriesPart train;
  data::TimeSeriesPart selection;
  std::optional<data::TimeSeriesPart> test;  // where it is not the one that selects
};

Splits splits_of(const data::TimeSeries& series, const TimeSeriesTaskOptions& options, std::uint64_t seed,
                 at::Device device) {
  const auto test = on_device(series.test, device);
  if (options.protocol == kPaperProtocol) return {on_device(series.train, device), test, std::nullopt};
  const auto* labels = series.train.labels.const_data_ptr<std::int64_t>();
  const auto holdout = data::stratified_holdout({labels, static_cast<std::size_t>(series.train.labels.size(0))},
                                          series.classes, options.validation_share, seed);
  return {on_device(cases_of(series.train, holdout.training), device),
          on_device(cases_of(series.train, holdout.validation), device), test};
}

models::TimeSeriesTransformer make_model(const TimeSeriesTaskOptions& options, const data::TimeSeries& series) {
  const auto& transformer = options.transformer;
  const auto classes = static_cast<std::int64_t>(series.classes.size());
  return models::TimeSeriesTransformer(
      models::TimeSeriesOptions(series.train.values.size(2), series.train.values.size(1), classes)
          .dim(transformer.dim)
          .depth(transformer.depth)
          .heads(transformer.heads)
          .formulation(formulation_from_name(transformer.formulation))
          .mlp_hidden(options.mlp_hidden)
          .dropout(options.dropout)
          .head(options.head == "class_token" ? models::TimeSeriesHead::class_token
                                              : models::TimeSeriesHead::concatenation)
          .mask_padding(options.mask_padding));
}

class TimeSeriesTask final : public train::Task {
 public:
  TimeSeriesTask(const TimeSeriesTaskOptions& options, const data::TimeSeries& series, std::uint64_t seed,
                 at::Device device)
      : splits_(splits_of(series, options, seed, device)), model_(make_model(options, series)) {
    model_->to(device);
  }

  torch::nn::Module& model() override { return *model_; }
  [[nodiscard]] std::int64_t train_size() const override { return splits_.train.labels.size(0); }
  [[nodiscard]] double forward_flops() const override { return model_->forward_flops(); }
  // The reference code keeps the later of equals and gives it the whole patience again.
  [[nodiscard]] train::Selection selection() const override { return {.metric = kAccuracy, .ties_win = true}; }

  at::Tensor loss(const train::TrainBatch& batch) override {
    const auto part = cases_of(splits_.train, batch.samples);
    return functional::cross_entropy(model_(part.values, part.lengths), part.labels);
  }

  std::vector<train::Tally> evaluate(train::Shard shard) override {
    auto tallies = tallies_of(splits_.selection, shard);
    if (splits_.test) {
      auto accuracy = tallies_of(*splits_.test, shard).back();
      accuracy.name = kTestAccuracy;
      tallies.push_back(accuracy);
    }
    return tallies;
  }

 private:
  // Loss and accuracy.
  std::vector<train::Tally> tallies_of(const data::TimeSeriesPart& part, train::Shard shard) {
    train::Tally loss{.name = "loss"};
    train::Tally accuracy{.name = kAccuracy};
    const std::int64_t cases = part.labels.size(0);
    const std::int64_t end = cases * (shard.index + 1) / shard.count;
    for (std::int64_t first = cases * shard.index / shard.count; first < end; first += kEvaluationBatch) {
      const auto batch = range_of(part, first, std::min(kEvaluationBatch, end - first));
      const auto logits = model_(batch.values, batch.lengths).to(at::kFloat);
      loss.sum +=
          functional::cross_entropy(logits, batch.labels, functional::CrossEntropyFuncOptions().reduction(torch::kSum))
              .item<double>();
      accuracy.sum += logits.argmax(1).eq(batch.labels).sum().item<double>();
      loss.count += static_cast<double>(batch.labels.size(0));
    }
    accuracy.count = loss.count;
    return {loss, accuracy};
  }

  Splits splits_;
  models::TimeSeriesTransformer model_;
};

class TimeSeriesTaskFactory final : public domains::TaskFactory {
 public:
  void describe(recipe::Fields& fields) override {
    describe_model(fields, options_);
    describe_data(fields, options_);
  }

  [[nodiscard]] std::vector<std::pair<std::string, std::string>> data_settings(const std::string& text) const override {
    if (!std::filesystem::is_directory(text)) return {{"data.name", text}};
    return {{"data.folder", text}, {"data.name", ""}};
  }

  void fetch_data(const domains::Fetching& fetching) const override {
    if (data::find_time_series(options_.source) || !data::is_in_a_package(options_.source.name)) return;
    (void)data::fetch_uea(options_.source.name, data::uea_cache(), fetching.python, fetching.progress);
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
