#include "data/formats/image_pack.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <set>

#include "data/formats/format_error.h"
#include "data/formats/jpeg.h"
#include "data/formats/png.h"
#include "data/sets/image_folder.h"
#include "data/sets/image_pack_set.h"
#include "data/sets/image_packer.h"
#include "tests/testing/folder_fixture.h"
#include "tests/testing/messages.h"
#include "tests/testing/tiny_png.h"

namespace quest::data {
namespace {

using quest::testing::has;
using quest::testing::message_of;
using quest::testing::text_of;
using quest::testing::tiny_png;

TEST(PackIndex, SaysWhatIsWrongWhere) {
  const auto images = parse_pack_index("0 2 1\n2 3 0\n", 5, 2);
  ASSERT_EQ(images.size(), 2U);
  EXPECT_EQ(images[1].offset, 2U);
  EXPECT_EQ(images[1].length, 3U);
  EXPECT_FALSE(images[1].sum);
  const auto reason = [](const std::string& lines) { return message_of([&] { (void)parse_pack_index(lines, 5, 2); }); };
  EXPECT_TRUE(
      has(reason("0 2 1\n3 3 0\n"), "line 2: expected an image inside the 5 bytes of the pack, found one from 3 to 6"));
  EXPECT_EQ(reason("0 2 2\n"), "line 1: expected a class from 0 to 1, found \"2\"");
  EXPECT_EQ(reason("0 2\n"),
            "line 1: expected offset, length and class, or these and a sum and a name, found 2 columns");
  EXPECT_EQ(reason("9223372036854775807 1 0\n"),
            "line 1: expected an offset from 0 to 5, found \"9223372036854775807\"");
  EXPECT_EQ(reason("0 2 1 12 a\n"), "line 1: expected a sum of 8 hexadecimal digits, found \"12\"");
  EXPECT_EQ(reason("0 2 1 9e83486d a\n"), "expected a line of the end after 1 images; is the index cut off?");
  EXPECT_EQ(reason("0 2 1 9e83486d a\n0 2 1\n"), "line 2: expected a sum and a name on every line or on none");
}

TEST(PackIndex, FindsEveryChangeOfOneCharacter) {
  const std::string lines =
      pack_line({.offset = 0, .length = 2, .label = 1, .sum = sum_of("ab"), .name = "a/b c.jpg"}) +
      pack_line({.offset = 2, .length = 3, .label = 0, .sum = sum_of("cde"), .name = "d"});
  const auto index = lines + pack_end(2, sum_of(lines));
  const auto images = parse_pack_index(index, 5, 2);
  ASSERT_EQ(images.size(), 2U);
  EXPECT_EQ(images[0].name, "a/b c.jpg");
  check_sum(images[0], "ab");
  EXPECT_TRUE(has(message_of([&] { check_sum(images[0], "aB"); }), "the pack has changed"));
  for (std::size_t i = 0; i < index.size(); ++i) {
    auto changed = index;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_THROW((void)parse_pack_index(changed, 5, 2), FormatError) << "at " << i << ": " << changed;
  }
  for (auto size = index.find('\n') + 1; size + 1 < index.size(); ++size) {
    EXPECT_THROW((void)parse_pack_index(index.substr(0, size), 5, 2), FormatError) << "cut to " << size;
  }
  EXPECT_TRUE(has(message_of([] { (void)pack_line({.sum = 1, .name = "a\nb"}); }), "rename the file"));
}

class ImagePack : public quest::testing::FolderFixture {
 protected:
  static constexpr int kPictures = 300;

  void SetUp() override {
    if (!can_decode_png()) GTEST_SKIP() << "skipped: built without libpng";
    for (int i = 0; i < kPictures; ++i) put("train", i, png(i));
    for (int i = 0; i < 9; ++i) put("val", i, png(i + kPictures));
  }

  static std::string png(int i) {
    return tiny_png({static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(i / 256), 7});
  }
  [[nodiscard]] std::filesystem::path file_of(const char* split, int i) const {
    return in_folder("images") / split / ("class " + std::to_string(i % 3)) / (std::to_string(i) + ".png");
  }
  void put(const char* split, int i, const std::string& content) const {
    std::filesystem::create_directories(file_of(split, i).parent_path());
    std::ofstream(file_of(split, i), std::ios::binary) << content;
  }
  [[nodiscard]] std::vector<PackedSplit> pack(const PackOptions& options, const PackProgress& progress = {}) const {
    return pack_pictures(*load_image_folder(in_folder("images")), options, progress);
  }
  // One that is killed, as nothing can be caught, after so many pieces.
  void pack_and_die(const PackOptions& options, int pieces) const {
    const auto child = ::fork();
    if (child == 0) {
      int done = 0;
      (void)pack(options, [&](double, const std::string&) {
        if (++done == pieces) ::raise(SIGKILL);
      });
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
  }
};

TEST_F(ImagePack, HoldsThePicturesOfTheFolders) {
  const auto packed = pack({.to = in_folder("pack"), .threads = 3});
  ASSERT_EQ(packed.size(), 2U);
  EXPECT_EQ(packed[0].images, kPictures);
  EXPECT_EQ(packed[0].resumed, 0);
  ASSERT_TRUE(is_image_pack(in_folder("pack")));
  const auto folders = load_image_folder(in_folder("images"));
  const auto set = load_image_pack(in_folder("pack"));
  EXPECT_EQ(set->classes(), folders->classes());
  EXPECT_EQ(set->splits(), folders->splits());
  std::set<std::string> names;
  int neighbours_of_one_class = 0;
  for (std::int64_t i = 0; i < kPictures; ++i) {
    const auto name = set->name("train", i);
    EXPECT_TRUE(names.insert(name).second);
    EXPECT_EQ(set->label("train", i), name[6] - '0');
    const auto number = std::stoi(name.substr(8));
    const auto picture = set->read("train", i);
    EXPECT_EQ(picture.rgb[0] + 256 * picture.rgb[1], number);
    neighbours_of_one_class += i > 0 && set->label("train", i) == set->label("train", i - 1) ? 1 : 0;
  }
  EXPECT_EQ(names.size(), 300U);
  EXPECT_NEAR(neighbours_of_one_class, 100, 40);  // in the order of the folders: 297
  for (std::int64_t i = 0; i < 9; ++i) EXPECT_EQ(set->name("val", i), folders->name("val", i));
}

TEST_F(ImagePack, GoesOnAfterAKill) {
  (void)pack({.to = in_folder("whole")});
  const PackOptions options{.to = in_folder("pack"), .threads = 2, .bytes_at_risk = 100 * png(0).size()};
  pack_and_die(options, 1);
  EXPECT_FALSE(is_image_pack(in_folder("pack")));
  pack_and_die(options, 3);
  const auto packed = pack(options);
  EXPECT_EQ(packed[0].resumed, 128);
  EXPECT_EQ(packed[0].images, kPictures);
  for (const char* file : {"train.idx", "train.jpgs", "val.idx", "val.jpgs", "classes.txt"}) {
    EXPECT_EQ(text_of(in_folder("pack") / file), text_of(in_folder("whole") / file)) << file;
  }
  EXPECT_FALSE(std::filesystem::exists(in_folder("pack/train.idx.part")));
  const auto again = pack(options);
  EXPECT_EQ(again[0].resumed, kPictures);
  EXPECT_EQ(again[1].images, 9);
}

TEST_F(ImagePack, GoesOnAfterAKillInItsLastStep) {
  (void)pack({.to = in_folder("whole")});
  const PackOptions options{.to = in_folder("pack"), .bytes_at_risk = 1};
  pack_and_die(options, 5);
  std::filesystem::rename(in_folder("pack/train.jpgs.part"), in_folder("pack/train.jpgs"));
  EXPECT_EQ(pack(options)[0].resumed, kPictures);
  EXPECT_EQ(text_of(in_folder("pack/train.jpgs")), text_of(in_folder("whole/train.jpgs")));
  EXPECT_EQ(text_of(in_folder("pack/train.idx")), text_of(in_folder("whole/train.idx")));
}

TEST_F(ImagePack, DoesNotGoOnWithOtherPictures) {
  const PackOptions options{.to = in_folder("pack"), .bytes_at_risk = 1};
  pack_and_die(options, 2);
  put("train", kPictures, png(1));
  EXPECT_TRUE(has(message_of([&] { (void)pack(options); }), "train.idx.part\" to begin anew"));
  put("train", kPictures + 1, png(1));
  std::filesystem::create_directories(in_folder("images/train/new"));
  std::ofstream(in_folder("images/train/new/a.png")) << png(1);
  EXPECT_TRUE(has(message_of([&] { (void)pack(options); }), "classes.txt\": expected the classes of the pictures"));
}

TEST_F(ImagePack, LeavesOutWhatCannotBeRead) {
  put("train", 5, png(5).substr(0, 50));
  put("val", 2, "");
  const PackOptions options{.to = in_folder("pack"), .bytes_at_risk = 1};
  pack_and_die(options, 5);
  const auto packed = pack(options);
  EXPECT_EQ(packed[0].images, kPictures - 1);
  ASSERT_EQ(packed[0].unreadable.size(), 1U);
  EXPECT_TRUE(has(packed[0].unreadable[0], "class 2/5.png\": PNG: the file ends before the picture does"));
  ASSERT_EQ(packed[1].unreadable.size(), 1U);
  EXPECT_TRUE(has(packed[1].unreadable[0], "found a file of 0 bytes"));
  EXPECT_EQ(load_image_pack(in_folder("pack"))->size("val"), 8);
  const auto strict = message_of([&] { (void)pack({.to = in_folder("strict"), .unreadable = Unreadable::fail}); });
  EXPECT_TRUE(has(strict, "class 2/5.png\": PNG: "));
}

TEST_F(ImagePack, NamesAPictureThatHasChanged) {
  (void)pack({.to = in_folder("pack")});
  auto bytes = text_of(in_folder("pack/val.jpgs"));
  bytes[bytes.size() / 2] ^= 1;
  std::ofstream(in_folder("pack/val.jpgs"), std::ios::binary) << bytes;
  const auto set = load_image_pack(in_folder("pack"));
  std::string problems;
  for (std::int64_t i = 0; i < 9; ++i) problems += message_of([&] { (void)set->read("val", i); });
  EXPECT_TRUE(has(problems, "val.jpgs, class 1/4.png\": expected the sum "));
  EXPECT_TRUE(has(problems, "the pack has changed"));
  std::ofstream(in_folder("pack/val.jpgs"), std::ios::binary) << bytes.substr(1);
  EXPECT_TRUE(has(message_of([&] { (void)load_image_pack(in_folder("pack")); }), "is the pack cut off?"));
  std::filesystem::remove(in_folder("pack/val.jpgs"));
  EXPECT_TRUE(has(message_of([&] { (void)load_image_pack(in_folder("pack")); }), "val.jpgs\": the file cannot be"));
}

TEST_F(ImagePack, ReadsBlocksAhead) {
  (void)pack({.to = in_folder("pack")});
  const auto set = load_image_pack(in_folder("pack"));
  set->split("train").expect_blocks(100);
  for (const std::int64_t i : {299, 0, 150, 299}) EXPECT_EQ(set->read("train", i).width, 4);
}

#ifdef QUEST_SOURCE_FOLDER
TEST(SharedCifar10, IsAPack) {
  const auto folder = std::filesystem::path(QUEST_SOURCE_FOLDER) / "../shared/data/cifar10_jpeg";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "skipped: no " << folder;
  if (!can_decode_jpeg()) GTEST_SKIP() << "skipped: built without libjpeg";
  const auto set = load_image_pack(folder);
  EXPECT_EQ(set->size("train"), 50000);
  EXPECT_EQ(set->size("test"), 10000);
  EXPECT_EQ(set->classes()[9], "truck");
  EXPECT_EQ(set->label("test", 1), 1);
  for (std::int64_t i = 0; i < 50000; i += 997) {
    EXPECT_EQ(set->read("train", i).rgb.size(), 3072U);
    EXPECT_EQ(set->read("train", i, 16).rgb.size(), 768U);
  }
}
#endif

}  // namespace
}  // namespace quest::data
