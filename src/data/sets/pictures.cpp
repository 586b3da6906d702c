#include "data/sets/pictures.h"

#include <algorithm>
#include <array>
#include <span>
#include <stdexcept>

#include "data/sets/cifar.h"
#include "data/sets/image_folder.h"
#include "data/sets/image_pack_set.h"
#include "data/sets/locator.h"

namespace quest::data {
namespace {

using Path = std::filesystem::path;

struct KnownSet {
  std::string name;
  std::vector<std::string> folders;  // below $QUEST_DATA and the cache
  std::string summary;
  std::string licence;
  std::string size;
  std::string how_to_get;
};

const std::vector<KnownSet>& known_sets() {
  static const std::vector<KnownSet> sets = {
      {.name = "CIFAR-10",
       .folders = {"cifar-10-batches-bin", "cifar10", "cifar-10", "CIFAR-10", "cifar10_jpeg"},
       .summary = "60000 colour pictures of 32 x 32 pixels: ten kinds of animals and vehicles",
       .licence = "none stated",
       .size = "184 MB",
       .how_to_get = cifar10_files().how_to_get},
      {.name = "CIFAR-100",
       .folders = {"cifar-100-binary", "cifar100", "cifar-100", "CIFAR-100"},
       .summary = "60000 colour pictures of 32 x 32 pixels: a hundred kinds of things",
       .licence = "none stated",
       .size = "185 MB",
       .how_to_get = cifar100_files().how_to_get},
      {.name = "ImageNet",
       .folders = {"imagenet-pack", "imagenet", "ImageNet", "imagenet1k", "ILSVRC2012"},
       .summary = "1.28 million photographs: a thousand kinds of things (ILSVRC 2012)",
       .licence = "research only",
       .size = "150 GB",
       .how_to_get = "ILSVRC2012_img_train and ILSVRC2012_img_val from image-net.org, after registration, as "
                     "$QUEST_DATA/imagenet/{train,val}/CLASS/*.JPEG"}};
  return sets;
}

const KnownSet& known_set(const std::string& name) {
  const auto& sets = known_sets();
  const auto found = std::ranges::find(sets, name, &KnownSet::name);
  if (found != sets.end()) return *found;
  std::string names;
  for (const auto& set : sets) names += (names.empty() ? "" : ", ") + set.name;
  throw std::invalid_argument("there are no pictures called \"" + name + "\", only: " + names);
}

struct Form {
  bool (*is_in)(const Path& folder);
  std::unique_ptr<PictureSet> (*load)(const Path& folder);
};

bool has_files(const SetFiles& set, const Path& folder) { return find_set(set, std::span(&folder, 1)).has_value(); }

// In this order: a pack may lie among the folders that it was made from.
constexpr std::array<Form, 4> kForms = {
    {{is_image_pack, load_image_pack},
     {[](const Path& folder) { return has_files(cifar10_files(), folder); }, load_cifar10_set},
     {[](const Path& folder) { return has_files(cifar100_files(), folder); }, load_cifar100_set},
     {is_image_folder, load_image_folder}}};

const Form* form_in(const Path& folder) {
  const auto* const found = std::ranges::find_if(kForms, [&](const Form& form) { return form.is_in(folder); });
  return found == kForms.end() ? nullptr : found;
}

// Not the roots themselves: folders of other data would be taken for classes.
std::vector<Path> places(const PictureSource& source) {
  const auto& set = known_set(source.name);
  if (!source.folder.empty()) return places_in(source.folder, set.folders);
  std::vector<Path> places;
  for (const auto& place : shared_places(set.folders)) {
    if (std::ranges::find(set.folders, place.filename().string()) != set.folders.end()) places.push_back(place);
  }
  return places;
}

}  // namespace

std::vector<std::string> picture_set_names() {
  std::vector<std::string> names;
  for (const auto& set : known_sets()) names.push_back(set.name);
  return names;
}

std::optional<Path> find_pictures(const PictureSource& source) {
  const auto all = places(source);
  const auto found = std::ranges::find_if(all, [](const Path& place) { return form_in(place) != nullptr; });
  if (found == all.end()) return std::nullopt;
  return *found;
}

std::string missing_pictures_text(const PictureSource& source) {
  if (find_pictures(source)) return "";
  std::string text = source.folder.empty() ? "the data set " + source.name + " was not found."
                                           : "no data set of pictures was found in \"" + source.folder + "\".";
  text +=
      " Wanted is a folder with train/CLASS/ and val/CLASS/ of JPEG or PNG files, or a pack (train.idx, train.jpgs, "
      "…), "
      "or CIFAR's binary version (docs/image-data.md), in one of:";
  for (const auto& place : places(source)) {
    if (!source.folder.empty() && place != source.folder) continue;
    std::error_code ignored;
    text += "\n  " + std::filesystem::absolute(place).string() +
            (std::filesystem::is_directory(place, ignored) ? " (holds none of these)" : " (no such folder)");
  }
  return text + (source.folder.empty() ? "\nTo get it: " + known_set(source.name).how_to_get : "");
}

std::unique_ptr<PictureSet> load_pictures(const PictureSource& source) {
  const auto folder = find_pictures(source);
  if (!folder) throw std::runtime_error(missing_pictures_text(source));
  return form_in(*folder)->load(*folder);
}

std::vector<DataSet> picture_data_sets() {
  std::vector<DataSet> sets;
  for (const auto& set : known_sets()) {
    sets.push_back({.name = set.name,
                    .summary = set.summary,
                    .licence = set.licence,
                    .size = set.size,
                    .how_to_get = set.how_to_get,
                    .find = [name = set.name] { return find_pictures({.name = name}); }});
  }
  return sets;
}

}  // namespace quest::data
