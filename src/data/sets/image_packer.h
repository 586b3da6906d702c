#pragma once

// Writes packs from folders of images. What was written stays when the packing is stopped, killed or out of space, and
// the next one goes on from there. Needs no torch.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "data/picture_reader.h"
#include "data/picture_set.h"

namespace quest::data {

struct PackOptions {
  std::filesystem::path to;  // a folder
  // A picture that cannot be decoded is left out of the pack, or ends the packing.
  Unreadable unreadable = Unreadable::skip;
  bool decodes = true;  // every picture, to find those
  int threads = 1;
  std::uint64_t bytes_at_risk = std::uint64_t{64} << 20;  // what a killed packing loses at most
};

struct PackedSplit {
  std::string split;
  std::int64_t images = 0;
  std::uint64_t bytes = 0;
  std::int64_t resumed = 0;             // pictures that an earlier packing had looked at; all, where it had ended
  std::vector<std::string> unreadable;  // what is wrong with each
};

// progress(part of the whole, what is packed): between pictures, and what it throws ends the packing as a kill would.
using PackProgress = std::function<void(double, const std::string&)>;

// All splits, the pictures for training in an order drawn once, so that neighbours are of different classes; the others
// as they come. Throws FormatError for a set that has no files or is not the one whose packing had begun, and
// std::runtime_error with the system's reason.
std::vector<PackedSplit> pack_pictures(const PictureSet& set, const PackOptions& options,
                                       const PackProgress& progress = {});

}  // namespace quest::data
