#include "report/page/write.h"

#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "report/charts/png.h"

namespace quest::report {
namespace {

void create_folder(const std::filesystem::path& folder) {
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) {
    throw std::runtime_error("the folder \"" + folder.string() + "\" cannot be created: " + error.message() +
                             "; choose another");
  }
}

void write_text(const std::string& text, const std::filesystem::path& file) {
  std::ofstream stream(file, std::ios::binary | std::ios::trunc);
  stream << text << std::flush;
  if (!stream) {
    throw std::runtime_error("\"" + file.string() + "\" cannot be written; choose a path that is writable");
  }
}

}  // namespace

void write_page(const Report& report, const std::filesystem::path& file) {
  create_folder(file.parent_path());
  write_text(page_html(report.page), file);
}

void write_figures(const Report& report, const std::filesystem::path& folder) {
  create_folder(folder);
  std::vector<std::string> drawings;
  for (const Figure& figure : report.figures) {
    drawings.push_back(figure_svg(figure));
    write_text(drawings.back(), folder / (figure.id + ".svg"));
  }
  for (std::size_t i = 0; i < drawings.size(); ++i) {
    write_png(drawings[i], folder / (report.figures[i].id + ".png"));
  }
}

}  // namespace quest::report
