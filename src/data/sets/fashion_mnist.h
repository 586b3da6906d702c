#pragma once

// Fashion-MNIST: 70000 grey pictures of ten kinds of clothing. Files of MNIST itself, named the same, are read as well.

#include <array>
#include <filesystem>
#include <optional>
#include <string>

#include "data/labelled_images.h"
#include "data/sets/data_set.h"

namespace quest::data {

// Where Debian's package dataset-fashion-mnist puts it.
inline constexpr const char* kFashionMnistFolder = "/usr/share/datasets/fashion-mnist";

inline constexpr std::array<const char*, 10> kFashionMnistClasses = {
    "T-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"};

// One channel, ten labels.
struct FashionMnist {
  LabelledImages train;
  LabelledImages test;
};

// The folder that holds the four files. A folder that is named is the only one looked at: the names of the files do
// not tell Fashion-MNIST from MNIST, so another copy could be another data set.
[[nodiscard]] std::optional<std::filesystem::path> find_fashion_mnist(const std::string& folder = "");
[[nodiscard]] std::string how_to_get_fashion_mnist(const std::string& folder = "");
// Throws std::runtime_error with that text.
[[nodiscard]] std::filesystem::path require_fashion_mnist(const std::string& folder = "");

// The folder's four files, packed or not. An error says which is missing or wrong and where to get it.
[[nodiscard]] FashionMnist load_fashion_mnist(const std::filesystem::path& folder);

[[nodiscard]] DataSet fashion_mnist_set();

}  // namespace quest::data
