// One process of a training, started by distributed_test.cpp and test_torchrun.py.
//   worker OUTPUT STEPS ACCUMULATE [BUCKET_BYTES [OPTIMIZER [shard]]]
// With "shard" the processes share the optimiser's state. Every step is a batch of kBatch samples, shared by the
// processes and cut into ACCUMULATE parts. Rank 0 writes the weights as float32 into OUTPUT. A file OUTPUT.rank appears
// when a process has made its first step.

#include <torch/torch.h>

#include <fstream>
#include <iostream>
#include <string>

#include "tests/train/small_model.h"
#include "train/distributed/communicator.h"
#include "train/distributed/gradient_averaging.h"
#include "train/optim/clipping.h"
#include "train/optim/optimizer.h"

namespace {

constexpr std::int64_t kBatch = 24;

struct Model : torch::nn::Module {
  Model() {
    layers = register_module("layers", quest::testing::small_model());
    register_parameter("unused", torch::ones({9}));
  }
  torch::nn::Sequential layers = nullptr;
};

// The samples of a step are the same for any number of processes.
at::Tensor samples(std::int64_t step) {
  torch::manual_seed(1000 + step);
  return torch::randn({kBatch, 5});
}

struct Settings {
  std::string output;
  std::int64_t steps;
  std::int64_t accumulate;
  std::int64_t bucket_bytes = quest::train::GradientAveraging::kBucketBytes;
  std::string optimizer = "adamw";
  bool shard = false;
};

void train(const Settings& settings) {
  using namespace quest::train;
  const auto& [output, steps, accumulate, bucket_bytes, optimizer_name, shard] = settings;
  const auto communicator = communicator_from_environment(at::kCPU);
  const int rank = communicator->rank();
  Model model;
  FlatParameters parameters(parameter_groups(model, {.weight_decay = 0.05}), shard ? communicator->size() : 1);
  if (rank != 0) parameters.values().zero_();
  communicator->broadcast(parameters.values(), 0);
  const Share share = shard ? Share(parameters, *communicator) : Share(parameters);
  Optimizer optimizer(parameters, {.name = optimizer_name}, share);
  GradientAveraging averaging(parameters, *communicator, share, bucket_bytes);
  const std::int64_t part = kBatch / communicator->size() / accumulate;
  for (std::int64_t step = 0; step < steps; ++step) {
    const at::Tensor mine = samples(step).chunk(communicator->size())[rank];
    parameters.zero_gradients();
    for (std::int64_t i = 0; i < accumulate; ++i) {
      if (i + 1 == accumulate) averaging.begin();
      const at::Tensor x = mine.narrow(0, i * part, part);
      const at::Tensor loss = (model.layers->forward(x) - x.narrow(1, 0, 3)).square().mean();
      (loss / static_cast<double>(accumulate)).backward();
    }
    averaging.finish();
    clip_gradients(parameters, share, 0.5, 0.4);
    optimizer.step(1e-2);
    if (!share.is_whole()) communicator->all_gather(parameters.values());
    if (step == 0) std::ofstream(output + "." + std::to_string(rank)) << "ready\n";
  }
  communicator->barrier();
  if (rank != 0) return;
  const at::Tensor values = parameters.values();
  std::ofstream(output, std::ios::binary)
      .write(static_cast<const char*>(values.const_data_ptr()), static_cast<std::streamsize>(values.nbytes()));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    torch::set_num_threads(1);
    Settings settings{argv[1], std::stoll(argv[2]), std::stoll(argv[3])};
    if (argc > 4) settings.bucket_bytes = std::stoll(argv[4]);
    if (argc > 5) settings.optimizer = argv[5];
    if (argc > 6) settings.shard = std::string(argv[6]) == "shard";
    train(settings);
  } catch (const c10::Error& error) {
    std::cerr << error.what_without_backtrace() << '\n';
    return 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
