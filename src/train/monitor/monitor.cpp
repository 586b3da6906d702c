#include "train/monitor/monitor.h"

#include <torch/torch.h>

#include "train/monitor/attention_summary.h"

namespace quest::train {

Monitor::Monitor(const torch::nn::Module& model, std::int64_t every) : every_(every) {
  for (const auto& item : model.named_modules("", /*include_self=*/false)) {
    auto* attention = dynamic_cast<nn::AttentionBase*>(item.value().get());
    if (attention != nullptr) layers_.push_back({item.key(), attention, {}});
  }
}

Monitor::~Monitor() { detach(); }

void Monitor::detach() {
  for (const Layer& layer : layers_) layer.module->observe({});
}

void Monitor::begin(std::int64_t step) {
  if (every_ == 0 || step % every_ != 0) return;
  step_ = step;
  for (Layer& layer : layers_) {
    layer.summary.reset();
    layer.module->observe([&layer](const nn::AttentionProbe& probe) {
      if (!layer.summary.defined()) layer.summary = summarize(probe);
    });
  }
}

std::vector<LayerRecord> Monitor::end() {
  detach();
  std::vector<at::Tensor> summaries;
  for (const Layer& layer : layers_) {
    if (layer.summary.defined()) summaries.push_back(layer.summary);
  }
  if (summaries.empty()) return {};
  const at::Tensor all = at::cat(summaries).cpu();
  std::vector<LayerRecord> records;
  std::int64_t row = 0;
  for (Layer& layer : layers_) {
    if (!layer.summary.defined()) continue;
    const std::int64_t heads = layer.summary.size(0);
    records.push_back(layer_record(all.narrow(0, row, heads), step_, layer.name));
    row += heads;
    layer.summary.reset();
  }
  return records;
}

}  // namespace quest::train
