#pragma once

// A test with a temporary folder for its files.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/testing/temporary_folder.h"

namespace quest::testing {

class FolderFixture : public ::testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path in_folder(const std::string& name) const { return folder_.path() / name; }

  [[nodiscard]] std::filesystem::path file_with(const std::string& name, const std::string& content) const {
    std::ofstream(in_folder(name), std::ios::binary) << content;
    return in_folder(name);
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace quest::testing
