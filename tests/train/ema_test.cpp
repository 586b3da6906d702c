#include "train/optim/ema.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/testing/tensors.h"
#include "tests/train/small_model.h"

namespace quest::testing {
namespace {

using train::Ema;
using train::FlatParameters;

TEST(Ema, FollowsTheParameters) {
  auto model = small_model();
  const FlatParameters start = flat(small_model());
  FlatParameters parameters = flat(model);
  Ema ema(parameters);
  at::Tensor expected = start.values().to(at::kDouble);
  for (int step = 0; step < 20; ++step) {
    parameters.values().mul_(0.9).add_(0.1);
    ema.update(0.8);
    expected = 0.8 * expected + 0.2 * parameters.values().to(at::kDouble);
  }
  const at::Tensor trained = parameters.values().clone();
  ema.swap();
  EXPECT_TRUE(close(parameters.values(), expected, {.absolute = 1e-6}));
  ema.swap();
  EXPECT_TRUE(identical(parameters.values(), trained));
}

TEST(Ema, TravelsByName) {
  auto model = small_model();
  FlatParameters parameters = flat(model);
  const Ema ema(parameters);
  auto other_model = small_model(2);
  FlatParameters other = flat(other_model);
  Ema copy(other);
  copy.load_state(ema.state());
  copy.swap();
  EXPECT_TRUE(identical(other.values(), parameters.values()));
  EXPECT_EQ(ema.state().front().first, "ema.3.weight");
}

}  // namespace
}  // namespace quest::testing
