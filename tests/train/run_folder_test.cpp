#include "train/run/run_folder.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tests/testing/temporary_folder.h"

namespace quest::train {
namespace {

using testing::TemporaryFolder;
using testing::text_of;

std::string failure_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "missing: " << part << "\nin: " << text;
}

TEST(RunFolder, IsMadeWithItsCheckpoints) {
  const TemporaryFolder temporary;
  const RunFolder folder(temporary.path() / "runs" / "one");
  EXPECT_TRUE(std::filesystem::is_directory(folder / kCheckpointFolder));
  EXPECT_FALSE(folder.holds_run());
  EXPECT_FALSE(folder.can_resume());
  std::ofstream(folder / kResumeCheckpoint) << "x";
  EXPECT_TRUE(folder.can_resume());
}

TEST(RunFolder, UpdatesKeepOtherKeys) {
  const TemporaryFolder temporary;
  const RunFolder folder(temporary.path());
  folder.update({{"task", "image"}, {"status", "running"}});
  EXPECT_TRUE(folder.holds_run());
  folder.update({{"status", "finished"}, {"ended", "later"}});
  EXPECT_EQ(read_run_file(folder.path()).dump(), R"({"task":"image","status":"finished","ended":"later"})");
}

TEST(RunFolder, LetsOneProcessIn) {
  const TemporaryFolder temporary;
  {
    const RunFolder first(temporary.path());
    expect_contains(failure_of([&] { const RunFolder second(temporary.path()); }),
                    "another process is training into \"" + temporary.path().string() + "\"");
  }
  EXPECT_EQ(failure_of([&] { const RunFolder third(temporary.path()); }), "");
}

TEST(RunFolder, AKilledProcessLeavesNoLock) {
  const TemporaryFolder temporary;
  const pid_t child = fork();
  if (child == 0) {
    const RunFolder held(temporary.path());
    std::ofstream(temporary.path() / "ready") << "x";
    for (;;) pause();
  }
  while (!std::filesystem::exists(temporary.path() / "ready")) usleep(1000);
  EXPECT_NE(failure_of([&] { const RunFolder second(temporary.path()); }), "");
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(failure_of([&] { const RunFolder second(temporary.path()); }), "");
}

TEST(RunFolder, NoRoomIsSaidBeforehand) {
  const TemporaryFolder temporary;
  const RunFolder folder(temporary.path());
  EXPECT_EQ(failure_of([&] { folder.check_room(1000); }), "");
  const auto failure = failure_of([&] { folder.check_room(std::uintmax_t{1} << 62U); });
  expect_contains(failure, "need 4611686018427.4 MB and there are ");
  expect_contains(failure, "make room, or choose another run folder");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 2) << "a file was left behind";
}

TEST(RunFolder, MistakesAreNamed) {
  const TemporaryFolder temporary;
  std::ofstream(temporary.path() / "file") << "x";
  expect_contains(failure_of([&] { const RunFolder folder(temporary.path() / "file"); }), "cannot be created");
  expect_contains(failure_of([&] { static_cast<void>(read_run_file(temporary.path())); }),
                  "run.json\" was expected to describe a training run and is not there");
  for (const char* content : {"", "[]", "{\"task\": "}) {
    std::ofstream(temporary.path() / kRunFile) << content;
    expect_contains(failure_of([&] { static_cast<void>(read_run_file(temporary.path())); }), "holds something else");
  }
}

}  // namespace
}  // namespace quest::train
