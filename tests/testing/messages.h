#pragma once

// What an error says.

#include <gtest/gtest.h>

#include <exception>
#include <string>

namespace quest::testing {

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
