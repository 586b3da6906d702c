#include "data/augment/rand_augment.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "data/augment/neighbour_operations.h"
#include "data/augment/point_operations.h"

namespace quest::data {
namespace {

constexpr double kMostRotation = 30.0;  // degrees
constexpr double kMostShear = 0.3;
constexpr double kMostShift = 0.45;  // of the side
constexpr double kMostEnhancement = 0.9;
constexpr int kMostAdded = 110;
constexpr double kApplied = 0.5;  // probability
constexpr int kMostOperations = 100;

double share(double magnitude) { return magnitude / kMostMagnitude; }

double enhancement(double magnitude) { return 1.0 + share(magnitude) * kMostEnhancement; }

constexpr std::array kOperations = std::to_array<RandOperation>({
    {"AutoContrast", false, [](Picture p, double, const Color&) { return auto_contrast(std::move(p)); }},
    {"Equalize", false, [](Picture p, double, const Color&) { return equalized(std::move(p)); }},
    {"Invert", false, [](Picture p, double, const Color&) { return inverted(std::move(p)); }},
    {"Rotate", true,
     [](Picture p, double m, const Color& outside) { return rotated(std::move(p), share(m) * kMostRotation, outside); }},
    {"PosterizeIncreasing", false,
     [](Picture p, double m, const Color&) { return posterized(std::move(p), 4 - static_cast<int>(share(m) * 4)); }},
    {"SolarizeIncreasing", false,
     [](Picture p, double m, const Color&) { return solarized(std::move(p), 256 - static_cast<int>(share(m) * 256)); }},
    {"SolarizeAdd", false,
     [](Picture p, double m, const Color&) {
       return solarized_by_adding(std::move(p), static_cast<int>(share(m) * kMostAdded));
     }},
    {"ColorIncreasing", true,
     [](Picture p, double m, const Color&) { return with_color(std::move(p), enhancement(m)); }},
    {"ContrastIncreasing", true,
     [](Picture p, double m, const Color&) { return with_contrast(std::move(p), enhancement(m)); }},
    {"BrightnessIncreasing", true,
     [](Picture p, double m, const Color&) { return with_brightness(std::move(p), enhancement(m)); }},
    {"SharpnessIncreasing", true,
     [](Picture p, double m, const Color&) { return with_sharpness(std::move(p), enhancement(m)); }},
    {"ShearX", true,
     [](Picture p, double m, const Color& outside) { return transformed(std::move(p), {.xy = share(m) * kMostShear}, outside); }},
    {"ShearY", true,
     [](Picture p, double m, const Color& outside) { return transformed(std::move(p), {.yx = share(m) * kMostShear}, outside); }},
    {"TranslateXRel", true,
     [](Picture p, double m, const Color& outside) {
       const AffineMap map{.x0 = share(m) * kMostShift * static_cast<double>(p.width)};
       return transformed(std::move(p), map, outside);
     }},
    {"TranslateYRel", true,
     [](Picture p, double m,
        const Color&
            outside) { const AffineMap map{.y0 = share(m) * kMostShift * static_cast<double>(p.height)};
       return transformed(std::move(p), map, outside); }},
});

constexpr std::string_view kForm =
    "rand-m<magnitude from 0 to 10>[-n<operations>][-mstd<deviation>]-inc1, such as rand-m9-mstd0.5-inc1";

[[noreturn]] void refuse(std::string_view text, const std::string& problem) {
  throw std::invalid_argument("expected " + std::string(kForm) + "; got \"" + std::string(text) + "\", where " +
                              problem);
}

// A part is letters and a number: "mstd0.5".
struct Part {
  std::string_view name;
  double number;
};

Part parse_part(std::string_view text, std::string_view part) {
  const auto letters =
      static_cast<std::size_t>(std::ranges::find_if(part, [](char c) { return c < 'a' || c > 'z'; }) - part.begin());
  const auto digits = part.substr(letters);
  double number = 0.0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (letters == 0 || error != std::errc() || end != digits.data() + digits.size()) {
    refuse(text, "\"" + std::string(part) + "\" is no name with a number");
  }
  return {part.substr(0, letters), number};
}

}  // namespace

std::optional<RandAugment> parse_rand_augment(std::string_view text) {
  if (!text.starts_with("rand")) return std::nullopt;
  RandAugment policy;
  bool has_magnitude = false;
  bool is_increasing = false;
  for (auto rest = text.substr(4); !rest.empty();) {
    if (rest.front() != '-') refuse(text, "\"" + std::string(rest) + "\" does not begin with \"-\"");
    rest.remove_prefix(1);
    const auto [name, number] = parse_part(text, rest.substr(0, rest.find('-')));
    rest.remove_prefix(std::min(rest.find('-'), rest.size()));
    const auto in_range = [&](double least, double most) {
      if (!(number >= least && number <= most)) refuse(text, "\"" + std::string(name) + "\" is out of range");
      return number;
    };
    if (name == "m") {
      policy.magnitude = in_range(0.0, kMostMagnitude);
      has_magnitude = true;
    } else if (name == "n") {
      policy.operations = static_cast<int>(in_range(1.0, kMostOperations));
      if (policy.operations != number) refuse(text, "\"n\" is no whole number");
    } else if (name == "mstd") {
      policy.deviation = in_range(0.0, std::numeric_limits<double>::max());
    } else if (name == "inc") {
      is_increasing = in_range(0.0, 1.0) == 1.0;
    } else {
      refuse(text, "\"" + std::string(name) + "\" is not known");
    }
  }
  if (!has_magnitude) refuse(text, "\"m\" is missing");
  // timm's other set, in which a larger magnitude does not mean more, is in no recipe.
  if (!is_increasing) refuse(text, "\"inc1\" is missing");
  return policy;
}

std::span<const RandOperation> rand_operations() { return kOperations; }

Picture apply(const RandAugment& policy, Picture picture, const Color& outside, base::Random& random) {
  for (int i = 0; i < policy.operations; ++i) {
    const auto& operation = kOperations[random.below(kOperations.size())];
    if (random.uniform() >= kApplied) continue;
    double magnitude = policy.magnitude;
    if (policy.deviation > 0.0) {
      magnitude = std::clamp(magnitude + policy.deviation * random.normal(), 0.0, kMostMagnitude);
    }
    if (operation.has_sign && random.below(2) == 1) magnitude = -magnitude;
    picture = operation.apply(std::move(picture), magnitude, outside);
  }
  return picture;
}

}  // namespace quest::data
