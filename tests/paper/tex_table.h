#pragma once

// Tables of a LaTeX source, and how an item of an experiment differs from its own.

#include <string>
#include <string_view>
#include <vector>

#include "paper/experiment.h"

namespace quest::testing {

using TexRow = std::vector<std::string>;

// Cells without markup, of the rows below the head of the table with that \label: "72.65 ± 0.10", "crashed", "" for a
// dash. None where there is no such table.
[[nodiscard]] std::vector<TexRow> tex_rows(std::string_view source, const std::string& label);

// Every \label{table:…}.
[[nodiscard]] std::vector<std::string> tex_table_labels(const std::string& source);

[[nodiscard]] std::vector<TexRow> transposed(const std::vector<TexRow>& rows);

// In words; nothing where the item's titles, numbers and means are those of the rows, in the same order. A last row of
// averages is compared with the means of an item that has them.
[[nodiscard]] std::vector<std::string> differences(const paper::Item& item, std::vector<TexRow> rows);

}  // namespace quest::testing
