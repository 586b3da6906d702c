#include "domains/images/image_task.h"

#include <torch/nn/functional/loss.h>
#include <torch/utils.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "data/sets/fashion_mnist.h"
#include "data/augment/pixel_batch.h"
#include "models/transformer_options.h"
#include "quest/models/vit.h"

namespace quest::images {
namespace {

namespace functional = torch::nn::functional;

constexpr std::int64_t kSide = 28;
constexpr auto kClasses = static_cast<std::int64_t>(data::kFashionMnistClasses.size());

struct ImageOptions {
  std::string folder = data::kFashionMnistFolder;
  std::int64_t train_samples = 0;
  std::int64_t shift = 0;
  bool flip = false;
  std::int64_t evaluation_batch = 500;
  double label_smoothing = 0.0;

  models::TransformerOptions transformer = {.dim = 64, .depth = 4, .heads = 4};
  std::int64_t patch_size = 4;
  double mlp_ratio = 4.0;
  double dropout = 0.0;
  double drop_path = 0.0;
  std::string pooling = "class_token";
};

void describe_data(recipe::Fields& fields, ImageOptions& options) {
  using recipe::IntegerRange;
  using recipe::Range;
  fields.text("data.folder", options.folder, "folder of the four IDX files, packed or not");
  fields.integer("data.train_samples", options.train_samples, IntegerRange::from(0), "use only the first; 0: all");
  fields.integer("data.shift", options.shift, {.least = 0, .most = kSide - 1},
                 "move training images by up to so many pixels each way");
  fields.flag("data.flip", options.flip, "mirror every other training image, at random");
  fields.integer("data.evaluation_batch", options.evaluation_batch, IntegerRange::from(1),
                 "images evaluated at a time");
  fields.number("data.label_smoothing", options.label_smoothing, Range::from_to_below(0, 1),
                "share of the target spread over all classes");
}

void describe_model(recipe::Fields& fields, ImageOptions& options) {
  using recipe::Range;
  describe(fields, options.transformer);
  fields.integer("model.patch_size", options.patch_size, {.least = 1, .most = kSide}, "pixels a side");
  fields.number("model.mlp_ratio", options.mlp_ratio, Range::above(0), "hidden width of the MLP over model.dim");
  fields.number("model.dropout", options.dropout, Range::from_to_below(0, 1), "dropout of projections");
  fields.number("model.drop_path", options.drop_path, Range::from_to_below(0, 1), "stochastic depth, last block");
  fields.choice("model.pooling", options.pooling, {"class_token", "mean"}, "what the classifier reads");
  fields.rule([&options]() -> std::string {
    if (kSide % options.patch_size == 0) return "";
    const std::string side = std::to_string(kSide);
    return "model.patch_size must divide the " + side + " pixels of an image's side; got " +
           std::to_string(options.patch_size);
  });
}

models::ViT make_model(const ImageOptions& options) {
  return models::ViT(models::ViTOptions()
                         .image_size(kSide)
                         .patch_size(options.patch_size)
                         .channels(1)
                         .classes(kClasses)
                         .dim(options.transformer.dim)
                         .depth(options.transformer.depth)
                         .heads(options.transformer.heads)
                         .mlp_ratio(options.mlp_ratio)
                         .dropout(options.dropout)
                         .drop_path(options.drop_path)
                         .pooling(options.pooling == "mean" ? models::Pooling::mean : models::Pooling::class_token)
                         .formulation(formulation_from_name(options.transformer.formulation)));
}

class ImageTask final : public train::Task {
 public:
  ImageTask(const ImageOptions& options, at::Device device)
      : options_(options),
        device_(device),
        data_(data::load_fashion_mnist(options.folder)),
        train_size_(options.train_samples > 0 ? std::min(options.train_samples, data_.train.images.size(0))
                                              : data_.train.images.size(0)),
        model_(make_model(options)) {
    model_->to(device);
  }

  torch::nn::Module& model() override { return *model_; }
  [[nodiscard]] std::int64_t train_size() const override { return train_size_; }
  [[nodiscard]] double forward_flops() const override { return model_->forward_flops(); }
  [[nodiscard]] train::Selection selection() const override { return {.metric = "accuracy"}; }

  at::Tensor loss(const train::TrainBatch& batch) override {
    const data::Augmentation augmentation{.shift = options_.shift, .flip = options_.flip};
    const auto [images, labels] = data::pixel_batch(data_.train, batch.samples, augmentation, kPixelScale);
    return functional::cross_entropy(model_(images.to(device_)), labels.to(device_),
                                     functional::CrossEntropyFuncOptions().label_smoothing(options_.label_smoothing));
  }

  std::vector<train::Tally> evaluate(train::Shard shard) override {
    train::Tally loss{.name = "loss"};
    train::Tally accuracy{.name = "accuracy"};
    const std::int64_t count = data_.test.images.size(0);
    const std::int64_t end = count * (shard.index + 1) / shard.count;
    for (std::int64_t first = count * shard.index / shard.count; first < end; first += options_.evaluation_batch) {
      std::vector<std::int64_t> samples(static_cast<std::size_t>(std::min(options_.evaluation_batch, end - first)));
      std::iota(samples.begin(), samples.end(), first);
      const auto [images, labels] = data::pixel_batch(data_.test, samples, {}, kPixelScale);
      const auto logits = model_(images.to(device_)).to(at::kFloat).cpu();
      loss.sum +=
          functional::cross_entropy(logits, labels, functional::CrossEntropyFuncOptions().reduction(torch::kSum))
              .item<double>();
      accuracy.sum += logits.argmax(1).eq(labels).sum().item<double>();
      loss.count += static_cast<double>(samples.size());
    }
    accuracy.count = loss.count;
    return {loss, accuracy};
  }

 private:
  // Mean and deviation of the training images, for pixels from 0 to 1.
  static constexpr data::PixelScale kPixelScale{.mean = 0.2860F, .deviation = 0.3530F};

  ImageOptions options_;
  at::Device device_;
  data::FashionMnist data_;
  std::int64_t train_size_;
  models::ViT model_;
};

class ImageTaskFactory final : public domains::TaskFactory {
 public:
  void describe(recipe::Fields& fields) override {
    describe_model(fields, options_);
    describe_data(fields, options_);
  }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> data_settings(const std::string& text) const override {
    return {{"data.folder", text}};
  }
  [[nodiscard]] std::unique_ptr<train::Task> make(const train::Recipe& /*recipe*/, at::Device device) const override {
    return std::make_unique<ImageTask>(options_, device);
  }

 private:
  ImageOptions options_;
};

}  // namespace

std::unique_ptr<domains::TaskFactory> image_task_factory() { return std::make_unique<ImageTaskFactory>(); }

}  // namespace quest::images
