#pragma once

// Models of every kind: formulations by what they switch, in both wirings.

#include <string>
#include <vector>

#include "domains/toy/engine/model.h"

namespace quest::testing {

struct NamedModel {
  std::string name;
  toy::engine::Model model;
};

inline std::vector<NamedModel> models_of_every_kind(int tokens) {
  using toy::engine::Gain;
  using toy::engine::Wiring;
  const std::vector<NamedModel> formulations = {
      {"standard", {.scale = 0.25F}},
      {"quest", {.normalize_k = true}},
      {"qnorm", {.normalize_q = true}},
      {"logarithm", {.normalize_q = true, .normalize_k = true, .gain = Gain::logarithm}},
      {"per_dim", {.normalize_q = true, .normalize_k = true, .gain = Gain::per_dim}},
  };
  std::vector<NamedModel> models;
  for (const Wiring wiring : {Wiring::pre_norm, Wiring::algorithm}) {
    for (NamedModel one : formulations) {
      one.model.wiring = wiring;
      one.model.tokens = tokens;
      one.name += wiring == Wiring::pre_norm ? "_pre_norm" : "_algorithm";
      models.push_back(one);
    }
  }
  return models;
}

}  // namespace quest::testing
