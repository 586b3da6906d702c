#pragma once

// The results of `quest bench data` as a table and as JSON.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/table.h"

namespace quest::bench {

// Samples per second.
struct DataRate {
  std::string name;
  double one_thread = 0.0;
  double all_threads = 0.0;
};

struct DataRates {
  int threads = 1;
  std::vector<DataRate> stages{};    // what each would reach if nothing else were done
  DataRate load{};                   // all of it, as the training gets its batches
  std::optional<DataRate> decode{};  // of the same files from memory, with nothing around it
  std::vector<DataRate> pillow{};    // in as many processes
  std::string pillow_problem{};      // why there is none
};

[[nodiscard]] base::Table data_table(const DataRates& rates);

// An object with the keys threads, load, decode_alone, and stages and pillow by name; each an object with the keys
// one_thread and all_threads; and pillow_missing, which says why.
[[nodiscard]] std::string data_json(const DataRates& rates);

}  // namespace quest::bench
