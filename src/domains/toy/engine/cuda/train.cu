// An epoch of every model per launch: state stays on the GPU in between, and the host gives batch orders, collects
// records and can stop.

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>

#include "domains/toy/engine/cuda/device_array.h"
#include "domains/toy/engine/cuda/network.h"
#include "domains/toy/engine/cuda/train.h"

namespace quest::toy::engine::cuda {
namespace {

constexpr int kBlocksPerMultiprocessor = 4;

constexpr std::size_t kSharedMemoryOfHopper = std::size_t{228} * 1024;  // of a multiprocessor
constexpr std::size_t kReservedPerBlock = 1024;
static_assert(kBlocksPerMultiprocessor * (ModelMemory::bytes(engine::Model{}.tokens) + kReservedPerBlock) <=
                  kSharedMemoryOfHopper,
              "models of the usual number of tokens need more shared memory than that many blocks have");

struct BlockOnDevice {
  Registers own;

  template <typename Phase>
  __device__ void phase(const Phase& body) {
    body(static_cast<int>(threadIdx.x), own);
    __syncthreads();
  }
};

struct SweepModel {
  engine::Model switches;
  float* weights;
  Optimizer optimizer;
  Samples training;
  Samples test;
  const int* order;
};

__global__ void __launch_bounds__(kThreads, kBlocksPerMultiprocessor)
    train_epoch_of_models(const SweepModel* models, EpochPlan plan, EpochTotals* totals) {
  extern __shared__ __align__(16) unsigned char memory[];
  const SweepModel& model = models[blockIdx.x];
  const ModelMemory m(model.switches, memory);
  BlockOnDevice block;
  block.phase([&](int thread, Registers&) {
    for (int e = thread; e < m.at.count; e += kThreads) m.weights[e] = model.weights[e];
  });
  plan.order = model.order;
  train_epoch(m, model.optimizer, model.training, model.test, plan, block, totals[blockIdx.x]);
  block.phase([&](int thread, Registers&) {
    for (int e = thread; e < m.at.count; e += kThreads) model.weights[e] = m.weights[e];
  });
}

class TaskDataOnDevice {
 public:
  explicit TaskDataOnDevice(const engine::TaskData& data)
      : real_(data.real), classes_(data.classes), answer_(data.answer), biased_(data.biased), count_(data.samples) {}

  [[nodiscard]] Samples samples() const {
    return {real_.data(), classes_.data(), answer_.data(), biased_.data(), count_};
  }

 private:
  DeviceArray<float> real_;
  DeviceArray<std::uint8_t> classes_;
  DeviceArray<int> answer_;
  DeviceArray<std::uint8_t> biased_;
  int count_;
};

// Data and batch order, shared by the models that train on them.
struct RealizationOnDevice {
  const SweepTraining& first;
  TaskDataOnDevice training;
  TaskDataOnDevice test;
  DeviceArray<int> order;

  explicit RealizationOnDevice(const SweepTraining& user)
      : first(user),
        training(user.data->training),
        test(user.data->test),
        order(static_cast<std::size_t>(user.data->training.samples)) {}

  void draw_order(int epoch) {
    order.upload(engine::batch_order(first.data->training.samples, first.recipe.seed, first.recipe.realization,
                                     static_cast<std::uint64_t>(epoch)));
  }
};

std::vector<float> all_initial_parameters(std::span<const SweepTraining> trainings) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<float>> drawn;
  std::vector<float> all;
  for (const SweepTraining& training : trainings) {
    const auto& recipe = training.recipe;
    auto& parameters = drawn[{recipe.seed, training.job.initialization}];
    if (parameters.empty()) {
      parameters = engine::initial_parameters(recipe.model.tokens, recipe.seed, training.job.initialization);
    }
    all.insert(all.end(), parameters.begin(), parameters.end());
  }
  return all;
}

engine::EpochRecord record_of(const EpochTotals& totals, const engine::Realization& data, int probe_samples) {
  const auto mean = [](float total, std::int64_t count) {
    return total / static_cast<float>(std::max<std::int64_t>(count, 1));
  };
  const auto& biased = data.training.biased;
  const auto biased_answers = std::count(biased.begin(), biased.begin() + probe_samples, 1);
  const auto& norms = totals.probe.key_norm;
  return {.loss = mean(totals.training.loss, data.training.samples),
          .train_accuracy = mean(totals.training.correct, data.training.samples),
          .test_accuracy = mean(totals.test.correct, data.test.samples),
          .biased_key_norm = mean(norms[kBiasedAnswer], biased_answers),
          .unbiased_key_norm = mean(norms[kUnbiasedAnswer], probe_samples - biased_answers),
          .other_key_norm = mean(norms[kOther], static_cast<std::int64_t>(probe_samples) * (data.training.tokens - 1)),
          .query_norm = totals.query_norm,
          .entropy = mean(totals.probe.entropy, probe_samples)};
}

class SweepOnDevice {
 public:
  explicit SweepOnDevice(std::span<const SweepTraining> trainings)
      : trainings_(trainings),
        recipe_(trainings.front().recipe),
        sizes_(*trainings.front().data),
        parameters_(static_cast<std::size_t>(engine::Layout(recipe_.model.tokens).count)),
        weights_(all_initial_parameters(trainings)),
        first_moments_(trainings.size() * parameters_),
        second_moments_(trainings.size() * parameters_),
        ascending_(numbers(std::max(sizes_.training.samples, sizes_.test.samples))),
        models_(trainings.size()),
        totals_(trainings.size()) {
    first_moments_.clear();
    second_moments_.clear();
    std::vector<SweepModel> models;
    for (std::size_t i = 0; i < trainings.size(); ++i) models.push_back(model_of(i));
    models_.upload(models);
  }

  std::vector<EpochTotals> train_epoch(int epoch) {
    for (auto& [data, realization] : realizations_) realization->draw_order(epoch);
    const int batches = (sizes_.training.samples + recipe_.batch - 1) / recipe_.batch;
    std::vector<StepFactors> factors;
    for (int step = 1; step <= batches; ++step) factors.emplace_back(epoch * batches + step);
    const DeviceArray<StepFactors> steps(factors);
    train_epoch_of_models<<<static_cast<unsigned>(trainings_.size()), kThreads,
                            ModelMemory::bytes(recipe_.model.tokens)>>>(models_.data(),
                                                                        {.order = nullptr,
                                                                         .ascending = ascending_.data(),
                                                                         .steps = steps.data(),
                                                                         .batch = recipe_.batch,
                                                                         .probe_samples = probe_samples(),
                                                                         .last = epoch + 1 == recipe_.epochs},
                                                                        totals_.data());
    check(cudaGetLastError(), "starting an epoch on the GPU");
    return totals_.download();
  }

  [[nodiscard]] int probe_samples() const { return std::min(engine::kProbeSamples, sizes_.training.samples); }

 private:
  static std::vector<int> numbers(int count) {
    std::vector<int> values(static_cast<std::size_t>(count));
    std::iota(values.begin(), values.end(), 0);
    return values;
  }

  SweepModel model_of(std::size_t i) {
    const SweepTraining& training = trainings_[i];
    auto& realization = realizations_[training.data];
    if (!realization) realization = std::make_unique<RealizationOnDevice>(training);
    return {.switches = training.recipe.model,
            .weights = weights_.data() + i * parameters_,
            .optimizer = {.learning_rate = static_cast<float>(training.job.learning_rate),
                          .weight_decay = static_cast<float>(training.job.weight_decay),
                          .first_moment = first_moments_.data() + i * parameters_,
                          .second_moment = second_moments_.data() + i * parameters_},
            .training = realization->training.samples(),
            .test = realization->test.samples(),
            .order = realization->order.data()};
  }

  std::span<const SweepTraining> trainings_;
  const engine::SweepRecipe& recipe_;  // but for the model's switches and the realization, that of all
  const engine::Realization& sizes_;
  std::size_t parameters_;
  DeviceArray<float> weights_;
  DeviceArray<float> first_moments_;
  DeviceArray<float> second_moments_;
  DeviceArray<int> ascending_;
  std::map<const engine::Realization*, std::unique_ptr<RealizationOnDevice>> realizations_;
  DeviceArray<SweepModel> models_;
  DeviceArray<EpochTotals> totals_;
};

// Fails on a GPU that lacks the memory, or for which the kernel was not compiled.
cudaError_t allow_shared_memory(int tokens) {
  return cudaFuncSetAttribute(train_epoch_of_models, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              static_cast<int>(ModelMemory::bytes(tokens)));
}

}  // namespace

std::string sweep_obstacle(int tokens) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return "no GPU was found";
  if (tokens > kMostTokens) {
    return "the GPU's engine takes up to " + std::to_string(kMostTokens) + " tokens, got " + std::to_string(tokens);
  }
  if (const cudaError_t error = allow_shared_memory(tokens); error != cudaSuccess) {
    return std::string("the GPU cannot run the engine: ") + cudaGetErrorString(error);
  }
  return "";
}

SweepDevice sweep_device(int tokens) {
  int device = 0;
  check(cudaGetDevice(&device), "choosing a GPU");
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "asking for the GPU's properties");
  check(allow_shared_memory(tokens), "asking for shared memory");
  int blocks = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, train_epoch_of_models, kThreads,
                                                      ModelMemory::bytes(tokens)),
        "asking for the GPU's room");
  return {properties.name, blocks * properties.multiProcessorCount};
}

std::optional<std::vector<engine::SweepResult>> train_together(std::span<const SweepTraining> trainings,
                                                               const std::function<bool()>& should_stop) {
  const engine::SweepRecipe& recipe = trainings.front().recipe;
  check(allow_shared_memory(recipe.model.tokens), "asking for shared memory");
  SweepOnDevice device(trainings);
  std::vector<engine::SweepResult> results(trainings.size());
  for (int epoch = 0; epoch < recipe.epochs; ++epoch) {
    const auto totals = device.train_epoch(epoch);
    for (std::size_t i = 0; i < results.size(); ++i) {
      const engine::Realization& data = *trainings[i].data;
      results[i].epochs.push_back(record_of(totals[i], data, device.probe_samples()));
      results[i].test_accuracy = results[i].epochs.back().test_accuracy;
      results[i].train_accuracy = totals[i].final_training.correct / static_cast<float>(data.training.samples);
    }
    if (should_stop()) return std::nullopt;
  }
  return results;
}

}  // namespace quest::toy::engine::cuda
