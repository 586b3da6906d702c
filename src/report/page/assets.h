#pragma once

// page.css and page.js, compiled in.

#include <string_view>

namespace quest::report {

extern const std::string_view kPageStyle;
extern const std::string_view kPageScript;

}  // namespace quest::report
