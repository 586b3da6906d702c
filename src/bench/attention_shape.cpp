#include "bench/attention_shape.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "app/usage_error.h"
#include "bench/shapes.h"

namespace quest::bench {
namespace {

constexpr std::string_view kDimsForm = "B,H,N,D[,causal][,kv=HK][,nk=NK][,dv=DV]";
constexpr std::int64_t kLargestSize = 1'000'000;
constexpr std::size_t kSizes = 4;

[[noreturn]] void fail(std::string_view form, std::string_view text, const std::string& reason) {
  throw app::UsageError("a shape is written " + std::string(form) + ", for example " +
                        (form == kDimsForm ? "16,8,256,16,causal" : "lm=16,8,256,16,causal") + "; got \"" +
                        std::string(text) + "\": " + reason);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto position = text.find(separator);
    parts.push_back(text.substr(0, position));
    if (position == std::string_view::npos) return parts;
    text.remove_prefix(position + 1);
  }
}

std::optional<std::int64_t> parse_size(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 1 || value > kLargestSize) return {};
  return value;
}

std::int64_t require_size(std::string_view form, std::string_view text, std::string_view part, std::string_view what) {
  const auto size = parse_size(part);
  if (!size) {
    fail(form, text,
         std::string(what) + " must be an integer from 1 to " + std::to_string(kLargestSize) + ", not \"" +
             std::string(part) + "\"");
  }
  return *size;
}

struct NamedSize {
  std::string_view prefix;
  std::int64_t AttentionShape::* member;
};
constexpr std::array<NamedSize, 3> kNamedSizes = {
    {{"kv=", &AttentionShape::kv_heads}, {"nk=", &AttentionShape::keys}, {"dv=", &AttentionShape::value_dim}}};

void apply_suffix(std::string_view form, std::string_view text, std::string_view part, AttentionShape& shape) {
  if (part == "causal") {
    shape.causal = true;
    return;
  }
  for (const auto& size : kNamedSizes) {
    if (!part.starts_with(size.prefix)) continue;
    shape.*size.member = require_size(form, text, part.substr(size.prefix.size()), size.prefix.substr(0, 2));
    return;
  }
  fail(form, text, "\"" + std::string(part) + "\" is none of causal, kv=HK, nk=NK, dv=DV");
}

AttentionShape parse(std::string_view form, std::string_view text, std::string_view dims) {
  static constexpr std::array<std::string_view, kSizes> kNames = {"B", "H", "N", "D"};
  const auto parts = split(dims, ',');
  if (parts.size() < kSizes) {
    fail(form, text, "it has " + std::to_string(parts.size()) + " of the four sizes B,H,N,D");
  }
  std::array<std::int64_t, kSizes> sizes{};
  for (std::size_t i = 0; i < kSizes; ++i) sizes[i] = require_size(form, text, parts[i], kNames[i]);

  AttentionShape shape{.batch = sizes[0],
                       .heads = sizes[1],
                       .queries = sizes[2],
                       .dim = sizes[3],
                       .kv_heads = sizes[1],
                       .keys = sizes[2],
                       .value_dim = sizes[3]};
  for (std::size_t i = kSizes; i < parts.size(); ++i) apply_suffix(form, text, parts[i], shape);
  if (shape.heads % shape.kv_heads != 0) {
    fail(form, text,
         "the " + std::to_string(shape.heads) + " query heads cannot be shared out evenly over " +
             std::to_string(shape.kv_heads) + " key heads");
  }
  return shape;
}

std::vector<AttentionShape> from_cases(std::span<const NamedShape> cases) {
  std::vector<AttentionShape> shapes;
  for (const auto& shape : cases) {
    shapes.push_back({.name = std::string(shape.name),
                      .batch = shape.batch,
                      .heads = shape.heads,
                      .queries = shape.queries,
                      .dim = shape.dim,
                      .causal = shape.causal,
                      .kv_heads = shape.kv_head_count(),
                      .keys = shape.key_count(),
                      .value_dim = shape.value_size()});
  }
  return shapes;
}

}  // namespace

std::vector<AttentionShape> model_shapes() { return from_cases(kModelShapes); }

std::vector<AttentionShape> gpu_shapes() { return from_cases(kGpuShapes); }

std::vector<AttentionShape> odd_shapes() { return from_cases(kOddShapes); }

AttentionShape parse_dims(std::string_view text) { return parse(kDimsForm, text, text); }

AttentionShape parse_named_shape(std::string_view text) {
  static const std::string kForm = "NAME=" + std::string(kDimsForm);
  const auto equals = text.find('=');
  const auto comma = text.find(',');
  if (equals == std::string_view::npos || equals > comma) fail(kForm, text, "it has no name before the sizes");
  if (equals == 0) fail(kForm, text, "its name is empty");
  auto shape = parse(kForm, text, text.substr(equals + 1));
  shape.name = text.substr(0, equals);
  return shape;
}

std::string dims_text(const AttentionShape& shape) {
  std::string text = std::to_string(shape.batch) + "," + std::to_string(shape.heads) + "," +
                     std::to_string(shape.queries) + "," + std::to_string(shape.dim);
  if (shape.causal) text += ",causal";
  const std::array<std::int64_t, kNamedSizes.size()> defaults = {shape.heads, shape.queries, shape.dim};
  for (std::size_t i = 0; i < kNamedSizes.size(); ++i) {
    const auto size = shape.*kNamedSizes[i].member;
    if (size != defaults[i]) text += "," + std::string(kNamedSizes[i].prefix) + std::to_string(size);
  }
  return text;
}

std::vector<AttentionShape> select_shapes(std::span<const AttentionShape> shapes, std::span<const std::string> names) {
  if (names.empty()) return {shapes.begin(), shapes.end()};
  std::vector<AttentionShape> selected;
  for (const auto& name : names) {
    const auto found = std::ranges::find(shapes, name, &AttentionShape::name);
    if (found == shapes.end()) {
      std::string known;
      for (const auto& shape : shapes) known += (known.empty() ? "" : ", ") + shape.name;
      throw app::UsageError("--only: no shape is called \"" + name + "\"; the shapes are " + known);
    }
    selected.push_back(*found);
  }
  return selected;
}

std::string_view pass_name(Pass pass) { return pass == Pass::forward ? "forward" : "forward+backward"; }

double attention_flops(const AttentionShape& shape, Pass pass) {
  const double pairs = static_cast<double>(shape.batch * shape.heads) * static_cast<double>(shape.queries) *
                       static_cast<double>(shape.keys) * (shape.causal ? 0.5 : 1.0);
  const auto dim = static_cast<double>(shape.dim);
  const auto value_dim = static_cast<double>(shape.value_dim);
  const double forward = 2.0 * pairs * (dim + value_dim);
  const double backward = 2.0 * pairs * (3.0 * dim + 2.0 * value_dim);
  return pass == Pass::forward ? forward : forward + backward;
}

double attention_bytes(const AttentionShape& shape, Pass pass, double element_bytes) {
  const auto rows = static_cast<double>(shape.batch * shape.heads * shape.queries);
  const auto key_rows = static_cast<double>(shape.batch * shape.kv_heads * shape.keys);
  const auto dim = static_cast<double>(shape.dim);
  const auto value_dim = static_cast<double>(shape.value_dim);
  const double inputs = rows * dim + key_rows * (dim + value_dim);
  const double output = rows * value_dim;
  // The backward reads inputs, output and its gradient, and writes a gradient for every input.
  const double elements = pass == Pass::forward ? inputs + output : 3.0 * inputs + 3.0 * output;
  return elements * element_bytes;
}

}  // namespace quest::bench
