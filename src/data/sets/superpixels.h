#pragma once

// CIFAR10 as graphs of superpixels, made from the images of CIFAR-10.

#include <filesystem>
#include <optional>

#include "data/formats/cifar.h"
#include "data/graph_parallel.h"
#include "data/graph_set.h"

namespace quest::data {

struct CifarImages {
  LabelledPixels train;
  LabelledPixels test;
};

// The binary version (data_batch_1.bin to data_batch_5.bin, test_batch.bin) or packs of JPEG files (train.idx,
// train.jpgs, test.idx, test.jpgs), in one of the places: the files that were found.
[[nodiscard]] std::optional<std::vector<std::filesystem::path>> find_cifar10(
    std::span<const std::filesystem::path> places);

// Throws FormatError that names the file.
[[nodiscard]] CifarImages load_cifar10(const std::vector<std::filesystem::path>& files);

[[nodiscard]] GraphSchema superpixel_schema();

// The first `validation` training images are the validation split, as in the benchmark, where they are 5,000. Features
// are rounded to half precision, as published. An image's graph depends on its pixels and its number alone.
[[nodiscard]] GraphSet make_superpixels(const CifarImages& images, std::int64_t validation,
                                        const Progress& progress = {});

// The same from the user's cache, where it is put when it is made.
[[nodiscard]] GraphSet load_superpixels(const std::vector<std::filesystem::path>& files, const Progress& progress = {});

}  // namespace quest::data
