#include "bench/unit_gain.h"

#include <ATen/Functions.h>

namespace quest::bench {

at::Tensor unit_gain(const Formulation& formulation, const AttentionShape& shape) {
  switch (formulation.gain_axes) {
    case GainAxes::none:
      return {};
    case GainAxes::head:
      return at::ones({shape.heads, 1});
    case GainAxes::dim:
      return at::ones({1, shape.dim});
    case GainAxes::head_and_dim:
      return at::ones({shape.heads, shape.dim});
  }
  return {};
}

}  // namespace quest::bench
