#include "data/sets/image_folder.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "data/formats/format_error.h"
#include "data/formats/input_file.h"

namespace quest::data {
namespace {

using Path = std::filesystem::path;

constexpr std::array<const char*, 4> kSplits = {"train", "val", "validation", "test"};
// Those that torchvision takes for images. What we cannot decode of these is named as unreadable, not overlooked.
constexpr std::array<std::string_view, 9> kEndings = {".jpg", ".jpeg", ".png",  ".ppm", ".bmp",
                                                      ".pgm", ".tif",  ".tiff", ".webp"};
constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 28;

bool is_image(const Path& file) {
  auto ending = file.extension().string();
  std::ranges::transform(ending, ending.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  return std::ranges::find(kEndings, ending) != kEndings.end();
}

bool is_number(const std::string& text) {
  return text.size() < 10 && text.find_first_not_of("0123456789") == std::string::npos;
}

// Folders whose names begin with a dot belong to tools.
std::vector<std::string> folders_in(const Path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    auto name = entry.path().filename().string();
    if (!name.starts_with('.') && entry.is_directory()) names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  if (std::ranges::all_of(names, is_number)) {
    std::ranges::stable_sort(names, {}, [](const std::string& name) { return std::stol(name); });
  }
  return names;
}

// Relative to `folder`; of each folder its files by name before those of the folders inside it.
std::vector<Path> images_in(const Path& folder) {
  constexpr auto kLinks = std::filesystem::directory_options::follow_directory_symlink;
  std::vector<Path> images;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, kLinks)) {
    if (is_image(entry.path()) && entry.is_regular_file()) images.push_back(entry.path().lexically_relative(folder));
  }
  std::ranges::sort(
      images, {}, [](const Path& image) { return std::pair(image.parent_path().string(), image.filename().string()); });
  return images;
}

// A million names without a million allocations.
class Names {
 public:
  void add(std::string_view name) {
    text_ += name;
    ends_.push_back(text_.size());
  }
  [[nodiscard]] std::string_view operator[](std::size_t i) const {
    const auto begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(text_).substr(begin, ends_[i] - begin);
  }

 private:
  std::string text_;
  std::vector<std::uint64_t> ends_;
};

class FolderSplit final : public FileSplit {
 public:
  FolderSplit(Path folder, const std::vector<std::string>& classes, bool has_all_classes) : folder_(std::move(folder)) {
    std::map<std::string, std::int32_t> labels;
    for (const auto& name : classes) labels.emplace(name, static_cast<std::int32_t>(labels.size()));
    for (const auto& name : folders_in(folder_)) {
      const auto label = labels.find(name);
      if (label == labels.end()) {
        throw FormatError("\"" + folder_.string() + "\": the folder " + in_quotes(name) + " is none of the " +
                          std::to_string(classes.size()) +
                          " classes that the pictures for training have; rename it or move it away");
      }
      const auto images = images_in(folder_ / name);
      if (images.empty() && has_all_classes) {
        throw FormatError("\"" + (folder_ / name).string() +
                          "\": expected pictures of this class (.jpg, .jpeg or .png), found none");
      }
      for (const auto& image : images) {
        names_.add((name / image).string());
        labels_.push_back(label->second);
      }
    }
    if (labels_.empty()) throw FormatError("\"" + folder_.string() + "\": expected pictures in it, found none");
  }

  [[nodiscard]] std::int64_t size() const override { return static_cast<std::int64_t>(labels_.size()); }
  [[nodiscard]] std::int64_t label(std::int64_t i) const override { return labels_.at(static_cast<std::size_t>(i)); }
  [[nodiscard]] std::string name(std::int64_t i) const override {
    return std::string(names_[static_cast<std::size_t>(i)]);
  }
  [[nodiscard]] std::string place(std::int64_t i) const override { return path_of(i).string(); }
  [[nodiscard]] std::string file(std::int64_t i) const override {
    const InputFile file(path_of(i));
    if (file.size() > kLargestFile) {
      throw FormatError("expected a picture of at most " + std::to_string(kLargestFile) + " bytes, found " +
                        std::to_string(file.size()));
    }
    std::string content(file.size(), '\0');
    file.read_at(0, std::as_writable_bytes(std::span(content)));
    return content;
  }

 private:
  [[nodiscard]] Path path_of(std::int64_t i) const { return folder_ / names_[static_cast<std::size_t>(i)]; }

  Path folder_;
  Names names_;
  std::vector<std::int32_t> labels_;
};

std::vector<std::string> splits_in(const Path& folder) {
  std::vector<std::string> splits;
  for (const char* split : kSplits) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(folder / split, ignored)) continue;
    // ImageNet's test/ has no classes: these are not published.
    const bool is_unlabelled = split == std::string_view("test") && folders_in(folder / split).empty();
    if (!is_unlabelled || splits.size() < 2) splits.emplace_back(split);
  }
  return splits;
}

std::vector<std::string> require_classes(const Path& folder) {
  auto classes = folders_in(folder);
  if (!classes.empty()) return classes;
  throw FormatError("\"" + folder.string() +
                    "\": expected a folder for each class with its pictures in it, found no folders; move each picture "
                    "into the folder of its class");
}

}  // namespace

bool is_image_folder(const Path& folder) {
  std::error_code problem;
  if (!std::filesystem::is_directory(folder, problem)) return false;
  if (!splits_in(folder).empty()) return true;
  return std::ranges::any_of(folders_in(folder), [&](const std::string& name) {
    const std::filesystem::directory_iterator entries(folder / name, problem);
    return std::ranges::any_of(entries, [](const auto& entry) { return is_image(entry.path()); });
  });
}

std::unique_ptr<PictureSet> load_image_folder(const Path& folder) {
  const auto names = splits_in(folder);
  PictureSet::Splits splits;
  if (names.empty()) {
    auto classes = require_classes(folder);
    splits.emplace_back("test", std::make_unique<FolderSplit>(folder, classes, false));
    return std::make_unique<PictureSet>("folders of images", std::move(classes), std::move(splits));
  }
  auto classes = require_classes(folder / names.front());
  for (const auto& name : names) {
    if (name != names.front()) static_cast<void>(require_classes(folder / name));
    splits.emplace_back(name, std::make_unique<FolderSplit>(folder / name, classes, name == "train"));
  }
  return std::make_unique<PictureSet>("folders of images", std::move(classes), std::move(splits));
}

}  // namespace quest::data
