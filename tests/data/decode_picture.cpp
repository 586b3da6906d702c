// Decodes a picture and writes its height and width as a line and then its bytes, for tests that compare with Pillow.
//   Usage: decode_picture FILE [LEAST_SIDE]

#include <cstdlib>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>

#include "data/formats/picture_file.h"
#include "data/formats/whole_file.h"

int main(int count, char** arguments) {
  try {
    if (count < 2) throw std::invalid_argument("expected FILE and perhaps LEAST_SIDE");
    const auto file = quest::data::read_whole_file(arguments[1]);
    const auto picture = quest::data::decode_picture(file, count > 2 ? std::stol(arguments[2]) : 0);
    std::cout << picture.height << ' ' << picture.width << '\n';
    std::cout.write(reinterpret_cast<const char*>(picture.rgb.data()),
                    static_cast<std::streamsize>(picture.rgb.size()));
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
