#pragma once

// Every table and figure of the paper: what it shows, what the paper found, and how far this program reproduces it.

#include <span>
#include <string_view>
#include <vector>

namespace quest::paper {

enum class PaperState { full_size, small_version, data_needed, not_yet, nothing_to_run };

[[nodiscard]] std::string_view state_name(PaperState state);
[[nodiscard]] std::string_view state_meaning(PaperState state);

struct PaperItem {
  std::string_view label;       // "Table 1", "Figure A6"
  std::string_view experiment;  // items that one experiment yields share its name
  std::string_view shows;
  // One telling number of the item, for QUEST and for standard attention; empty where the paper prints none.
  std::string_view measure{};
  std::string_view quest{};
  std::string_view standard{};
  PaperState state = PaperState::not_yet;
  std::string_view command{};  // what runs it; empty as long as nothing does
};

// In the order of the paper.
[[nodiscard]] std::span<const PaperItem> paper_items();

// The names of the experiments, each once, in the order of the list.
[[nodiscard]] std::vector<std::string_view> paper_experiments();

}  // namespace quest::paper
