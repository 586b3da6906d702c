#pragma once

// The numbers of those parts of an evaluation that are done, a line of JSON each, so that one which was killed goes on
// with the others.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/line_file.h"

namespace quest::eval {

class FinishedParts {
 public:
  using Numbers = std::vector<double>;

  // Begins with what all processes have left in NAME.RANK.jsonl of the folder; what comes goes into the file of this
  // process. Keeps nothing where the folder is empty. Throws std::runtime_error that names a file which is none of
  // these.
  FinishedParts(const std::filesystem::path& folder, const std::string& name, int rank);

  // Null where that part is not done.
  [[nodiscard]] const Numbers* find(std::int64_t part) const;
  void add(std::int64_t part, Numbers numbers);

 private:
  std::map<std::int64_t, Numbers> parts_;
  std::optional<base::LineFile> file_;
};

}  // namespace quest::eval
