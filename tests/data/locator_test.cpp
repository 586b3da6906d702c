#include "data/sets/locator.h"

#include <cstdlib>
#include <set>
#include <stdexcept>

#include "data/sets/fashion_mnist.h"
#include "data/sets/uea_locator.h"
#include "recipe/settings.h"
#include "tests/testing/folder_fixture.h"
#include "tests/testing/messages.h"

namespace quest::data {
namespace {

using quest::testing::has;
using quest::testing::message_of;

// An environment variable of this test alone.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (before_) {
      ::setenv(name_, before_->c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

class Locator : public quest::testing::FolderFixture {
 protected:
  void add(const std::string& name) const {
    std::filesystem::create_directories(in_folder(name).parent_path());
    static_cast<void>(file_with(name, "x"));
  }

  Variable shared_{"QUEST_DATA", in_folder("shared").string()};
  Variable cache_{"XDG_CACHE_HOME", in_folder("cache").string()};
  SetFiles pair_{.name = "Pair", .files = {"one", "two"}, .how_to_get = "ask for it"};
  std::vector<std::string> inside_ = {"pair"};
};

TEST_F(Locator, LooksInTheSharedFolderThenTheCacheThenThePackages) {
  const std::vector<std::filesystem::path> packages = {in_folder("package")};
  const std::vector<std::filesystem::path> expected = {in_folder("shared"), in_folder("shared/pair"),
                                                       in_folder("cache/quest"), in_folder("cache/quest/pair"),
                                                       in_folder("package")};
  EXPECT_EQ(shared_places(inside_, packages), expected);
  for (auto place = expected.rbegin(); place != expected.rend(); ++place) {
    const auto name = std::filesystem::relative(*place, in_folder("")).string();
    add(name + "/one");
    add(name + "/two.gz");
    EXPECT_EQ(find_set(pair_, shared_places(inside_, packages)).value(),
              (std::vector<std::filesystem::path>{*place / "one", *place / "two.gz"}));
  }
}

TEST_F(Locator, WithoutTheVariablesLooksInTheHomesCacheAlone) {
  const Variable shared("QUEST_DATA", "");
  const Variable cache("XDG_CACHE_HOME", "");
  const Variable home("HOME", in_folder("home").string());
  EXPECT_EQ(user_cache(), in_folder("home/.cache/quest"));
  EXPECT_EQ(shared_places(inside_), places_in(user_cache(), inside_));
}

TEST_F(Locator, TakesNoSetFromTwoPlaces) {
  add("shared/one");
  add("cache/quest/two");
  EXPECT_FALSE(find_set(pair_, shared_places(inside_)));
  add("cache/quest/one");
  EXPECT_EQ(find_set(pair_, shared_places(inside_)).value().front(), in_folder("cache/quest/one"));
}

TEST_F(Locator, AFolderOfAFilesNameIsNoFile) {
  add("shared/two");
  std::filesystem::create_directories(in_folder("shared/one"));
  EXPECT_FALSE(find_set(pair_, shared_places(inside_)));
  add("shared/one.xz");
  EXPECT_EQ(find_set(pair_, shared_places(inside_)).value().front(), in_folder("shared/one.xz"));
}

TEST_F(Locator, SaysWhatIsMissingWhereItLookedAndHowToGetIt) {
  add("shared/one");
  std::filesystem::create_directories(in_folder("cache/quest"));
  const auto message = message_of([&] { static_cast<void>(require_set(pair_, shared_places(inside_))); });
  EXPECT_TRUE(has(message, "the data set Pair was not found. Wanted are one and two"));
  EXPECT_TRUE(has(message, in_folder("shared").string() + " (lacks two)"));
  EXPECT_TRUE(has(message, in_folder("shared/pair").string() + " (no such folder)"));
  EXPECT_TRUE(has(message, in_folder("cache/quest").string() + " (lacks all of them)"));
  EXPECT_TRUE(has(message, "To get it: ask for it"));
}

TEST_F(Locator, AFolderNamedForFashionMnistIsTheOnlyOneLookedAt) {
  const auto add_all = [&](const std::string& folder) {
    for (const std::string part : {"train", "t10k"}) {
      add(folder + "/" + part + "-images-idx3-ubyte.gz");
      add(folder + "/" + part + "-labels-idx1-ubyte");
    }
  };
  add_all("shared/FashionMNIST/raw");
  EXPECT_EQ(find_fashion_mnist(), in_folder("shared/FashionMNIST/raw"));
  EXPECT_EQ(fashion_mnist_set().find(), in_folder("shared/FashionMNIST/raw"));
  const auto own = in_folder("digits").string();
  EXPECT_FALSE(find_fashion_mnist(own));
  EXPECT_TRUE(has(message_of([&] { static_cast<void>(require_fashion_mnist(own)); }), own + " (no such folder)"));
  EXPECT_FALSE(has(how_to_get_fashion_mnist(own), in_folder("shared").string()));
  add_all("digits");
  EXPECT_EQ(require_fashion_mnist(own), in_folder("digits"));
}

TEST_F(Locator, ASourcesOwnFolderComesFirstForTimeSeries) {
  const auto add_pair = [&](const std::string& folder) {
    add(folder + "/Heartbeat_TRAIN.ts");
    add(folder + "/Heartbeat_TEST.ts.gz");
  };
  EXPECT_FALSE(find_time_series({.name = "Heartbeat", .folder = in_folder("own").string()}));
  add_pair("cache/quest/uea");
  EXPECT_EQ(find_time_series({.name = "Heartbeat", .folder = in_folder("own").string()}).value().train,
            in_folder("cache/quest/uea/Heartbeat_TRAIN.ts"));
  add_pair("own/uea/Heartbeat");
  EXPECT_EQ(find_time_series({.name = "Heartbeat", .folder = in_folder("own").string()}).value().test,
            in_folder("own/uea/Heartbeat/Heartbeat_TEST.ts.gz"));
}

TEST_F(Locator, TellsAWrongNameFromAMissingSet) {
  EXPECT_THROW(static_cast<void>(require_time_series({.name = "Hartbeat"})), recipe::RecipeError);
  const auto message = message_of([] { static_cast<void>(require_time_series({.name = "Heartbeat"})); });
  EXPECT_TRUE(has(message, "timeseriesclassification.com/aeon-toolkit/Heartbeat.zip"));
  EXPECT_TRUE(has(message, in_folder("shared/uea").string()));
  EXPECT_TRUE(has(message_of([&] { static_cast<void>(require_time_series({.name = "", .folder = "/none"})); }),
                  "data.folder: expected"));
}

TEST_F(Locator, EveryDataSetOfTheArchiveIsDescribed) {
  const auto sets = uea_sets();
  ASSERT_EQ(sets.size(), kUeaDataSets.size());
  std::set<std::string> summaries;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    EXPECT_EQ(sets[i].name, kUeaDataSets[i]);
    EXPECT_FALSE(sets[i].find());
    EXPECT_FALSE(sets[i].licence.empty() || sets[i].how_to_get.empty());
    summaries.insert(sets[i].summary);
  }
  EXPECT_EQ(summaries.size(), sets.size());
  EXPECT_EQ(sets[1].size, "84 million numbers");  // FaceDetection: 9414 cases of 144 channels and 62 steps
  EXPECT_EQ(sets[2].size, "0.5 million numbers");
}

}  // namespace
}  // namespace quest::data
