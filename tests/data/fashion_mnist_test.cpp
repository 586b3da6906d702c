#include "data/sets/fashion_mnist.h"

#include <torch/torch.h>

#include "tests/data/packed.h"
#include "tests/testing/folder_fixture.h"
#include "tests/testing/messages.h"

namespace quest::data {
namespace {

using namespace std::string_literals;
using quest::testing::gzipped;
using quest::testing::has;
using quest::testing::message_of;

class FashionMnistFiles : public quest::testing::FolderFixture {
 protected:
  void write(const std::string& labels) const {
    for (const std::string part : {"train", "t10k"}) {
      static_cast<void>(file_with(part + "-images-idx3-ubyte.gz",
                                  gzipped("\0\0\x08\x03\0\0\0\x02\0\0\0\x02\0\0\0\x01\x01\x02\x03\xff"s)));
      static_cast<void>(file_with(part + "-labels-idx1-ubyte", labels));
    }
  }
  [[nodiscard]] std::string reason() const {
    return message_of([&] { static_cast<void>(load_fashion_mnist(in_folder(""))); });
  }
};

TEST_F(FashionMnistFiles, AreReadPackedAndPlain) {
  write("\0\0\x08\x01\0\0\0\x02\x09\0"s);
  const auto data = load_fashion_mnist(in_folder(""));
  EXPECT_TRUE(data.test.images.equal(torch::tensor({1, 2, 3, 255}, at::kByte).view({2, 1, 2, 1})));
  EXPECT_TRUE(data.test.labels.equal(torch::tensor({9, 0}, at::kLong)));
}

TEST_F(FashionMnistFiles, SayWhatIsMissingOrWrong) {
  EXPECT_TRUE(has(reason(), "(lacks all of them)"));
  EXPECT_TRUE(has(reason(), "dataset-fashion-mnist"));
  write("");
  std::filesystem::remove(in_folder("t10k-labels-idx1-ubyte"));
  EXPECT_TRUE(has(reason(), "(lacks t10k-labels-idx1-ubyte)"));
  write("\0\0\x08\x01\0\0\0\x02\x0a\0"s);
  EXPECT_TRUE(has(reason(), "expected labels from 0 to 9, found 10"));
  write("\0\0\x08\x01\0\0\0\x01\x01"s);
  EXPECT_TRUE(has(reason(), "each of the 2 pictures, found 1"));
  write("\0\0\x08\x02\0\0\0\x01\0\0\0\x01\x01"s);
  EXPECT_TRUE(has(reason(), "expected rank 1, found rank 2"));
  EXPECT_TRUE(has(reason(), "train-labels-idx1-ubyte\": "));
}

TEST(FashionMnist, IsTheDataOfDebiansPackage) {
  if (!std::filesystem::exists(kFashionMnistFolder)) GTEST_SKIP() << "no package dataset-fashion-mnist here";
  const auto data = load_fashion_mnist(kFashionMnistFolder);
  EXPECT_EQ(data.train.images.sizes(), (std::vector<std::int64_t>{60000, 1, 28, 28}));
  EXPECT_EQ(data.test.images.sizes(), (std::vector<std::int64_t>{10000, 1, 28, 28}));
  EXPECT_TRUE(data.train.labels.bincount().eq(6000).all().item<bool>());
  EXPECT_TRUE(data.test.labels.bincount().eq(1000).all().item<bool>());
  // The mean and deviation of a pixel that everybody normalises with.
  EXPECT_NEAR(data.train.images.to(at::kDouble).mean().item<double>() / 255.0, 0.2860, 1e-4);
  EXPECT_NEAR(data.train.images.to(at::kDouble).std().item<double>() / 255.0, 0.3530, 1e-4);
}

}  // namespace
}  // namespace quest::data
