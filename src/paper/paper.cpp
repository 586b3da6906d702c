#include "paper/paper.h"

#include <algorithm>
#include <array>

namespace quest::paper {
namespace {

using enum PaperState;

constexpr std::string_view kToyCommand = "quest toy --paper";
constexpr std::string_view kTimeSeriesCommand = "quest paper timeseries --train";

constexpr std::array<PaperItem, 37> kItems = {{
    {"Figure 1", "explain", "Activation maps of macaws, partly noised"},
    {"Figure 2", "toy", "Drawing of the spurious-attention task", "", "", "", nothing_to_run},
    {"Figure 3", "toy", "Success over the grid: three formulations", "success", "58 %", "", full_size, kToyCommand},
    {"Figure 4", "toy", "Key norms of answers: standard, qnorm", "", "", "", full_size, kToyCommand},
    {"Figure 5", "explain", "Activation maps of elephants and zebras"},
    {"Table 1", "imagenet", "ViT-Ti by formulation", "top-1", "73.4", "72.6"},
    {"Table 2", "imagenet", "DeiT and DeiT-3 from ViT-S to ViT-H", "ViT-S top-1", "80.2", "79.6"},
    {"Table 3", "attacks", "ViT-Ti under FGSM and PGD", "PGD top-1", "45.26", "43.65"},
    {"Table 4", "attacks", "ViT-Ti under SPSA and AutoAttack", "SPSA top-1", "50.70", "47.17"},
    {"Table 5", "segmentation", "Segmenter on ADE20K, clean and corrupted", "ViT-Ti mIoU", "38.87", "37.34"},
    {"Table 6", "explain", "Activation maps against labelled objects", "mIoU", "53.54", "35.53"},
    {"Table 7", "timeseries", "Ten UEA data sets", "mean accuracy", "73.53", "72.90", full_size, kTimeSeriesCommand},
    {"Table 8", "graphs", "GraphGPS on four benchmarks", "ZINC error", "0.069", "0.070"},
    {"Table 9", "graphs", "GraphGPS on five long-range benchmarks", "Peptides-func AP", "0.662", "0.654"},
    {"Table 10", "language", "WikiText-103, clean and contaminated", "medium, test PPL", "28.478", "28.851"},
    {"Figure A1", "toy", "Success over the grid: six formulations", "success", "58 %", "", full_size, kToyCommand},
    {"Figure A2", "toy", "Distribution of train accuracy", "", "", "", full_size, kToyCommand},
    {"Figure A3", "toy", "Distribution of test accuracy", "", "", "", full_size, kToyCommand},
    {"Figure A4", "toy", "Key norms, unbiased and other: standard", "", "", "", full_size, kToyCommand},
    {"Figure A5", "toy", "Key norms, unbiased and other: qnorm", "", "", "", full_size, kToyCommand},
    {"Figure A6", "stability", "Largest logits while DeiT-B trains", "ends", "stable", "crashed"},
    {"Figure A7", "explain", "Activation maps of three photographs"},
    {"Figure A8", "explain", "Activation maps, two objects each"},
    {"Table A1", "imagenet", "ViT-Ti by formulation, three seeds", "top-1", "73.36", "72.65"},
    {"Table A2", "imagenet", "ViT-Ti on parts of ImageNet", "10 %, top-1", "57.51", "56.02"},
    {"Table A3", "stability", "ViT-S by learning rate", "0.001, top-1", "67.9", "crashed"},
    {"Table A4", "crossvit", "CrossViT on ImageNet, three sizes", "smallest, top-1", "77.0", "76.4"},
    {"Table A5", "attacks", "Larger ViTs under attack", "ViT-S PGD top-1", "57.51", "54.47"},
    {"Table A6", "imagenet", "DeiT-3 with ViT-H and ViT-2B", "ViT-2B top-1", "11.9", "3.1"},
    {"Table A7", "timeseries", "With and without a class token: standard", "mean accuracy", "", "72.90", full_size,
     kTimeSeriesCommand},
    {"Table A8", "timeseries", "Ten UEA data sets by formulation", "mean accuracy", "73.53", "72.90", full_size,
     kTimeSeriesCommand},
    {"Table A9", "pointcloud", "Point Transformer V3 on nuScenes", "mIoU", "80.83", "80.40"},
    {"Table A10", "graphs", "Settings for the four benchmarks"},
    {"Table A11", "graphs", "Settings for the long-range benchmarks"},
    {"Table A12", "selfsupervised", "iBOT, tasks on ImageNet", "k-NN", "79.0", "78.7"},
    {"Table A13", "selfsupervised", "iBOT transferred to other tasks", "mean of probes", "81.9", "81.5"},
    {"Table A14", "selfsupervised", "iBOT with linear probes, by data set", "mean", "81.9", "81.5"},
}};

}  // namespace

std::string_view state_name(PaperState state) {
  switch (state) {
    case full_size:
      return "full size";
    case small_version:
      return "small version";
    case data_needed:
      return "data needed";
    case nothing_to_run:
      return "nothing to run";
    case not_yet:
      break;
  }
  return "not yet";
}

std::string_view state_meaning(PaperState state) {
  switch (state) {
    case full_size:
      return "runs here as in the paper";
    case small_version:
      return "a smaller version runs here";
    case data_needed:
      return "the recipe is ready and needs data that is not here";
    case nothing_to_run:
      return "a drawing";
    case not_yet:
      break;
  }
  return "not part of this program yet";
}

std::span<const PaperItem> paper_items() { return kItems; }

std::vector<std::string_view> paper_experiments() {
  std::vector<std::string_view> names;
  for (const PaperItem& item : kItems) {
    if (std::ranges::find(names, item.experiment) == names.end()) names.push_back(item.experiment);
  }
  return names;
}

}  // namespace quest::paper
