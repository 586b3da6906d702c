#pragma once

// figures/*.json of a run, as train/run/figure_file.h has them, for whoever draws them. A broken file is a problem, not
// the end.

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace quest::report {

struct FileSeries {
  std::string name;
  std::vector<double> x;  // growing
  std::vector<std::optional<double>> y;

  bool operator==(const FileSeries&) const = default;
};

struct FileLines {
  std::vector<FileSeries> series;
};

struct FileBars {
  std::string name;
  std::vector<std::string> names;
  std::vector<std::optional<double>> values;
};

struct FileHeat {
  std::vector<std::string> rows;
  std::vector<std::string> columns;
  std::vector<std::vector<std::optional<double>>> cells;  // [row][column], from 0 to 1
};

struct FileNode {
  double x = 0.0;  // both from 0 to 1
  double y = 0.0;
  std::string kind;  // has a colour of its own
  bool is_wrong = false;
  std::string text;
};

struct FileGraph {
  std::vector<FileNode> nodes;
  std::vector<std::pair<std::size_t, std::size_t>> edges;
};

struct FilePanel {
  std::string title;
  std::string x_title;
  std::string y_title;
  std::variant<FileLines, FileBars, FileHeat, FileGraph> content;
};

struct FigureFile {
  std::string id;
  std::string title;
  std::string caption;
  std::vector<FilePanel> panels;  // lines and nodes of all have no more names than there are colours
};

struct FigureFiles {
  std::vector<FigureFile> figures;    // by id
  std::vector<std::string> problems;  // files that are no figure, each with the reason
};

[[nodiscard]] FigureFiles read_figures(const std::filesystem::path& run);

}  // namespace quest::report
