#pragma once

// Watches every attention layer of a model at some steps and costs nothing at the others.
//
//   Monitor monitor(model, 10);
//   monitor.begin(step);
//   ... the first forward pass of the step ...
//   for (const LayerRecord& record : monitor.end()) log.add_layer(record);

#include <quest/nn/attention.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <string>
#include <vector>

#include "train/run/layer_record.h"

namespace quest::train {

class Monitor {
 public:
  // Watches steps that are a multiple of `every`; 0 watches none. The model must outlive the monitor.
  Monitor(const torch::nn::Module& model, std::int64_t every);
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  [[nodiscard]] std::size_t layers() const { return layers_.size(); }

  void begin(std::int64_t step);
  // What the layers computed since begin(), of each the first call, in the order of the model; nothing at steps that
  // are not watched, and of layers that were not called. Waits for the device, once.
  std::vector<LayerRecord> end();

 private:
  struct Layer {
    std::string name;
    nn::AttentionBase* module = nullptr;
    at::Tensor summary;
  };

  void detach();

  std::vector<Layer> layers_;
  std::int64_t every_;
  std::int64_t step_ = 0;
};

}  // namespace quest::train
