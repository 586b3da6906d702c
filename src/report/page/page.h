#pragma once

// The frame of a self-contained page: everything it needs is inside it, and its own policy forbids it to fetch more.

#include <string>
#include <vector>

namespace quest::report {

struct Section {
  std::string id;
  std::string title;
  std::string body;  // markup
};

struct Page {
  std::string title;
  std::string lead;  // markup
  std::vector<Section> sections;
  std::string footer;  // text
};

[[nodiscard]] std::string page_html(const Page& page);

}  // namespace quest::report
