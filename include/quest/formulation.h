#pragma once

// The attention formulations of the paper as one formula with switches:
//
//   logit_ij = scale · Σ_d gain[h,d] · q'_i[d] · k'_j[d],   q' = q or q/‖q‖,   k' = k or k/‖k‖
//
// A Formulation is the set of switches. No other code compares formulation names.

#include <cstdint>
#include <span>
#include <string_view>

#include "quest/export.h"

namespace quest {

// The axes along which a formulation's gain varies; it settles what a one-dimensional gain means.
enum class GainAxes { none, head, dim, head_and_dim };

struct Formulation {
  std::string_view name;
  bool normalize_q = false;
  bool normalize_k = false;
  bool divide_by_sqrt_dim = false;      // scale is 1/√d, otherwise 1
  GainAxes gain_axes = GainAxes::none;  // none: a gain is optional; otherwise it is required
  bool gain_is_learned = false;         // false: estimated from the data, receives no gradient

  [[nodiscard]] QUEST_API double default_scale(std::int64_t head_dim) const;
};

namespace formulations {
inline constexpr Formulation standard{.name = "standard", .divide_by_sqrt_dim = true};
inline constexpr Formulation quest{.name = "quest", .normalize_k = true};
inline constexpr Formulation qnorm{.name = "qnorm", .normalize_q = true};
inline constexpr Formulation qknorm_hs{.name = "qknorm_hs",
                                       .normalize_q = true,
                                       .normalize_k = true,
                                       .gain_axes = GainAxes::head,
                                       .gain_is_learned = true};
inline constexpr Formulation qknorm_ds{
    .name = "qknorm_ds", .normalize_q = true, .normalize_k = true, .gain_axes = GainAxes::dim, .gain_is_learned = true};
inline constexpr Formulation qknorm{.name = "qknorm",
                                    .normalize_q = true,
                                    .normalize_k = true,
                                    .gain_axes = GainAxes::head_and_dim,
                                    .gain_is_learned = true};
inline constexpr Formulation elliptical{
    .name = "elliptical", .divide_by_sqrt_dim = true, .gain_axes = GainAxes::head_and_dim};
inline constexpr Formulation elliptical_quest{
    .name = "elliptical_quest", .normalize_k = true, .gain_axes = GainAxes::head_and_dim};
}  // namespace formulations

// All eight, in the order of the paper's tables.
[[nodiscard]] QUEST_API std::span<const Formulation> all_formulations();

// Throws std::invalid_argument that lists the known names.
[[nodiscard]] QUEST_API const Formulation& formulation_from_name(std::string_view name);

}  // namespace quest
