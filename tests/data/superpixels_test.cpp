#include "data/sets/superpixels.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "data/formats/cifar.h"
#include "data/formats/format_error.h"
#include "data/formats/image_pack.h"
#include "data/formats/jpeg.h"
#include "data/superpixels/slic.h"
#include "data/superpixels/superpixel_graph.h"
#include "tests/testing/messages.h"
#include "tests/testing/temporary_folder.h"

namespace quest::data {
namespace {

using quest::testing::has;
using quest::testing::message_of;

const std::filesystem::path kSource(QUEST_SOURCE_FOLDER);
const std::filesystem::path kPacks = kSource / "../shared/data/cifar10_jpeg";

ColourImage random_image(std::uint64_t seed) {
  base::Random random(seed, {1});
  ColourImage image{.height = 32, .width = 32, .pixels = {}};
  for (int i = 0; i < 3 * 32 * 32; ++i) {
    const double smooth = 0.5 + 0.4 * std::sin(0.002 * i * static_cast<double>(seed));
    image.pixels.push_back(static_cast<float>(smooth + 0.1 * random.uniform()));
  }
  return image;
}

TEST(Slic, FindsWhatScikitImageFinds) {
  const auto content = nlohmann::json::parse(std::ifstream(kSource / "tests/data/slic.json"));
  ASSERT_EQ(content["cases"].size(), 4U);
  for (const auto& each : content["cases"]) {
    ColourImage image{.height = each["height"], .width = each["width"], .pixels = {}};
    for (const int byte : each["pixels"]) image.pixels.push_back(static_cast<float>(byte / 255.0));
    const auto found = Slic(image, 10.0).segments(each["wanted"].get<std::int64_t>());
    EXPECT_EQ(found.label, each["labels"].get<std::vector<std::int32_t>>());
  }
}

TEST(Slic, NumbersConnectedSegmentsFromZero) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    Slic slic(random_image(seed), 10.0);
    for (const std::int64_t wanted : {200, 163, 30, 200}) {
      const auto segments = slic.segments(wanted);
      const std::set<std::int32_t> numbers(segments.label.begin(), segments.label.end());
      EXPECT_EQ(*numbers.begin(), 0);
      EXPECT_EQ(*numbers.rbegin() + 1, segments.count);
      EXPECT_EQ(std::ssize(numbers), segments.count);
    }
    const auto again = Slic(random_image(seed), 10.0).segments(30);
    EXPECT_EQ(slic.segments(30).label, again.label) << "what was asked before does not matter";
  }
  EXPECT_THROW((void)Slic({.height = 2, .width = 2, .pixels = {1.0F}}, 10.0), std::invalid_argument);
  EXPECT_THROW((void)Slic(random_image(1), 10.0).segments(0), std::invalid_argument);
}

TEST(SuperpixelGraph, HasTheFeaturesOfItsSegments) {
  const auto image = random_image(4);
  const auto graph = superpixel_graph(image, base::Random(1, {2}));
  const auto segments = at_most(image, 10.0, 200, 150);
  ASSERT_EQ(graph.size(), segments.count);
  EXPECT_LE(graph.size(), 150);
  // Whatever the order of nodes: the segment whose mean colour and place a node has.
  std::set<std::int32_t> found;
  for (std::int64_t node = 0; node < graph.size(); ++node) {
    const float* own = graph.nodes.data() + 5 * node;
    for (std::int32_t label = 0; label < segments.count; ++label) {
      double sums[6] = {};
      for (std::size_t pixel = 0; pixel < 1024; ++pixel) {
        if (segments.label[pixel] != label) continue;
        for (std::size_t c = 0; c < 3; ++c) sums[c] += static_cast<double>(image.pixels[3 * pixel + c]);
        sums[3] += static_cast<double>(pixel / 32) / 32;
        sums[4] += static_cast<double>(pixel % 32) / 32;
        sums[5] += 1;
      }
      bool is_own = true;
      for (std::size_t c = 0; c < 5; ++c)
        is_own = is_own && std::abs(sums[c] / sums[5] - static_cast<double>(own[c])) < 1e-6;
      if (is_own) found.insert(label);
    }
  }
  EXPECT_EQ(std::ssize(found), segments.count);
}

TEST(SuperpixelGraph, JoinsEachNodeWithItsEightClosest) {
  const auto graph = superpixel_graph(random_image(5), base::Random(1, {2}));
  const auto n = graph.size();
  const auto places = torch::tensor(graph.nodes).view({n, 5}).narrow(1, 3, 2).to(at::kDouble);
  const auto distances = (places.unsqueeze(0) - places.unsqueeze(1)).square().sum(2).sqrt();
  const auto scale = std::get<0>(distances.topk(9, 1, /*largest=*/false)).sum(1, true) / 8.0 + 1e-8;
  const auto a = (-(distances / scale).square()).exp();
  const auto closeness = ((a + a.t()) / 2).fill_diagonal_(0);
  const auto best = std::get<0>(closeness.topk(8, 1));
  ASSERT_EQ(std::ssize(graph.edges), 8 * n);
  for (std::int64_t edge = 0; edge < 8 * n; ++edge) {
    const auto i = graph.source[static_cast<std::size_t>(edge)];
    EXPECT_EQ(i, edge / 8);
    const auto own = static_cast<double>(graph.edges[static_cast<std::size_t>(edge)]);
    EXPECT_NEAR(own, closeness[i][graph.target[static_cast<std::size_t>(edge)]].item<double>(), 1e-6);
    EXPECT_NEAR(own, best[i][edge % 8].item<double>(), 1e-6);
  }
}

LabelledPixels random_images(std::int64_t count) {
  LabelledPixels images;
  base::Random random(9, {1});
  for (std::int64_t i = 0; i < count; ++i) {
    images.labels.push_back(static_cast<std::uint8_t>(i % 10));
    for (int byte = 0; byte < 3072; ++byte) images.pixels.push_back(static_cast<std::uint8_t>(random.below(256)));
  }
  return images;
}

TEST(SuperpixelSet, HasTheSplitsOfTheBenchmarkOnAnyNumberOfThreads) {
  const CifarImages images{.train = random_images(5), .test = random_images(2)};
  const auto threads = at::get_num_threads();
  at::set_num_threads(1);
  const auto set = make_superpixels(images, 2);
  at::set_num_threads(3);
  const auto again = make_superpixels(images, 2);
  at::set_num_threads(threads);
  EXPECT_TRUE(set.tensors().node_values.equal(again.tensors().node_values));
  EXPECT_TRUE(set.tensors().source.equal(again.tensors().source));
  EXPECT_TRUE(set.batch(set.split("train"))["y"].equal(torch::tensor({2, 3, 4})));
  EXPECT_TRUE(set.batch(set.split("validation"))["y"].equal(torch::tensor({0, 1})));
  EXPECT_TRUE(set.batch(set.split("test"))["y"].equal(torch::tensor({0, 1})));
  EXPECT_EQ(set.node_values(), 5);
  EXPECT_EQ(set.edge_values(), 1);
  const auto& values = set.tensors().node_values;
  EXPECT_TRUE(values.equal(values.to(at::kHalf).to(at::kFloat)));
}

TEST(Cifar10, ReadsColoursOfItsBinaryVersion) {
  std::string record(3073, '\0');
  record[0] = 7;
  record[1 + 1] = '\x10';              // red of the second pixel
  record[1 + 1024] = '\x20';           // green of the first
  record[1 + 2 * 1024 + 33] = '\xff';  // blue of row 1, column 1
  LabelledPixels images;
  parse_cifar10(record + record, images);
  EXPECT_EQ(images.labels, (std::vector<std::uint8_t>{7, 7}));
  EXPECT_EQ(images.pixels[3], 0x10);
  EXPECT_EQ(images.pixels[1], 0x20);
  EXPECT_EQ(images.pixels[3072 + 3 * 33 + 2], 0xff);
  EXPECT_TRUE(
      has(message_of([&] { parse_cifar10(record.substr(1), images); }), "found 3072 bytes; is the file cut off?"));
  record[0] = 10;
  EXPECT_EQ(message_of([&] { parse_cifar10(record, images); }), "record 0: expected a class from 0 to 9, found 10");
}

TEST(SharedCifar10, HasPicturesThatBecomeGraphsOfThePublishedSize) {
  if (!std::filesystem::exists(kPacks)) GTEST_SKIP() << "skipped: no " << kPacks;
  if (!can_decode_jpeg()) GTEST_SKIP() << "skipped: built without libjpeg";
  const auto lines = testing::text_of(kPacks / "test.idx");
  const auto pack = testing::text_of(kPacks / "test.jpgs");
  const auto images = parse_pack_index(lines, pack.size(), 10);
  ASSERT_EQ(images.size(), 10000U);
  double nodes = 0;
  constexpr std::int64_t kLooked = 300;
  for (std::int64_t i = 0; i < kLooked; ++i) {
    const auto& packed = images[static_cast<std::size_t>(i)];
    const auto picture = decode_jpeg(std::string_view(pack).substr(packed.offset, packed.length));
    ColourImage image{.height = picture.height, .width = picture.width, .pixels = {}};
    for (const auto byte : picture.rgb) image.pixels.push_back(static_cast<float>(byte / 255.0));
    nodes += static_cast<double>(superpixel_graph(image, base::Random(0, {static_cast<std::uint64_t>(i)})).size());
  }
  // Published: 117.63 on the average; these pictures went through JPEG once more.
  EXPECT_NEAR(nodes / static_cast<double>(kLooked), 117.63, 2.5);
}

}  // namespace
}  // namespace quest::data
