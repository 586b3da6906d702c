#pragma once

// Tells whether what an evaluation has kept belongs to what is being evaluated now.

#include <torch/nn/module.h>

#include <cstdint>
#include <string_view>

namespace quest::eval {

// Of every parameter and buffer to the bit, by name, and of a text. It is no protection against somebody who wants two
// to be equal.
[[nodiscard]] std::uint64_t fingerprint(const torch::nn::Module& model, std::string_view text);

}  // namespace quest::eval
