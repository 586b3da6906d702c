#include "paper/paper.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "domains/toy/toy.h"

namespace quest::paper {
namespace {

TEST(PaperList, HoldsEveryTableAndFigureOnce) {
  std::multiset<std::string> labels;
  for (const paper::PaperItem& item : paper::paper_items()) labels.emplace(item.label);
  std::multiset<std::string> expected;
  const auto add = [&expected](const std::string& name, int count) {
    for (int i = 1; i <= count; ++i) expected.insert(name + std::to_string(i));
  };
  add("Figure ", 5);
  add("Table ", 10);
  add("Figure A", 8);
  add("Table A", 14);
  EXPECT_EQ(labels, expected);
}

TEST(PaperList, ClaimsToRunOnlyWhatHasACommand) {
  for (const paper::PaperItem& item : paper::paper_items()) {
    const bool runs = item.state == paper::PaperState::full_size || item.state == paper::PaperState::small_version;
    EXPECT_EQ(runs, !item.command.empty()) << item.label;
    EXPECT_EQ(item.measure.empty(), item.quest.empty() && item.standard.empty()) << item.label;
  }
}

TEST(PaperList, AgreesWithTheExperiment) {
  const auto percent = std::to_string(std::lround(100.0 * toy::paper_success_rate("quest").value())) + " %";
  for (const paper::PaperItem& item : paper::paper_items()) {
    if (item.experiment != "toy" || item.measure.empty()) continue;
    EXPECT_EQ(item.quest, percent) << item.label;
  }
}

}  // namespace
}  // namespace quest::paper
