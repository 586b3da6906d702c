// Reads weights in any format and writes them as safetensors, for tests that compare with Python.
//   Usage: copy_weights IN OUT

#include <cstdlib>
#include <exception>
#include <iostream>

#include "data/weights/weights_file.h"

int main(int count, char** arguments) {
  try {
    if (count != 3) throw std::invalid_argument("expected IN and OUT");
    quest::data::save_safetensors(arguments[2], quest::data::load_weights(arguments[1]));
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
