#pragma once

// A data set in the UEA archive's format that is learned in a few steps: ramps that rise or fall, of several lengths.

#include <filesystem>
#include <fstream>
#include <string>

namespace quest::testing {

inline std::string small_series(int cases) {
  std::string text = "@data\n";
  for (int i = 0; i < cases; ++i) {
    const bool rises = i % 3 != 0;
    std::string first;
    std::string second;
    for (int t = 0; t < 6 + i % 4; ++t) {
      first.append(t == 0 ? "" : ",").append(std::to_string((rises ? t : -t) + i % 5));
      second.append(t == 0 ? "" : ",").append(std::to_string(i % 7 + t % 2));
    }
    text.append(first).append(":").append(second).append(rises ? ":up\n" : ":down\n");
  }
  return text;
}

inline void write_small_series(const std::filesystem::path& folder, const std::string& name) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder / (name + "_TRAIN.ts")) << small_series(30);
  std::ofstream(folder / (name + "_TEST.ts")) << small_series(21);
}

}  // namespace quest::testing
