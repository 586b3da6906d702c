#pragma once

// A small table of cases in which every legal pair of option values meets at least once.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

namespace quest::testing {

struct Choice {
  std::size_t axis = 0;
  int value = 0;
  auto operator<=>(const Choice&) const = default;
};

using LegalPair = std::function<bool(Choice, Choice)>;  // called with the lower axis first

class PairwiseTable {
 public:
  PairwiseTable(std::vector<int> axis_sizes, LegalPair legal)
      : axis_sizes_(std::move(axis_sizes)), legal_(std::move(legal)) {
    for (std::size_t a = 0; a < axis_sizes_.size(); ++a) {
      for (std::size_t b = a + 1; b < axis_sizes_.size(); ++b) {
        collect_pairs(a, b);
      }
    }
  }

  // One row per case, one value per axis.
  std::vector<std::vector<int>> rows() {
    std::vector<std::vector<int>> table;
    while (!uncovered_.empty()) {
      table.push_back(next_row(static_cast<int>(table.size())));
    }
    return table;
  }

 private:
  void collect_pairs(std::size_t a, std::size_t b) {
    for (int x = 0; x < axis_sizes_[a]; ++x) {
      for (int y = 0; y < axis_sizes_[b]; ++y) {
        if (legal_({a, x}, {b, y})) {
          uncovered_.insert({{a, x}, {b, y}});
        }
      }
    }
  }

  std::vector<int> next_row(int rotation) {
    std::vector<Choice> chosen{uncovered_.begin()->first, uncovered_.begin()->second};
    for (std::size_t axis = 0; axis < axis_sizes_.size(); ++axis) {
      if (axis != chosen[0].axis && axis != chosen[1].axis) {
        chosen.push_back(best_value(axis, chosen, rotation));
      }
    }
    std::sort(chosen.begin(), chosen.end());
    std::vector<int> row;
    for (const Choice& choice : chosen) {
      for (const Choice& other : chosen) {
        uncovered_.erase({choice, other});
      }
      row.push_back(choice.value);
    }
    return row;
  }

  Choice best_value(std::size_t axis, const std::vector<Choice>& chosen, int rotation) const {
    std::optional<Choice> best;
    std::size_t best_gain = 0;
    for (int step = 0; step < axis_sizes_[axis]; ++step) {
      const Choice candidate{axis, (step + rotation) % axis_sizes_[axis]};
      const auto pair_with = [&](const Choice& other) { return std::minmax(candidate, other); };
      const bool legal = std::all_of(chosen.begin(), chosen.end(), [&](const Choice& other) {
        const auto [low, high] = pair_with(other);
        return legal_(low, high);
      });
      const auto gain = static_cast<std::size_t>(std::count_if(
          chosen.begin(), chosen.end(), [&](const Choice& other) { return uncovered_.count(pair_with(other)) > 0; }));
      if (legal && (!best || gain > best_gain)) {
        best = candidate;
        best_gain = gain;
      }
    }
    return best ? *best : throw std::logic_error("every axis needs a value that is legal with all others");
  }

  std::vector<int> axis_sizes_;
  LegalPair legal_;
  std::set<std::pair<Choice, Choice>> uncovered_;
};

}  // namespace quest::testing
