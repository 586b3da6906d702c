// Augments pictures, for a test in Python that compares them with Pillow's.
//   Usage: augment_pictures FILE
// Each line of the file is an operation, a picture to read and one to write, both PPM, and numbers.

#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "data/augment/crop.h"
#include "data/augment/neighbour_operations.h"
#include "data/augment/point_operations.h"
#include "data/augment/rand_augment.h"

namespace quest::data {
namespace {

using Numbers = std::vector<double>;
using Operation = std::function<Picture(const Picture&, const Numbers&)>;

constexpr Color kOutside = {124, 116, 104};

Picture read_ppm(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string magic;
  int most = 0;
  Picture picture;
  file >> magic >> picture.width >> picture.height >> most;
  file.get();
  if (magic != "P6" || most != 255) throw std::runtime_error("expected a PPM file of bytes: " + path);
  picture.rgb.resize(static_cast<std::size_t>(3 * picture.height * picture.width));
  file.read(reinterpret_cast<char*>(picture.rgb.data()), std::ssize(picture.rgb));
  return picture;
}

void write_ppm(const std::string& path, const Picture& picture) {
  std::ofstream file(path, std::ios::binary);
  file << "P6\n" << picture.width << ' ' << picture.height << "\n255\n";
  file.write(reinterpret_cast<const char*>(picture.rgb.data()), std::ssize(picture.rgb));
}

std::int64_t whole_number(double x) { return static_cast<std::int64_t>(x); }

PictureBox box_at(const Numbers& n, std::size_t first) {
  return {whole_number(n.at(first)), whole_number(n.at(first + 1)), whole_number(n.at(first + 2)),
          whole_number(n.at(first + 3))};
}

Interpolation interpolation_of(double bicubic) {
  return bicubic != 0.0 ? Interpolation::bicubic : Interpolation::bilinear;
}

std::map<std::string, Operation, std::less<>> operations() {
  std::map<std::string, Operation, std::less<>> all = {
      {"resize",
       [](const Picture& p, const Numbers& n) {
         return resized(p, box_at(n, 1), {whole_number(n.at(5)), whole_number(n.at(6))}, interpolation_of(n[0]));
       }},
      {"window",
       [](const Picture& p, const Numbers& n) {
         return resized_window(p, {whole_number(n.at(1)), whole_number(n.at(2))}, box_at(n, 3), interpolation_of(n[0]));
       }},
      {"centre",
       [](const Picture& p, const Numbers& n) {
         return centre_crop(p, whole_number(n.at(1)), whole_number(n.at(2)), interpolation_of(n[0]));
       }},
      {"grey", [](const Picture& p, const Numbers&) { return in_grey(p); }},
      {"blur", [](const Picture& p, const Numbers& n) { return gaussian_blurred(p, n.at(0)); }},
      {"mirror", [](const Picture& p, const Numbers&) { return mirrored(p); }},
      {"solarize", [](const Picture& p, const Numbers& n) { return solarized(p, static_cast<int>(n.at(0))); }},
      {"brightness", [](const Picture& p, const Numbers& n) { return with_brightness(p, n.at(0)); }},
      {"contrast", [](const Picture& p, const Numbers& n) { return with_contrast(p, n.at(0)); }},
      {"color", [](const Picture& p, const Numbers& n) { return with_color(p, n.at(0)); }},
  };
  for (const auto& operation : rand_operations()) {
    all.emplace(operation.name,
                [&operation](const Picture& p, const Numbers& n) { return operation.apply(p, n.at(0), kOutside); });
  }
  return all;
}

void run(const std::string& line) {
  static const auto all = operations();
  std::istringstream words(line);
  std::string name;
  std::string from;
  std::string to;
  words >> name >> from >> to;
  Numbers numbers;
  for (double number = 0.0; words >> number;) numbers.push_back(number);
  write_ppm(to, all.at(name)(read_ppm(from), numbers));
}

}  // namespace
}  // namespace quest::data

int main(int count, char** arguments) {
  try {
    if (count != 2) throw std::invalid_argument("expected FILE");
    std::ifstream file(arguments[1]);
    for (std::string line; std::getline(file, line);) quest::data::run(line);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
