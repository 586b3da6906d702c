#include "ops/check.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace quest::ops {
namespace {

constexpr std::size_t kRank = 4;
constexpr std::array<const char*, kRank> kMaskDimensions = {"batch", "heads", "queries", "keys"};

const char* device_kind(DeviceType device) {
  switch (device) {
    case DeviceType::CPU:
      return "cpu";
    case DeviceType::CUDA:
      return "cuda";
    case DeviceType::Meta:
      return "meta";
    default:
      return "another device";
  }
}

std::string describe_device(const TensorInfo& tensor) {
  std::ostringstream text;
  text << device_kind(tensor.device);
  if (tensor.device_index >= 0) {
    text << ':' << tensor.device_index;
  }
  return text.str();
}

bool same_device(const TensorInfo& a, const TensorInfo& b) {
  return a.device == b.device && (a.device == DeviceType::CPU || a.device_index == b.device_index);
}

void check_device(const char* name, const TensorInfo& tensor, const TensorInfo& q) {
  if (!same_device(tensor, q)) {
    fail(name, " must be on the device of q, ", describe_device(q), ", got ", describe_device(tensor));
  }
}

void check_rank(const char* name, const TensorInfo& tensor, const char* dimensions) {
  if (tensor.sizes.size() != kRank) {
    fail(name, " must have 4 dimensions ", dimensions, ", got shape ", describe(tensor.sizes));
  }
}

void check_equal_size(const char* name, const TensorInfo& tensor, std::size_t dimension, const char* meaning,
                      std::int64_t expected, const char* source) {
  if (tensor.sizes[dimension] != expected) {
    fail(name, " must have the same ", meaning, " as ", source, ", ", expected, " in dimension ", dimension,
         ", got shape ", describe(tensor.sizes));
  }
}

void check_same_type(const char* name, const TensorInfo& tensor, const TensorInfo& q) {
  if (tensor.type != q.type) {
    fail(name, " must have the type of q, ", describe(q.type), ", got ", describe(tensor.type),
         "; convert it with .to()");
  }
}

void check_query(const TensorInfo& q) {
  check_rank("q", q, "[batch, heads, queries, dim]");
  const bool floating = q.type == ScalarType::Float || q.type == ScalarType::Double || q.type == ScalarType::BFloat16 ||
                        q.type == ScalarType::Half;
  if (!floating) {
    fail("q must be float32, float64, bfloat16 or float16, got ", describe(q.type));
  }
  if (q.sizes[1] < 1 || q.sizes[3] < 1) {
    fail("q must have at least one head and one dimension, got shape ", describe(q.sizes));
  }
}

void check_key(const AttentionArguments& arguments) {
  const TensorInfo& q = arguments.q;
  const TensorInfo& k = arguments.k;
  check_rank("k", k, "[batch, heads, keys, dim]");
  check_same_type("k", k, q);
  check_device("k", k, q);
  check_equal_size("k", k, 0, "batch", q.sizes[0], "q");
  check_equal_size("k", k, 3, "head dimension", q.sizes[3], "q");
  const std::int64_t heads = q.sizes[1];
  const std::int64_t key_heads = k.sizes[1];
  if (key_heads == heads) {
    return;
  }
  if (!arguments.grouped_heads_allowed) {
    fail("k must have the ", heads, " heads of q, got ", key_heads,
         "; set enable_gqa to share key heads between query heads");
  }
  if (key_heads < 1 || heads % key_heads != 0) {
    fail("k must have a number of heads that divides the ", heads, " heads of q, got ", key_heads);
  }
}

void check_value(const TensorInfo& v, const AttentionArguments& arguments) {
  check_rank("v", v, "[batch, heads, keys, value dim]");
  check_same_type("v", v, arguments.q);
  check_device("v", v, arguments.q);
  check_equal_size("v", v, 0, "batch", arguments.q.sizes[0], "q");
  check_equal_size("v", v, 1, "number of heads", arguments.k.sizes[1], "k");
  check_equal_size("v", v, 2, "number of keys", arguments.k.sizes[2], "k");
  if (v.sizes[3] < 1) {
    fail("v must have at least one dimension per head, got shape ", describe(v.sizes));
  }
}

void check_gain(const TensorInfo& gain, const TensorInfo& q) {
  const auto fits = [](std::int64_t size, std::int64_t full) { return size == 1 || size == full; };
  if (gain.sizes.size() != 2 || !fits(gain.sizes[0], q.sizes[1]) || !fits(gain.sizes[1], q.sizes[3])) {
    fail("gain must have shape [1 or ", q.sizes[1], ", 1 or ", q.sizes[3], "] (heads, dim), got ",
         describe(gain.sizes));
  }
  if (gain.type != ScalarType::Float && gain.type != q.type) {
    fail("gain must be float32, got ", describe(gain.type));
  }
  check_device("gain", gain, q);
}

void check_mask(const TensorInfo& mask, const AttentionArguments& arguments) {
  const auto& q = arguments.q;
  const std::array<std::int64_t, kRank> full = {q.sizes[0], q.sizes[1], q.sizes[2], arguments.k.sizes[2]};
  const std::size_t rank = mask.sizes.size();
  if (rank > kRank) {
    fail("mask must have at most 4 dimensions, got shape ", describe(mask.sizes));
  }
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t target = kRank - rank + i;
    if (mask.sizes[i] != 1 && mask.sizes[i] != full[target]) {
      fail("mask must broadcast to [batch, heads, queries, keys] = ", describe(full), ", got shape ",
           describe(mask.sizes), " whose ", kMaskDimensions[target], " dimension is neither 1 nor ", full[target]);
    }
  }
  if (mask.type != ScalarType::Bool && mask.type != ScalarType::Float && mask.type != q.type) {
    fail("mask must be bool, float32 or the type of q, ", describe(q.type), ", got ", describe(mask.type));
  }
  check_device("mask", mask, q);
  if (arguments.is_causal) {
    fail("is_causal cannot be combined with a mask, got both; put the causal pattern into the mask");
  }
}

void check_lengths_tensor(const char* name, const TensorInfo& lengths, const TensorInfo& q) {
  if (lengths.sizes.size() != 1) {
    fail(name, " must have 1 dimension, got shape ", describe(lengths.sizes));
  }
  if (lengths.type != ScalarType::Int && lengths.type != ScalarType::Long) {
    fail(name, " must hold int32 or int64 integers, got ", describe(lengths.type));
  }
  if (lengths.device != DeviceType::CPU) {
    check_device(name, lengths, q);
  }
}

void check_packing(const AttentionArguments& arguments) {
  const auto& offsets_q = arguments.cu_seqlens_q;
  const auto& offsets_k = arguments.cu_seqlens_k;
  if (offsets_q.has_value() != offsets_k.has_value()) {
    fail("cu_seqlens_q and cu_seqlens_k must be given together, got only cu_seqlens_", offsets_q ? "q" : "k");
  }
  if (!offsets_q) {
    return;
  }
  check_lengths_tensor("cu_seqlens_q", *offsets_q, arguments.q);
  check_lengths_tensor("cu_seqlens_k", *offsets_k, arguments.q);
  if (offsets_q->sizes[0] != offsets_k->sizes[0] || offsets_q->sizes[0] < 1) {
    fail("cu_seqlens_q and cu_seqlens_k must have the same number of entries, one more than there are sequences, got ",
         offsets_q->sizes[0], " and ", offsets_k->sizes[0]);
  }
  if (arguments.q.sizes[0] != 1) {
    fail("cu_seqlens needs sequences packed into a batch of 1, got batch ", arguments.q.sizes[0]);
  }
  if (arguments.mask) {
    fail("cu_seqlens cannot be combined with a mask, got both; pad the batch to use a mask");
  }
  if (arguments.key_lengths) {
    fail("cu_seqlens cannot be combined with key_lengths, got both; cu_seqlens_k already holds the lengths");
  }
}

}  // namespace

std::string describe(std::span<const std::int64_t> sizes) {
  std::ostringstream text;
  text << '[';
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    text << (i == 0 ? "" : ", ") << sizes[i];
  }
  text << ']';
  return text.str();
}

std::string describe(ScalarType type) {
  switch (type) {
    case ScalarType::Float:
      return "float32";
    case ScalarType::Double:
      return "float64";
    case ScalarType::BFloat16:
      return "bfloat16";
    case ScalarType::Half:
      return "float16";
    case ScalarType::Bool:
      return "bool";
    case ScalarType::Int:
      return "int32";
    case ScalarType::Long:
      return "int64";
    case ScalarType::ComplexFloat:
      return "complex64";
    case ScalarType::ComplexDouble:
      return "complex128";
    default:
      return torch::headeronly::toString(type);
  }
}

void check_dropout(double dropout_p) {
  if (!(dropout_p >= 0.0 && dropout_p < 1.0)) {
    fail("dropout_p must lie in [0, 1), got ", dropout_p);
  }
}

void check_attention(const AttentionArguments& arguments) {
  check_query(arguments.q);
  check_key(arguments);
  if (arguments.v) {
    check_value(*arguments.v, arguments);
  }
  if (arguments.gain) {
    check_gain(*arguments.gain, arguments.q);
  }
  if (arguments.mask) {
    check_mask(*arguments.mask, arguments);
  }
  if (arguments.key_lengths) {
    check_lengths_tensor("key_lengths", *arguments.key_lengths, arguments.q);
    if (arguments.key_lengths->sizes[0] != arguments.q.sizes[0]) {
      fail("key_lengths must have one entry per batch, shape [", arguments.q.sizes[0], "], got ",
           describe(arguments.key_lengths->sizes));
    }
  }
  check_packing(arguments);
  if (!std::isfinite(arguments.scale)) {
    fail("scale must be finite, got ", arguments.scale);
  }
  check_dropout(arguments.dropout_p);
}

void check_like(const char* name, const TensorInfo& given, std::span<const std::int64_t> sizes, ScalarType type,
                const TensorInfo& q) {
  if (!std::equal(given.sizes.begin(), given.sizes.end(), sizes.begin(), sizes.end())) {
    fail(name, " must have shape ", describe(sizes), ", got ", describe(given.sizes));
  }
  if (given.type != type) {
    fail(name, " must be ", describe(type), ", got ", describe(given.type));
  }
  check_device(name, given, q);
}

void check_key_lengths(std::span<const std::int64_t> lengths, std::int64_t keys) {
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] < 0 || lengths[i] > keys) {
      fail("key_lengths must lie between 0 and the number of keys, ", keys, ", got ", lengths[i], " at index ", i);
    }
  }
}

void check_cu_seqlens(const char* name, std::span<const std::int64_t> offsets, std::int64_t rows) {
  if (offsets.front() != 0) {
    fail(name, " must start at 0, got ", offsets.front());
  }
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    if (offsets[i] < offsets[i - 1]) {
      fail(name, " must not decrease, got ", offsets[i], " after ", offsets[i - 1], " at index ", i);
    }
  }
  if (offsets.back() != rows) {
    fail(name, " must end at the number of packed rows, ", rows, ", got ", offsets.back());
  }
}

}  // namespace quest::ops
