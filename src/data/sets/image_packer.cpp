#include "data/sets/image_packer.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "base/atomic_file.h"
#include "base/parallel.h"
#include "base/random.h"
#include "data/formats/format_error.h"
#include "data/formats/image_pack.h"
#include "data/formats/picture_file.h"
#include "data/formats/whole_file.h"
#include "data/sets/image_pack_set.h"
#include "data/sets/pack_parts.h"

namespace quest::data {
namespace {

using Path = std::filesystem::path;

constexpr std::int64_t kPiece = 64;  // pictures in memory at a time

const FileSplit& files_of(const PictureSet& set, const std::string& split) {
  const auto* const files = dynamic_cast<const FileSplit*>(&set.split(split));
  if (files != nullptr) return *files;
  throw FormatError("expected files of images to pack, found " + set.form() + ", which is read as fast as it is");
}

std::vector<std::int64_t> order_of(const std::string& split, std::int64_t size) {
  constexpr std::uint64_t kPackOrder = 0x696d6167'65730001;  // a random stream's first name, which no other purpose has
  std::vector<std::int64_t> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  if (split != "train") return order;
  base::Random random(0, {kPackOrder});
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

// Tells one set of files from another.
std::uint32_t sum_of_names(const PictureSet& set, const FileSplit& files) {
  std::uint32_t sum = 0;
  for (const auto& name : set.classes()) sum = sum_of(name + "\n", sum);
  for (std::int64_t i = 0; i < files.size(); ++i) {
    sum = sum_of(files.name(i) + "\n" + std::to_string(files.label(i)) + "\n", sum);
  }
  return sum;
}

struct ReadFile {
  std::string content;
  std::string problem;
};

ReadFile read_file(const FileSplit& files, std::int64_t i, bool decodes) {
  ReadFile read;
  try {
    naming_file(files.place(i), [&] {
      read.content = files.file(i);
      if (decodes) static_cast<void>(decode_picture(read.content));
    });
  } catch (const FileError&) {
    throw;
  } catch (const FormatError& error) {
    read.problem = error.what();
  }
  return read;
}

PackedSplit pack_split(const PictureSet& set, const std::string& split, const PackOptions& options,
                       const std::function<void(std::int64_t)>& progress) {
  const auto& files = files_of(set, split);
  const auto order = order_of(split, files.size());
  PackParts parts(options.to, split, sum_of_names(set, files));
  PackedSplit packed{.split = split, .resumed = parts.taken()};
  std::vector<ReadFile> piece;
  for (auto first = parts.taken(); first < files.size(); first += std::ssize(piece)) {
    piece.assign(static_cast<std::size_t>(std::min(kPiece, files.size() - first)), {});
    base::for_each_on_threads(std::ssize(piece), options.threads, [&](std::int64_t i) {
      piece[static_cast<std::size_t>(i)] =
          read_file(files, order[static_cast<std::size_t>(first + i)], options.decodes);
    });
    for (std::int64_t i = 0; i < std::ssize(piece); ++i) {
      const auto& [content, problem] = piece[static_cast<std::size_t>(i)];
      const auto number = order[static_cast<std::size_t>(first + i)];
      if (problem.empty()) {
        parts.add(content, static_cast<std::int32_t>(files.label(number)), files.name(number));
      } else if (options.unreadable == Unreadable::skip) {
        parts.leave_out(problem);
      } else {
        throw FormatError(problem);
      }
    }
    if (parts.bytes_at_risk() >= options.bytes_at_risk) parts.sync();
    if (progress) progress(first + std::ssize(piece));
  }
  parts.finish();
  packed.images = parts.images();
  packed.bytes = parts.bytes();
  packed.unreadable = parts.left_out();
  return packed;
}

PackedSplit packed_before(const Path& folder, const std::string& split, std::size_t classes) {
  const auto index = folder / (split + kPackIndexEnding);
  return naming_file(index, [&] {
    const auto bytes = std::filesystem::file_size(folder / (split + kPackEnding));
    const auto lines = read_whole_file(index);
    const auto images = std::ssize(parse_pack_index(lines, bytes, static_cast<std::int64_t>(classes)));
    return PackedSplit{.split = split, .images = images, .bytes = bytes, .resumed = images};
  });
}

void write_classes(const Path& file, const std::vector<std::string>& classes) {
  std::string text;
  for (const auto& name : classes) text += name + "\n";
  if (std::filesystem::exists(file) && read_class_names(file) != classes) {
    throw FormatError("\"" + file.string() +
                      "\": expected the classes of the pictures that are packed, found others; "
                      "pack into another folder, or remove this one");
  }
  base::write_atomically(file, text);
}

}  // namespace

std::vector<PackedSplit> pack_pictures(const PictureSet& set, const PackOptions& options,
                                       const PackProgress& progress) {
  const auto splits = set.splits();
  std::int64_t all = 0;
  for (const auto& split : splits) all += files_of(set, split).size();
  std::filesystem::create_directories(options.to);
  write_classes(options.to / kPackClasses, set.classes());
  std::vector<PackedSplit> packed;
  std::int64_t before = 0;
  for (const auto& split : splits) {
    const auto tell = [&](std::int64_t done) {
      if (progress) progress(static_cast<double>(before + done) / static_cast<double>(all), split);
    };
    const bool is_there = std::filesystem::exists(options.to / (split + kPackIndexEnding));
    packed.push_back(is_there ? packed_before(options.to, split, set.classes().size())
                              : pack_split(set, split, options, tell));
    before += set.size(split);
  }
  return packed;
}

}  // namespace quest::data
