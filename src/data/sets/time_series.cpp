#include "data/sets/time_series.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <set>

#include "data/formats/format_error.h"
#include "data/formats/ts.h"
#include "data/formats/ts_preparation.h"
#include "data/formats/whole_file.h"

namespace quest::data {
namespace {

TsFile load_prepared(const std::filesystem::path& path, const std::string& name) {
  return naming_file(path, [&] {
    TsFile file = parse_ts(read_whole_file(path));
    fill_missing(file);
    standardize(file);
    if (name == "EthanolConcentration") normalize_cases(file);
    return file;
  });
}

std::size_t longest_of(const TsFile& file) { return std::ranges::max(file.cases, {}, &TsCase::length).length; }

TimeSeriesPart to_tensors(const TsFile& file, std::size_t length, const std::vector<std::string>& classes) {
  const auto cases = static_cast<std::int64_t>(file.cases.size());
  const auto dimensions = static_cast<std::int64_t>(file.dimensions);
  TimeSeriesPart part{.values = at::zeros({cases, static_cast<std::int64_t>(length), dimensions}, at::kFloat),
                      .lengths = at::empty({cases}, at::kLong),
                      .labels = at::empty({cases}, at::kLong)};
  auto* values = part.values.mutable_data_ptr<float>();
  for (std::size_t i = 0; i < file.cases.size(); ++i, values += length * file.dimensions) {
    const TsCase& series = file.cases[i];
    for (std::size_t d = 0; d < file.dimensions; ++d) {
      for (std::size_t t = 0; t < series.length; ++t) {
        values[t * file.dimensions + d] = static_cast<float>(series.values[d * series.length + t]);
      }
    }
    const auto label = std::ranges::lower_bound(classes, series.label);
    if (label == classes.end() || *label != series.label) {
      throw FormatError("case " + std::to_string(i + 1) + ": expected a class that the training cases have, found " +
                        in_quotes(series.label));
    }
    part.lengths.mutable_data_ptr<std::int64_t>()[i] = static_cast<std::int64_t>(series.length);
    part.labels.mutable_data_ptr<std::int64_t>()[i] = label - classes.begin();
  }
  return part;
}

}  // namespace

TimeSeries load_time_series(const UeaFiles& files) {
  const TsFile train = load_prepared(files.train, files.name);
  const TsFile test = load_prepared(files.test, files.name);
  std::set<std::string> classes;
  for (const TsCase& series : train.cases) classes.insert(series.label);
  TimeSeries result{.name = files.name, .classes = {classes.begin(), classes.end()}};
  const std::size_t length = std::max(longest_of(train), longest_of(test));
  result.train = to_tensors(train, length, result.classes);
  result.test = naming_file(files.test, [&] {
    if (test.dimensions != train.dimensions) {
      throw FormatError("expected " + std::to_string(train.dimensions) +
                        " dimensions as in the training cases, found " + std::to_string(test.dimensions));
    }
    return to_tensors(test, length, result.classes);
  });
  return result;
}

}  // namespace quest::data
