#include "report/charts/palette.h"

#include <gtest/gtest.h>

namespace quest::report {
namespace {

constexpr double kTextContrast = 4.5;   // WCAG AA, text
constexpr double kShapeContrast = 3.0;  // WCAG AA, graphics

TEST(Palette, ContrastIsThatOfWcag) {
  EXPECT_DOUBLE_EQ(contrast({0, 0, 0}, {255, 255, 255}), 21.0);
  EXPECT_DOUBLE_EQ(contrast({255, 255, 255}, {255, 255, 255}), 1.0);
  EXPECT_NEAR(contrast({119, 119, 119}, {255, 255, 255}), 4.48, 0.01);
}

TEST(Palette, EverythingCanBeRead) {
  for (const Theme theme : {Theme::light, Theme::dark}) {
    EXPECT_GE(contrast(ink(theme), background(theme)), kTextContrast);
    EXPECT_GE(contrast(faint_ink(theme), background(theme)), kTextContrast);
    for (int step = 0; step < kHeatSteps; ++step) {
      EXPECT_GE(contrast(heat_color(step, theme), heat_ink(step, theme)), kTextContrast) << step;
    }
    for (int series = 0; series < kSeriesColors; ++series) {
      EXPECT_GE(contrast(series_color(series, theme), background(theme)), kShapeContrast) << series;
    }
  }
}

// Lightness alone orders the steps, for those who see no hues.
TEST(Palette, HeatGrowsAwayFromTheBackground) {
  for (const Theme theme : {Theme::light, Theme::dark}) {
    for (int step = 1; step < kHeatSteps; ++step) {
      EXPECT_GT(contrast(heat_color(step, theme), background(theme)),
                contrast(heat_color(step - 1, theme), background(theme)))
          << step;
    }
  }
}

TEST(Palette, StepsCoverTheFractions) {
  EXPECT_EQ(heat_step(0.0), 0);
  EXPECT_EQ(heat_step(0.5), kHeatSteps / 2);
  EXPECT_EQ(heat_step(1.0), kHeatSteps - 1);
  EXPECT_EQ(heat_step(7.0), kHeatSteps - 1);
  EXPECT_EQ(hex({255, 0, 171}), "#ff00ab");
}

}  // namespace
}  // namespace quest::report
