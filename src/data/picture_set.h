#pragma once

// Labelled pictures of a data set, split by split, in whatever form they lie on the disk.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/formats/picture.h"

namespace quest::data {

// One form of one split. Called from any thread, several at once. Errors are FormatErrors without the picture's name.
class PictureSplit {
 public:
  PictureSplit() = default;
  virtual ~PictureSplit() = default;
  PictureSplit(const PictureSplit&) = delete;
  PictureSplit& operator=(const PictureSplit&) = delete;

  [[nodiscard]] virtual std::int64_t size() const = 0;
  [[nodiscard]] virtual std::int64_t label(std::int64_t i) const = 0;
  // Inside the split: "n01440764/n01440764_10026.JPEG".
  [[nodiscard]] virtual std::string name(std::int64_t i) const = 0;
  // For messages: where the picture lies, and its name.
  [[nodiscard]] virtual std::string place(std::int64_t i) const = 0;
  [[nodiscard]] virtual Picture read(std::int64_t i, std::int64_t least_side) const = 0;

  // From now on pictures are read in an order of blocks of so many (stream.h): a block may be read ahead as a whole.
  virtual void expect_blocks(std::int64_t /*block*/) const {}
};

// A split of image files, each by itself or inside a larger file.
class FileSplit : public PictureSplit {
 public:
  // Whatever the bytes are.
  [[nodiscard]] virtual std::string file(std::int64_t i) const = 0;
  [[nodiscard]] Picture read(std::int64_t i, std::int64_t least_side) const final;
};

class PictureSet {
 public:
  using Splits = std::vector<std::pair<std::string, std::unique_ptr<const PictureSplit>>>;

  PictureSet(std::string form, std::vector<std::string> classes, Splits splits);

  // How the pictures lie there: "folders of images".
  [[nodiscard]] const std::string& form() const { return form_; }
  [[nodiscard]] const std::vector<std::string>& classes() const { return classes_; }
  // "train" first where there is one; then what is evaluated: "val" or "test".
  [[nodiscard]] std::vector<std::string> splits() const;
  [[nodiscard]] bool has(std::string_view split) const;

  // All of these throw std::out_of_range that names the splits for one that there is not.
  [[nodiscard]] const PictureSplit& split(std::string_view name) const;
  [[nodiscard]] std::int64_t size(std::string_view split) const { return this->split(split).size(); }
  [[nodiscard]] std::int64_t label(std::string_view split, std::int64_t i) const { return this->split(split).label(i); }
  [[nodiscard]] std::string name(std::string_view split, std::int64_t i) const { return this->split(split).name(i); }
  // From any thread. No side is shorter than `least_side` unless the picture is smaller; 0: as large as it is. Throws
  // FormatError that says where the picture lies.
  [[nodiscard]] Picture read(std::string_view split, std::int64_t i, std::int64_t least_side = 0) const;

 private:
  std::string form_;
  std::vector<std::string> classes_;
  Splits splits_;
};

}  // namespace quest::data
