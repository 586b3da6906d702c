#pragma once

// Messages along the edges of graphs in float32. A range of nodes is a task: every sum belongs to one node and runs
// over its edges in their order, so no result depends on who computes it.

#include <cstdint>

namespace quest::nn::kernels {

// The edges into node v are into[v] .. into[v + 1]; those out of it by_source[out_of[v]] .. by_source[out_of[v + 1]].
struct EdgeLists {
  const std::int64_t* source;
  const std::int64_t* target;
  const std::int64_t* into;
  const std::int64_t* by_source;
  const std::int64_t* out_of;
};

// to_v = nodes_v + Σ_e relu(nodes_source(e) + features_e), over the edges into v.
struct GineProblem {
  EdgeLists edges;
  std::int64_t dim;
  const float* nodes;     // [V, dim]
  const float* features;  // [E, dim]
};

void gine_sums(const GineProblem& problem, float* to, std::int64_t first_node, std::int64_t last_node);
// The gradient of the features of all edges into the nodes.
void gine_feature_gradients(const GineProblem& problem, const float* grad, float* grad_features,
                            std::int64_t first_node, std::int64_t last_node);
void gine_node_gradients(const GineProblem& problem, const float* grad, const float* grad_features, float* grad_nodes,
                         std::int64_t first_node, std::int64_t last_node);

// With the projections a, b, d, e of the nodes:
//   gates_e = d_target(e) + e_source(e) + terms_e
//   average_v = Σ_e sigmoid(gates_e) b_source(e) · inverse_v,   inverse_v = 1 / (Σ_e sigmoid(gates_e) + 1e-6)
//   to_v = a_v + average_v
struct GatedProblem {
  EdgeLists edges;
  std::int64_t dim;
  const float* projections;  // [V, 4, dim]: a, b, d, e
};

// Which of a node's projections, and how many there are.
enum GatedProjection : std::int64_t { kA, kB, kD, kE, kGatedProjections };
inline constexpr double kGatedEps = 1e-6;

struct GatedResults {
  float* gates;    // [E, dim]
  float* average;  // [V, dim]
  float* inverse;  // [V, dim]
  float* to;       // [V, dim]
};

void gated_averages(const GatedProblem& problem, const float* terms, const GatedResults& results,
                    std::int64_t first_node, std::int64_t last_node);

struct GatedGradients {
  const float* gates;       // [E, dim], as computed
  const float* average;     // [V, dim], as computed
  const float* grad;        // [V, dim], of `to`
  const float* weighted;    // [V, dim], grad · inverse
  const float* grad_gates;  // [E, dim], of `gates`; nullptr: zeros
  float* grad_terms;        // [E, dim]
  float* grad_projections;  // [V, 4, dim]
};

// The gradients of the terms of all edges into the nodes, of a and of d.
void gated_target_gradients(const GatedProblem& problem, const GatedGradients& gradients, std::int64_t first_node,
                            std::int64_t last_node);
// Those of b and e, when all terms have theirs.
void gated_source_gradients(const GatedProblem& problem, const GatedGradients& gradients, std::int64_t first_node,
                            std::int64_t last_node);

}  // namespace quest::nn::kernels
