// Which calls are tested: names, pairwise option tables, shapes.

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "tests/attention/attention_case.h"
#include "tests/testing/pairwise.h"

namespace quest::testing {
namespace {

constexpr std::array kSizes{17, 1, 2, 15, 63, 65};
constexpr std::array kDims{16, 1, 8, 20, 24, 32, 40, 64, 80, 96, 100, 128};
constexpr std::array kValueDims{0, 3, 48};  // 0: as dim
constexpr std::array kKvHeads{4, 2, 1};
constexpr std::array kTypes{at::kFloat, at::kBFloat16, at::kHalf, at::kDouble};
constexpr std::int64_t kHeads = 4;

enum Axis : std::size_t {
  kQueriesAxis,
  kKeysAxis,
  kDimAxis,
  kValueDimAxis,
  kKvHeadsAxis,
  kTypeAxis,
  kFormulationAxis,
  kGainAxis,
  kMaskAxis,
  kCausalAxis,
  kLengthsAxis,
  kDropoutAxis,
  kLayoutAxis,
  kScaleAxis,
};
const std::vector<int> kAxisSizes{6, 6, 12, 3, 3, 4, 8, 7, 7, 3, 3, 2, 5, 2};

bool legal(Choice a, Choice b) {
  const bool masked = a.axis == kMaskAxis && a.value > 0;
  const bool causal = b.axis == kCausalAxis && b.value > 0;
  const bool packed = b.axis == kLengthsAxis && b.value == static_cast<int>(LengthKind::packed);
  const bool needs_gain =
      a.axis == kFormulationAxis && all_formulations()[static_cast<std::size_t>(a.value)].gain_axes != GainAxes::none;
  const bool no_gain = b.axis == kGainAxis && b.value == static_cast<int>(GainShape::none);
  return !(masked && (causal || packed)) && !(needs_gain && no_gain);
}

AttentionCase case_of(const std::vector<int>& row) {
  const auto pick = [&row](const auto& values, Axis axis) { return values[static_cast<std::size_t>(row[axis])]; };
  AttentionCase test;
  test.shape = {.batch = 2,
                .heads = kHeads,
                .queries = pick(kSizes, kQueriesAxis),
                .dim = pick(kDims, kDimAxis),
                .keys = pick(kSizes, kKeysAxis),
                .value_dim = pick(kValueDims, kValueDimAxis),
                .kv_heads = pick(kKvHeads, kKvHeadsAxis)};
  test.type = pick(kTypes, kTypeAxis);
  test.formulation = pick(all_formulations(), kFormulationAxis);
  test.gain = static_cast<GainShape>(row[kGainAxis]);
  test.mask = static_cast<MaskShape>(row[kMaskAxis]);
  test.causal = static_cast<CausalKind>(row[kCausalAxis]);
  test.lengths = static_cast<LengthKind>(row[kLengthsAxis]);
  test.dropout = row[kDropoutAxis] == 0 ? 0.0 : 0.25;
  test.layout = static_cast<Layout>(row[kLayoutAxis]);
  test.scale = row[kScaleAxis] == 0 ? std::nullopt : std::optional(0.3);
  return test;
}

template <typename Enum, std::size_t N>
const char* label(Enum value, const std::array<const char*, N>& labels) {
  return labels[static_cast<std::size_t>(value)];
}

const char* type_name(at::ScalarType type) {
  return type == at::kFloat ? "f32" : type == at::kBFloat16 ? "bf16" : type == at::kHalf ? "f16" : "f64";
}

// Accuracy depends on rows and dimensions; batches and heads only repeat them, at the price of a slow oracle.
NamedShape with_few_heads(NamedShape shape) {
  const std::int64_t group = shape.heads / shape.kv_head_count();
  shape.batch = std::min<std::int64_t>(shape.batch, shape.queries > 500 ? 1 : 3);
  shape.heads = std::min<std::int64_t>(shape.heads, std::max<std::int64_t>(group, 2));
  shape.kv_heads = shape.heads / group;
  return shape;
}

}  // namespace

std::string AttentionCase::name() const {
  std::string prefix = shape.name.empty() ? "" : std::string(shape.name) + "_";
  std::replace(prefix.begin(), prefix.end(), '-', '_');
  std::ostringstream text;
  text << prefix << formulation.name << "_q" << shape.queries << "_k" << shape.key_count() << "_d" << shape.dim << "_v"
       << shape.value_size() << "_h" << shape.heads << "_kv" << shape.kv_head_count()
       << label(gain, std::array{"", "_gain", "_gainH", "_gainD", "_gainHD", "_gainH1", "_gain1D"})
       << label(mask, std::array{"", "_bool", "_boolkeys", "_add", "_addheads", "_addkeys", "_addf32"})
       << label(causal, std::array{"", "_causal", "_lowerright"})
       << label(lengths, std::array{"", "_lengths", "_packed"}) << (dropout > 0.0 ? "_dropout" : "")
       << label(layout, std::array{"", "_bnhd", "_sliced", "_broadcast", "_dimstrided"}) << (scale ? "_scale" : "")
       << "_" << type_name(type);
  return text.str();
}

std::vector<AttentionCase> of_test_set(std::vector<AttentionCase> cases) {
  const char* set = std::getenv("QUEST_TEST_SET");
  if (set == nullptr || std::string_view(set) != "smoke") {
    return cases;
  }
  std::vector<AttentionCase> kept;
  for (std::size_t i = 0; i < cases.size(); i += 4) {
    kept.push_back(cases[i]);
  }
  return kept;
}

std::vector<AttentionCase> pairwise_attention_cases() {
  std::vector<AttentionCase> cases;
  for (const std::vector<int>& row : PairwiseTable(kAxisSizes, legal).rows()) {
    cases.push_back(case_of(row));
  }
  return of_test_set(cases);
}

std::vector<AttentionCase> shape_attention_cases() {
  std::vector<NamedShape> shapes(bench::kModelShapes.begin(), bench::kModelShapes.end());
  shapes.insert(shapes.end(), bench::kOddShapes.begin(), bench::kOddShapes.end());
  std::vector<AttentionCase> cases;
  for (const NamedShape& shape : shapes) {
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
      for (const Formulation& formulation : {formulations::quest, formulations::standard}) {
        cases.push_back({.shape = with_few_heads(shape),
                         .formulation = formulation,
                         .causal = shape.causal ? CausalKind::top_left : CausalKind::none,
                         .type = type});
      }
    }
  }
  return of_test_set(cases);
}

}  // namespace quest::testing
