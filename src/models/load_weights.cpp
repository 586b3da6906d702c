#include "quest/models/load_weights.h"

#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <map>
#include <sstream>
#include <string_view>

namespace quest::models {
namespace {

// The older names of a layer scale, timm's of the tokens and positions of a CrossViT, and those they have here.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kRenamedEnds = {
    {{".gamma_1", ".ls1.gamma"},
     {".gamma_2", ".ls2.gamma"},
     {"cls_token_0", "cls_token.0"},
     {"cls_token_1", "cls_token.1"},
     {"pos_embed_0", "pos_embed.0"},
     {"pos_embed_1", "pos_embed.1"}}};

constexpr std::array<std::string_view, 4> kPrefixes = {"module.", "model.", "state_dict.", "_orig_mod."};

std::string canonical_name(std::string_view name) {
  for (bool stripped = true; stripped;) {
    stripped = false;
    for (const std::string_view prefix : kPrefixes) {
      if (name.starts_with(prefix)) {
        name.remove_prefix(prefix.size());
        stripped = true;
      }
    }
  }
  for (const auto& [old_end, new_end] : kRenamedEnds) {
    if (name.ends_with(old_end)) {
      return std::string(name.substr(0, name.size() - old_end.size())) + std::string(new_end);
    }
  }
  return std::string(name);
}

bool is_gain(std::string_view name) {
  return name.ends_with("quest_log_gain") || name.ends_with("quest_query_gain") || name.ends_with("quest_key_gain");
}

class Problems {
 public:
  void add(std::string_view kind, const std::string& what) { by_kind_[std::string(kind)].push_back(what); }

  void check() const {
    if (by_kind_.empty()) {
      return;
    }
    std::ostringstream message;
    message << "quest::models: the weights do not fit the model.";
    for (const auto& [kind, names] : by_kind_) {
      message << "\n  " << kind << " (" << names.size() << "):";
      for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) {
        message << (i == 0 ? " " : ", ") << names[i];
      }
      message << (names.size() > kShown ? ", …" : "");
    }
    message << "\nLoad them into a model of the same options, or name in LoadOptions::keep what the model shall keep.";
    TORCH_CHECK(false, message.str());
  }

 private:
  static constexpr std::size_t kShown = 8;
  std::map<std::string, std::vector<std::string>> by_kind_;
};

std::string shapes_text(const std::string& name, const at::Tensor& expected, const at::Tensor& given) {
  std::ostringstream text;
  text << name << " (expected " << expected.sizes() << ", given " << given.sizes() << ")";
  return text.str();
}

std::map<std::string, at::Tensor> targets_of(const torch::nn::Module& model, const LoadOptions& options) {
  std::map<std::string, at::Tensor> targets;
  for (const auto& item : model.named_parameters()) {
    targets.emplace(item.key(), item.value());
  }
  for (const auto& item : model.named_buffers()) {
    targets.emplace(item.key(), item.value());
  }
  std::erase_if(targets, [&](const auto& target) {
    return std::ranges::any_of(options.keep, [&](const auto& prefix) { return target.first.starts_with(prefix); });
  });
  return targets;
}

}  // namespace

void load_weights_into(torch::nn::Module& model, const NamedTensors& weights, const LoadOptions& options) {
  const at::NoGradGuard no_gradients;
  const auto* adapting = dynamic_cast<const AdaptsWeights*>(&model);
  auto targets = targets_of(model, options);
  std::vector<std::pair<at::Tensor, at::Tensor>> copies;
  Problems problems;
  for (const auto& [given_name, given] : weights) {
    const std::string name = canonical_name(given_name);
    if (std::ranges::any_of(options.keep, [&](const auto& prefix) { return name.starts_with(prefix); })) {
      continue;
    }
    const auto target = targets.find(name);
    if (target == targets.end()) {
      problems.add("unexpected", given_name);
      continue;
    }
    const at::Tensor fitting = adapting != nullptr ? adapting->adapt_weight(name, given) : given;
    if (fitting.sizes() == target->second.sizes()) {
      copies.emplace_back(target->second, fitting);
    } else {
      problems.add("of another shape", shapes_text(name, target->second, given));
    }
    targets.erase(target);
  }
  for (const auto& [name, tensor] : targets) {
    if (!is_gain(name)) {
      problems.add("missing", name);
    }
  }
  problems.check();
  for (auto& [target, value] : copies) {
    target.copy_(value);
  }
}

}  // namespace quest::models
