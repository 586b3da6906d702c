#pragma once

// What is wrong with the content of a file.

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

namespace quest::data {

// Parsers of bytes throw it: where in the bytes, what was expected, what was found.
class FormatError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The system would not give the content, which may be as it should: another try can succeed.
class FileError : public FormatError {
 public:
  using FormatError::FormatError;
};

// Text of a file inside a message: in quotes, cut when long, what a terminal would obey or could not show escaped.
[[nodiscard]] std::string in_quotes(std::string_view text);

// The name, and what is wrong with the file.
[[nodiscard]] std::string with_name(const std::filesystem::path& path, std::string_view problem);

// Parsers do not know where their bytes come from: a FormatError out of `read` gets the file's name in front.
template <typename Read>
auto naming_file(const std::filesystem::path& path, const Read& read) {
  try {
    return read();
  } catch (const FileError& error) {
    throw FileError(with_name(path, error.what()));
  } catch (const FormatError& error) {
    throw FormatError(with_name(path, error.what()));
  }
}

}  // namespace quest::data
