#include "data/sets/fashion_mnist.h"

#include <ATen/ops/empty.h>

#include <cstring>
#include <string>

#include "data/formats/format_error.h"
#include "data/formats/idx.h"
#include "data/formats/whole_file.h"

namespace quest::data {
namespace {

std::filesystem::path find_file(const std::filesystem::path& folder, const std::string& name) {
  for (const char* ending : {".gz", ""}) {
    if (auto path = folder / (name + ending); std::filesystem::exists(path)) return path;
  }
  throw FormatError("\"" + (folder / (name + ".gz")).string() +
                    "\" was expected and is not there. Install Debian's package with the data (apt-get install "
                    "dataset-fashion-mnist), or name a folder that holds the four files of Fashion-MNIST.");
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

LabelledImages load_part(const std::filesystem::path& folder, const std::string& part) {
  const auto label_file = find_file(folder, part + "-labels-idx1-ubyte");
  LabelledImages result{.images = load_bytes(find_file(folder, part + "-images-idx3-ubyte"), 3),
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

FashionMnist load_fashion_mnist(const std::filesystem::path& folder) {
  return {.train = load_part(folder, "train"), .test = load_part(folder, "t10k")};
}

}  // namespace quest::data
