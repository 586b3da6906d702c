#include "train/engine/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace quest::train {
namespace {

constexpr const char* kModel = "model.";
constexpr const char* kOptimizer = "optimizer.";
constexpr const char* kAverage = "ema.";
constexpr const char* kTask = "task.";

NamedTensors model_tensors(const torch::nn::Module& model) {
  NamedTensors result;
  for (const auto& item : model.named_parameters()) result.emplace_back(item.key(), item.value().detach());
  for (const auto& item : model.named_buffers()) result.emplace_back(item.key(), item.value());
  return result;
}

void append(NamedTensors& to, const char* prefix, const NamedTensors& tensors) {
  for (const auto& [name, tensor] : tensors) to.emplace_back(prefix + name, tensor);
}

NamedTensors with_prefix(const NamedTensors& tensors, std::string_view prefix) {
  NamedTensors result;
  for (const auto& [name, tensor] : tensors) {
    if (name.starts_with(prefix)) result.emplace_back(name.substr(prefix.size()), tensor);
  }
  return result;
}

std::string shape_text(const at::Tensor& tensor) {
  std::string text = "[";
  for (const auto size : tensor.sizes()) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

void copy_into(const NamedTensors& targets, const NamedTensors& saved, const char* what) {
  for (const auto& [name, target] : targets) {
    const auto found = std::ranges::find(saved, name, &NamedTensors::value_type::first);
    if (found == saved.end()) throw std::runtime_error(std::string("it lacks the ") + what + " '" + name + "'");
    if (found->second.sizes() != target.sizes()) {
      throw std::runtime_error(std::string("its ") + what + " '" + name + "' has shape " + shape_text(found->second) +
                               " and this model's has " + shape_text(target));
    }
    target.copy_(found->second);
  }
}

const std::string& entry(const data::TensorFile& file, const char* key) {
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end()) throw std::runtime_error(std::string("it does not say '") + key + "'");
  return found->second;
}

std::int64_t integer_entry(const data::TensorFile& file, const char* key) {
  const std::string& text = entry(file, key);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) {
    throw std::runtime_error(std::string("its '") + key + "' is no count: '" + text + "'");
  }
  return value;
}

// A hexadecimal float comes back as the same number.
std::string exact_text(double value) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof(text), value, std::chars_format::hex).ptr;
  return {text, end};
}

double exact_number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::hex);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw std::runtime_error("its best metric is no number: '" + text + "'");
  }
  return value;
}

}  // namespace

data::TensorFile weights_of(const torch::nn::Module& model) {
  return {.tensors = model_tensors(model), .metadata = {}};
}

void save_checkpoint(const std::filesystem::path& file, const Trained& trained, const TrainState& state) {
  data::TensorFile checkpoint;
  append(checkpoint.tensors, kModel, model_tensors(trained.model));
  append(checkpoint.tensors, kOptimizer, trained.optimizer.state());
  if (trained.ema != nullptr) append(checkpoint.tensors, kAverage, trained.ema->state());
  append(checkpoint.tensors, kTask, trained.task_state);
  checkpoint.metadata["step"] = std::to_string(state.step);
  checkpoint.metadata["evaluations_since_best"] = std::to_string(state.evaluations_since_best);
  if (state.best) checkpoint.metadata["best"] = exact_text(*state.best);
  data::save_safetensors(file, checkpoint);
}

TrainState load_checkpoint(const std::filesystem::path& file, const Trained& trained) {
  const torch::NoGradGuard no_grad;
  const auto checkpoint = data::load_safetensors(file);
  try {
    copy_into(model_tensors(trained.model), with_prefix(checkpoint.tensors, kModel), "weight");
    trained.optimizer.load_state(with_prefix(checkpoint.tensors, kOptimizer));
    if (trained.ema != nullptr) trained.ema->load_state(with_prefix(checkpoint.tensors, kAverage));
    copy_into(trained.task_state, with_prefix(checkpoint.tensors, kTask), "state of the task");
    TrainState state{.step = integer_entry(checkpoint, "step"),
                     .evaluations_since_best = integer_entry(checkpoint, "evaluations_since_best")};
    if (checkpoint.metadata.contains("best")) state.best = exact_number(entry(checkpoint, "best"));
    return state;
  } catch (const std::exception& error) {
    throw std::runtime_error(file.string() + " is not a checkpoint of this training: " + error.what() +
                             ". Train into another folder, or with the recipe that this one began with.");
  }
}

}  // namespace quest::train
