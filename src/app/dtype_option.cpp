#include "app/dtype_option.h"

#include <array>
#include <string>
#include <utility>

#include "app/usage_error.h"

namespace quest::app {

c10::ScalarType parse_dtype(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, c10::ScalarType>, 4> kTypes = {
      {{"float32", c10::kFloat}, {"bfloat16", c10::kBFloat16}, {"float16", c10::kHalf}, {"float64", c10::kDouble}}};
  for (const auto& [known, type] : kTypes) {
    if (known == name) return type;
  }
  throw UsageError(std::string("--dtype: expected one of ") + kDtypeNames + ", got \"" + std::string(name) + "\"");
}

}  // namespace quest::app
