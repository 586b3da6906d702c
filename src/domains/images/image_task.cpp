#include "domains/images/image_task.h"

#include <torch/utils.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "data/augment/pixel_batch.h"
#include "data/sets/fashion_mnist.h"
#include "models/vit_fields.h"
#include "train/engine/classifier.h"

namespace quest::images {
namespace {

constexpr std::int64_t kSide = 28;

struct ImageOptions {
  std::string folder;
  std::int64_t train_samples = 0;
  std::int64_t shift = 0;
  bool flip = false;
  std::int64_t evaluation_batch = 500;
  double label_smoothing = 0.0;

  models::ViTOptions model = models::ViTOptions()
                                 .image_size(kSide)
                                 .patch_size(4)
                                 .channels(1)
                                 .classes(static_cast<std::int64_t>(data::kFashionMnistClasses.size()))
                                 .dim(64)
                                 .depth(4)
                                 .heads(4);
};

void describe_data(recipe::Fields& fields, ImageOptions& options) {
  using recipe::IntegerRange;
  fields.text("data.folder", options.folder, "where the four IDX files, packed or not, are looked for first");
  fields.integer("data.train_samples", options.train_samples, IntegerRange::from(0), "use only the first; 0: all");
  fields.integer("data.shift", options.shift, {.least = 0, .most = kSide - 1},
                 "move training images by up to so many pixels each way");
  fields.flag("data.flip", options.flip, "mirror every other training image, at random");
  fields.integer("data.evaluation_batch", options.evaluation_batch, IntegerRange::from(1),
                 "images evaluated at a time");
  fields.number("data.label_smoothing", options.label_smoothing, recipe::Range::from_to_below(0, 1),
                "share of the target spread over all classes");
}

class ImageTask final : public train::Classifier {
 public:
  ImageTask(const ImageOptions& options, at::Device device)
      : options_(options),
        data_(data::load_fashion_mnist(data::require_fashion_mnist(options.folder))),
        train_size_(options.train_samples > 0 ? std::min(options.train_samples, data_.train.images.size(0))
                                              : data_.train.images.size(0)),
        model_(options.model) {
    model_->to(device);
  }

  torch::nn::Module& model() override { return *model_; }
  [[nodiscard]] std::int64_t train_size() const override { return train_size_; }
  [[nodiscard]] double forward_flops() const override { return model_->forward_flops(); }
  [[nodiscard]] std::int64_t classes() const override { return options_.model.classes(); }
  [[nodiscard]] std::int64_t size(const std::string& /*split*/) const override { return data_.test.images.size(0); }
  [[nodiscard]] std::int64_t evaluation_batch() const override { return options_.evaluation_batch; }
  [[nodiscard]] double label_smoothing() const override { return options_.label_smoothing; }

  [[nodiscard]] data::Batch load(const data::Draw& draw) const override {
    return data::pixel_batch(data_.train, draw.samples, kPixelScale, {.shift = options_.shift, .flip = options_.flip},
                             [&draw](std::size_t i) { return draw.random(i); });
  }

  [[nodiscard]] data::Batch examples(const std::string& /*split*/, std::int64_t first,
                                     std::int64_t last) const override {
    std::vector<std::int64_t> samples(static_cast<std::size_t>(last - first));
    std::iota(samples.begin(), samples.end(), first);
    return data::pixel_batch(data_.test, samples, kPixelScale);
  }

  at::Tensor logits(const data::Batch& batch) override { return model_(batch["inputs"]); }

 private:
  // Mean and deviation of the training images, for pixels from 0 to 1.
  static constexpr data::PixelScale kPixelScale{.mean = 0.2860F, .deviation = 0.3530F};

  ImageOptions options_;
  data::FashionMnist data_;
  std::int64_t train_size_;
  models::ViT model_;
};

class ImageTaskFactory final : public domains::TaskFactory {
 public:
  void describe(recipe::Fields& fields) override {
    models::describe(fields, options_.model);
    describe_data(fields, options_);
  }
  [[nodiscard]] std::string missing_data() const override {
    return data::find_fashion_mnist(options_.folder) ? "" : data::how_to_get_fashion_mnist(options_.folder);
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
