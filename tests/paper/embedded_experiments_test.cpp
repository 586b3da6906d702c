#include "paper/embedded_experiments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "recipe/settings.h"
#include "tests/paper/refusals.h"
#include "tests/testing/temporary_folder.h"

namespace quest::paper {
namespace {

using testing::refusal_of;

TEST(EmbeddedExperiments, AreTheFilesOfTheFolder) {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(std::filesystem::path(QUEST_SOURCES) / "paper")) {
    names.push_back(file.path().stem().string());
  }
  std::ranges::sort(names);
  std::vector<std::string> embedded;
  for (const auto& [name, text] : embedded_experiments()) {
    embedded.emplace_back(name);
    EXPECT_EQ(text, testing::text_of(std::filesystem::path(QUEST_SOURCES) / "paper" / (embedded.back() + ".toml")));
  }
  EXPECT_EQ(embedded, names);
  std::vector<std::string> parsed;
  for (const auto& experiment : experiments()) parsed.push_back(experiment.name);
  EXPECT_EQ(parsed, names);
}

TEST(EmbeddedExperiments, ALabelBelongsToOneFile) {
  constexpr std::string_view kText =
      "title = 'T'\nsummary = 'S'\n[[item]]\nlabel = 'Table 1'\nshows = 'x'\nstate = 'not yet'";
  const std::vector<EmbeddedExperiment> files = {{"a", kText}, {"b", kText}};
  EXPECT_EQ(parse_experiments(std::span(files).first(1)).size(), 1U);
  EXPECT_EQ(refusal_of<recipe::RecipeError>([&] { static_cast<void>(parse_experiments(files)); }),
            "paper/b.toml: item.label: expected one of its own, got \"Table 1\", which paper/a.toml has");
}

TEST(EmbeddedExperiments, ABrokenFileIsNamed) {
  const std::vector<EmbeddedExperiment> files = {{"b", "title = 'T'\nsummary = 3"}};
  EXPECT_EQ(refusal_of<recipe::RecipeError>([&] { static_cast<void>(parse_experiments(files)); }),
            "paper/b.toml:2:1: summary: expected a text, got 3");
}

}  // namespace
}  // namespace quest::paper
