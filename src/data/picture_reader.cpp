#include "data/picture_reader.h"

#include <algorithm>

#include "data/formats/format_error.h"

namespace quest::data {
namespace {

constexpr std::int64_t kMostInARow = 1000;
constexpr std::size_t kNamed = 5;

}  // namespace

PictureReader::PictureReader(std::shared_ptr<const PictureSet> set, Unreadable unreadable, Tell tell)
    : set_(std::move(set)), unreadable_(unreadable), tell_(std::move(tell)) {}

bool PictureReader::is_known(std::string_view split, std::int64_t i) const {
  const std::scoped_lock lock(mutex_);
  const auto found = problems_.find(split);
  return found != problems_.end() && found->second.contains(i);
}

void PictureReader::note(std::string_view split, std::int64_t i, const std::string& problem) const {
  const std::scoped_lock lock(mutex_);
  if (problems_[std::string(split)].emplace(i, problem).second && tell_) tell_(problem);
}

ReadPicture PictureReader::read(std::string_view split, std::int64_t i, std::int64_t least_side) const {
  const auto& pictures = set_->split(split);
  const auto tried = std::min(pictures.size(), kMostInARow);
  for (std::int64_t place = 0; place < tried; ++place) {
    const auto sample = (i + place) % pictures.size();
    if (is_known(split, sample)) continue;
    try {
      return {.picture = set_->read(split, sample, least_side), .label = pictures.label(sample), .sample = sample};
    } catch (const FileError&) {
      throw;
    } catch (const FormatError& error) {
      if (unreadable_ == Unreadable::fail) throw;
      note(split, sample, error.what());
    }
  }
  throw FormatError("none of " + std::to_string(tried) + " pictures of " + std::string(split) + " from \"" +
                    pictures.place(i) + "\" on can be read.\n" + summary());
}

std::int64_t PictureReader::unreadable() const {
  const std::scoped_lock lock(mutex_);
  std::int64_t count = 0;
  for (const auto& [split, problems] : problems_) count += static_cast<std::int64_t>(problems.size());
  return count;
}

std::string PictureReader::summary() const {
  const std::scoped_lock lock(mutex_);
  std::string text;
  for (const auto& [split, problems] : problems_) {
    text += std::to_string(problems.size()) + " of " + std::to_string(set_->size(split)) + " pictures of " + split +
            " cannot be read; the next one is taken instead:\n";
    std::size_t named = 0;
    for (const auto& [sample, problem] : problems) {
      if (named++ == kNamed) break;
      text += "  " + problem + "\n";
    }
    if (problems.size() > kNamed) text += "  and " + std::to_string(problems.size() - kNamed) + " more\n";
  }
  return text;
}

}  // namespace quest::data
