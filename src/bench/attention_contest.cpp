#include "bench/attention_contest.h"

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/nn/functional/normalization.h>
#include <torch/types.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/clock.h"
#include "bench/device_clock.h"
#include "bench/unit_gain.h"
#include "quest/attention.h"
#include "terminal/table.h"

namespace quest::bench {
namespace {

constexpr std::uint64_t kSeed = 20260101;

// Bound on the relative difference between two sound computations in this storage type.
double agreement_bound(at::ScalarType type) {
  switch (type) {
    case at::kDouble:
      return 1e-10;
    case at::kHalf:
      return 1e-2;
    case at::kBFloat16:
      return 4e-2;
    default:
      return 1e-4;
  }
}

at::Tensor unit_rows(const at::Tensor& x) {
  return torch::nn::functional::normalize(x, torch::nn::functional::NormalizeFuncOptions().p(2).dim(-1));
}

double norm_of(const at::Tensor& x) { return x.to(at::kDouble).norm().item<double>(); }

// Together larger than any GPU's cache, but no more sets than that takes.
int input_sets(const AttentionShape& shape, const ContestOptions& options) {
  constexpr double kRotationBytes = 400e6;
  constexpr int kMostSets = 8;
  if (options.device == at::kCPU) return 1;
  const double bytes = attention_bytes(shape, Pass::forward_backward, static_cast<double>(elementSize(options.dtype)));
  return std::clamp(static_cast<int>(kRotationBytes / bytes), 1, kMostSets);
}

enum class Backend { flash, cudnn };
constexpr std::array<std::pair<Backend, const char*>, 2> kBackends = {
    {{Backend::flash, "flash"}, {Backend::cudnn, "cuDNN"}}};

// Lets torch's attention use one backend alone.
class OnlyBackend {
 public:
  explicit OnlyBackend(Backend backend) { allow(backend == Backend::flash, backend == Backend::cudnn, false); }
  ~OnlyBackend() { allow(true, true, true); }
  OnlyBackend(const OnlyBackend&) = delete;
  OnlyBackend& operator=(const OnlyBackend&) = delete;

 private:
  static void allow(bool flash, bool cudnn, bool others) {
    auto& context = at::globalContext();
    context.setSDPUseFlash(flash);
    context.setSDPUseCuDNN(cudnn);
    context.setSDPUseMemEfficient(others);
    context.setSDPUseMath(others);
  }
};

std::vector<at::Tensor> gradients(const at::Tensor& output, const std::vector<at::Tensor>& leaves,
                                  const at::Tensor& grad_output) {
  return torch::autograd::grad({output}, leaves, {grad_output});
}

}  // namespace

AttentionContest::AttentionContest(const AttentionShape& shape, const ContestOptions& options)
    : shape_(shape), options_(options), gain_(unit_gain(options.formulation, shape)) {
  torch::manual_seed(kSeed);
  if (gain_.defined()) gain_ = gain_.to(options.device);
  const auto type = at::TensorOptions().dtype(options.dtype).device(options.device);
  const auto leaf = [&](at::IntArrayRef sizes) { return at::randn(sizes, type).requires_grad_(); };
  for (int i = 0; i < input_sets(shape, options); ++i) {
    sets_.push_back({.q = leaf({shape.batch, shape.heads, shape.queries, shape.dim}),
                     .k = leaf({shape.batch, shape.kv_heads, shape.keys, shape.dim}),
                     .v = leaf({shape.batch, shape.kv_heads, shape.keys, shape.value_dim}),
                     .grad_output = at::randn({shape.batch, shape.heads, shape.queries, shape.value_dim}, type)});
  }
}

at::Tensor AttentionContest::ours(const Inputs& inputs) const {
  AttentionOptions options;
  options.formulation = options_.formulation;
  options.gain = gain_;
  options.is_causal = shape_.causal;
  options.enable_gqa = shape_.kv_heads != shape_.heads;
  return attention(inputs.q, inputs.k, inputs.v, options);
}

at::Tensor AttentionContest::torch_version(const Formulation& formulation, const Inputs& inputs) const {
  return at::scaled_dot_product_attention(formulation.normalize_q ? unit_rows(inputs.q) : inputs.q,
                                          formulation.normalize_k ? unit_rows(inputs.k) : inputs.k, inputs.v,
                                          std::nullopt, 0.0, shape_.causal, formulation.default_scale(shape_.dim),
                                          shape_.kv_heads != shape_.heads);
}

void AttentionContest::check_agreement() const {
  static constexpr std::array<const char*, 4> kNames = {"output", "gradient of q", "gradient of k", "gradient of v"};
  const Inputs& inputs = sets_.front();
  const auto results = [&](const at::Tensor& output) {
    auto tensors = gradients(output, {inputs.q, inputs.k, inputs.v}, inputs.grad_output);
    tensors.insert(tensors.begin(), output.detach());
    return tensors;
  };
  const auto ours_results = results(ours(inputs));
  const auto torch_results = results(torch_version(options_.formulation, inputs));
  const double bound = agreement_bound(options_.dtype);
  // Gradients of a single visible key are 0 up to rounding: they are judged by the size of what is sent back.
  const double least_size = norm_of(inputs.grad_output);
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const double difference =
        norm_of(ours_results[i] - torch_results[i]) / std::max(norm_of(torch_results[i]), least_size);
    if (difference <= bound) continue;
    throw std::runtime_error("shape " + dims_text(shape_) + ": the " + kNames[i] + " differs from torch's by " +
                             terminal::three_digits(difference) + " of its size, expected at most " +
                             terminal::three_digits(bound) + "; its speed is not measured");
  }
}

Contestant AttentionContest::contestant(const Function& attention, Pass pass) const {
  const auto run = [this, attention, pass](const Inputs& inputs) {
    if (pass == Pass::forward) {
      const at::NoGradGuard inference;
      attention(inputs);
    } else {
      gradients(attention(inputs), {inputs.q, inputs.k, inputs.v}, inputs.grad_output);
    }
  };
  if (options_.device == at::kCPU) {
    return [this, run] {
      const double start = base::steady_seconds();
      run(sets_.front());
      return base::steady_seconds() - start;
    };
  }
  return replay(
      [&] {
        for (const auto& inputs : sets_) run(inputs);
      },
      static_cast<int>(sets_.size()));
}

BenchRow AttentionContest::measure(Pass pass, const MeasurePlan& plan,
                                   const std::function<void(double)>& on_progress) const {
  return options_.device == at::kCPU ? measure_on_cpu(pass, plan, on_progress)
                                     : measure_on_gpu(pass, plan, on_progress);
}

BenchRow AttentionContest::measure_on_cpu(Pass pass, const MeasurePlan& plan,
                                          const std::function<void(double)>& on_progress) const {
  const std::array<Contestant, 3> contestants = {
      contestant([this](const Inputs& inputs) { return ours(inputs); }, pass),
      contestant([this](const Inputs& inputs) { return torch_version(formulations::standard, inputs); }, pass),
      contestant([this](const Inputs& inputs) { return torch_version(formulations::quest, inputs); }, pass)};
  const auto times = measure_interleaved(contestants, plan, on_progress);
  return {.shape = shape_,
          .pass = pass,
          .ours_ms = times[0].median_ms,
          .torch_standard_ms = times[1].median_ms,
          .torch_quest_ms = times[2].median_ms,
          .relative_spread = std::max({times[0].relative_spread, times[1].relative_spread, times[2].relative_spread}),
          .backends = {}};
}

BenchRow AttentionContest::measure_on_gpu(Pass pass, const MeasurePlan& plan,
                                          const std::function<void(double)>& on_progress) const {
  constexpr double kAbsent = std::numeric_limits<double>::infinity();
  BenchRow row{.shape = shape_, .pass = pass, .torch_standard_ms = kAbsent, .torch_quest_ms = kAbsent, .backends = {}};
  std::vector<Contestant> contestants = {contestant([this](const Inputs& inputs) { return ours(inputs); }, pass)};
  std::vector<double*> times = {&row.ours_ms};
  row.backends.reserve(kBackends.size());
  for (const auto& [backend, name] : kBackends) {
    row.backends.push_back({.name = name, .standard_ms = kAbsent, .quest_ms = kAbsent});
    for (const bool quest : {false, true}) {
      const OnlyBackend only(backend);
      try {
        contestants.push_back(contestant(
            [this, quest](const Inputs& inputs) {
              return torch_version(quest ? formulations::quest : formulations::standard, inputs);
            },
            pass));
      } catch (const c10::Error&) {
        continue;  // this backend does not serve the shape
      }
      times.push_back(quest ? &row.backends.back().quest_ms : &row.backends.back().standard_ms);
    }
  }
  const auto measured = measure_interleaved(contestants, plan, on_progress);
  for (std::size_t i = 0; i < measured.size(); ++i) {
    *times[i] = measured[i].median_ms;
    row.relative_spread = std::max(row.relative_spread, measured[i].relative_spread);
  }
  for (const auto& backend : row.backends) {
    row.torch_standard_ms = std::min(row.torch_standard_ms, backend.standard_ms);
    row.torch_quest_ms = std::min(row.torch_quest_ms, backend.quest_ms);
  }
  return row;
}

}  // namespace quest::bench
