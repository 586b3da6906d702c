#pragma once

// Data sets of labelled pictures: where they lie, how to get them, and each in whatever form of it is there.
// docs/image-data.md has the forms. Needs no torch.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/picture_set.h"
#include "data/sets/data_set.h"

namespace quest::data {

struct PictureSource {
  std::string name = "CIFAR-10";  // one of picture_set_names()
  std::string folder{};           // where it is named, whatever is in it is taken, and nothing else is looked at
};

[[nodiscard]] std::vector<std::string> picture_set_names();

// The folder that holds it in one of the forms.
[[nodiscard]] std::optional<std::filesystem::path> find_pictures(const PictureSource& source);

// What is wanted, where it was looked for, and how to get it; empty where it is there.
[[nodiscard]] std::string missing_pictures_text(const PictureSource& source);

// Throws std::runtime_error with that text, and FormatError for files that are not as they should be.
[[nodiscard]] std::unique_ptr<PictureSet> load_pictures(const PictureSource& source);

[[nodiscard]] std::vector<DataSet> picture_data_sets();

}  // namespace quest::data
