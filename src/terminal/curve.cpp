#include "terminal/curve.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "terminal/table.h"

namespace quest::terminal {
namespace {

// Dots of one character: columns × rows.
struct Dots {
  int across;
  int down;
};
constexpr Dots kBraille{2, 4};
constexpr Dots kStar{1, 1};

// Unicode's numbering of the eight dots of a braille cell: bit [row][column].
constexpr std::array<std::array<unsigned, 2>, 4> kBrailleBits = {
    {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}};

std::string braille(unsigned bits) {  // U+2800 + bits in UTF-8
  return {static_cast<char>(0xE2), static_cast<char>(0xA0 | (bits >> 6U)), static_cast<char>(0x80 | (bits & 0x3FU))};
}

class Canvas {
 public:
  Canvas(const CurveAxes& axes, Dots dots)
      : dots_(dots),
        width_(axes.columns * dots.across),
        height_(axes.rows * dots.down),
        is_marked_(height_, std::vector<bool>(width_)) {}

  [[nodiscard]] int width() const { return width_; }
  [[nodiscard]] int height() const { return height_; }

  void mark(int x, int y) { is_marked_[y][x] = true; }

  [[nodiscard]] std::string row_text(int row) const {
    std::string text;
    for (int column = 0; column < width_ / dots_.across; ++column) {
      unsigned bits = 0;
      for (int y = 0; y < dots_.down; ++y) {
        for (int x = 0; x < dots_.across; ++x) {
          if (is_marked_[row * dots_.down + y][column * dots_.across + x]) bits |= kBrailleBits[y][x];
        }
      }
      if (bits == 0) {
        text += ' ';
      } else {
        text += dots_.across == 1 ? "*" : braille(bits);
      }
    }
    return text;
  }

 private:
  Dots dots_;
  int width_;
  int height_;
  std::vector<std::vector<bool>> is_marked_;
};

std::vector<double> sampled(const std::function<double(double)>& value, int count) {
  std::vector<double> samples;
  samples.reserve(count);
  for (int i = 0; i < count; ++i) samples.push_back(value(count == 1 ? 0.0 : static_cast<double>(i) / (count - 1)));
  return samples;
}

// Joins a sample to the one before it, so that a steep curve has no holes.
void draw(Canvas& canvas, const std::vector<double>& samples, double low, double high) {
  const auto dot_of = [&](double sample) {
    const double height = high > low ? (sample - low) / (high - low) : 0.0;
    return static_cast<int>(std::lround((1.0 - height) * (canvas.height() - 1)));
  };
  int before = dot_of(samples.front());
  for (int x = 0; x < canvas.width(); ++x) {
    const int now = dot_of(samples[x]);
    canvas.mark(x, now);
    for (int y = std::min(before, now) + 1; y < std::max(before, now); ++y) canvas.mark(x, y);
    before = now;
  }
}

}  // namespace

std::string curve(const std::function<double(double)>& value, const CurveAxes& axes, const TerminalStyle& style) {
  Canvas canvas(axes, style.unicode ? kBraille : kStar);
  const auto samples = sampled(value, canvas.width());
  const auto [least, most] = std::ranges::minmax(samples);
  const double low = std::min(0.0, least);
  draw(canvas, samples, low, most);

  const std::string top = three_digits(most);
  const std::string bottom = three_digits(low);
  const std::size_t margin = std::max(display_width(top), display_width(bottom));
  const std::string side = style.unicode ? " │" : " |";
  std::string text = pad("", margin + 2, base::Align::left) + axes.title + "\n";
  for (int row = 0; row < axes.rows; ++row) {
    const std::string label = row == 0 ? top : row == axes.rows - 1 ? bottom : "";
    std::string line = pad(label, margin, base::Align::right) + side + canvas.row_text(row);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  text += pad("", margin + 1, base::Align::left) + (style.unicode ? "└" : "+");
  for (int column = 0; column < axes.columns; ++column) text += style.unicode ? "─" : "-";
  const auto gap = static_cast<std::size_t>(axes.columns) -
                   std::min<std::size_t>(axes.columns - 1, display_width(axes.left) + display_width(axes.right));
  return text + "\n" + pad("", margin + 2, base::Align::left) + axes.left + std::string(gap, ' ') + axes.right + "\n";
}

}  // namespace quest::terminal
