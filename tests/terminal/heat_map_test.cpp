#include "terminal/heat_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace quest::terminal {
namespace {

const terminal::HeatMapAxes kAxes{
    .row_title = "rate", .rows = {"0.1", "1"}, .column_title = "decay", .columns = {"0", "0.05"}};
const std::vector<terminal::HeatMap> kMaps = {{"first", {{0.0, 1.0}, {0.5, std::nullopt}}},
                                              {"second, a long title", {{1.0, 1.0}, {1.0, 1.0}}}};

TEST(HeatMaps, AreNumbersWithoutColours) {
  EXPECT_EQ(terminal::heat_maps({kMaps.data(), 1}, kAxes, 80, {}),
            "     first     \n"
            "rate    0 0.05 \n"
            " 0.1    0  100 \n"
            "   1   50    - \n"
            "     decay\n");
}

TEST(HeatMaps, StandSideBySideWhereThereIsRoom) {
  const auto lines = [](std::size_t width) {
    const auto text = terminal::heat_maps(kMaps, kAxes, width, {});
    return std::ranges::count(text, '\n');
  };
  EXPECT_EQ(lines(80), 5);
  EXPECT_EQ(lines(30), 11);
  EXPECT_EQ(lines(0), 11);
}

TEST(HeatMaps, GetBrighterWithSuccess) {
  const auto text = terminal::heat_maps({kMaps.data(), 1}, kAxes, 80, {.color = true});
  EXPECT_NE(text.find("\033[48;5;53;38;5;231m   0 \033[0m"), std::string::npos) << text;
  EXPECT_NE(text.find("\033[48;5;227;38;5;16m 100 \033[0m"), std::string::npos) << text;
}

}  // namespace
}  // namespace quest::terminal
