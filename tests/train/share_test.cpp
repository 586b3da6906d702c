// Processes that each keep a part of the optimiser's state end with the weights of one that keeps all.

#include "train/optim/share.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/testing/messages.h"
#include "tests/testing/tensors.h"
#include "tests/testing/threads_as_processes.h"
#include "tests/train/seeded.h"
#include "tests/train/small_model.h"
#include "train/optim/clipping.h"
#include "train/optim/flat_updates.h"
#include "train/optim/optimizer.h"

namespace quest::testing {
namespace {

using train::Communicator;
using train::FlatParameters;
using train::NamedTensors;
using train::Optimizer;
using train::OptimizerOptions;
using train::Share;

constexpr Bound kMillionth{.of_value = 1e-6, .absolute = 1e-6};

// The parameters of one of several processes.
struct Model {
  torch::nn::Sequential layers;
  FlatParameters parameters;

  explicit Model(std::int64_t parts)
      : layers(seeded(1, [] { return small_model(); })),
        parameters(train::parameter_groups(*layers, {.weight_decay = 0.1}), parts) {}

  // The same in every process, and different in every slice and step.
  void set_gradients(std::int64_t step) {
    auto generator = at::make_generator<at::CPUGeneratorImpl>(static_cast<std::uint64_t>(100 + step));
    for (const auto& slice : parameters.slices()) {
      slice.parameter.mutable_grad().copy_(torch::randn(slice.shape, generator) * 0.3);
    }
  }

  void train(Optimizer& optimizer, const Share& share, std::int64_t first, std::int64_t last) {
    for (std::int64_t step = first; step < last; ++step) {
      set_gradients(step);
      train::clip_gradients(parameters, share, 1.0, 0.7);
      optimizer.step(1e-2);
    }
  }
};

void expect_same_weights(const Model& actual, const Model& expected) {
  const auto weights = expected.layers->named_parameters();
  for (const auto& item : actual.layers->named_parameters()) {
    EXPECT_TRUE(close(item.value(), weights[item.key()], kMillionth)) << item.key();
  }
}

// One process that keeps everything, after so many steps.
struct Alone {
  Model model{1};
  Optimizer optimizer;

  Alone(const OptimizerOptions& options, std::int64_t steps) : optimizer(model.parameters, options) {
    model.train(optimizer, Share(model.parameters), 0, steps);
  }
};

class SharedState : public ::testing::TestWithParam<std::string_view> {
 protected:
  [[nodiscard]] static OptimizerOptions options() { return {.name = std::string(GetParam())}; }
};

INSTANTIATE_TEST_SUITE_P(Rules, SharedState, ::testing::ValuesIn(train::optimizer_names()),
                         [](const auto& rule) { return std::string(rule.param); });

TEST_P(SharedState, LeadsToTheWeightsOfOneProcess) {
  const Alone alone(options(), 20);
  for (const int count : {2, 3, 4}) {
    as_processes(count, [&](Communicator& processes) {
      Model model(count);
      const Share share(model.parameters, processes);
      EXPECT_EQ(share.numel() * count, model.parameters.values().numel());
      Optimizer optimizer(model.parameters, options(), share);
      for (std::int64_t step = 0; step < 20; ++step) {
        model.train(optimizer, share, step, step + 1);
        processes.all_gather(model.parameters.values());
      }
      expect_same_weights(model, alone.model);
    });
  }
}

TEST_P(SharedState, IsSavedByTheFirstAndReadByAnyNumber) {
  const Alone alone(options(), 12);
  NamedTensors weights;
  NamedTensors state;
  as_processes(3, [&](Communicator& processes) {
    Model model(3);
    const Share share(model.parameters, processes);
    Optimizer optimizer(model.parameters, options(), share);
    for (std::int64_t step = 0; step < 7; ++step) {
      model.train(optimizer, share, step, step + 1);
      processes.all_gather(model.parameters.values());
    }
    const NamedTensors saved = optimizer.state();
    EXPECT_EQ(saved.size() > 1, processes.rank() == 0) << "the others only count their updates";
    if (processes.rank() != 0) return;
    state = saved;
    weights = train::named_slices(model.parameters, "value", model.parameters.values().clone());
  });
  for (const int count : {1, 2, 4}) {
    as_processes(count, [&](Communicator& processes) {
      Model model(count);
      train::load_named_slices(model.parameters, "value", weights, model.parameters.values());
      const Share share(model.parameters, processes);
      Optimizer optimizer(model.parameters, options(), share);
      if (processes.rank() == 0) optimizer.load_state(state);
      optimizer.agree(processes);
      for (std::int64_t step = 7; step < 12; ++step) {
        model.train(optimizer, share, step, step + 1);
        processes.all_gather(model.parameters.values());
      }
      expect_same_weights(model, alone.model);
    });
  }
}

TEST(Share, NormsAreThoseOfWholeTensors) {
  Model alone(1);
  alone.set_gradients(0);
  const double expected = train::clip_gradients(alone.parameters, 0.4, 0.3).item<double>();
  using Clip = at::Tensor (*)(FlatParameters&, const Share&, double, double);
  for (const Clip clip : {Clip(train::clip_gradients), Clip(train::plain::clip_gradients)}) {
    as_processes(3, [&](Communicator& processes) {
      Model model(3);
      model.set_gradients(0);
      const Share share(model.parameters, processes);
      EXPECT_NEAR(clip(model.parameters, share, 0.4, 0.3).item<double>(), expected, 1e-6 * expected);
      const at::Tensor own = share.of(model.parameters.gradients()).clone();
      model.parameters.gradients().zero_();
      share.of(model.parameters.gradients()).copy_(own);
      processes.all_reduce_sum(model.parameters.gradients());
      const auto gradients = alone.layers->named_parameters();
      for (const auto& item : model.layers->named_parameters()) {
        EXPECT_TRUE(close(item.value().grad(), gradients[item.key()].grad(), kMillionth)) << item.key();
      }
    });
  }
}

TEST(Share, TorchsOperationsUpdateItsPartAlike) {
  const train::AdamStep step{.beta1 = 0.9,
                             .beta2 = 0.99,
                             .l2 = 0.0,
                             .step_size = 0.1,
                             .root_scale = 1.5,
                             .eps = 1e-3,
                             .decay = 0.0,
                             .adaptive = true};
  const auto lamb = [&](Model& model, const Share& share, const auto& update) {
    model.set_gradients(0);
    const at::Tensor values = share.of(model.parameters.values());
    const at::Tensor gradients = share.of(model.parameters.gradients());
    const auto pieces = share.pieces(model.parameters.slices(), {});
    update(step, 0.1, {values, gradients, at::zeros_like(values), at::ones_like(values)}, pieces, share);
  };
  Model alone(1);
  lamb(alone, Share(alone.parameters), train::lamb);
  as_processes(3, [&](Communicator& processes) {
    Model model(3);
    lamb(model, Share(model.parameters, processes), train::plain::lamb);
    processes.all_gather(model.parameters.values());
    expect_same_weights(model, alone);
  });
}

TEST(Share, BuffersOfOtherPartsAreRefused) {
  EXPECT_TRUE(has(message_of([] {
                    as_processes(5, [](Communicator& processes) {
                      const Model model(1);
                      const Share share(model.parameters, processes);
                    });
                  }),
                  "cannot be shared by 5 processes"));
}

}  // namespace
}  // namespace quest::testing
