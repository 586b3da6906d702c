#include "report/charts/palette.h"

#include <algorithm>
#include <cmath>

#include "report/charts/markup.h"

namespace quest::report {
namespace {

struct Colors {
  Rgb background;
  Rgb ink;
  Rgb faint_ink;
  Rgb grid;
  Rgb empty;
  std::array<Rgb, 3> heat;  // at 0, one half and 1
  std::array<Rgb, kSeriesColors> series;
};

constexpr Colors kLight = {
    .background = {255, 255, 255},
    .ink = {28, 35, 43},
    .faint_ink = {88, 98, 110},
    .grid = {222, 227, 233},
    .empty = {243, 245, 247},
    .heat = {{{238, 242, 245}, {126, 176, 205}, {18, 72, 122}}},
    .series = {{{184, 84, 14}, {28, 102, 166}, {88, 98, 110}, {122, 62, 157}, {26, 122, 72}, {176, 36, 90}}},
};
constexpr Colors kDark = {
    .background = {22, 27, 33},
    .ink = {230, 235, 240},
    .faint_ink = {158, 169, 181},
    .grid = {52, 61, 71},
    .empty = {30, 36, 43},
    .heat = {{{38, 46, 55}, {54, 112, 152}, {168, 216, 244}}},
    .series = {{{240, 160, 92}, {116, 182, 238}, {158, 169, 181}, {200, 160, 235}, {110, 205, 150}, {245, 140, 175}}},
};

constexpr std::array<const char*, kSeriesColors> kDashes = {"none", "7 3", "2 3", "9 3 2 3", "14 4", "4 2"};

const Colors& colors_of(Theme theme) { return theme == Theme::light ? kLight : kDark; }

double linear(std::uint8_t channel) {
  const double value = channel / 255.0;
  return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
}

double luminance(Rgb color) {
  return 0.2126 * linear(color.red) + 0.7152 * linear(color.green) + 0.0722 * linear(color.blue);
}

Rgb between(Rgb a, Rgb b, double part) {
  const auto mix = [part](std::uint8_t from, std::uint8_t to) {
    return static_cast<std::uint8_t>(std::lround(from + part * (to - from)));
  };
  return {mix(a.red, b.red), mix(a.green, b.green), mix(a.blue, b.blue)};
}

std::string rule(const std::string& selector, const std::string& declarations) {
  return selector + "{" + declarations + "}\n";
}

std::string heat_rules(Theme theme) {
  std::string css;
  for (int step = 0; step < kHeatSteps; ++step) {
    const std::string name = ".figure .heat" + std::to_string(step);
    css += rule(name + " rect", "fill:" + hex(heat_color(step, theme)));
    css += rule(name + " text", "fill:" + hex(heat_ink(step, theme)));
  }
  return css;
}

std::string series_rules(Theme theme) {
  std::string css;
  for (int series = 0; series < kSeriesColors; ++series) {
    const std::string name = ".figure .series" + std::to_string(series);
    const std::string color = hex(series_color(series, theme));
    css += rule(name + " .line", "stroke:" + color + ";stroke-dasharray:" + kDashes[series]);
    css += rule(name + " .band", "fill:" + color);
    css += rule(name + " .bar", "fill:" + color);
  }
  return css;
}

}  // namespace

std::string hex(Rgb color) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text = "#";
  for (const std::uint8_t channel : {color.red, color.green, color.blue}) {
    text += kDigits[channel >> 4U];
    text += kDigits[channel & 15U];
  }
  return text;
}

double contrast(Rgb a, Rgb b) {
  const auto [darker, lighter] = std::minmax({luminance(a), luminance(b)});
  return (lighter + 0.05) / (darker + 0.05);
}

int heat_step(double fraction) {
  return static_cast<int>(std::lround(std::clamp(fraction, 0.0, 1.0) * (kHeatSteps - 1)));
}

Rgb heat_color(int step, Theme theme) {
  const auto& [low, middle, high] = colors_of(theme).heat;
  const double position = 2.0 * step / (kHeatSteps - 1);
  return position <= 1.0 ? between(low, middle, position) : between(middle, high, position - 1.0);
}

Rgb heat_ink(int step, Theme theme) {
  constexpr Rgb kBlack = {0, 0, 0};
  constexpr Rgb kWhite = {255, 255, 255};
  const Rgb color = heat_color(step, theme);
  return contrast(color, kBlack) > contrast(color, kWhite) ? kBlack : kWhite;
}

Rgb series_color(int series, Theme theme) { return colors_of(theme).series.at(series); }
Rgb background(Theme theme) { return colors_of(theme).background; }
Rgb ink(Theme theme) { return colors_of(theme).ink; }
Rgb faint_ink(Theme theme) { return colors_of(theme).faint_ink; }

std::string figure_style(Theme theme) {
  const Colors& colors = colors_of(theme);
  const std::string ink_color = hex(colors.ink);
  return rule(".figure text", "fill:" + ink_color + ";font-family:system-ui,sans-serif;font-size:11px") +
         rule(".figure .title", "font-size:13px;font-weight:600") + rule(".figure .heading", "font-size:16px") +
         rule(".figure .faint", "fill:" + hex(colors.faint_ink)) +
         rule(".figure .grid", "stroke:" + hex(colors.grid) + ";stroke-width:1") +
         rule(".figure .axis", "stroke:" + hex(colors.faint_ink) + ";stroke-width:1") +
         rule(".figure .paper", "fill:" + hex(colors.background)) +
         rule(".figure .empty rect", "fill:" + hex(colors.empty)) + heat_rules(theme) +
         rule(".figure .line", "fill:none;stroke-width:2") + rule(".figure .band", "opacity:0.18") +
         series_rules(theme) + rule(".figure .target", "fill:" + ink_color + ";fill-opacity:0");
}

}  // namespace quest::report
