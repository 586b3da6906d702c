#pragma once

// Packs of image files: train.jpgs and train.idx, val or test alike, and classes.txt. docs/image-data.md has the
// layout. Needs no torch.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/picture_set.h"

namespace quest::data {

inline constexpr const char* kPackIndexEnding = ".idx";
inline constexpr const char* kPackEnding = ".jpgs";
inline constexpr const char* kPackClasses = "classes.txt";

[[nodiscard]] bool is_image_pack(const std::filesystem::path& folder);

// Throws FormatError that names the file which is not as it should be.
[[nodiscard]] std::unique_ptr<PictureSet> load_image_pack(const std::filesystem::path& folder);

// A name a line.
[[nodiscard]] std::vector<std::string> read_class_names(const std::filesystem::path& file);

}  // namespace quest::data
