#include "data/sets/superpixels.h"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>

#include <array>

#include "data/formats/format_error.h"
#include "data/formats/image_pack.h"
#include "data/formats/picture_file.h"
#include "data/formats/whole_file.h"
#include "data/graph_packer.h"
#include "data/sets/cifar.h"
#include "data/sets/graph_file.h"
#include "data/sets/locator.h"
#include "data/sets/made_file.h"
#include "data/superpixels/superpixel_graph.h"

namespace quest::data {
namespace {

constexpr std::uint64_t kNodeOrder = 0x67726170'68730003;  // a random stream's first name, which no other purpose has
constexpr std::int64_t kValidation = 5000;
constexpr std::int64_t kNodeValues = 5;

const SetFiles& pack_files() {
  static const SetFiles files = {.name = "CIFAR-10", .files = {"train.idx", "train.jpgs", "test.idx", "test.jpgs"}};
  return files;
}

std::string content_of(const std::filesystem::path& path) {
  return naming_file(path, [&] { return read_whole_file(path); });
}

LabelledPixels load_pack(const std::filesystem::path& index, const std::filesystem::path& pack) {
  const auto lines = content_of(index);
  const auto bytes = content_of(pack);
  const auto images = naming_file(index, [&] { return parse_pack_index(lines, bytes.size(), kCifarClasses); });
  LabelledPixels result;
  naming_file(pack, [&] {
    for (std::size_t i = 0; i < images.size(); ++i) {
      const auto picture = decode_picture(std::string_view(bytes).substr(images[i].offset, images[i].length));
      if (picture.height != kCifarSide || picture.width != kCifarSide) {
        throw FormatError("image " + std::to_string(i) + ": expected 32 x 32 pixels, found " +
                          std::to_string(picture.height) + " x " + std::to_string(picture.width));
      }
      result.labels.push_back(static_cast<std::uint8_t>(images[i].label));
      result.pixels.insert(result.pixels.end(), picture.rgb.begin(), picture.rgb.end());
    }
  });
  return result;
}

ColourImage image_of(const LabelledPixels& images, std::int64_t number) {
  constexpr std::int64_t kBytes = 3 * kCifarSide * kCifarSide;
  ColourImage image{.height = kCifarSide, .width = kCifarSide, .pixels = {}};
  const auto* bytes = images.pixels.data() + number * kBytes;
  for (std::int64_t i = 0; i < kBytes; ++i) image.pixels.push_back(static_cast<float>(bytes[i] / 255.0));
  return image;
}

template <typename Number>
at::Tensor tensor_of(std::vector<Number>& numbers, at::IntArrayRef shape, at::ScalarType type) {
  return at::from_blob(numbers.data(), shape, type).clone();
}

at::Tensor half_precise(std::vector<float>& numbers, std::int64_t columns) {
  const auto rows = static_cast<std::int64_t>(numbers.size()) / columns;
  return tensor_of(numbers, {rows, columns}, at::kFloat).to(at::kHalf).to(at::kFloat);
}

Graph graph_of(const LabelledPixels& images, std::int64_t number, std::uint64_t part) {
  auto made = superpixel_graph(image_of(images, number),
                               base::Random(0, {kNodeOrder, part, static_cast<std::uint64_t>(number)}));
  const auto edges = static_cast<std::int64_t>(made.edges.size());
  return {.nodes = made.size(),
          .source = tensor_of(made.source, {edges}, at::kInt),
          .target = tensor_of(made.target, {edges}, at::kInt),
          .node_values = half_precise(made.nodes, kNodeValues),
          .edge_values = half_precise(made.edges, 1),
          .labels = at::full({}, images.labels[static_cast<std::size_t>(number)], at::kInt)};
}

}  // namespace

std::optional<std::vector<std::filesystem::path>> find_cifar10(std::span<const std::filesystem::path> places) {
  if (auto files = find_set(cifar10_files(), places)) return files;
  return find_set(pack_files(), places);
}

CifarImages load_cifar10(const std::vector<std::filesystem::path>& files) {
  if (files.size() == pack_files().files.size()) {
    return {.train = load_pack(files[0], files[1]), .test = load_pack(files[2], files[3])};
  }
  CifarImages images;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto content = content_of(files[i]);
    naming_file(files[i], [&] { parse_cifar10(content, i + 1 < files.size() ? images.train : images.test); });
  }
  return images;
}

GraphSchema superpixel_schema() {
  return {.name = "CIFAR10", .task = GraphTask::graph_classes, .outputs = kCifarClasses};
}

GraphSet make_superpixels(const CifarImages& images, std::int64_t validation, const Progress& progress) {
  const auto train = static_cast<std::int64_t>(images.train.labels.size());
  const auto test = static_cast<std::int64_t>(images.test.labels.size());
  std::vector<Graph> graphs(static_cast<std::size_t>(train + test));
  for_each_graph(train + test, progress, [&](std::int64_t i) {
    graphs[static_cast<std::size_t>(i)] =
        i < train ? graph_of(images.train, i, 0) : graph_of(images.test, i - train, 1);
  });
  GraphPacker packer(superpixel_schema());
  const auto add = [&](const char* split, std::int64_t first, std::int64_t last) {
    packer.begin_split(split);
    for (auto i = first; i < last; ++i) packer.add(graphs[static_cast<std::size_t>(i)]);
  };
  const auto held = std::min(validation, train);
  add("train", held, train);
  add("validation", 0, held);
  add("test", train, train + test);
  return packer.finish();
}

GraphSet load_superpixels(const std::vector<std::filesystem::path>& files, const Progress& progress) {
  const std::string key = "superpixels 1 of " + identity_of(files);
  const auto path = made_file("superpixels", superpixel_schema().name, key);
  if (auto set = find_graph_set(path, key)) return std::move(*set);
  auto set = make_superpixels(load_cifar10(files), kValidation, progress);
  save_graph_set(path, set, key);
  return set;
}

}  // namespace quest::data
