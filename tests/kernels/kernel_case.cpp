#include "tests/kernels/kernel_case.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <ostream>
#include <sstream>

#include "tests/testing/pairwise.h"

namespace quest::testing {
namespace {

using kernels::Causal;
using kernels::MaskType;

constexpr std::array kSizes{1, 2, 15, 17, 33, 63, 65};
constexpr std::array kDims{1, 8, 16, 20, 24, 32, 40, 64, 80, 96, 100, 128};
constexpr std::array kValueDims{0, 1, 5, 64};  // 0: as dim
constexpr std::array kDropout{0.0F, 0.25F};
constexpr std::array kKvHeads{4, 2, 1};
constexpr std::int64_t kHeads = 4;

enum Axis : std::size_t {
  kQueriesAxis,
  kKeysAxis,
  kDimAxis,
  kValueDimAxis,
  kKvHeadsAxis,
  kTypeAxis,
  kNormalizeAxis,
  kGainAxis,
  kMaskAxis,
  kCausalAxis,
  kLengthsAxis,
  kDropoutAxis,
  kLayoutAxis,
};
const std::vector<int> kAxisSizes{7, 7, 12, 4, 3, 3, 4, 5, 6, 3, 3, 2, 3};

bool legal(Choice a, Choice b) {
  const bool masked = a.axis == kMaskAxis && a.value > 0;
  const bool causal = b.axis == kCausalAxis && b.value > 0;
  const bool packed = b.axis == kLengthsAxis && b.value == static_cast<int>(LengthKind::packed);
  return !(masked && (causal || packed));
}

std::size_t at(int value) { return static_cast<std::size_t>(value); }

KernelCase case_of(const std::vector<int>& row) {
  KernelCase test;
  test.queries = kSizes[at(row[kQueriesAxis])];
  test.keys = kSizes[at(row[kKeysAxis])];
  test.dim = kDims[at(row[kDimAxis])];
  test.value_dim = row[kValueDimAxis] == 0 ? test.dim : kValueDims[at(row[kValueDimAxis])];
  test.heads = kHeads;
  test.kv_heads = kKvHeads[at(row[kKvHeadsAxis])];
  test.type = static_cast<StorageType>(row[kTypeAxis]);
  test.normalize_q = (row[kNormalizeAxis] & 1) != 0;
  test.normalize_k = (row[kNormalizeAxis] & 2) != 0;
  test.gain = static_cast<GainKind>(row[kGainAxis]);
  test.mask = static_cast<MaskKind>(row[kMaskAxis]);
  test.causal = static_cast<Causal>(row[kCausalAxis]);
  test.lengths = static_cast<LengthKind>(row[kLengthsAxis]);
  test.dropout = kDropout[at(row[kDropoutAxis])];
  test.layout = static_cast<Layout>(row[kLayoutAxis]);
  return test;
}

template <typename Enum, std::size_t N>
const char* label(Enum value, const std::array<const char*, N>& labels) {
  return labels[static_cast<std::size_t>(value)];
}

}  // namespace

std::string KernelCase::name() const {
  std::ostringstream text;
  text << "q" << queries << "_k" << keys << "_d" << dim << "_v" << value_dim << "_h" << heads << "_kv" << kv_heads
       << (normalize_q ? "_unitq" : "") << (normalize_k ? "_unitk" : "")
       << label(gain, std::array{"", "_gain", "_gainH", "_gainD", "_gainHD"})
       << label(mask, std::array{"", "_bool", "_boolrow", "_add", "_addrow", "_addstored"})
       << label(causal, std::array{"", "_causal", "_lowerright"})
       << label(lengths, std::array{"", "_lengths", "_packed"}) << (dropout > 0.0F ? "_dropout" : "")
       << label(layout, std::array{"", "_bnhd", "_padded"}) << label(type, std::array{"_f32", "_bf16", "_f16"});
  return text.str();
}

std::ostream& operator<<(std::ostream& stream, const KernelCase& test) { return stream << test.name(); }

std::vector<KernelCase> pairwise_kernel_cases() {
  std::vector<KernelCase> cases;
  for (const std::vector<int>& row : PairwiseTable(kAxisSizes, legal).rows()) {
    cases.push_back(case_of(row));
  }
  return cases;
}

TestProblem::TestProblem(const KernelCase& test, std::uint64_t seed) : layout(test.layout) {
  const bool packed = test.lengths == LengthKind::packed;
  const std::int64_t stored = packed ? 1 : test.batch;
  const std::int64_t queries = packed ? test.queries * 2 : test.queries;
  const std::int64_t keys = packed ? test.keys * 2 : test.keys;
  q = Buffer(test.type, layout, stored, test.heads, queries, test.dim);
  k = Buffer(test.type, layout, stored, test.kv_heads, keys, test.dim);
  v = Buffer(test.type, layout, stored, test.kv_heads, keys, test.value_dim);
  grad_out = Buffer(test.type, layout, stored, test.heads, queries, test.value_dim);

  Random random(seed);
  const auto normal = [&random] { return random.normal(); };
  for (Buffer* buffer : {&q, &k, &v, &grad_out}) {
    buffer->fill(normal);
  }
  problem.batch = test.batch;
  problem.heads = test.heads;
  problem.kv_heads = test.kv_heads;
  problem.queries = queries;
  problem.longest_queries = packed ? queries - test.queries / 2 : queries;
  problem.keys = keys;
  problem.longest_keys = test.keys;
  problem.dim = test.dim;
  problem.value_dim = test.value_dim;
  problem.type = test.type;
  problem.q = q.input();
  problem.k = k.input();
  problem.v = v.input();
  problem.normalize_q = test.normalize_q;
  problem.normalize_k = test.normalize_k;
  // Logits of order one whatever the dimension; edge_test.cpp has the large ones.
  const bool any_unit = test.normalize_q || test.normalize_k;
  problem.scale = any_unit ? 0.75F : 0.75F / std::sqrt(static_cast<float>(test.dim));
  problem.causal = test.causal;
  problem.dropout_p = test.dropout;
  problem.dropout_seed = 42;
  fill_gain(test, random);
  fill_mask(test, random);
  fill_lengths(test);
}

void TestProblem::fill_gain(const KernelCase& test, Random& random) {
  if (test.gain == GainKind::none) {
    return;
  }
  const bool by_head = test.gain == GainKind::head || test.gain == GainKind::head_and_dim;
  const bool by_dim = test.gain == GainKind::dim || test.gain == GainKind::head_and_dim;
  gain.resize(static_cast<std::size_t>((by_head ? test.heads : 1) * (by_dim ? test.dim : 1)));
  std::generate(gain.begin(), gain.end(), [&] { return static_cast<float>(0.5 + 2.0 * random.uniform()); });
  problem.gain = gain.data();
  problem.gain_dim_stride = by_dim ? 1 : 0;
  problem.gain_head_stride = by_head ? (by_dim ? test.dim : 1) : 0;
}

// A third of the pairs is hidden, and the last query of the last head sees nothing.
void TestProblem::fill_mask(const KernelCase& test, Random& random) {
  if (test.mask == MaskKind::none) {
    return;
  }
  const bool one_row = test.mask == MaskKind::boolean_row || test.mask == MaskKind::additive_row;
  const std::int64_t rows = one_row ? 1 : test.queries;
  const std::int64_t heads = one_row ? 1 : test.heads;
  const std::int64_t size = test.batch * heads * rows * test.keys;
  kernels::Mask& mask = problem.mask;
  mask.batch_stride = heads * rows * test.keys;
  mask.head_stride = one_row ? 0 : rows * test.keys;
  mask.row_stride = one_row ? 0 : test.keys;
  if (test.mask == MaskKind::boolean || test.mask == MaskKind::boolean_row) {
    boolean_mask = std::make_unique<bool[]>(static_cast<std::size_t>(size));
    for (std::int64_t i = 0; i < size; ++i) {
      boolean_mask[static_cast<std::size_t>(i)] = i < size - test.keys && random.uniform() < 0.67;
    }
    mask.type = MaskType::boolean;
    mask.data = boolean_mask.get();
    return;
  }
  const bool stored = test.mask == MaskKind::additive_stored;
  additive_mask = Buffer(stored ? test.type : StorageType::float32, Layout::dense, test.batch, heads, rows, test.keys);
  std::int64_t index = 0;
  additive_mask.fill([&] {
    const bool hidden = index++ >= size - test.keys || random.uniform() > 0.67;
    return hidden ? -std::numeric_limits<double>::infinity() : random.normal();
  });
  constexpr std::array kTypes{MaskType::additive_float32, MaskType::additive_bfloat16, MaskType::additive_float16};
  mask.type = stored ? kTypes[static_cast<std::size_t>(test.type)] : MaskType::additive_float32;
  mask.data = additive_mask.input().data;
}

void TestProblem::fill_lengths(const KernelCase& test) {
  if (test.lengths == LengthKind::key_lengths) {
    key_lengths = {test.keys / 2, test.keys};
    problem.key_lengths = key_lengths.data();
  }
  if (test.lengths == LengthKind::packed) {
    cu_seqlens_q = {0, test.queries / 2, test.queries * 2};
    cu_seqlens_k = {0, test.keys, test.keys * 2};
    problem.cu_seqlens_q = cu_seqlens_q.data();
    problem.cu_seqlens_k = cu_seqlens_k.data();
  }
}

std::vector<double> mask_gradient(const TestProblem& test, const std::vector<double>& grad_logits) {
  const kernels::AttentionProblem& problem = test.problem;
  const Buffer& mask = test.additive_mask;
  std::vector<double> result(static_cast<std::size_t>(mask.batch() * mask.heads() * mask.rows() * problem.keys));
  std::size_t source = 0;
  for (std::int64_t b = 0; b < problem.batch; ++b) {
    for (std::int64_t h = 0; h < problem.heads; ++h) {
      for (std::int64_t i = 0; i < problem.queries; ++i) {
        const std::int64_t row =
            ((mask.batch() == 1 ? 0 : b) * mask.heads() + (mask.heads() == 1 ? 0 : h)) * mask.rows() +
            (mask.rows() == 1 ? 0 : i);
        for (std::int64_t j = 0; j < problem.keys; ++j) {
          result[static_cast<std::size_t>(row * problem.keys + j)] += grad_logits[source++];
        }
      }
    }
  }
  return result;
}

}  // namespace quest::testing
