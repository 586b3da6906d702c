#include "app/json_file.h"

#include <fstream>
#include <stdexcept>

#include "app/usage_error.h"

namespace quest::app {

void require_writable(const std::string& path) {
  if (!path.empty() && !std::ofstream(path, std::ios::app)) {
    throw UsageError("--json: the file \"" + path + "\" cannot be written; choose a path in a folder that exists");
  }
}

void write_json_file(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  std::ofstream file(path, std::ios::trunc);
  file << text << std::flush;
  if (!file) throw std::runtime_error("writing \"" + path + "\" failed; is the disk full?");
}

}  // namespace quest::app
