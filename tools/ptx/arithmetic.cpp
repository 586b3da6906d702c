// Arithmetic, logic, comparisons and moves.

#include <cmath>
#include <limits>
#include <type_traits>

#include "tools/ptx/decode.h"
#include "tools/ptx/lanewise.h"
#include "tools/ptx/small_floats.h"

namespace quest::testing::ptx {
namespace {

// Sums, differences and products of integers wrap around.
template <typename T, typename Function>
T wrapped(T a, T b, Function function) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    using Wide = std::make_unsigned_t<std::common_type_t<T, int>>;
    return static_cast<T>(function(static_cast<Wide>(a), static_cast<Wide>(b)));
  } else {
    return static_cast<T>(function(a, b));
  }
}

template <typename T>
T least(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return std::fmin(a, b);
  return b < a ? b : a;
}

template <typename T>
T largest(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return std::fmax(a, b);
  return a < b ? b : a;
}

// As hardware divides: nothing is raised.
template <typename T>
T quotient(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b == 0) return static_cast<T>(-1);
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return wrapped(T{0}, a, [](auto x, auto y) { return x - y; });
    }
  }
  return static_cast<T>(a / b);
}

template <typename T>
T remainder_of(T a, T b) {
  if (b == 0) return a;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
  }
  return static_cast<T>(a % b);
}

template <typename T>
Execute high_product() {
  using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
  return lanewise<T, T, T>([](T a, T b) { return static_cast<Wide>(a) * static_cast<Wide>(b) >> 32U; });
}

template <typename Wide>
Execute wide_product() {
  using Narrow =
      std::conditional_t<sizeof(Wide) == 8, std::conditional_t<std::is_signed_v<Wide>, std::int32_t, std::uint32_t>,
                         std::conditional_t<std::is_signed_v<Wide>, std::int16_t, std::uint16_t>>;
  return lanewise<Wide, Narrow, Narrow>([](Narrow a, Narrow b) { return static_cast<Wide>(a) * static_cast<Wide>(b); });
}

Execute product(const Name& name) {
  const std::string_view type = name.back();
  if (has_part(name, "wide")) {
    if (type == "u16") return wide_product<std::uint32_t>();
    if (type == "u32") return wide_product<std::uint64_t>();
    return type == "s32" ? wide_product<std::int64_t>() : nullptr;
  }
  if (has_part(name, "hi")) {
    if (type == "u32") return high_product<std::uint32_t>();
    return type == "s32" ? high_product<std::int32_t>() : nullptr;
  }
  return for_type(type, [](auto t) {
    using T = decltype(t);
    return lanewise<T, T, T>([](T a, T b) { return wrapped(a, b, [](auto x, auto y) { return x * y; }); });
  });
}

// Shifts by the width or more leave nothing but the sign.
template <typename T>
T shifted_left(T a, std::uint32_t by) {
  return by >= 8 * sizeof(T) ? T{0} : static_cast<T>(a << by);
}

template <typename T>
T shifted_right(T a, std::uint32_t by) {
  constexpr std::uint32_t kBits = 8 * sizeof(T);
  if (by >= kBits) return std::is_signed_v<T> && a < 0 ? static_cast<T>(-1) : T{0};
  return static_cast<T>(a >> by);
}

template <typename T>
T inserted(T field, T into, std::uint32_t position, std::uint32_t length) {
  const T ones = length >= 8 * sizeof(T) ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << length) - 1);
  return static_cast<T>((into & ~(ones << position)) | ((field & ones) << position));
}

std::uint32_t permuted_bytes(std::uint32_t a, std::uint32_t b, std::uint32_t selector) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(b) << 32U | a;
  std::uint32_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned choice = selector >> (4 * i) & 15U;
    auto byte = static_cast<std::uint32_t>(bytes >> (8 * (choice & 7U)) & 255U);
    if ((choice & 8U) != 0) byte = (byte & 128U) != 0 ? 255U : 0U;
    result |= byte << (8 * i);
  }
  return result;
}

std::uint32_t reversed_bits(std::uint32_t word) {
  std::uint32_t result = 0;
  for (unsigned i = 0; i < 32; ++i) result |= (word >> i & 1U) << (31 - i);
  return result;
}

// Two 16-bit numbers in a word.
template <typename FromBits, typename ToBits>
std::uint32_t fused_pair(std::uint32_t a, std::uint32_t b, std::uint32_t c, FromBits value, ToBits bits) {
  std::uint32_t result = 0;
  for (const unsigned shift : {0U, 16U}) {
    const auto half = [&](std::uint32_t word) { return value(static_cast<std::uint16_t>(word >> shift)); };
    result |= static_cast<std::uint32_t>(bits(std::fma(half(a), half(b), half(c)))) << shift;
  }
  return result;
}

Execute fused(std::string_view type) {
  using Word = std::uint32_t;
  if (type == "f16x2") {
    return lanewise<Word, Word, Word, Word>(
        [](Word a, Word b, Word c) { return fused_pair(a, b, c, float16_value, float16_bits); });
  }
  if (type == "bf16x2") {
    return lanewise<Word, Word, Word, Word>([](Word a, Word b, Word c) {
      return fused_pair(a, b, c, bfloat16_value, [](double x) { return bfloat16_bits(static_cast<float>(x)); });
    });
  }
  return for_type(type, [](auto t) -> Execute {
    using T = decltype(t);
    if constexpr (!std::is_floating_point_v<T>) return nullptr;
    return lanewise<T, T, T, T>([](T a, T b, T c) { return static_cast<T>(std::fma(a, b, c)); });
  });
}

// Rounded towards minus infinity.
Execute fused_down() {
  return lanewise<float, float, float, float>([](float a, float b, float c) {
    const double exact = double{a} * double{b} + double{c};
    const auto nearest = static_cast<float>(exact);
    return double{nearest} > exact ? std::nextafter(nearest, -std::numeric_limits<float>::infinity()) : nearest;
  });
}

template <typename T>
Execute comparison_of(std::string_view how) {
  if (how == "eq") return lanewise<bool, T, T>([](T a, T b) { return a == b; });
  if (how == "ne") return lanewise<bool, T, T>([](T a, T b) { return a < b || a > b; });
  if (how == "lt") return lanewise<bool, T, T>([](T a, T b) { return a < b; });
  if (how == "le") return lanewise<bool, T, T>([](T a, T b) { return a <= b; });
  if (how == "gt") return lanewise<bool, T, T>([](T a, T b) { return a > b; });
  if (how == "ge") return lanewise<bool, T, T>([](T a, T b) { return a >= b; });
  // True where one of the two is NaN.
  if (how == "equ") return lanewise<bool, T, T>([](T a, T b) { return !(a < b || a > b); });
  if (how == "neu") return lanewise<bool, T, T>([](T a, T b) { return !(a == b); });
  if (how == "ltu") return lanewise<bool, T, T>([](T a, T b) { return !(a >= b); });
  if (how == "leu") return lanewise<bool, T, T>([](T a, T b) { return !(a > b); });
  if (how == "gtu") return lanewise<bool, T, T>([](T a, T b) { return !(a <= b); });
  if (how == "geu") return lanewise<bool, T, T>([](T a, T b) { return !(a < b); });
  return nullptr;
}

Execute comparison(const Name& name) {
  if (name.size() != 3) return nullptr;
  return for_type(name[2], [&](auto t) { return comparison_of<decltype(t)>(name[1]); });
}

// Words from halves and halves from words.
template <typename Half, typename Word>
void move_pieces(Warp& warp, const Instruction& instruction) {
  constexpr unsigned kHalfBits = 8 * sizeof(Half);
  const auto& at = instruction.operands;
  const bool joins = instruction.vector == 1;
  warp.for_each_lane([&](std::size_t lane) {
    if (joins) {
      const Word high = warp.get<Half>(at[2], lane);
      warp.set<Word>(at[0], lane, high << kHalfBits | warp.get<Half>(at[1], lane));
    } else {
      const auto word = warp.get<Word>(at[2], lane);
      warp.set(at[0], lane, static_cast<Half>(word));
      warp.set(at[1], lane, static_cast<Half>(word >> kHalfBits));
    }
  });
}

Execute piecewise_move(std::string_view type) {
  if (type == "b32") return move_pieces<std::uint16_t, std::uint32_t>;
  return type == "b64" ? move_pieces<std::uint32_t, std::uint64_t> : nullptr;
}

template <typename T>
Execute root_or_inverse(std::string_view name) {
  if (name == "abs") return lanewise<T, T>([](T a) { return std::fabs(a); });
  if (name == "sqrt") return lanewise<T, T>([](T a) { return std::sqrt(a); });
  if (name == "rsqrt") return lanewise<T, T>([](T a) { return T{1} / std::sqrt(a); });
  if (name == "rcp") return lanewise<T, T>([](T a) { return T{1} / a; });
  return nullptr;
}

Execute function_of_one(const Name& name) {
  if (name.back() == "f64") return root_or_inverse<double>(name[0]);
  if (const Execute found = root_or_inverse<float>(name[0])) return found;
  if (name[0] == "ex2" && has_part(name, "ftz")) {
    return lanewise<float, float>([](float a) {
      const float power = std::exp2(a);
      return power < std::numeric_limits<float>::min() ? 0.0F : power;
    });
  }
  if (name[0] == "ex2") return lanewise<float, float>([](float a) { return std::exp2(a); });
  if (name[0] == "lg2") return lanewise<float, float>([](float a) { return std::log2(a); });
  return nullptr;
}

Execute logic(const Name& name) {
  return for_type(name.back(), [&](auto t) -> Execute {
    using T = decltype(t);
    if constexpr (std::is_integral_v<T>) {
      if (name[0] == "and") return lanewise<T, T, T>([](T a, T b) { return a & b; });
      if (name[0] == "or") return lanewise<T, T, T>([](T a, T b) { return a | b; });
      if (name[0] == "xor") return lanewise<T, T, T>([](T a, T b) { return a ^ b; });
    }
    if constexpr (std::is_same_v<T, bool>) {
      if (name[0] == "not") return lanewise<T, T>([](T a) { return !a; });
    } else if constexpr (std::is_integral_v<T>) {
      if (name[0] == "not") return lanewise<T, T>([](T a) { return ~a; });
      if (name[0] == "rem") return lanewise<T, T, T>([](T a, T b) { return remainder_of(a, b); });
      if (name[0] == "shl")
        return lanewise<T, T, std::uint32_t>([](T a, std::uint32_t by) { return shifted_left(a, by); });
      if (name[0] == "shr")
        return lanewise<T, T, std::uint32_t>([](T a, std::uint32_t by) { return shifted_right(a, by); });
      if (name[0] == "bfi")
        return lanewise<T, T, T, std::uint32_t, std::uint32_t>(
            [](T field, T into, std::uint32_t position, std::uint32_t length) {
              return inserted(field, into, position, length);
            });
    }
    return nullptr;
  });
}

Execute sum_or_choice(const Name& name) {
  return for_type(name.back(), [&](auto t) -> Execute {
    using T = decltype(t);
    if (name[0] == "mov") return lanewise<T, T>([](T a) { return a; });
    if (name[0] == "selp") return lanewise<T, T, T, bool>([](T a, T b, bool first) { return first ? a : b; });
    if constexpr (!std::is_same_v<T, bool>) {
      if (name[0] == "add") {
        return lanewise<T, T, T>([](T a, T b) { return wrapped(a, b, [](auto x, auto y) { return x + y; }); });
      }
      if (name[0] == "sub") {
        return lanewise<T, T, T>([](T a, T b) { return wrapped(a, b, [](auto x, auto y) { return x - y; }); });
      }
      if (name[0] == "mad") {
        return lanewise<T, T, T, T>([](T a, T b, T c) {
          const T ab = wrapped(a, b, [](auto x, auto y) { return x * y; });
          return wrapped(ab, c, [](auto x, auto y) { return x + y; });
        });
      }
      // From -0, so that zero changes its sign.
      if (name[0] == "neg") {
        return lanewise<T, T>([](T a) {
          return wrapped(static_cast<T>(std::is_floating_point_v<T> ? -0.0 : 0), a,
                         [](auto x, auto y) { return x - y; });
        });
      }
      if (name[0] == "min") return lanewise<T, T, T>([](T a, T b) { return least(a, b); });
      if (name[0] == "max") return lanewise<T, T, T>([](T a, T b) { return largest(a, b); });
      if (name[0] == "div") return lanewise<T, T, T>([](T a, T b) { return quotient(a, b); });
    }
    return nullptr;
  });
}

}  // namespace

Execute arithmetic(const Name& name, const Instruction& instruction) {
  if (name[0] == "mov" && instruction.operands.size() == 3) return piecewise_move(name.back());
  if (name[0] == "mul") return product(name);
  if (name[0] == "fma") return has_part(name, "rm") ? fused_down() : fused(name.back());
  if (name[0] == "setp") return comparison(name);
  if (name[0] == "copysign") return lanewise<float, float, float>([](float a, float b) { return std::copysign(b, a); });
  if (name[0] == "prmt") {
    using Word = std::uint32_t;
    return lanewise<Word, Word, Word, Word>(
        [](Word a, Word b, Word selector) { return permuted_bytes(a, b, selector); });
  }
  if (name[0] == "clz")
    return lanewise<std::uint32_t, std::uint32_t>([](std::uint32_t a) { return std::countl_zero(a); });
  if (name[0] == "bfind" && has_part(name, "shiftamt")) {
    return lanewise<std::uint32_t, std::uint32_t>([](std::uint32_t a) { return a == 0 ? -1 : std::countl_zero(a); });
  }
  if (name[0] == "brev")
    return lanewise<std::uint32_t, std::uint32_t>([](std::uint32_t a) { return reversed_bits(a); });
  for (const auto kind : {function_of_one, logic, sum_or_choice}) {
    if (const Execute found = kind(name)) return found;
  }
  return nullptr;
}

}  // namespace quest::testing::ptx
