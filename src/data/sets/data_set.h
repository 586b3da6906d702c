#pragma once

// What a person wants to know of a data set: a line of `quest data`.

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace quest::data {

struct DataSet {
  std::string name;
  std::string summary;
  std::string licence;
  std::string size;                                            // "31 MB"
  std::string how_to_get;                                      // a command, or what to put where
  std::function<std::optional<std::filesystem::path>()> find;  // where it lies, if it does
};

}  // namespace quest::data
