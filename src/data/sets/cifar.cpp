#include "data/sets/cifar.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "data/formats/cifar.h"
#include "data/formats/format_error.h"
#include "data/formats/whole_file.h"
#include "data/load_stages.h"
#include "data/sets/image_pack_set.h"

namespace quest::data {
namespace {

using Path = std::filesystem::path;
using Parse = void (*)(std::string_view, LabelledPixels&);

class PixelSplit final : public PictureSplit {
 public:
  PixelSplit(std::string name, LabelledPixels images) : name_(std::move(name)), images_(std::move(images)) {}

  [[nodiscard]] std::int64_t size() const override { return static_cast<std::int64_t>(images_.labels.size()); }
  [[nodiscard]] std::int64_t label(std::int64_t i) const override {
    return images_.labels.at(static_cast<std::size_t>(i));
  }
  [[nodiscard]] std::string name(std::int64_t i) const override { return std::to_string(i); }
  [[nodiscard]] std::string place(std::int64_t i) const override { return name_ + ", picture " + name(i); }
  [[nodiscard]] Picture read(std::int64_t i, std::int64_t /*least_side*/) const override {
    constexpr std::size_t kBytes = 3 * kCifarSide * kCifarSide;
    const StageTimer timer(LoadStage::read);
    const auto own = std::span(images_.pixels).subspan(static_cast<std::size_t>(i) * kBytes, kBytes);
    return {.height = kCifarSide, .width = kCifarSide, .rgb = {own.begin(), own.end()}};
  }

 private:
  std::string name_;
  LabelledPixels images_;
};

std::unique_ptr<PixelSplit> split_of(const std::string& name, std::span<const Path> files, Parse parse) {
  LabelledPixels images;
  for (const auto& file : files) {
    naming_file(file, [&] { parse(read_whole_file(file), images); });
  }
  return std::make_unique<PixelSplit>(name, std::move(images));
}

// All files but the last are for training. The names of the classes are in a file of the archive, if that was kept.
std::unique_ptr<PictureSet> load(const SetFiles& set, const Path& folder, const char* class_file,
                                 std::vector<std::string> classes, Parse parse) {
  const auto files = require_set(set, std::span(&folder, 1));
  if (std::filesystem::exists(folder / class_file)) {
    const auto expected = classes.size();
    classes = read_class_names(folder / class_file);
    if (classes.size() != expected) {
      throw FormatError("\"" + (folder / class_file).string() + "\": expected the names of " +
                        std::to_string(expected) + " classes, found " + std::to_string(classes.size()));
    }
  }
  const auto all = std::span(files);
  PictureSet::Splits splits;
  splits.emplace_back("train", split_of(set.name + " train", all.first(all.size() - 1), parse));
  splits.emplace_back("test", split_of(set.name + " test", all.last(1), parse));
  return std::make_unique<PictureSet>(set.name + "'s binary version", std::move(classes), std::move(splits));
}

}  // namespace

const SetFiles& cifar10_files() {
  static const SetFiles files = {.name = "CIFAR-10",
                                 .files = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                           "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"},
                                 .how_to_get =
                                     "the binary version from cs.toronto.edu/~kriz/cifar.html, unpacked into "
                                     "$QUEST_DATA/cifar-10-batches-bin"};
  return files;
}

const SetFiles& cifar100_files() {
  static const SetFiles files = {.name = "CIFAR-100",
                                 .files = {"train.bin", "test.bin"},
                                 .how_to_get =
                                     "the binary version from cs.toronto.edu/~kriz/cifar.html, unpacked into "
                                     "$QUEST_DATA/cifar-100-binary"};
  return files;
}

std::unique_ptr<PictureSet> load_cifar10_set(const Path& folder) {
  return load(cifar10_files(), folder, "batches.meta.txt",
              {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"},
              parse_cifar10);
}

std::unique_ptr<PictureSet> load_cifar100_set(const Path& folder) {
  std::vector<std::string> numbers;
  for (std::int64_t i = 0; i < kCifar100Classes; ++i) numbers.push_back(std::to_string(i));
  return load(cifar100_files(), folder, "fine_label_names.txt", std::move(numbers), parse_cifar100);
}

}  // namespace quest::data
