#pragma once

// Pictures in a folder for each class, as ImageNet's users have them: train/CLASS/*.JPEG, and val/ or test/ beside it.
// Needs no torch.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/picture_set.h"

namespace quest::data {

// Whether it could be one, from a look at the names of its folders.
[[nodiscard]] bool is_image_folder(const std::filesystem::path& folder);

// Of what is inside it, or of the folder itself as the split "test" where there is neither train/ nor val/ nor test/.
// Classes are the folders of the first split in the order of their names, or as numbers where all are whole numbers,
// and pictures are files with the ending of an image, by name, in folders inside a class too. Throws FormatError that
// names a folder which is not as it should be.
[[nodiscard]] std::unique_ptr<PictureSet> load_image_folder(const std::filesystem::path& folder);

}  // namespace quest::data
