#pragma once

// A table as HTML, which the page's script makes sortable, group by group.

#include <cstdint>
#include <string>

#include "base/table.h"

namespace quest::report {

// A column whose cells have values stands at the right. Throws std::invalid_argument for what base::check refuses.
[[nodiscard]] std::string table_html(const base::Table& table);

// compact(value); "–" for what is not finite.
[[nodiscard]] base::Cell number_cell(double value);
// grouped(count).
[[nodiscard]] base::Cell count_cell(std::int64_t count);

}  // namespace quest::report
