#pragma once

// Colours of the figures, light and dark. Every distinction is also one of lightness, dashes or printed numbers, so
// none depends on telling hues apart.

#include <array>
#include <cstdint>
#include <string>

namespace quest::report {

enum class Theme { light, dark };

struct Rgb {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;

  bool operator==(const Rgb&) const = default;
};

[[nodiscard]] std::string hex(Rgb color);

// WCAG's contrast ratio, from 1 to 21.
[[nodiscard]] double contrast(Rgb a, Rgb b);

inline constexpr int kHeatSteps = 21;

// Which of the steps shows a fraction from 0 to 1.
[[nodiscard]] int heat_step(double fraction);
[[nodiscard]] Rgb heat_color(int step, Theme theme);
// Black or white, whichever reads better on that step.
[[nodiscard]] Rgb heat_ink(int step, Theme theme);

inline constexpr int kSeriesColors = 6;

[[nodiscard]] Rgb series_color(int series, Theme theme);
[[nodiscard]] Rgb background(Theme theme);
[[nodiscard]] Rgb ink(Theme theme);
[[nodiscard]] Rgb faint_ink(Theme theme);

// The style sheet of every figure, with plain values: what draws an SVG outside a browser knows no variables.
[[nodiscard]] std::string figure_style(Theme theme);

}  // namespace quest::report
