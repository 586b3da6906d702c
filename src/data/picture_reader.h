#pragma once

// Reads pictures of a set of which some may be unreadable: each of these is named and counted once, and the next one of
// its split that can be read takes its place, with its own label, so that a batch keeps its size; or the first one ends
// the reading. A file that the system does not give always ends it: what is trained on must not depend on the state of
// a network.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "data/picture_set.h"

namespace quest::data {

enum class Unreadable { skip, fail };

struct ReadPicture {
  Picture picture;
  std::int64_t label = 0;
  std::int64_t sample = 0;  // another one than asked for where that cannot be read
};

class PictureReader {
 public:
  using Tell = std::function<void(const std::string& problem)>;

  // `tell` hears once of each unreadable picture, from whichever thread met it, one at a time.
  PictureReader(std::shared_ptr<const PictureSet> set, Unreadable unreadable, Tell tell = {});

  [[nodiscard]] const PictureSet& set() const { return *set_; }

  // From any thread. Which picture it is depends on the files alone. Throws FormatError as PictureSet::read does where
  // an unreadable picture is to end the reading, where there are too many of them in a row, and for a FileError.
  [[nodiscard]] ReadPicture read(std::string_view split, std::int64_t i, std::int64_t least_side = 0) const;

  // So far.
  [[nodiscard]] std::int64_t unreadable() const;
  // "2 of 100 pictures of train cannot be read; the next one is taken instead: …", a line a split; empty where there
  // are none.
  [[nodiscard]] std::string summary() const;

 private:
  [[nodiscard]] bool is_known(std::string_view split, std::int64_t i) const;
  void note(std::string_view split, std::int64_t i, const std::string& problem) const;

  std::shared_ptr<const PictureSet> set_;
  Unreadable unreadable_;
  Tell tell_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::map<std::int64_t, std::string>, std::less<>> problems_;  // by split and number
};

}  // namespace quest::data
