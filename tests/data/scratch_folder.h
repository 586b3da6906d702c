#pragma once

// A folder for the files of one test, empty at its start and gone after it.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/testing/temporary_folder.h"

namespace quest::testing {

class ScratchFolder : public ::testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path in_folder(const std::string& name) const { return folder_.path() / name; }

  [[nodiscard]] std::filesystem::path file_with(const std::string& name, const std::string& content) const {
    std::ofstream(in_folder(name), std::ios::binary) << content;
    return in_folder(name);
  }

 private:
  TemporaryFolder folder_;
};

// What `action` throws, as text; empty when it throws nothing.
template <typename Action>
std::string message_of(const Action& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

inline ::testing::AssertionResult has(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "expected \"" << part << "\" in \"" << text << "\"";
}

}  // namespace quest::testing
