// Forward and backward of one batch through a ViT: weights, images and labels from a file, results to another.
//   vit_step IN.safetensors OUT.safetensors

#include <torch/torch.h>

#include <cstdio>
#include <span>
#include <string>

#include "data/safetensors.h"
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

TensorFile step(TensorFile given) {
  at::Tensor images;
  at::Tensor labels;
  std::erase_if(given.tensors, [&](const auto& entry) {
    if (entry.first == "images") {
      images = entry.second;
    } else if (entry.first == "labels") {
      labels = entry.second;
    }
    return entry.first == "images" || entry.first == "labels";
  });
  quest::models::ViT vit(options_of(given));
  quest::models::load_weights_into(*vit, given.tensors);
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
  if (arguments.size() != 3) {
    std::fprintf(stderr, "usage: vit_step IN.safetensors OUT.safetensors\n");
    return 2;
  }
  quest::data::save_safetensors(arguments[2], step(quest::data::load_safetensors(arguments[1])));
}
