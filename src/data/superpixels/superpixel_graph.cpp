#include "data/superpixels/superpixel_graph.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace quest::data {
namespace {

constexpr double kCompactness = 10.0;
constexpr std::int64_t kMostAsked = 200;
constexpr std::int64_t kMostFound = 150;
constexpr std::size_t kNeighbours = 8;
constexpr std::size_t kFeatures = 5;

std::vector<std::int32_t> random_order(std::int32_t count, base::Random& random) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

std::vector<float> features_of(const ColourImage& image, const Segments& segments,
                               const std::vector<std::int32_t>& node_of) {
  std::vector<double> sums(node_of.size() * kFeatures, 0.0);
  std::vector<double> count(node_of.size(), 0.0);
  for (std::size_t pixel = 0; pixel < segments.label.size(); ++pixel) {
    const auto node = static_cast<std::size_t>(node_of[static_cast<std::size_t>(segments.label[pixel])]);
    double* own = sums.data() + node * kFeatures;
    for (std::size_t c = 0; c < 3; ++c) own[c] += static_cast<double>(image.pixels[3 * pixel + c]);
    own[3] += static_cast<double>(static_cast<std::int64_t>(pixel) / image.width);
    own[4] += static_cast<double>(static_cast<std::int64_t>(pixel) % image.width);
    count[node] += 1.0;
  }
  std::vector<float> features(sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto mean = static_cast<float>(sums[i] / count[i / kFeatures]);
    features[i] = i % kFeatures < 3 ? mean : mean / static_cast<float>(image.height);
  }
  return features;
}

// a_ij of the header, before it is made symmetric.
std::vector<double> closeness_of(const std::vector<float>& features, std::size_t n) {
  std::vector<double> a(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    double* row = a.data() + i * n;
    for (std::size_t j = 0; j < n; ++j) {
      const double down = double{features[i * kFeatures + 3]} - double{features[j * kFeatures + 3]};
      const double right = double{features[i * kFeatures + 4]} - double{features[j * kFeatures + 4]};
      row[j] = std::sqrt(down * down + right * right);
    }
    double scale = 1.0;
    if (n > kNeighbours) {
      std::vector<double> nearest(kNeighbours + 1);
      std::partial_sort_copy(row, row + n, nearest.begin(), nearest.end());
      scale = std::accumulate(nearest.begin(), nearest.end(), 0.0) / static_cast<double>(kNeighbours);
    }
    scale += 1e-8;
    for (std::size_t j = 0; j < n; ++j) row[j] = std::exp(-(row[j] / scale) * (row[j] / scale));
  }
  return a;
}

}  // namespace

SuperpixelGraph superpixel_graph(const ColourImage& image, base::Random random) {
  const auto segments = at_most(image, kCompactness, kMostAsked, kMostFound);
  SuperpixelGraph graph;
  graph.nodes = features_of(image, segments, random_order(segments.count, random));
  const auto n = static_cast<std::size_t>(segments.count);
  const auto a = closeness_of(graph.nodes, n);
  const auto closeness = [&](std::size_t i, std::size_t j) { return 0.5 * (a[i * n + j] + a[j * n + i]); };
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < n; ++i) {
    others.resize(n);
    std::iota(others.begin(), others.end(), std::size_t{0});
    others.erase(others.begin() + static_cast<std::int64_t>(i));
    if (n > kNeighbours + 1) {
      std::ranges::stable_sort(others, [&](auto one, auto other) { return closeness(i, one) > closeness(i, other); });
      others.resize(kNeighbours);
    }
    for (const auto j : others) {
      graph.source.push_back(static_cast<std::int32_t>(i));
      graph.target.push_back(static_cast<std::int32_t>(j));
      graph.edges.push_back(static_cast<float>(closeness(i, j)));
    }
  }
  return graph;
}

}  // namespace quest::data
