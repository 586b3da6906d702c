#pragma once

// Fashion-MNIST: 70000 grey pictures of ten kinds of clothing. Files of MNIST itself, named the same, are read as well.

#include <ATen/core/Tensor.h>

#include <array>
#include <filesystem>

namespace quest::data {

// Where Debian's package dataset-fashion-mnist puts it.
inline constexpr const char* kFashionMnistFolder = "/usr/share/datasets/fashion-mnist";

inline constexpr std::array<const char*, 10> kFashionMnistClasses = {
    "T-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"};

struct LabelledImages {
  at::Tensor images;  // uint8 [N, height, width]
  at::Tensor labels;  // int64 [N], from 0 to 9
};

struct FashionMnist {
  LabelledImages train;
  LabelledImages test;
};

// The folder's four files, packed (.gz) or not. An error says which is missing or wrong and where to get it.
FashionMnist load_fashion_mnist(const std::filesystem::path& folder = kFashionMnistFolder);

}  // namespace quest::data
