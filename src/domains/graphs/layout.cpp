#include "domains/graphs/layout.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace quest::graphs {
namespace {

constexpr int kRounds = 300;
constexpr double kLeastDistance = 1e-3;
constexpr double kPull = 0.02;  // to the middle, so that parts without an edge between them stay in sight

// Fruchterman and Reingold's forces: all nodes push each other away, edges draw together.
class Forces {
 public:
  Forces(std::size_t nodes, std::span<const Edge> edges)
      : edges_(edges),
        // As if a graph of many edges had few: else it is a knot.
        strength_(std::min(1.0, 2.0 * static_cast<double>(nodes) / static_cast<double>(edges.size() + 1))),
        distance_(1.0 / std::sqrt(static_cast<double>(nodes))),
        places_(nodes),
        moves_(nodes) {
    for (std::size_t i = 0; i < nodes; ++i) {
      const double angle = 2.0 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(nodes);
      const double radius = 0.3 + 0.2 * static_cast<double>(i % 7) / 7.0;
      places_[i] = {.x = radius * std::cos(angle), .y = radius * std::sin(angle)};
    }
  }

  // No node moves farther than `most`.
  void move(double most) {
    std::ranges::fill(moves_, Place{});
    for (std::size_t i = 0; i < places_.size(); ++i) {
      for (std::size_t j = i + 1; j < places_.size(); ++j) {
        push(i, j, [this](double length) { return distance_ * distance_ / length; });
      }
      moves_[i].x -= kPull * places_[i].x;
      moves_[i].y -= kPull * places_[i].y;
    }
    for (const auto& [i, j] : edges_) {
      if (i != j) push(i, j, [this](double length) { return -strength_ * length * length / distance_; });
    }
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const double length = std::max(std::hypot(moves_[i].x, moves_[i].y), kLeastDistance);
      const double part = std::min(length, most) / length;
      places_[i].x += part * moves_[i].x;
      places_[i].y += part * moves_[i].y;
    }
  }

  [[nodiscard]] const std::vector<Place>& places() const { return places_; }

 private:
  template <typename Force>
  void push(std::size_t i, std::size_t j, const Force& force) {
    const double x = places_[i].x - places_[j].x;
    const double y = places_[i].y - places_[j].y;
    const double length = std::max(std::hypot(x, y), kLeastDistance);
    const double part = force(length) / length;
    moves_[i].x += part * x;
    moves_[i].y += part * y;
    moves_[j].x -= part * x;
    moves_[j].y -= part * y;
  }

  std::span<const Edge> edges_;
  double strength_;
  double distance_;
  std::vector<Place> places_;
  std::vector<Place> moves_;
};

void scale(std::vector<Place>& places, double Place::* axis) {
  const auto [least, most] = std::ranges::minmax(places, {}, axis);
  const double from = least.*axis;
  const double width = std::max(most.*axis - from, kLeastDistance);
  for (auto& place : places) place.*axis = std::clamp((place.*axis - from) / width, 0.0, 1.0);
}

}  // namespace

std::vector<Place> layout(std::size_t nodes, std::span<const Edge> edges) {
  if (nodes == 0) return {};
  Forces forces(nodes, edges);
  for (int round = 0; round < kRounds; ++round) {
    forces.move(0.1 * (1.0 - static_cast<double>(round) / kRounds) + kLeastDistance);
  }
  auto places = forces.places();
  scale(places, &Place::x);
  scale(places, &Place::y);
  return places;
}

}  // namespace quest::graphs
