#pragma once

// Time series of the UEA archive in its text format (.ts). Needs no torch.
//   # comment
//   @problemName Gestures   @classLabel true up down   ... one line each
//   @data
//   0.1,0.2,0.3:5,?,7:up         one case a line: dimensions parted by ":", values by ",", the class last; "?" is
//   missing

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace quest::data {

struct TsCase {
  std::vector<double> values;  // dimension after dimension; missing ones are NaN
  std::size_t length = 0;      // steps, the same in every dimension
  std::string label;
};

struct TsFile {
  std::string name;  // what @problemName says
  std::size_t dimensions = 0;
  std::vector<TsCase> cases;
};

// Throws FormatError with the number of the line. Not read, and refused: time stamps, targets of regression, and cases
// whose dimensions differ in length.
TsFile parse_ts(std::string_view content);

}  // namespace quest::data
