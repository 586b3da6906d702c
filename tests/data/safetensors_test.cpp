#include "data/weights/safetensors.h"

#include <torch/torch.h>

#include "tests/testing/folder_fixture.h"
#include "tests/testing/messages.h"

namespace quest::data {
namespace {

using quest::testing::has;
using quest::testing::message_of;

using Safetensors = quest::testing::FolderFixture;

constexpr std::array kTypes = {at::kBool,   at::kByte, at::kChar, at::kUInt16,   at::kShort, at::kUInt32, at::kInt,
                               at::kUInt64, at::kLong, at::kHalf, at::kBFloat16, at::kFloat, at::kDouble};

TEST_F(Safetensors, ReadsEveryTypeAndShapeItWrites) {
  TensorFile file{.metadata = {{"step", "12"}, {"text", "ü \"quoted\"\n"}}};
  for (const auto type : kTypes) {
    for (const std::vector<std::int64_t>& shape :
         {std::vector<std::int64_t>{}, {0}, {3, 0, 2}, {1}, {5, 3}, {2, 3, 4}}) {
      file.tensors.emplace_back(std::to_string(file.tensors.size()), torch::randint(0, 2, shape).to(type));
    }
  }
  save_safetensors(in_folder("a"), file);
  const auto read = load_safetensors(in_folder("a"));
  EXPECT_EQ(read.metadata, file.metadata);
  ASSERT_EQ(read.tensors.size(), file.tensors.size());
  std::map<std::string, at::Tensor> by_name(read.tensors.begin(), read.tensors.end());
  for (const auto& [name, tensor] : file.tensors) {
    const auto& found = by_name.at(name);
    EXPECT_EQ(found.scalar_type(), tensor.scalar_type());
    EXPECT_EQ(found.sizes(), tensor.sizes());
    EXPECT_TRUE(found.to(at::kDouble).equal(tensor.to(at::kDouble))) << name;
  }
}

TEST_F(Safetensors, KeepsEveryBit) {
  const auto bits = torch::randint(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(),
                                   {1000}, at::kLong);
  save_safetensors(in_folder("a"), {.tensors = {{"x", bits.view(at::kDouble)}}});
  EXPECT_TRUE(load_safetensors(in_folder("a")).tensors[0].second.view(at::kLong).equal(bits));
}

TEST_F(Safetensors, WritesViewsAsTheyLook) {
  const auto whole = torch::arange(24.0).view({4, 6}).requires_grad_();
  save_safetensors(in_folder("a"), {.tensors = {{"t", whole.t()}, {"part", whole.slice(1, 1, 4)}}});
  const auto read = load_safetensors(in_folder("a"));
  EXPECT_TRUE(read.tensors[0].second.equal(whole.t()));
  EXPECT_TRUE(read.tensors[1].second.equal(whole.slice(1, 1, 4)));
}

TEST_F(Safetensors, KeepsTheOrderOfTensorsOfOneType) {
  save_safetensors(in_folder("a"),
                   {.tensors = {{"z", torch::ones(1)}, {"i", torch::ones(1, at::kByte)}, {"a", torch::ones(1)}}});
  const auto read = load_safetensors(in_folder("a"));
  EXPECT_EQ(read.tensors[0].first, "z");
  EXPECT_EQ(read.tensors[1].first, "a");
  EXPECT_EQ(read.tensors[2].first, "i");
}

TEST_F(Safetensors, RefusesAnyCutAndNamesTheFile) {
  save_safetensors(in_folder("a"), {.tensors = {{"x", torch::ones({3, 3})}, {"y", torch::ones(2)}}});
  const std::string content = testing::text_of(in_folder("a"));
  for (std::size_t length = 0; length < content.size(); ++length) {
    const auto path = file_with("cut", content.substr(0, length));
    EXPECT_TRUE(has(message_of([&] { static_cast<void>(load_safetensors(path)); }), path.string() + "\": "));
  }
}

TEST_F(Safetensors, RefusesBoolsThatAreNeither) {
  save_safetensors(in_folder("a"), {.tensors = {{"x", torch::ones(3, at::kBool)}}});
  std::string content = testing::text_of(in_folder("a"));
  content.back() = 2;
  const auto path = file_with("b", content);
  EXPECT_TRUE(has(message_of([&] { static_cast<void>(load_safetensors(path)); }), "expected bytes 0 and 1"));
}

TEST_F(Safetensors, RefusesTensorsTheFormatLacks) {
  const auto save = [&](const at::Tensor& tensor) {
    return message_of([&] { save_safetensors(in_folder("a"), {.tensors = {{"x", tensor}}}); });
  };
  EXPECT_TRUE(has(save(torch::ones(2, at::kComplexFloat)), "tensor \"x\": expected a dense tensor"));
  EXPECT_TRUE(has(save(torch::eye(2).to_sparse()), "convert it first"));
  EXPECT_FALSE(std::filesystem::exists(in_folder("a")));
}

TEST_F(Safetensors, SaysWhenThereIsNoFile) {
  const auto missing = message_of([&] { static_cast<void>(load_safetensors(in_folder("none"))); });
  EXPECT_TRUE(has(missing, "No such file or directory"));
  const auto folder = message_of([&] { static_cast<void>(load_safetensors(in_folder(""))); });
  EXPECT_TRUE(has(folder, "expected a file, found a folder"));
}

}  // namespace
}  // namespace quest::data
