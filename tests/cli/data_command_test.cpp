// `quest data pack`, `quest data check` and `quest bench data` as a person runs them.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/run_quest.h"
#include "tests/cli/tiny_pictures.h"
#include "tests/testing/temporary_folder.h"
#include "tests/testing/tiny_png.h"

namespace quest::cli {
namespace {

using quest::testing::tiny_png;

class DataCommand : public ::testing::Test {
 protected:
  DataCommand() {
    for (const char* name : {"cat/a.png", "cat/b.png", "dog/a.png"}) {
      put(std::string("train/") + name, tiny_png({9, 8, 7}));
      put(std::string("val/") + name, tiny_png({7, 8, 9}));
    }
    put("val/dog/broken.jpg", "no picture");
  }

  void put(const std::string& name, const std::string& content) const {
    const auto path = folder_.path() / "images" / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << content;
  }
  [[nodiscard]] std::string in(const std::string& name) const { return (folder_.path() / name).string(); }

 private:
  quest::testing::TemporaryFolder folder_;
};

TEST_F(DataCommand, PacksFoldersOfImages) {
  auto outcome = run_quest("data pack " + in("images"));
  if (outcome.output.find("without libpng") != std::string::npos) GTEST_SKIP() << "skipped: built without libpng";
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  expect_contains(outcome, "broken.jpg\": expected a JPEG or PNG picture, found a file that begins with \"no pictu\"");
  expect_contains(outcome, "To train on it: --data " + in("images-pack"));
  EXPECT_TRUE(std::filesystem::exists(in("images-pack/val.jpgs")));
  outcome = run_quest("data pack " + in("images") + "/ --threads 2");
  expect_contains(outcome, "packed before");
  outcome = run_quest("data check " + in("images-pack"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  expect_contains(outcome, "packs, 2 classes\ntrain: 3 pictures, all can be read\nval: 3 pictures, all can be read\n");
  outcome = run_quest("data check " + in("images"));
  expect_contains(outcome, "val: 4 pictures, 1 cannot be read:\n");
  outcome = run_quest("data pack " + in("images") + " --unreadable fail --out " + in("strict"));
  EXPECT_EQ(outcome.exit_code, 1);
  expect_contains(outcome, "broken.jpg\": expected a JPEG or PNG picture");
}

TEST_F(DataCommand, SaysWhatItExpectsToPack) {
  const auto outcome = run_quest("data pack " + in("images/train/cat"));
  EXPECT_EQ(outcome.exit_code, 2);
  expect_contains(outcome, "no data set of pictures was found in \"");
}

TEST_F(DataCommand, BenchMeasuresLoading) {
  write_tiny_pictures(in("mnist"));
  const auto outcome = run_quest("bench data images/fashion-mnist-tiny --data " + in("mnist") +
                                 " --threads 2 --seconds 0.05 --json " + in("rates.json"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  expect_contains(outcome, "loading, all of it");
  expect_contains(outcome, "No times of Pillow: the task decodes no files of pictures");
  std::ifstream file(in("rates.json"));
  const auto json = nlohmann::json::parse(file);
  EXPECT_GT(json["load"]["one_thread"], 0.0);
  EXPECT_EQ(json["threads"], 2);
}

}  // namespace
}  // namespace quest::cli
