#include "base/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "tests/testing/folder_fixture.h"
#include "tests/testing/messages.h"

namespace quest::base {
namespace {

using testing::has;
using testing::message_of;

class AtomicFile : public testing::FolderFixture {
 protected:
  [[nodiscard]] bool only_holds(const std::string& name) const {
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(in_folder(""))) {
      if (entry.path().filename() != name) return false;
      ++files;
    }
    return files == 1;
  }
};

TEST_F(AtomicFile, WritesAndReplaces) {
  const auto path = in_folder("a");
  base::write_atomically(path, "first");
  EXPECT_EQ(testing::text_of(path), "first");
  base::write_atomically(path, [](const base::ByteSink& sink) {
    sink(std::as_bytes(std::span(std::string_view("sec"))));
    sink({});
    sink(std::as_bytes(std::span(std::string_view("ond"))));
  });
  EXPECT_EQ(testing::text_of(path), "second");
  EXPECT_TRUE(only_holds("a"));
}

TEST_F(AtomicFile, ReplacesTheRestOfAKilledWriter) {
  const auto path = file_with("a", "old");
  static_cast<void>(file_with("a.tmp", "a half that is longer than what follows"));
  base::write_atomically(path, "new");
  EXPECT_EQ(testing::text_of(path), "new");
  EXPECT_TRUE(only_holds("a"));
}

TEST_F(AtomicFile, KeepsTheOldFileWhenTheWriterThrows) {
  const auto path = file_with("a", "old");
  EXPECT_THROW(base::write_atomically(path,
                                      [](const base::ByteSink& sink) {
                                        sink(std::as_bytes(std::span(std::string_view("half"))));
                                        throw std::logic_error("no");
                                      }),
               std::logic_error);
  EXPECT_EQ(testing::text_of(path), "old");
  EXPECT_TRUE(only_holds("a"));
}

// A limit on the size of files fails a write as a full disk does.
TEST_F(AtomicFile, KeepsTheOldFileWhenThereIsNoRoom) {
  const auto path = file_with("a", "old");
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit little{.rlim_cur = 1000, .rlim_max = limit.rlim_max};
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  const auto message = message_of([&] { base::write_atomically(path, std::string(100'000, 'x')); });
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  static_cast<void>(std::signal(SIGXFSZ, handler));
  EXPECT_TRUE(has(message, path.string()));
  EXPECT_TRUE(has(message, "File too large"));
  EXPECT_TRUE(has(message, "unchanged"));
  EXPECT_EQ(testing::text_of(path), "old");
  EXPECT_TRUE(only_holds("a"));
}

TEST_F(AtomicFile, NamesAFolderThatIsNotThere) {
  const auto path = in_folder("none") / "a";
  const auto message = message_of([&] { base::write_atomically(path, "x"); });
  EXPECT_TRUE(has(message, path.string()));
  EXPECT_TRUE(has(message, "No such file or directory"));
}

TEST_F(AtomicFile, SurvivesKillsAtAnyMoment) {
  const auto path = in_folder("a");
  base::write_atomically(path, std::string(100'000, 'a'));
  for (int kill_after = 0; kill_after < 20; ++kill_after) {
    const pid_t child = fork();
    if (child == 0) {
      for (char letter = 'b';; letter = letter == 'z' ? 'a' : static_cast<char>(letter + 1)) {
        base::write_atomically(path, std::string(100'000, letter));
      }
    }
    ASSERT_GT(child, 0);
    usleep(static_cast<useconds_t>(2000 + 331 * kill_after));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const std::string content = testing::text_of(path);
    ASSERT_EQ(content, std::string(100'000, content[0]));
  }
}

}  // namespace
}  // namespace quest::base
