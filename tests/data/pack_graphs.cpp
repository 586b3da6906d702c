// Reads a graph benchmark in whatever form it lies in a folder and writes it as one file, for tests that compare with
// Python.   Usage: pack_graphs NAME FOLDER OUT

#include <cstdlib>
#include <iostream>
#include <stdexcept>

#include "data/sets/graph_benchmarks.h"
#include "data/sets/graph_file.h"

int main(int count, char** arguments) {
  try {
    if (count != 4) throw std::invalid_argument("expected NAME, FOLDER and OUT");
    const auto set = quest::data::load_graphs({.name = arguments[1], .folder = arguments[2]});
    quest::data::save_graph_set(arguments[3], set);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
