// Finds a data set of the UEA archive, or fetches it with the given Python, and writes what a model would see of it.
//   Usage: prepare_series NAME FOLDER OUT [PYTHON]

#include <cstdlib>
#include <iostream>
#include <stdexcept>

#include "data/sets/time_series.h"
#include "data/weights/safetensors.h"

int main(int count, char** arguments) {
  try {
    if (count < 4) throw std::invalid_argument("expected NAME, FOLDER and OUT");
    const std::filesystem::path folder = arguments[2];
    auto files = quest::data::find_uea(arguments[1], std::span(&folder, 1));
    if (!files && count > 4) {
      files =
          quest::data::fetch_uea(arguments[1], folder, arguments[4], [](double done) { std::cout << done << '\n'; });
    }
    if (!files) throw std::runtime_error(quest::data::how_to_get_uea(arguments[1], std::span(&folder, 1)));
    const auto data = quest::data::load_time_series(*files);
    std::string classes;
    for (const auto& name : data.classes) classes += name + "\n";
    quest::data::save_safetensors(arguments[3], {.tensors = {{"train.values", data.train.values},
                                                             {"train.lengths", data.train.lengths},
                                                             {"train.labels", data.train.labels},
                                                             {"test.values", data.test.values},
                                                             {"test.lengths", data.test.lengths},
                                                             {"test.labels", data.test.labels}},
                                                 .metadata = {{"classes", classes}}});
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
