#include "data/superpixels/slic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "data/superpixels/lab.h"

namespace quest::data {
namespace {

constexpr int kIterations = 10;
constexpr double kLeastShare = 0.5;  // of a segment's expected pixels; smaller ones join a neighbour
constexpr double kMostShare = 3.0;   // larger ones are cut

// Connected pixels of one cluster become a segment of their own, found breadth first; too few of them go to a segment
// beside them that exists already.
class Connection {
 public:
  Connection(const std::vector<std::int32_t>& cluster, std::int64_t height, std::int64_t width, std::int64_t least,
             std::int64_t most)
      : cluster_(cluster),
        height_(height),
        width_(width),
        least_(least),
        most_(most),
        segment_(cluster.size(), kNone) {}

  Segments run() {
    std::int32_t next = 0;
    for (std::int64_t pixel = 0; pixel < std::ssize(cluster_); ++pixel) {
      if (segment_[at(pixel)] != kNone) continue;
      const auto beside = grow(pixel, next);
      if (std::ssize(found_) < least_) {
        for (const auto own : found_) segment_[at(own)] = beside;
      } else {
        ++next;
      }
    }
    return compact();
  }

 private:
  static constexpr std::int32_t kNone = -1;

  static std::size_t at(std::int64_t pixel) { return static_cast<std::size_t>(pixel); }

  // Fills found_; gives the last segment met beside it, or itself.
  std::int32_t grow(std::int64_t first, std::int32_t own) {
    constexpr std::array<std::pair<int, int>, 4> kSteps = {{{0, 1}, {0, -1}, {1, 0}, {-1, 0}}};
    std::int32_t beside = own;
    found_ = {first};
    segment_[at(first)] = own;
    for (std::size_t visited = 0; visited < found_.size() && std::ssize(found_) < most_; ++visited) {
      for (const auto& [down, right] : kSteps) {
        const auto row = found_[visited] / width_ + down;
        const auto column = found_[visited] % width_ + right;
        if (row < 0 || row >= height_ || column < 0 || column >= width_) continue;
        const auto pixel = row * width_ + column;
        if (segment_[at(pixel)] == kNone && cluster_[at(pixel)] == cluster_[at(first)]) {
          segment_[at(pixel)] = own;
          found_.push_back(pixel);
          if (std::ssize(found_) >= most_) break;
        } else if (segment_[at(pixel)] != kNone && segment_[at(pixel)] != own) {
          beside = segment_[at(pixel)];
        }
      }
    }
    return beside;
  }

  // Numbers without gaps: a small first region may have joined a number that then belonged to another.
  Segments compact() {
    std::vector<std::int32_t> number(segment_.size(), kNone);
    Segments result{.label = segment_, .count = 0};
    for (const auto own : segment_) number[static_cast<std::size_t>(own)] = 0;
    for (auto& own : number) own = own == kNone ? kNone : result.count++;
    for (auto& own : result.label) own = number[static_cast<std::size_t>(own)];
    return result;
  }

  const std::vector<std::int32_t>& cluster_;
  std::int64_t height_;
  std::int64_t width_;
  std::int64_t least_;
  std::int64_t most_;
  std::vector<std::int32_t> segment_;
  std::vector<std::int64_t> found_;
};

}  // namespace

Slic::Slic(const ColourImage& image, double compactness)
    : height_(image.height),
      width_(image.width),
      lab_(lab_of(image.pixels)),
      cluster_(static_cast<std::size_t>(height_ * width_)),
      distance_(cluster_.size()) {
  if (height_ < 1 || width_ < 1 || std::ssize(image.pixels) != 3 * height_ * width_) {
    throw std::invalid_argument("expected three colours of each of " + std::to_string(height_) + " x " +
                                std::to_string(width_) + " pixels, got " + std::to_string(image.pixels.size()));
  }
  for (auto& value : lab_) value *= 1.0 / compactness;
}

Slic::Grid Slic::grid_for(std::int64_t wanted) const {
  const auto pixels = static_cast<double>(height_ * width_);
  const double shorter = static_cast<double>(std::min(height_, width_));
  const double step = std::sqrt(pixels / static_cast<double>(wanted));
  if (wanted < 1 || step < 1.0 || step > shorter) {
    throw std::invalid_argument("expected a number of segments for a grid of squares in " + std::to_string(height_) +
                                " x " + std::to_string(width_) + " pixels, got " + std::to_string(wanted));
  }
  // Halves are rounded to the even number.
  return {.start = static_cast<std::int64_t>(std::floor(step / 2.0)),
          .step = static_cast<std::int64_t>(std::nearbyint(step))};
}

bool Slic::assign(const std::vector<Centre>& centres, double place_weight, std::int64_t reach) {
  bool has_changed = false;
  std::ranges::fill(distance_, std::numeric_limits<double>::max());
  for (std::size_t k = 0; k < centres.size(); ++k) {
    const auto& centre = centres[k];
    if (std::isnan(centre.row)) continue;  // it has lost its last pixel
    const auto from = [&](double place) {
      return static_cast<std::int64_t>(std::max(place - static_cast<double>(reach), 0.0));
    };
    const auto to = [&](double place, std::int64_t end) {
      return static_cast<std::int64_t>(std::min(place + static_cast<double>(reach) + 1.0, static_cast<double>(end)));
    };
    for (auto row = from(centre.row); row < to(centre.row, height_); ++row) {
      const double down = centre.row - static_cast<double>(row);
      for (auto column = from(centre.column); column < to(centre.column, width_); ++column) {
        const double right = centre.column - static_cast<double>(column);
        const auto pixel = static_cast<std::size_t>(row * width_ + column);
        double colour = 0.0;
        for (std::size_t c = 0; c < 3; ++c) {
          const double difference = lab_[3 * pixel + c] - centre.colour[c];
          colour += difference * difference;
        }
        const double distance = (down * down + right * right) * place_weight + colour;
        if (distance < distance_[pixel]) {
          distance_[pixel] = distance;
          cluster_[pixel] = static_cast<std::int32_t>(k);
          has_changed = true;
        }
      }
    }
  }
  return has_changed;
}

// Each to the mean of its pixels.
void Slic::move(std::vector<Centre>& centres) const {
  std::vector<double> count(centres.size(), 0.0);
  std::ranges::fill(centres, Centre{});
  for (std::size_t pixel = 0; pixel < cluster_.size(); ++pixel) {
    const auto k = static_cast<std::size_t>(cluster_[pixel]);
    count[k] += 1.0;
    centres[k].row += static_cast<double>(static_cast<std::int64_t>(pixel) / width_);
    centres[k].column += static_cast<double>(static_cast<std::int64_t>(pixel) % width_);
    for (std::size_t c = 0; c < 3; ++c) centres[k].colour[c] += lab_[3 * pixel + c];
  }
  for (std::size_t k = 0; k < centres.size(); ++k) {
    centres[k].row /= count[k];  // 0 / 0 marks a centre without pixels
    centres[k].column /= count[k];
    for (auto& colour : centres[k].colour) colour /= count[k];
  }
}

void Slic::find_clusters(const Grid& grid) {
  std::vector<Centre> centres;
  for (auto row = grid.start; row < height_; row += grid.step) {
    for (auto column = grid.start; column < width_; column += grid.step) {
      // Without a colour: the first round compares with black.
      centres.push_back({.row = static_cast<double>(row), .column = static_cast<double>(column)});
    }
  }
  const auto step = static_cast<double>(grid.step);
  std::ranges::fill(cluster_, 0);
  for (int i = 0; i < kIterations && assign(centres, 1.0 / (step * step), 2 * grid.step); ++i) move(centres);
  grid_ = grid;
}

Segments Slic::segments(std::int64_t wanted) {
  if (const auto grid = grid_for(wanted); grid != grid_) find_clusters(grid);
  const double size = static_cast<double>(height_ * width_) / static_cast<double>(wanted);
  return Connection(cluster_, height_, width_, static_cast<std::int64_t>(kLeastShare * size),
                    static_cast<std::int64_t>(kMostShare * size))
      .run();
}

Segments at_most(const ColourImage& image, double compactness, std::int64_t most_asked, std::int64_t most_found) {
  Slic slic(image, compactness);
  for (auto asked = most_asked; asked > 0; --asked) {
    if (auto segments = slic.segments(asked); segments.count <= most_found) return segments;
  }
  throw std::invalid_argument("no segmentation has as few as " + std::to_string(most_found) + " segments");
}

}  // namespace quest::data
