#include "data/sets/fashion_mnist.h"

#include <ATen/ops/empty.h>

#include <cstring>
#include <span>
#include <vector>

#include "data/formats/format_error.h"
#include "data/formats/idx.h"
#include "data/formats/whole_file.h"
#include "data/sets/locator.h"

namespace quest::data {
namespace {

const SetFiles& wanted() {
  static const SetFiles files = {.name = "Fashion-MNIST",
                                 .files = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                           "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"},
                                 .how_to_get =
                                     "apt-get install dataset-fashion-mnist, or the four files of "
                                     "github.com/zalandoresearch/fashion-mnist in $QUEST_DATA/fashion-mnist"};
  return files;
}

std::vector<std::filesystem::path> places(const std::string& folder) {
  static const std::vector<std::string> inside = {"fashion-mnist", "FashionMNIST/raw"};  // ours and torchvision's
  if (!folder.empty()) return places_in(folder, inside);
  const std::filesystem::path package = kFashionMnistFolder;
  return shared_places(inside, std::span(&package, 1));
}

at::Tensor load_bytes(const std::filesystem::path& path, std::size_t rank) {
  return naming_file(path, [&path, rank] {
    const std::string content = read_whole_file(path);
    const IdxBytes idx = parse_idx(content);
    if (idx.shape.size() != rank) {
      throw FormatError("byte 3: expected rank " + std::to_string(rank) + ", found rank " +
                        std::to_string(idx.shape.size()));
    }
    at::Tensor tensor = at::empty(idx.shape, at::kByte);
    std::memcpy(tensor.data_ptr(), idx.values.data(), idx.values.size());
    return tensor;
  });
}

LabelledImages load_part(const std::filesystem::path& image_file, const std::filesystem::path& label_file) {
  LabelledImages result{.images = load_bytes(image_file, 3).unsqueeze(1),
                        .labels = load_bytes(label_file, 1).to(at::kLong)};
  if (result.labels.numel() == 0 || result.labels.size(0) != result.images.size(0)) {
    throw FormatError("\"" + label_file.string() + "\": expected a label for each of the " +
                      std::to_string(result.images.size(0)) + " pictures, found " +
                      std::to_string(result.labels.size(0)));
  }
  if (const auto largest = result.labels.max().item<std::int64_t>();
      largest >= static_cast<std::int64_t>(kFashionMnistClasses.size())) {
    throw FormatError("\"" + label_file.string() + "\": expected labels from 0 to 9, found " + std::to_string(largest));
  }
  return result;
}

}  // namespace

std::optional<std::filesystem::path> find_fashion_mnist(const std::string& folder) {
  const auto files = find_set(wanted(), places(folder));
  if (!files) return std::nullopt;
  return files->front().parent_path();
}

std::string how_to_get_fashion_mnist(const std::string& folder) { return missing_text(wanted(), places(folder)); }

std::filesystem::path require_fashion_mnist(const std::string& folder) {
  return require_set(wanted(), places(folder)).front().parent_path();
}

FashionMnist load_fashion_mnist(const std::filesystem::path& folder) {
  const auto files = require_set(wanted(), std::span(&folder, 1));
  return {.train = load_part(files[0], files[1]), .test = load_part(files[2], files[3])};
}

DataSet fashion_mnist_set() {
  return {.name = wanted().name,
          .summary = "70000 grey pictures of 28 x 28 pixels: ten kinds of clothing",
          .licence = "MIT",
          .size = "31 MB",
          .how_to_get = wanted().how_to_get,
          .find = [] { return find_fashion_mnist(); }};
}

}  // namespace quest::data
