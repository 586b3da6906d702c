#pragma once

// What an action throws, as text.

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace quest::testing {

// Empty where it throws nothing.
template <class Error, class Action>
std::string refusal_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

inline void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "missing: " << part << "\nin: " << text;
}

}  // namespace quest::testing
