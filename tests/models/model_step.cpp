// Forward and backward of one batch through a ViT: images and labels from a file, weights from one of any kind, results
// to another.
//   vit_step BATCH.safetensors WEIGHTS OUT.safetensors

#include <torch/torch.h>

#include <algorithm>
#include <cstdio>
#include <span>
#include <string>

#include "data/weights/safetensors.h"
#include "data/weights/weights_file.h"
#include "quest/models/vit.h"

namespace {

using quest::data::TensorFile;

quest::models::ViTOptions options_of(const TensorFile& file) {
  const auto number = [&](const char* key) { return std::stoll(file.metadata.at(key)); };
  return quest::models::ViTOptions()
      .image_size(number("image_size"))
      .patch_size(number("patch_size"))
      .channels(number("channels"))
      .classes(number("classes"))
      .dim(number("dim"))
      .depth(number("depth"))
      .heads(number("heads"))
      .formulation(quest::formulation_from_name(file.metadata.at("formulation")));
}

TensorFile step(const TensorFile& batch, const TensorFile& weights) {
  const auto named = [&](const char* name) {
    return std::ranges::find(batch.tensors, name, &std::pair<std::string, at::Tensor>::first)->second;
  };
  const at::Tensor images = named("images");
  const at::Tensor labels = named("labels");
  quest::models::ViT vit(options_of(batch));
  quest::models::load_weights_into(*vit, weights.tensors);
  const at::Tensor logits = vit->forward(images);
  const at::Tensor loss = at::cross_entropy_loss(logits, labels);
  loss.backward();
  TensorFile result{.tensors = {{"logits", logits.detach()}, {"loss", loss.detach()}}};
  for (const auto& item : vit->named_parameters()) {
    result.tensors.emplace_back("grad." + item.key(), item.value().grad());
  }
  return result;
}

}  // namespace

int main(int count, char** values) {
  const std::span arguments(values, static_cast<std::size_t>(count));
  if (arguments.size() != 4) {
    std::fprintf(stderr, "usage: vit_step BATCH.safetensors WEIGHTS OUT.safetensors\n");
    return 2;
  }
  quest::data::save_safetensors(
      arguments[3], step(quest::data::load_safetensors(arguments[1]), quest::data::load_weights(arguments[2])));
}
