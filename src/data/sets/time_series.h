#pragma once

// A data set of the UEA archive, prepared as the reference protocol does.

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "data/sets/uea_archive.h"

namespace quest::data {

struct TimeSeriesPart {
  at::Tensor
      values;  // float32 [cases, length, dimensions]: the longest case of both parts, zeros after the end of others
  at::Tensor lengths;  // int64 [cases]
  at::Tensor labels;   // int64 [cases], places in `classes`
};

struct TimeSeries {
  std::string name;
  std::vector<std::string> classes;  // of the training cases, sorted as text
  TimeSeriesPart train;
  TimeSeriesPart test;
};

// Throws FormatError that names the file.
TimeSeries load_time_series(const UeaFiles& files);

}  // namespace quest::data
