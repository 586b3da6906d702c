#pragma once

#include <ATen/core/Tensor.h>

namespace quest::data {

struct LabelledImages {
  at::Tensor images;  // uint8 [N, channels, height, width]
  at::Tensor labels;  // int64 [N], from 0 on
};

}  // namespace quest::data
