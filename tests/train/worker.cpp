// One process of a training, started by distributed_test.cpp and test_torchrun.py.
//   worker OUTPUT STEPS ACCUMULATE [BUCKET_BYTES]
// Every step is a batch of kBatch samples, shared by the processes and cut into ACCUMULATE parts. Rank 0 writes the
// weights as float32 into OUTPUT. A file OUTPUT.rank appears when a process has made its first step.

#include <torch/torch.h>

#include <fstream>
#include <iostream>
#include <string>

#include "tests/train/small_model.h"
#include "train/distributed/communicator.h"
#include "train/distributed/gradient_averaging.h"
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

void train(const std::string& output, std::int64_t steps, std::int64_t accumulate, std::int64_t bucket_bytes) {
  const auto communicator = quest::train::communicator_from_environment(at::kCPU);
  const int rank = communicator->rank();
  Model model;
  quest::train::FlatParameters parameters(quest::train::parameter_groups(model, {.weight_decay = 0.05}));
  if (rank != 0) parameters.values().zero_();
  communicator->broadcast(parameters.values(), 0);
  quest::train::Optimizer optimizer(parameters, {.name = "adamw"});
  quest::train::GradientAveraging averaging(parameters, *communicator, bucket_bytes);
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
    optimizer.step(1e-2);
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
    train(argv[1], std::stoll(argv[2]), std::stoll(argv[3]),
          argc > 4 ? std::stoll(argv[4]) : quest::train::GradientAveraging::kBucketBytes);
  } catch (const c10::Error& error) {
    std::cerr << error.what_without_backtrace() << '\n';
    return 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
