#include "base/line_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/atomic_file.h"

namespace quest::base {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void fail_on_file(const std::filesystem::path& path, const std::string& what) {
  throw std::runtime_error(what + " \"" + path.string() + "\" failed: " + std::strerror(errno));
}

}  // namespace

std::vector<Json> read_lines(const std::filesystem::path& file) {
  std::vector<Json> lines;
  std::ifstream stream(file, std::ios::binary);
  std::string text;
  for (int number = 1; std::getline(stream, text); ++number) {
    if (stream.eof()) break;
    Json line = Json::parse(text, nullptr, false);
    if (!line.is_object()) {
      throw std::runtime_error("\"" + file.string() + "\", line " + std::to_string(number) +
                               ": expected a JSON object, got \"" + text.substr(0, 40) +
                               "\". Nothing was changed; remove that line to go on without it.");
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

LineFile::LineFile(std::filesystem::path path, const std::vector<Json>& kept) : path_(std::move(path)) {
  std::string text;
  for (const Json& line : kept) text += line.dump() + "\n";
  write_atomically(path_, text);
  file_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file_ < 0) fail_on_file(path_, "opening");
}

LineFile::~LineFile() { ::close(file_); }

void LineFile::append(const Json& line) {
  const std::string text = line.dump() + "\n";
  for (std::size_t written = 0; written < text.size();) {
    const auto count = ::write(file_, text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_on_file(path_, "writing");
    written += static_cast<std::size_t>(count);
  }
}

}  // namespace quest::base
