#include <cmath>

#include "data/formats/ts.h"
#include "data/formats/ts_preparation.h"
#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  return quest::fuzz::try_to_read(bytes, size, [](std::string_view content) {
    auto file = quest::data::parse_ts(content);
    quest::fuzz::promise(!file.cases.empty());
    for (const auto& series : file.cases) {
      quest::fuzz::promise(series.length > 0 && series.values.size() == file.dimensions * series.length &&
                           !series.label.empty());
    }
    quest::data::fill_missing(file);
    for (const auto& series : file.cases) {
      for (const double value : series.values) quest::fuzz::promise(!std::isnan(value));
    }
    quest::data::standardize(file);
    quest::data::normalize_cases(file);
  });
}
