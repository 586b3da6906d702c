#include "nn/fused_messages.h"

#include <torch/torch.h>

#include "nn/gpu_stream.h"
#include "nn/kernels/messages.h"
#include "nn/kernels/messages_gpu.h"
#include "ops/parallel.h"

namespace quest::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// What a column of an edge costs in arithmetic that would take as long.
constexpr double kFlopsPerMessage = 20.0;

// The CPU's kernels for ranges of nodes on its threads; the GPU's for all of them, on torch's stream.
template <typename OnCpu, typename OnGpu>
void for_each_node(std::int64_t nodes, const at::Tensor& messages, const OnCpu& on_cpu, const OnGpu& on_gpu) {
  if (messages.is_cpu()) {
    ops::run_tasks(nodes, kFlopsPerMessage * static_cast<double>(messages.numel()), on_cpu);
    return;
  }
  const GpuStream stream(messages);
  on_gpu(*kernels::gpu_messages(), stream);
}

GraphEdges dense(const GraphEdges& edges) {
  const auto integers = [](const at::Tensor& tensor) { return tensor.to(at::kLong).contiguous(); };
  return {.source = integers(edges.source),
          .target = integers(edges.target),
          .edge_offsets = integers(edges.edge_offsets),
          .by_source = integers(edges.by_source),
          .source_offsets = integers(edges.source_offsets)};
}

kernels::EdgeLists lists_of(const GraphEdges& edges) {
  return {.source = edges.source.const_data_ptr<std::int64_t>(),
          .target = edges.target.const_data_ptr<std::int64_t>(),
          .into = edges.edge_offsets.const_data_ptr<std::int64_t>(),
          .by_source = edges.by_source.const_data_ptr<std::int64_t>(),
          .out_of = edges.source_offsets.const_data_ptr<std::int64_t>()};
}

variable_list with_edges(variable_list tensors, const GraphEdges& edges) {
  tensors.insert(tensors.begin(),
                 {edges.source, edges.target, edges.edge_offsets, edges.by_source, edges.source_offsets});
  return tensors;
}

constexpr std::size_t kEdgeTensors = 5;

GraphEdges edges_of(const variable_list& saved) { return {saved[0], saved[1], saved[2], saved[3], saved[4]}; }

void check_first_derivative() {
  TORCH_CHECK(!at::GradMode::is_enabled(), "quest::nn: message passing has no second derivatives in float32; use ",
              "float64 for them");
}

struct GineSums : torch::autograd::Function<GineSums> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& nodes, const at::Tensor& features,
                            const GraphEdges& edges) {
    const kernels::GineProblem problem = problem_of(nodes, features, edges);
    const at::Tensor sums = at::empty_like(nodes);
    auto* to = sums.mutable_data_ptr<float>();
    for_each_node(
        nodes.size(0), features,
        [&](std::int64_t first, std::int64_t last) { kernels::gine_sums(problem, to, first, last); },
        [&](const auto& gpu, void* stream) { gpu.gine_sums(problem, to, nodes.size(0), stream); });
    context->save_for_backward(with_edges({nodes, features}, edges));
    return sums;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    check_first_derivative();
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& nodes = saved[kEdgeTensors];
    const at::Tensor& features = saved[kEdgeTensors + 1];
    const kernels::GineProblem problem = problem_of(nodes, features, edges_of(saved));
    const at::Tensor grad = grads[0].contiguous();
    const at::Tensor grad_nodes = at::empty_like(nodes);
    const at::Tensor grad_features = at::empty_like(features);
    const float* from = grad.const_data_ptr<float>();
    float* to_features = grad_features.mutable_data_ptr<float>();
    auto* to_nodes = grad_nodes.mutable_data_ptr<float>();
    const std::int64_t count = nodes.size(0);
    for_each_node(
        count, features,
        [&](std::int64_t first, std::int64_t last) {
          kernels::gine_feature_gradients(problem, from, to_features, first, last);
        },
        [&](const auto& gpu, void* stream) { gpu.gine_feature_gradients(problem, from, to_features, count, stream); });
    for_each_node(
        count, features,
        [&](std::int64_t first, std::int64_t last) {
          kernels::gine_node_gradients(problem, from, to_features, to_nodes, first, last);
        },
        [&](const auto& gpu, void* stream) {
          gpu.gine_node_gradients(problem, from, to_features, to_nodes, count, stream);
        });
    return {grad_nodes, grad_features, at::Tensor()};
  }

 private:
  static kernels::GineProblem problem_of(const at::Tensor& nodes, const at::Tensor& features, const GraphEdges& edges) {
    return {.edges = lists_of(edges),
            .dim = nodes.size(1),
            .nodes = nodes.const_data_ptr<float>(),
            .features = features.const_data_ptr<float>()};
  }
};

struct GatedMessages : torch::autograd::Function<GatedMessages> {
  static variable_list forward(AutogradContext* context, const at::Tensor& projections, const at::Tensor& terms,
                               const GraphEdges& edges) {
    const auto of_nodes = [&] { return at::empty({projections.size(0), terms.size(1)}, projections.options()); };
    const at::Tensor gates = at::empty_like(terms);
    const at::Tensor average = of_nodes();
    const at::Tensor inverse = of_nodes();
    const at::Tensor sums = of_nodes();
    const kernels::GatedResults results{.gates = gates.mutable_data_ptr<float>(),
                                        .average = average.mutable_data_ptr<float>(),
                                        .inverse = inverse.mutable_data_ptr<float>(),
                                        .to = sums.mutable_data_ptr<float>()};
    const kernels::GatedProblem problem = problem_of(projections, terms, edges);
    const auto* from = terms.const_data_ptr<float>();
    for_each_node(
        projections.size(0), terms,
        [&](std::int64_t first, std::int64_t last) { kernels::gated_averages(problem, from, results, first, last); },
        [&](const auto& gpu, void* stream) {
          gpu.gated_averages(problem, from, results, projections.size(0), stream);
        });
    context->save_for_backward(with_edges({projections, gates, average, inverse}, edges));
    context->set_materialize_grads(false);
    return {sums, gates};
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    check_first_derivative();
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& projections = saved[kEdgeTensors];
    const at::Tensor& gates = saved[kEdgeTensors + 1];
    const at::Tensor& average = saved[kEdgeTensors + 2];
    const at::Tensor grad = grads[0].defined() ? grads[0].contiguous() : at::zeros_like(average);
    const at::Tensor grad_gates = grads[1].defined() ? grads[1].contiguous() : grads[1];
    const at::Tensor weighted = grad * saved[kEdgeTensors + 3];
    const at::Tensor grad_terms = at::empty_like(gates);
    const at::Tensor grad_projections = at::empty_like(projections);
    const kernels::GatedProblem problem = problem_of(projections, gates, edges_of(saved));
    const kernels::GatedGradients gradients{
        .gates = gates.const_data_ptr<float>(),
        .average = average.const_data_ptr<float>(),
        .grad = grad.const_data_ptr<float>(),
        .weighted = weighted.const_data_ptr<float>(),
        .grad_gates = grad_gates.defined() ? grad_gates.const_data_ptr<float>() : nullptr,
        .grad_terms = grad_terms.mutable_data_ptr<float>(),
        .grad_projections = grad_projections.mutable_data_ptr<float>()};
    const std::int64_t count = projections.size(0);
    for_each_node(
        count, gates,
        [&](std::int64_t first, std::int64_t last) {
          kernels::gated_target_gradients(problem, gradients, first, last);
        },
        [&](const auto& gpu, void* stream) { gpu.gated_target_gradients(problem, gradients, count, stream); });
    for_each_node(
        count, gates,
        [&](std::int64_t first, std::int64_t last) {
          kernels::gated_source_gradients(problem, gradients, first, last);
        },
        [&](const auto& gpu, void* stream) { gpu.gated_source_gradients(problem, gradients, count, stream); });
    return {grad_projections, grad_terms, at::Tensor()};
  }

 private:
  static kernels::GatedProblem problem_of(const at::Tensor& projections, const at::Tensor& terms,
                                          const GraphEdges& edges) {
    return {.edges = lists_of(edges), .dim = terms.size(1), .projections = projections.const_data_ptr<float>()};
  }
};

}  // namespace

bool has_fused_messages(const at::Tensor& nodes) {
  if (nodes.scalar_type() != at::kFloat) return false;
  return nodes.is_cpu() || (nodes.is_cuda() && kernels::gpu_messages() != nullptr);
}

at::Tensor fused_gine_sums(const at::Tensor& nodes, const at::Tensor& features, const GraphEdges& edges) {
  return GineSums::apply(nodes.contiguous(), features.contiguous(), dense(edges));
}

GatedAverages fused_gated_averages(const at::Tensor& projections, const at::Tensor& terms, const GraphEdges& edges) {
  const variable_list results = GatedMessages::apply(projections.contiguous(), terms.contiguous(), dense(edges));
  return {.nodes = results[0], .gates = results[1]};
}

}  // namespace quest::nn
