#pragma once

// SLIC (Achanta et al. 2012): pixels become segments of like colour and place, as scikit-image 0.15 finds them, with
// which the published superpixels were made. Needs no torch.

#include <cstdint>
#include <span>
#include <vector>

namespace quest::data {

// Red, green and blue from 0 to 1, row after row.
struct ColourImage {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::vector<float> pixels;
};

struct Segments {
  std::vector<std::int32_t> label;  // of each pixel, from 0; every number occurs
  std::int32_t count = 0;
};

class Slic {
 public:
  // The larger the compactness, the more place counts against colour.
  Slic(const ColourImage& image, double compactness);

  // About as many connected segments as wanted.
  [[nodiscard]] Segments segments(std::int64_t wanted);

 private:
  // Centres every `step` pixels from `start` on.
  struct Grid {
    std::int64_t start = 0;
    std::int64_t step = 0;

    bool operator==(const Grid&) const = default;
  };
  struct Centre {
    double row = 0.0;
    double column = 0.0;
    double colour[3] = {};
  };

  [[nodiscard]] Grid grid_for(std::int64_t wanted) const;
  void find_clusters(const Grid& grid);
  bool assign(const std::vector<Centre>& centres, double place_weight, std::int64_t reach);
  void move(std::vector<Centre>& centres) const;

  std::int64_t height_;
  std::int64_t width_;
  std::vector<double> lab_;  // divided by the compactness
  Grid grid_;
  std::vector<std::int32_t> cluster_;  // of each pixel, for grid_
  std::vector<double> distance_;
};

// The first of the segmentations into `most_asked`, one less and so on that has at most `most_found`.
[[nodiscard]] Segments at_most(const ColourImage& image, double compactness, std::int64_t most_asked,
                               std::int64_t most_found);

}  // namespace quest::data
