#pragma once

// A file with one JSON object per line that only ever grows. A line is written whole by one call; a process that is
// killed in the middle of it leaves a last line without an end, which no reader takes for a line.

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace quest::base {

// Every whole line; none when there is no such file. Throws std::runtime_error that names the file and the line when
// one is no object, and leaves the file as it is.
[[nodiscard]] std::vector<nlohmann::ordered_json> read_lines(const std::filesystem::path& file);

class LineFile {
 public:
  // Keeps the given lines of what the file holds, and nothing else.
  LineFile(std::filesystem::path path, const std::vector<nlohmann::ordered_json>& kept);
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  // Throws std::runtime_error with the system's reason.
  void append(const nlohmann::ordered_json& line);

 private:
  std::filesystem::path path_;
  int file_ = -1;
};

}  // namespace quest::base
