#include "data/sets/image_pack_set.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <mutex>
#include <span>

#include "data/formats/format_error.h"
#include "data/formats/image_pack.h"
#include "data/formats/input_file.h"
#include "data/formats/text_fields.h"
#include "data/formats/whole_file.h"

namespace quest::data {
namespace {

using Path = std::filesystem::path;

constexpr std::array<const char*, 4> kSplits = {"train", "val", "validation", "test"};
constexpr std::int64_t kMostClasses = 1 << 20;
constexpr std::size_t kRecentBlocks = 64;

Path with(const Path& folder, const std::string& split, const char* ending) { return folder / (split + ending); }

class PackSplit final : public FileSplit {
 public:
  PackSplit(const Path& folder, const std::string& split, std::int64_t classes)
      : path_(with(folder, split, kPackEnding)), pack_(naming_file(path_, [&] { return InputFile(path_); })) {
    const auto index = with(folder, split, kPackIndexEnding);
    naming_file(index, [&] {
      index_ = read_whole_file(index);
      images_ = parse_pack_index(index_, pack_.size(), classes);
      if (images_.empty()) throw FormatError("expected images in the pack, found none");
    });
  }

  [[nodiscard]] std::int64_t size() const override { return static_cast<std::int64_t>(images_.size()); }
  [[nodiscard]] std::int64_t label(std::int64_t i) const override { return image(i).label; }
  [[nodiscard]] std::string name(std::int64_t i) const override {
    const auto own = image(i).name;
    return own.empty() ? "image " + std::to_string(i) : std::string(own);
  }
  [[nodiscard]] std::string place(std::int64_t i) const override { return path_.string() + ", " + name(i); }
  [[nodiscard]] std::string file(std::int64_t i) const override {
    read_ahead(i);
    std::string content(image(i).length, '\0');
    pack_.read_at(image(i).offset, std::as_writable_bytes(std::span(content)));
    check_sum(image(i), content);
    return content;
  }
  void expect_blocks(std::int64_t block) const override { block_ = block; }

 private:
  // The first picture that is wanted of a block brings the whole of it into the system's memory, in one sequential read
  // that nobody waits for.
  void read_ahead(std::int64_t i) const {
    const std::int64_t block = block_;
    if (block == 0) return;
    const auto number = i / block;
    {
      const std::scoped_lock lock(mutex_);
      if (std::ranges::find(recent_, number) != recent_.end()) return;
      recent_.push_back(number);
      if (recent_.size() > kRecentBlocks) recent_.pop_front();
    }
    const auto& last = image(std::min((number + 1) * block, size()) - 1);
    const auto begin = image(number * block).offset;
    if (last.offset >= begin) pack_.will_need(begin, last.offset + last.length - begin);
  }

  [[nodiscard]] const PackedImage& image(std::int64_t i) const { return images_.at(static_cast<std::size_t>(i)); }

  Path path_;
  InputFile pack_;
  std::string index_;  // the images' names are inside it
  std::vector<PackedImage> images_;
  mutable std::atomic<std::int64_t> block_ = 0;
  mutable std::mutex mutex_;
  mutable std::deque<std::int64_t> recent_;  // blocks
};

std::vector<std::string> numbered_classes(const PictureSet::Splits& splits) {
  std::int64_t last = 0;
  for (const auto& [name, split] : splits) {
    for (std::int64_t i = 0; i < split->size(); ++i) last = std::max(last, split->label(i));
  }
  std::vector<std::string> names;
  for (std::int64_t i = 0; i <= last; ++i) names.push_back(std::to_string(i));
  return names;
}

bool has_split(const Path& folder, const std::string& split) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(with(folder, split, kPackIndexEnding), ignored);
}

}  // namespace

bool is_image_pack(const Path& folder) {
  return std::ranges::any_of(kSplits, [&](const char* split) { return has_split(folder, split); });
}

std::unique_ptr<PictureSet> load_image_pack(const Path& folder) {
  std::vector<std::string> classes;
  if (std::filesystem::exists(folder / kPackClasses)) classes = read_class_names(folder / kPackClasses);
  PictureSet::Splits splits;
  for (const char* split : kSplits) {
    if (!has_split(folder, split)) continue;
    const auto known = classes.empty() ? kMostClasses : static_cast<std::int64_t>(classes.size());
    splits.emplace_back(split, std::make_unique<PackSplit>(folder, split, known));
  }
  if (classes.empty()) classes = numbered_classes(splits);
  return std::make_unique<PictureSet>("packs", std::move(classes), std::move(splits));
}

std::vector<std::string> read_class_names(const Path& file) {
  return naming_file(file, [&] {
    std::vector<std::string> names;
    for_each_line(read_whole_file(file), [&](std::string_view line) { names.emplace_back(line); });
    if (names.empty()) throw FormatError("expected the name of a class on each line, found none");
    return names;
  });
}

}  // namespace quest::data
