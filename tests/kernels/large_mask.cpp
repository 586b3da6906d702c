#include "tests/kernels/large_mask.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace quest::testing {
namespace {

using kernels::MaskType;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double largest_of(MaskType type) {
  switch (type) {
    case MaskType::additive_bfloat16:
      return 0x1.fep127;
    case MaskType::additive_float16:
      return 65504.0;
    default:
      return std::numeric_limits<float>::max();
  }
}

}  // namespace

void make_scores_exact(TestProblem& test) {
  Random random(7);
  const auto sign = [&] { return random.uniform() < 0.5 ? -1.0 : 1.0; };
  test.q.fill([&] { return 0.5 * std::floor(5.0 * random.uniform()) - 1.0; });
  test.k.fill(sign);
  for (float& gain : test.gain) gain = random.uniform() < 0.5 ? 0.5F : 2.0F;
  test.problem.scale = 0.75F;
}

void fill_with_large_numbers(TestProblem& test, std::uint64_t seed) {
  Random random(seed);
  const double largest = largest_of(test.problem.mask.type);
  const std::array common{1e2, 1e4, 65504.0, 1e6, 1e9, 1e30, largest};
  const auto any_size = [&] { return std::exp(random.uniform() * std::log(largest)); };
  std::int64_t index = 0;
  double of_row = 0.0;
  double share = 0.0;
  test.additive_mask.fill([&] {
    if (index++ % test.problem.keys == 0) {
      const double size =
          random.uniform() < 0.5 ? common[static_cast<std::size_t>(random.uniform() * common.size())] : any_size();
      of_row = std::min(size, largest) * (random.uniform() < 0.2 ? 1.0 : -1.0);
      share = random.uniform() < 0.5 ? 1.0 : random.uniform();
    }
    if (random.uniform() < share) return of_row;
    return random.uniform() < 0.1 ? -kInfinity : random.uniform() < 0.5 ? -any_size() : random.normal();
  });
}

}  // namespace quest::testing
