#include <ATen/ops/rand.h>
#include <quest/attention.h>

#include <cstdio>

int main() {
  const at::Tensor x = at::rand({2, 4, 17, 16});
  const at::Tensor y = quest::attention(x, x, x, {.formulation = quest::formulations::quest, .is_causal = true});
  std::printf("%s: %d-dimensional output\n", quest::formulations::quest.name.data(), static_cast<int>(y.dim()));
  return y.sizes() == x.sizes() ? 0 : 1;
}
