#include "data/sets/image_folder.h"

#include <gtest/gtest.h>

#include <fstream>

#include "data/formats/format_error.h"
#include "data/formats/png.h"
#include "data/picture_reader.h"
#include "data/sets/cifar.h"
#include "data/sets/image_packer.h"
#include "data/sets/pictures.h"
#include "tests/testing/folder_fixture.h"
#include "tests/testing/messages.h"
#include "tests/testing/tiny_png.h"

namespace quest::data {
namespace {

using quest::testing::has;
using quest::testing::message_of;
using quest::testing::tiny_png;

class ImageFolder : public quest::testing::FolderFixture {
 protected:
  void put(const std::string& name, const std::string& content = "x") const {
    std::filesystem::create_directories(in_folder(name).parent_path());
    static_cast<void>(file_with(name, content));
  }
  [[nodiscard]] std::string load_problem() const {
    return message_of([&] { (void)load_image_folder(in_folder("")); });
  }
};

TEST_F(ImageFolder, HasClassesByNameAndPicturesOfEach) {
  for (const char* name : {"train/dog/b.JPEG", "train/dog/a.png", "train/cat/z.jpg", "train/cat/more/a.jpeg",
                           "train/cat/notes.txt", "train/.hidden/a.jpg", "val/dog/v.webp", "other/cat/a.jpg"}) {
    put(name);
  }
  ASSERT_TRUE(is_image_folder(in_folder("")));
  const auto set = load_image_folder(in_folder(""));
  EXPECT_EQ(set->splits(), (std::vector<std::string>{"train", "val"}));
  EXPECT_EQ(set->classes(), (std::vector<std::string>{"cat", "dog"}));
  ASSERT_EQ(set->size("train"), 4);
  EXPECT_EQ(set->name("train", 0), "cat/z.jpg");
  EXPECT_EQ(set->name("train", 1), "cat/more/a.jpeg");
  EXPECT_EQ(set->name("train", 2), "dog/a.png");
  EXPECT_EQ(set->name("train", 3), "dog/b.JPEG");
  EXPECT_EQ(set->label("train", 1), 0);
  EXPECT_EQ(set->label("train", 2), 1);
  ASSERT_EQ(set->size("val"), 1);
  EXPECT_EQ(set->label("val", 0), 1);  // a split without one of the classes keeps the labels
  EXPECT_TRUE(has(message_of([&] { (void)set->size("test"); }), "no pictures called \"test\", only: train, val"));
}

TEST_F(ImageFolder, OrdersFoldersOfNumbersAsNumbers) {
  for (const char* name : {"10/a.jpg", "9/a.jpg", "0/a.jpg"}) put(name);
  ASSERT_TRUE(is_image_folder(in_folder("")));
  const auto set = load_image_folder(in_folder(""));
  EXPECT_EQ(set->splits(), std::vector<std::string>{"test"});
  EXPECT_EQ(set->classes(), (std::vector<std::string>{"0", "9", "10"}));
}

TEST_F(ImageFolder, ReadsPictures) {
  if (!can_decode_png()) GTEST_SKIP() << "skipped: built without libpng";
  put("train/a/1.png", tiny_png({1, 2, 3}, 2, 5));
  put("train/b/2.png", tiny_png({4, 5, 6}).substr(0, 40));
  put("train/b/3.jpg", "");
  const auto set = load_image_folder(in_folder(""));
  const auto picture = set->read("train", 0);
  EXPECT_EQ(picture.height, 2);
  EXPECT_EQ(picture.width, 5);
  ASSERT_EQ(picture.rgb.size(), 30U);
  EXPECT_EQ(picture.rgb[29], 3);
  const auto reason = [&](std::int64_t i) { return message_of([&] { (void)set->read("train", i); }); };
  EXPECT_EQ(reason(1), "\"" + in_folder("train/b/2.png").string() +
                           "\": PNG: the file ends before the picture does; is it cut off?");
  EXPECT_TRUE(has(reason(2), "b/3.jpg\": expected a JPEG or PNG picture, found a file of 0 bytes"));
}

TEST_F(ImageFolder, DoesNotTakeAFileThatIsGoneForABrokenPicture) {
  put("train/a/1.png", tiny_png({1, 2, 3}));
  put("train/a/2.png", tiny_png({1, 2, 3}));
  const PictureReader reader(load_image_folder(in_folder("")), Unreadable::skip);
  const auto set = load_image_folder(in_folder(""));
  std::filesystem::remove(in_folder("train/a/1.png"));
  EXPECT_THROW((void)reader.read("train", 0), FileError);
  EXPECT_TRUE(has(message_of([&] { (void)reader.read("train", 0); }), "train/a/1.png\": the file cannot be opened: "));
  EXPECT_THROW((void)pack_pictures(*set, {.to = in_folder("pack")}), FileError);
  EXPECT_EQ(reader.unreadable(), 0);
}

TEST_F(ImageFolder, SaysWhatIsWrongWhere) {
  put("train/cat/a.jpg");
  put("val/cow/a.jpg");
  EXPECT_TRUE(has(load_problem(), "val\": the folder \"cow\" is none of the 1 classes that the pictures for training"));
  std::filesystem::remove_all(in_folder("val"));
  put("val/ILSVRC2012_val_00000001.JPEG");
  EXPECT_TRUE(has(load_problem(), "val\": expected a folder for each class with its pictures in it, found no folders"));
  std::filesystem::remove_all(in_folder("val"));
  put("val/cat/a.jpg");
  put("test/ILSVRC2012_test_00000001.JPEG");  // published without classes
  EXPECT_EQ(load_image_folder(in_folder(""))->splits(), (std::vector<std::string>{"train", "val"}));
  std::filesystem::create_directories(in_folder("train/dog"));
  EXPECT_TRUE(has(load_problem(), "train/dog\": expected pictures of this class"));
}

TEST_F(ImageFolder, IsFoundAmongOtherForms) {
  const PictureSource source{.folder = in_folder("").string()};
  EXPECT_FALSE(find_pictures(source));
  EXPECT_TRUE(has(missing_pictures_text(source), "no data set of pictures was found in \""));
  EXPECT_TRUE(has(missing_pictures_text(source), "(holds none of these)"));
  put("train/cat/a.jpg");
  EXPECT_EQ(load_pictures(source)->form(), "folders of images");
  put("train.idx", "0 1 0\n");
  put("train.jpgs", "x");
  EXPECT_EQ(load_pictures(source)->form(), "packs");
  EXPECT_EQ(missing_pictures_text(source), "");
  EXPECT_TRUE(has(message_of([&] { (void)find_pictures({.name = "MNIST"}); }), "only: CIFAR-10, CIFAR-100, ImageNet"));
}

class Cifar : public ImageFolder {};

TEST_F(Cifar, ReadsBothBinaryVersions) {
  const std::string pixels = std::string(1024, '\x10') + std::string(1024, '\x20') + std::string(1024, '\x30');
  for (const auto& name : cifar10_files().files) put(name, "\x07" + pixels);
  const auto ten = load_pictures({.folder = in_folder("").string()});
  EXPECT_EQ(ten->form(), "CIFAR-10's binary version");
  EXPECT_EQ(ten->size("train"), 5);
  EXPECT_EQ(ten->size("test"), 1);
  EXPECT_EQ(ten->classes().at(static_cast<std::size_t>(ten->label("test", 0))), "horse");
  const auto picture = ten->read("train", 4, 224);
  EXPECT_EQ(picture.height, 32);
  EXPECT_EQ(picture.rgb.back(), 0x30);

  put("cifar-100-binary/train.bin", std::string("\x13\x63", 2) + pixels);
  put("cifar-100-binary/test.bin", std::string("\x00\x05", 2) + pixels);
  const auto folder = in_folder("cifar-100-binary");
  EXPECT_EQ(load_cifar100_set(folder)->label("train", 0), 99);
  EXPECT_EQ(load_cifar100_set(folder)->classes()[5], "5");
  put("cifar-100-binary/fine_label_names.txt", "apple\n");
  EXPECT_TRUE(has(message_of([&] { (void)load_cifar100_set(folder); }), "expected the names of 100 classes, found 1"));
  put("cifar-100-binary/test.bin", std::string("\x14\x05", 2) + pixels);
  std::filesystem::remove(folder / "fine_label_names.txt");
  EXPECT_TRUE(has(message_of([&] { (void)load_cifar100_set(folder); }),
                  "test.bin\": record 0: expected a class from 0 to 19, found 20"));
}

}  // namespace
}  // namespace quest::data
