#include "data/picture_reader.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "data/formats/format_error.h"
#include "data/formats/png.h"
#include "data/load_stages.h"
#include "data/picture_fields.h"
#include "tests/testing/messages.h"
#include "tests/testing/tiny_png.h"

namespace quest::data {
namespace {

using quest::testing::has;
using quest::testing::message_of;
using quest::testing::tiny_png;

// Picture i is of the colour i; those of `broken` are not.
class MadeSplit final : public FileSplit {
 public:
  MadeSplit(std::int64_t size, std::int64_t broken_from, std::int64_t broken_to)
      : size_(size), broken_from_(broken_from), broken_to_(broken_to) {}

  [[nodiscard]] std::int64_t size() const override { return size_; }
  [[nodiscard]] std::int64_t label(std::int64_t i) const override { return i + 1000; }
  [[nodiscard]] std::string name(std::int64_t i) const override { return std::to_string(i); }
  [[nodiscard]] std::string place(std::int64_t i) const override { return "made/" + name(i); }
  [[nodiscard]] std::string file(std::int64_t i) const override {
    return i >= broken_from_ && i < broken_to_ ? "" : tiny_png({static_cast<std::uint8_t>(i), 0, 0});
  }

 private:
  std::int64_t size_;
  std::int64_t broken_from_;
  std::int64_t broken_to_;
};

std::shared_ptr<const PictureSet> made_set(std::int64_t size, std::int64_t broken_from, std::int64_t broken_to) {
  PictureSet::Splits splits;
  splits.emplace_back("train", std::make_unique<MadeSplit>(size, broken_from, broken_to));
  return std::make_shared<PictureSet>("made", std::vector<std::string>{"one"}, std::move(splits));
}

class PictureReaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_decode_png()) GTEST_SKIP() << "skipped: built without libpng";
  }
};

TEST_F(PictureReaderTest, TakesTheNextPictureForOneThatCannotBeRead) {
  std::vector<std::string> told;
  const PictureReader reader(made_set(10, 7, 10), Unreadable::skip,
                             [&](const std::string& problem) { told.push_back(problem); });
  const auto good = reader.read("train", 3);
  EXPECT_EQ(good.sample, 3);
  EXPECT_EQ(good.label, 1003);
  EXPECT_EQ(reader.unreadable(), 0);
  EXPECT_EQ(reader.summary(), "");
  for (int time = 0; time < 2; ++time) {
    const auto other = reader.read("train", 8);
    EXPECT_EQ(other.sample, 0);  // behind the last one comes the first
    EXPECT_EQ(other.label, 1000);
    EXPECT_EQ(other.picture.rgb[0], 0);
  }
  EXPECT_EQ(told, (std::vector<std::string>{"\"made/8\": expected a JPEG or PNG picture, found a file of 0 bytes",
                                            "\"made/9\": expected a JPEG or PNG picture, found a file of 0 bytes"}));
  EXPECT_TRUE(has(reader.summary(), "2 of 10 pictures of train cannot be read; the next one is taken instead:\n"));
}

TEST_F(PictureReaderTest, EndsWhereItIsToldTo) {
  const PictureReader reader(made_set(10, 7, 10), Unreadable::fail);
  EXPECT_TRUE(has(message_of([&] { (void)reader.read("train", 8); }), "\"made/8\": expected a JPEG or PNG picture"));
}

TEST_F(PictureReaderTest, EndsWhereNothingCanBeRead) {
  const PictureReader reader(made_set(10, 0, 10), Unreadable::skip);
  const auto problem = message_of([&] { (void)reader.read("train", 4); });
  EXPECT_TRUE(has(problem, "none of 10 pictures of train from \"made/4\" on can be read.\n10 of 10 pictures of train"));
  EXPECT_TRUE(has(problem, "and 5 more"));
}

TEST_F(PictureReaderTest, ReadsTheSameOnAnyNumberOfThreads) {
  const PictureReader reader(made_set(200, 50, 120), Unreadable::skip);
  std::array<std::vector<std::int64_t>, 4> samples;
  std::vector<std::thread> threads;
  for (auto& own : samples) {
    threads.emplace_back([&] {
      for (std::int64_t i = 0; i < 200; ++i) own.push_back(reader.read("train", i).sample);
    });
  }
  for (auto& thread : threads) thread.join();
  for (std::int64_t i = 0; i < 200; ++i) {
    EXPECT_EQ(samples[0][static_cast<std::size_t>(i)], i >= 50 && i < 120 ? 120 : i);
  }
  for (const auto& own : samples) EXPECT_EQ(own, samples[0]);
  EXPECT_EQ(reader.unreadable(), 70);
}

TEST_F(PictureReaderTest, SaysWhereTheTimeGoesWhileItIsMeasured) {
  const PictureReader reader(made_set(200, 50, 120), Unreadable::skip);
  (void)reader.read("train", 1);
  const LoadStages stages(3);
  EXPECT_EQ(stages.count(LoadStage::decode), 0);
  for (std::int64_t i = 0; i < 10; ++i) (void)reader.read("train", i);
  EXPECT_EQ(stages.count(LoadStage::read), 10);
  EXPECT_EQ(stages.count(LoadStage::decode), 10);
  EXPECT_GT(stages.seconds(LoadStage::decode), 0.0);
  EXPECT_EQ(stages.count(LoadStage::augment), 0);
  ASSERT_EQ(stages.files().size(), 3U);
  EXPECT_EQ(stages.files()[2].content, tiny_png({2, 0, 0}));
  EXPECT_THROW(const LoadStages second, std::logic_error);
}

TEST(ReadingOptionsTest, AreKeysOfRecipes) {
  ReadingOptions options;
  recipe::Fields fields;
  describe(fields, options);
  fields.apply(recipe::settings_of_toml("data.unreadable = \"fail\"\ndata.order = \"blocks\"", "a recipe"));
  EXPECT_EQ(options.unreadable, Unreadable::fail);
  EXPECT_EQ(options.order, PictureOrder::blocks);
  EXPECT_TRUE(
      has(message_of([&] { fields.apply(recipe::settings_of_toml("data.order = \"any\"", "a recipe")); }), "blocks"));
}

}  // namespace
}  // namespace quest::data
