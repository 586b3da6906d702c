#include "train/optim/parameter_groups.h"

#include <torch/torch.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <string_view>

namespace quest::train {
namespace {

constexpr std::string_view kBlocks = "blocks.";

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string_view first_part(std::string_view name) { return name.substr(0, name.find('.')); }
std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

// -1: not a block's.
std::int64_t block_of(std::string_view name) {
  if (!name.starts_with(kBlocks)) return -1;
  std::int64_t block = -1;
  const std::string_view number = first_part(name.substr(kBlocks.size()));
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), block);
  return error == std::errc() && end == number.data() + number.size() ? block : -1;
}

// Attention's learned gains are kept as matrices also where there is one for each head or each dimension.
std::int64_t dimensions_of(const NamedParameter& parameter) {
  const at::Tensor& value = parameter.value;
  return last_part(parameter.name).starts_with("quest_") ? value.squeeze().dim() : value.dim();
}

bool is_decayed(const NamedParameter& parameter) {
  return dimensions_of(parameter) >= 2 &&
         !is_one_of(last_part(parameter.name), {"bias", "cls_token", "dist_token", "pos_embed"});
}

std::vector<NamedParameter> trainable(const torch::nn::Module& model) {
  std::vector<NamedParameter> parameters;
  std::set<const void*> seen;
  for (const auto& item : model.named_parameters()) {
    if (item.value().requires_grad() && seen.insert(item.value().unsafeGetTensorImpl()).second) {
      parameters.push_back({item.key(), item.value()});
    }
  }
  return parameters;
}

std::int64_t depth_of(const std::vector<NamedParameter>& parameters) {
  std::int64_t depth = 0;
  for (const NamedParameter& parameter : parameters) depth = std::max(depth, block_of(parameter.name) + 1);
  return depth;
}

}  // namespace

std::int64_t layer_of(const std::string& name, std::int64_t depth) {
  const std::int64_t block = block_of(name);
  if (block >= 0) return block + 1;
  const std::string_view first = first_part(name);
  if (is_one_of(first, {"cls_token", "dist_token", "pos_embed", "patch_embed"})) return 0;
  return first == "norm" ? depth : depth + 1;
}

std::vector<ParameterGroup> parameter_groups(const torch::nn::Module& model, const GroupingOptions& options) {
  const std::vector<NamedParameter> parameters = trainable(model);
  const std::int64_t depth = depth_of(parameters);
  TORCH_CHECK(options.layer_decay > 0 && options.layer_decay <= 1, "layer_decay must be above 0 and at most 1, is ",
              options.layer_decay);
  TORCH_CHECK(options.layer_decay == 1 || depth > 0,
              "layer_decay needs a model whose layers are named 'blocks.0', 'blocks.1', …; this one has none");
  // A pair per learning rate: what is decayed, what is not. Functions cannot be told from each other, so a parameter
  // with a schedule has a pair of its own.
  std::vector<std::pair<ParameterGroup, ParameterGroup>> pairs;
  for (auto parameter = parameters.rbegin(); parameter != parameters.rend(); ++parameter) {
    const auto layer = static_cast<double>(depth + 1 - layer_of(parameter->name, depth));
    ParameterRule rule{.lr_scale = std::pow(options.layer_decay, layer),
                       .decays = options.decay_all || is_decayed(*parameter)};
    if (options.rules.change) options.rules.change(parameter->name, rule);
    auto pair = std::ranges::find_if(pairs, [&](const auto& p) {
      return p.first.lr_scale == rule.lr_scale && !p.first.lr_schedule && !rule.lr_schedule;
    });
    if (pair == pairs.end()) {
      pair = pairs.insert(pair, {{rule.lr_scale, options.weight_decay, {}, true, rule.lr_schedule},
                                 {rule.lr_scale, 0.0, {}, false, rule.lr_schedule}});
    }
    (rule.decays ? pair->first : pair->second).parameters.push_back(*parameter);
  }
  std::vector<ParameterGroup> groups;
  for (auto& [decayed, plain] : pairs) {
    for (ParameterGroup* group : {&decayed, &plain}) {
      if (group->parameters.empty()) continue;
      std::reverse(group->parameters.begin(), group->parameters.end());
      groups.push_back(std::move(*group));
    }
  }
  return groups;
}

}  // namespace quest::train
