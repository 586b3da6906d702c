// A thread computes one column of one node; the threads of a warp read neighbouring columns.

#include <stdexcept>
#include <string>

#include "nn/kernels/messages_gpu.h"

namespace quest::nn::kernels {
namespace {

constexpr int kThreads = 256;

__device__ std::int64_t place(const GatedProblem& p, std::int64_t node, std::int64_t which, std::int64_t column) {
  return (node * kGatedProjections + which) * p.dim + column;
}

// NaN stays NaN in both.
__device__ float relu(float x) { return x < 0.0F ? 0.0F : x; }
__device__ float where_positive(float x, float y) { return x <= 0.0F ? 0.0F : y; }
__device__ float sigmoid(float x) { return 1.0F / (1.0F + __expf(-x)); }

struct GineSums {
  GineProblem p;
  float* to;

  __device__ void operator()(std::int64_t v, std::int64_t column) const {
    float sum = p.nodes[v * p.dim + column];
    const std::int64_t last = p.edges.into[v + 1];
#pragma unroll 4
    for (std::int64_t e = p.edges.into[v]; e < last; ++e) {
      sum += relu(p.nodes[p.edges.source[e] * p.dim + column] + p.features[e * p.dim + column]);
    }
    to[v * p.dim + column] = sum;
  }
};

struct GineFeatureGradients {
  GineProblem p;
  const float* grad;
  float* grad_features;

  __device__ void operator()(std::int64_t v, std::int64_t column) const {
    const float g = grad[v * p.dim + column];
    const std::int64_t last = p.edges.into[v + 1];
#pragma unroll 4
    for (std::int64_t e = p.edges.into[v]; e < last; ++e) {
      const float message = p.nodes[p.edges.source[e] * p.dim + column] + p.features[e * p.dim + column];
      grad_features[e * p.dim + column] = where_positive(message, g);
    }
  }
};

struct GineNodeGradients {
  GineProblem p;
  const float* grad;
  const float* grad_features;
  float* grad_nodes;

  __device__ void operator()(std::int64_t v, std::int64_t column) const {
    float sum = grad[v * p.dim + column];
    const std::int64_t last = p.edges.out_of[v + 1];
#pragma unroll 4
    for (std::int64_t i = p.edges.out_of[v]; i < last; ++i) sum += grad_features[p.edges.by_source[i] * p.dim + column];
    grad_nodes[v * p.dim + column] = sum;
  }
};

struct GatedAverages {
  GatedProblem p;
  const float* terms;
  GatedResults results;

  __device__ void operator()(std::int64_t v, std::int64_t column) const {
    const float at_target = p.projections[place(p, v, kD, column)];
    float sum = 0.0F;
    float weights = static_cast<float>(kGatedEps);
    const std::int64_t last = p.edges.into[v + 1];
#pragma unroll 4
    for (std::int64_t e = p.edges.into[v]; e < last; ++e) {
      const std::int64_t source = p.edges.source[e];
      const float gate = at_target + p.projections[place(p, source, kE, column)] + terms[e * p.dim + column];
      results.gates[e * p.dim + column] = gate;
      const float weight = sigmoid(gate);
      sum = fmaf(weight, p.projections[place(p, source, kB, column)], sum);
      weights += weight;
    }
    const float inverse = 1.0F / weights;
    const float average = sum * inverse;
    const std::int64_t at = v * p.dim + column;
    results.inverse[at] = inverse;
    results.average[at] = average;
    results.to[at] = p.projections[place(p, v, kA, column)] + average;
  }
};

struct GatedTargetGradients {
  GatedProblem p;
  GatedGradients g;

  __device__ void operator()(std::int64_t v, std::int64_t column) const {
    const std::int64_t at = v * p.dim + column;
    const float weighted = g.weighted[at];
    const float average = g.average[at];
    float sum = 0.0F;
    const std::int64_t last = p.edges.into[v + 1];
#pragma unroll 4
    for (std::int64_t e = p.edges.into[v]; e < last; ++e) {
      const std::int64_t edge = e * p.dim + column;
      const float weight = sigmoid(g.gates[edge]);
      const float value = p.projections[place(p, p.edges.source[e], kB, column)];
      float grad = weighted * (value - average) * (weight * (1.0F - weight));
      if (g.grad_gates != nullptr) grad += g.grad_gates[edge];
      g.grad_terms[edge] = grad;
      sum += grad;
    }
    g.grad_projections[place(p, v, kA, column)] = g.grad[at];
    g.grad_projections[place(p, v, kD, column)] = sum;
  }
};

struct GatedSourceGradients {
  GatedProblem p;
  GatedGradients g;

  __device__ void operator()(std::int64_t v, std::int64_t column) const {
    float values = 0.0F;
    float gates = 0.0F;
    const std::int64_t last = p.edges.out_of[v + 1];
#pragma unroll 4
    for (std::int64_t i = p.edges.out_of[v]; i < last; ++i) {
      const std::int64_t e = p.edges.by_source[i];
      values = fmaf(sigmoid(g.gates[e * p.dim + column]), g.weighted[p.edges.target[e] * p.dim + column], values);
      gates += g.grad_terms[e * p.dim + column];
    }
    g.grad_projections[place(p, v, kB, column)] = values;
    g.grad_projections[place(p, v, kE, column)] = gates;
  }
};

template <typename Body>
__global__ void __launch_bounds__(kThreads) for_each_column(Body body, std::int64_t nodes, std::int64_t dim) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < nodes * dim) body(i / dim, i % dim);
}

template <typename Body>
void launch(const Body& body, std::int64_t nodes, void* stream) {
  const std::int64_t blocks = (nodes * body.p.dim + kThreads - 1) / kThreads;
  if (blocks == 0) return;
  for_each_column<<<static_cast<unsigned>(blocks), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(body, nodes,
                                                                                                     body.p.dim);
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) {
    throw std::runtime_error(std::string("quest::nn: message passing failed on the GPU: ") + cudaGetErrorString(error));
  }
}

constexpr GpuMessages kMessages{
    .gine_sums = [](const GineProblem& p, float* to, std::int64_t nodes,
                    void* stream) { launch(GineSums{p, to}, nodes, stream); },
    .gine_feature_gradients = [](const GineProblem& p, const float* grad, float* grad_features, std::int64_t nodes,
                                 void* stream) { launch(GineFeatureGradients{p, grad, grad_features}, nodes, stream); },
    .gine_node_gradients =
        [](const GineProblem& p, const float* grad, const float* grad_features, float* grad_nodes, std::int64_t nodes,
           void* stream) { launch(GineNodeGradients{p, grad, grad_features, grad_nodes}, nodes, stream); },
    .gated_averages = [](const GatedProblem& p, const float* terms, const GatedResults& results, std::int64_t nodes,
                         void* stream) { launch(GatedAverages{p, terms, results}, nodes, stream); },
    .gated_target_gradients = [](const GatedProblem& p, const GatedGradients& gradients, std::int64_t nodes,
                                 void* stream) { launch(GatedTargetGradients{p, gradients}, nodes, stream); },
    .gated_source_gradients = [](const GatedProblem& p, const GatedGradients& gradients, std::int64_t nodes,
                                 void* stream) { launch(GatedSourceGradients{p, gradients}, nodes, stream); }};

}  // namespace

const GpuMessages* gpu_messages() { return &kMessages; }

}  // namespace quest::nn::kernels
