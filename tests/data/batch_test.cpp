#include "data/batch.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <stdexcept>

#include "tests/testing/messages.h"

namespace quest::data {
namespace {

using quest::testing::message_of;

Batch two_tensors() { return {3, {{"inputs", torch::arange(12.0).view({3, 4})}, {"labels", torch::arange(3)}}}; }

TEST(Batch, GivesItsTensorsByName) {
  const auto batch = two_tensors();
  EXPECT_EQ(batch.samples(), 3);
  EXPECT_TRUE(at::equal(batch["labels"], torch::arange(3)));
  EXPECT_TRUE(batch["inputs"].is_same(batch.get("inputs")));
}

TEST(Batch, AMissingNameIsAnsweredWithWhatThereIs) {
  EXPECT_EQ(message_of([] { (void)two_tensors()["label"]; }),
            "the batch has no tensor \"label\"; it has inputs, labels");
  EXPECT_EQ(message_of([] { (void)Batch()["label"]; }), "the batch has no tensor \"label\"; it has none");
  EXPECT_THROW((void)two_tensors()[""], std::out_of_range);
}

TEST(Batch, MayLackWhatIsOptional) {
  EXPECT_FALSE(two_tensors().get("weights").defined());
  EXPECT_FALSE(Batch().get("inputs").defined());
  EXPECT_EQ(Batch().samples(), 0);
}

TEST(Batch, MovesAllItsTensorsToADevice) {
  const auto batch = two_tensors();
  const auto moved = batch.to(at::kMeta);
  EXPECT_EQ(moved.samples(), 3);
  for (const auto* name : {"inputs", "labels"}) {
    EXPECT_TRUE(moved[name].is_meta()) << name;
    EXPECT_EQ(moved[name].sizes(), batch[name].sizes()) << name;
    EXPECT_EQ(moved[name].scalar_type(), batch[name].scalar_type()) << name;
  }
  EXPECT_TRUE(at::equal(batch.to(at::kCPU)["inputs"], batch["inputs"]));
}

TEST(Batch, IsPinnedForAGpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU here";
  const auto pinned = two_tensors().pinned();
  EXPECT_EQ(pinned.samples(), 3);
  EXPECT_TRUE(pinned["inputs"].is_pinned());
  EXPECT_TRUE(at::equal(pinned.to(at::kCUDA)["labels"].cpu(), torch::arange(3)));
}

}  // namespace
}  // namespace quest::data
