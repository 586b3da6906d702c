#pragma once

// CIFAR-10 and CIFAR-100 in their binary versions: 60000 pictures of 32 x 32 pixels. Needs no torch.

#include <filesystem>
#include <memory>

#include "data/picture_set.h"
#include "data/sets/locator.h"

namespace quest::data {

// data_batch_1.bin to data_batch_5.bin and test_batch.bin.
[[nodiscard]] const SetFiles& cifar10_files();
// train.bin and test.bin.
[[nodiscard]] const SetFiles& cifar100_files();

// All pictures in memory. Throw FormatError that names the file, and std::runtime_error where one is missing.
[[nodiscard]] std::unique_ptr<PictureSet> load_cifar10_set(const std::filesystem::path& folder);
[[nodiscard]] std::unique_ptr<PictureSet> load_cifar100_set(const std::filesystem::path& folder);

}  // namespace quest::data
