// `quest data pack`: many files of images become one that is read in order; `quest data check`: which pictures of a
// data set cannot be read.

#include <CLI/App.hpp>
#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "app/interrupt.h"
#include "app/machine.h"
#include "app/usage_error.h"
#include "base/clock.h"
#include "base/parallel.h"
#include "cli/commands.h"
#include "data/formats/format_error.h"
#include "data/sets/image_packer.h"
#include "data/sets/pictures.h"
#include "terminal/progress.h"
#include "terminal/table.h"
#include "terminal/terminal.h"

namespace quest::cli {
namespace {

constexpr std::int64_t kPiece = 256;  // pictures between two looks at the clock
constexpr std::size_t kNamed = 20;

struct PackCommand {
  std::string folder;
  std::string to;
  std::string unreadable = "skip";
  bool trusts = false;
  int threads = app::default_threads();
};

struct CheckCommand {
  std::string folder;
  int threads = app::default_threads();
};

std::unique_ptr<data::PictureSet> pictures_in(const std::string& folder) {
  const data::PictureSource source{.folder = folder};
  if (const auto missing = data::missing_pictures_text(source); !missing.empty()) throw app::UsageError(missing);
  return data::load_pictures(source);
}

void print_problems(const std::vector<std::string>& problems) {
  for (std::size_t i = 0; i < std::min(problems.size(), kNamed); ++i) std::cout << "  " << problems[i] << "\n";
  if (problems.size() > kNamed) std::cout << "  and " << problems.size() - kNamed << " more\n";
}

std::string rate_text(std::int64_t pictures, double seconds) {
  return std::to_string(pictures) + " pictures in " + terminal::duration_text(seconds) + ", " +
         terminal::three_digits(static_cast<double>(pictures) / std::max(seconds, 1e-9)) + " a second";
}

void print_packed(const std::vector<data::PackedSplit>& splits) {
  base::Table table{.columns = {{"split", base::Align::left}, "pictures", "MB", "left out", {"", base::Align::left}}};
  for (const auto& split : splits) {
    const auto taken = split.images + static_cast<std::int64_t>(split.unreadable.size());
    const std::string before = split.resumed == 0       ? ""
                               : split.resumed == taken ? "packed before"
                                                        : std::to_string(split.resumed) + " of them packed before";
    table.add_row({split.split, std::to_string(split.images),
                   terminal::three_digits(static_cast<double>(split.bytes) / 1e6),
                   std::to_string(split.unreadable.size()), before});
  }
  std::cout << terminal::text_of(table);
  for (const auto& split : splits) {
    if (!split.unreadable.empty()) std::cout << "\nLeft out of " << split.split << ":\n";
    print_problems(split.unreadable);
  }
}

void run_pack(const PackCommand& command) {
  const auto set = pictures_in(command.folder);
  auto from = std::filesystem::absolute(command.folder).lexically_normal();
  if (!from.has_filename()) from = from.parent_path();
  const std::filesystem::path to = command.to.empty() ? from.string() + "-pack" : command.to;
  const auto begin = base::steady_seconds();
  const app::InterruptRequest interrupt;
  terminal::Progress progress(std::cerr, terminal::standard_error_is_terminal());
  double done_first = -1.0;
  const auto splits =
      data::pack_pictures(*set,
                          {.to = to,
                           .unreadable = command.unreadable == "skip" ? data::Unreadable::skip : data::Unreadable::fail,
                           .decodes = !command.trusts,
                           .threads = command.threads},
                          [&](double done, const std::string& split) {
                            if (done_first < 0.0) progress.start_at(done_first = done);
                            progress.update(done, split);
                            if (!app::InterruptRequest::made()) return;
                            progress.clear();
                            throw app::Interrupted("stopped; the same command goes on from here");
                          });
  progress.clear();
  print_packed(splits);
  std::int64_t pictures = 0;
  for (const auto& split : splits) {
    pictures += split.images + static_cast<std::int64_t>(split.unreadable.size()) - split.resumed;
  }
  if (pictures > 0) std::cout << "\n" << rate_text(pictures, base::steady_seconds() - begin);
  std::cout << "\nTo train on it: --data " << to.string() << "\n";
}

// By number.
std::map<std::int64_t, std::string> problems_of(const data::PictureSet& set, const std::string& split, int threads,
                                                const std::function<void(std::int64_t)>& progress) {
  std::mutex mutex;
  std::map<std::int64_t, std::string> problems;
  for (std::int64_t first = 0; first < set.size(split); first += kPiece) {
    base::for_each_on_threads(std::min(kPiece, set.size(split) - first), threads, [&](std::int64_t i) {
      try {
        static_cast<void>(set.read(split, first + i));
      } catch (const data::FormatError& error) {
        const std::scoped_lock lock(mutex);
        problems.emplace(first + i, error.what());
      }
    });
    progress(first);
  }
  return problems;
}

void run_check(const CheckCommand& command) {
  const auto set = pictures_in(command.folder);
  std::int64_t all = 0;
  for (const auto& split : set->splits()) all += set->size(split);
  std::cout << set->form() << ", " << set->classes().size() << " classes\n" << std::flush;
  const app::InterruptRequest interrupt;
  const auto begin = base::steady_seconds();
  terminal::Progress progress(std::cerr, terminal::standard_error_is_terminal());
  std::int64_t before = 0;
  for (const auto& split : set->splits()) {
    const auto problems = problems_of(*set, split, command.threads, [&](std::int64_t done) {
      progress.update(static_cast<double>(before + done) / static_cast<double>(all), split);
      if (app::InterruptRequest::made()) throw app::Interrupted("stopped before the end");
    });
    progress.clear();
    before += set->size(split);
    std::vector<std::string> texts;
    for (const auto& [number, text] : problems) texts.push_back(text);
    std::cout << split << ": " << set->size(split) << " pictures, "
              << (texts.empty() ? "all can be read" : std::to_string(texts.size()) + " cannot be read:") << "\n";
    print_problems(texts);
  }
  std::cout << rate_text(all, base::steady_seconds() - begin) << "\n";
}

void add_threads(CLI::App& command, int& threads) {
  command.add_option("--threads", threads, "Threads that read and decode")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
}

}  // namespace

void add_data_pack_commands(CLI::App& data_command) {
  auto* pack = data_command.add_subcommand(
      "pack", "Put the images of a data set into one file a split; stopped, it goes on where it was");
  const auto packing = std::make_shared<PackCommand>();
  pack->add_option("folder", packing->folder, "A folder with train/CLASS/ and val/CLASS/ of images")
      ->required()
      ->type_name("FOLDER");
  pack->add_option("--out", packing->to, "Where to; FOLDER-pack if not given")->type_name("FOLDER");
  pack->add_option("--unreadable", packing->unreadable, "Leave out images that cannot be decoded, or end at the first")
      ->capture_default_str()
      ->check(CLI::IsMember({"skip", "fail"}));
  pack->add_flag("--no-decode", packing->trusts, "Pack whatever the files hold, without a look at it: faster");
  add_threads(*pack, packing->threads);
  pack->callback([packing] { run_pack(*packing); });

  auto* check = data_command.add_subcommand("check", "Read every picture of a data set, and name those that cannot be");
  const auto checking = std::make_shared<CheckCommand>();
  check->add_option("folder", checking->folder, "Folders of images, packs, or CIFAR's binary version")
      ->required()
      ->type_name("FOLDER");
  add_threads(*check, checking->threads);
  check->callback([checking] { run_check(*checking); });
}

}  // namespace quest::cli
