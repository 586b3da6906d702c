#include "base/children.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/testing/temporary_folder.h"

namespace quest::base {
namespace {

using testing::TemporaryFolder;

class Children : public ::testing::Test {
 protected:
  [[nodiscard]] base::Child shell(const std::string& script) {
    return {.arguments = {"/bin/sh", "-c", script}, .log = folder_.path() / std::to_string(count_++)};
  }
  [[nodiscard]] std::string said_by(int child) const {
    return testing::text_of(folder_.path() / std::to_string(child));
  }

  TemporaryFolder folder_;
  int count_ = 0;
};

TEST_F(Children, EndWithTheirExitCodesAndKeepWhatTheySaid) {
  const std::vector children = {shell("echo one; echo two >&2"), shell("echo $QUEST_TEST_VALUE; exit 3"),
                                shell("kill -TERM $$")};
  const std::vector<std::string> environment = {"QUEST_TEST_VALUE=value"};
  std::map<std::size_t, int> codes;
  base::run_children(children, 2, environment, {.on_end = [&](std::size_t child, int code) { codes[child] = code; }});
  EXPECT_EQ(codes, (std::map<std::size_t, int>{{0, 0}, {1, 3}, {2, 128 + 15}}));
  EXPECT_EQ(said_by(0), "one\ntwo\n");
  EXPECT_EQ(base::last_line(children[1].log), "value");
}

TEST_F(Children, AreNeverMoreThanAllowed) {
  // Each leaves a file while it runs and says how many there are.
  const std::string running = (folder_.path() / "running-").string();
  std::vector<base::Child> children;
  for (int i = 0; i < 6; ++i) {
    children.push_back(shell("touch " + running + "$$; ls " + running + "* | wc -l; sleep 0.2; rm " + running + "$$"));
  }
  base::run_children(children, 2, {}, {.on_end = [](std::size_t, int) {}});
  int most = 0;
  for (int i = 0; i < 6; ++i) most = std::max(most, std::stoi(said_by(i)));
  EXPECT_EQ(most, 2);
}

TEST_F(Children, AreAskedToEndAndNoneIsStartedAfterThat) {
  const auto patient = "trap 'echo asked; exit 7' INT; echo ready; while :; do sleep 0.05; done";
  const std::vector children = {shell(patient), shell("echo started")};
  std::map<std::size_t, int> codes;
  base::run_children(children, 1, {},
                     {.on_end = [&](std::size_t child, int code) { codes[child] = code; },
                      .should_stop = [&] { return base::last_line(children[0].log) == "ready"; }});
  EXPECT_EQ(codes, (std::map<std::size_t, int>{{0, 7}}));
  EXPECT_EQ(said_by(0), "ready\nasked\n");
}

TEST_F(Children, ThatCannotBeStartedAreNamed) {
  const std::vector children = {base::Child{.arguments = {"/no/such/program"}, .log = folder_.path() / "log"}};
  EXPECT_THROW(base::run_children(children, 1, {}, {.on_end = [](std::size_t, int) {}}), std::runtime_error);
}

}  // namespace
}  // namespace quest::base
