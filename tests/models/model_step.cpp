// Forward and backward of one batch through a model: images and labels from a file, whose metadata says which model,
// and its options as keys of a recipe; weights from a file of any kind; results to another.
//   model_step BATCH.safetensors WEIGHTS OUT.safetensors

#include <torch/torch.h>

#include <algorithm>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "data/weights/safetensors.h"
#include "data/weights/weights_file.h"
#include "models/cross_vit_fields.h"
#include "models/vit_fields.h"

namespace {

using quest::data::TensorFile;

std::int64_t number(const TensorFile& file, const char* key) { return std::stoll(file.metadata.at(key)); }

template <typename Options>
Options with_recipe_keys(const TensorFile& file, Options options) {
  std::vector<quest::recipe::Setting> settings;
  for (const auto& [key, value] : file.metadata) {
    if (key.starts_with("model.")) settings.push_back({key, quest::recipe::Word{value}, key});
  }
  quest::recipe::Fields fields;
  quest::models::describe(fields, options);
  fields.apply(settings);
  return options;
}

template <typename Model>
TensorFile step(Model model, const TensorFile& batch, const TensorFile& weights) {
  const auto named = [&](const char* name) {
    return std::ranges::find(batch.tensors, name, &std::pair<std::string, at::Tensor>::first)->second;
  };
  quest::models::load_weights_into(*model, weights.tensors);
  const at::Tensor logits = model->forward(named("images"));
  const at::Tensor loss = at::cross_entropy_loss(logits, named("labels"));
  loss.backward();
  TensorFile result{.tensors = {{"logits", logits.detach()}, {"loss", loss.detach()}}};
  for (const auto& item : model->named_parameters()) {
    result.tensors.emplace_back("grad." + item.key(), item.value().grad());
  }
  return result;
}

TensorFile vit_step(const TensorFile& batch, const TensorFile& weights) {
  const auto options = quest::models::ViTOptions()
                           .image_size(number(batch, "image_size"))
                           .channels(number(batch, "channels"))
                           .classes(number(batch, "classes"));
  return step(quest::models::ViT(with_recipe_keys(batch, options)), batch, weights);
}

TensorFile cross_vit_step(const TensorFile& batch, const TensorFile& weights) {
  auto options = quest::models::CrossViTOptions().channels(number(batch, "channels")).classes(number(batch, "classes"));
  options.fine().image_size = number(batch, "image_size");
  return step(quest::models::CrossViT(with_recipe_keys(batch, options)), batch, weights);
}

}  // namespace

int main(int count, char** values) {
  const std::span arguments(values, static_cast<std::size_t>(count));
  if (arguments.size() != 4) {
    std::fprintf(stderr, "usage: model_step BATCH.safetensors WEIGHTS OUT.safetensors\n");
    return 2;
  }
  const TensorFile batch = quest::data::load_safetensors(arguments[1]);
  const TensorFile weights = quest::data::load_weights(arguments[2]);
  const bool is_vit = batch.metadata.at("model") == "vit";
  quest::data::save_safetensors(arguments[3], is_vit ? vit_step(batch, weights) : cross_vit_step(batch, weights));
}
