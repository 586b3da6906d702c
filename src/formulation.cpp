#include "quest/formulation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>

namespace quest {
namespace {

constexpr std::array kFormulations{
    formulations::standard,  formulations::quest,  formulations::qnorm,      formulations::qknorm_hs,
    formulations::qknorm_ds, formulations::qknorm, formulations::elliptical, formulations::elliptical_quest,
};

std::string known_names() {
  std::string names;
  for (const Formulation& formulation : kFormulations) {
    names += names.empty() ? "" : ", ";
    names += formulation.name;
  }
  return names;
}

}  // namespace

double Formulation::default_scale(std::int64_t head_dim) const {
  return divide_by_sqrt_dim ? 1.0 / std::sqrt(static_cast<double>(head_dim)) : 1.0;
}

std::span<const Formulation> all_formulations() { return kFormulations; }

const Formulation& formulation_from_name(std::string_view name) {
  const auto* found = std::ranges::find(kFormulations, name, &Formulation::name);
  if (found == kFormulations.end()) {
    throw std::invalid_argument("formulation: expected one of " + known_names() + ", got '" + std::string(name) + "'");
  }
  return *found;
}

}  // namespace quest
