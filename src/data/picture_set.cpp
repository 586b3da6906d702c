#include "data/picture_set.h"

#include <algorithm>
#include <stdexcept>

#include "data/formats/format_error.h"
#include "data/formats/picture_file.h"
#include "data/load_stages.h"

namespace quest::data {

Picture FileSplit::read(std::int64_t i, std::int64_t least_side) const {
  std::string content;
  {
    const StageTimer timer(LoadStage::read);
    content = file(i);
  }
  const StageTimer timer(LoadStage::decode);
  note_file(content, least_side);
  return decode_picture(content, least_side);
}

PictureSet::PictureSet(std::string form, std::vector<std::string> classes, Splits splits)
    : form_(std::move(form)), classes_(std::move(classes)), splits_(std::move(splits)) {}

std::vector<std::string> PictureSet::splits() const {
  std::vector<std::string> names;
  for (const auto& [name, split] : splits_) names.push_back(name);
  return names;
}

bool PictureSet::has(std::string_view split) const {
  return std::ranges::find(splits_, split, &Splits::value_type::first) != splits_.end();
}

const PictureSplit& PictureSet::split(std::string_view name) const {
  const auto found = std::ranges::find(splits_, name, &Splits::value_type::first);
  if (found != splits_.end()) return *found->second;
  std::string known;
  for (const auto& own : splits()) known += (known.empty() ? "" : ", ") + own;
  throw std::out_of_range("there are no pictures called \"" + std::string(name) + "\", only: " + known);
}

Picture PictureSet::read(std::string_view split, std::int64_t i, std::int64_t least_side) const {
  const auto& pictures = this->split(split);
  return naming_file(pictures.place(i), [&] { return pictures.read(i, least_side); });
}

}  // namespace quest::data
