#pragma once

// Small kernels, each with one habit that is right or wrong, for the tests of the interpreter.

#include <string>
#include <vector>

namespace quest::testing::ptx {

struct Habit {
  const char* name;
  void (*launch)(float* data);  // 96 floats
  const char* fault;            // a part of what the interpreter says; empty where the kernel is right
};

const std::vector<Habit>& habits();

}  // namespace quest::testing::ptx
