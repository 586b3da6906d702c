// Packs folders of images, for tests that compare with Python.
//   Usage: pack_images FROM TO

#include <cstdlib>
#include <exception>
#include <iostream>

#include "data/sets/image_folder.h"
#include "data/sets/image_packer.h"

int main(int count, char** arguments) {
  try {
    if (count != 3) throw std::invalid_argument("expected FROM and TO");
    static_cast<void>(quest::data::pack_pictures(*quest::data::load_image_folder(arguments[1]), {.to = arguments[2]}));
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
