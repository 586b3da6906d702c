#include "nn/kernels/messages.h"

#include "kernels/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nn/kernels/messages.cpp"
#include "hwy/foreach_target.h"
// foreach_target must come first
#include "hwy/highway.h"
#include "nn/kernels/columns-inl.h"

HWY_BEFORE_NAMESPACE();
namespace quest::nn::kernels::HWY_NAMESPACE {
namespace {

void gine_sums_range(const GineProblem& p, float* to, std::int64_t first_node, std::int64_t last_node) {
  for (std::int64_t v = first_node; v < last_node; ++v) {
    for_each_column(p.dim, [&](std::int64_t column, auto row) {
      auto sum = row.load(p.nodes + v * p.dim + column);
      for (std::int64_t e = p.edges.into[v]; e < p.edges.into[v + 1]; ++e) {
        const auto from = row.load(p.nodes + p.edges.source[e] * p.dim + column);
        sum = hn::Add(sum, relu(hn::Add(from, row.load(p.features + e * p.dim + column))));
      }
      row.store(sum, to + v * p.dim + column);
    });
  }
}

void gine_feature_gradients_range(const GineProblem& p, const float* grad, float* grad_features,
                                  std::int64_t first_node, std::int64_t last_node) {
  for (std::int64_t v = first_node; v < last_node; ++v) {
    for_each_column(p.dim, [&](std::int64_t column, auto row) {
      const auto g = row.load(grad + v * p.dim + column);
      for (std::int64_t e = p.edges.into[v]; e < p.edges.into[v + 1]; ++e) {
        const auto from = row.load(p.nodes + p.edges.source[e] * p.dim + column);
        const auto message = hn::Add(from, row.load(p.features + e * p.dim + column));
        row.store(where_positive(message, g), grad_features + e * p.dim + column);
      }
    });
  }
}

void gine_node_gradients_range(const GineProblem& p, const float* grad, const float* grad_features, float* grad_nodes,
                               std::int64_t first_node, std::int64_t last_node) {
  for (std::int64_t v = first_node; v < last_node; ++v) {
    for_each_column(p.dim, [&](std::int64_t column, auto row) {
      auto sum = row.load(grad + v * p.dim + column);
      for (std::int64_t i = p.edges.out_of[v]; i < p.edges.out_of[v + 1]; ++i) {
        sum = hn::Add(sum, row.load(grad_features + p.edges.by_source[i] * p.dim + column));
      }
      row.store(sum, grad_nodes + v * p.dim + column);
    });
  }
}

HWY_INLINE std::int64_t place(const GatedProblem& p, std::int64_t node, std::int64_t which, std::int64_t column) {
  return (node * kGatedProjections + which) * p.dim + column;
}

void gated_averages_range(const GatedProblem& p, const float* terms, const GatedResults& results,
                          std::int64_t first_node, std::int64_t last_node) {
  const Floats d;
  for (std::int64_t v = first_node; v < last_node; ++v) {
    for_each_column(p.dim, [&](std::int64_t column, auto row) {
      const auto at_target = row.load(p.projections + place(p, v, kD, column));
      auto sum = hn::Zero(d);
      auto weights = hn::Set(d, static_cast<float>(kGatedEps));
      for (std::int64_t e = p.edges.into[v]; e < p.edges.into[v + 1]; ++e) {
        const std::int64_t source = p.edges.source[e];
        const auto at_source = row.load(p.projections + place(p, source, kE, column));
        const auto gate = hn::Add(hn::Add(at_target, at_source), row.load(terms + e * p.dim + column));
        row.store(gate, results.gates + e * p.dim + column);
        const auto weight = sigmoid(gate);
        sum = hn::MulAdd(weight, row.load(p.projections + place(p, source, kB, column)), sum);
        weights = hn::Add(weights, weight);
      }
      const auto inverse = hn::Div(hn::Set(d, 1.0F), weights);
      const auto average = hn::Mul(sum, inverse);
      const std::int64_t at = v * p.dim + column;
      row.store(inverse, results.inverse + at);
      row.store(average, results.average + at);
      row.store(hn::Add(row.load(p.projections + place(p, v, kA, column)), average), results.to + at);
    });
  }
}

void gated_target_gradients_range(const GatedProblem& p, const GatedGradients& g, std::int64_t first_node,
                                  std::int64_t last_node) {
  const Floats d;
  for (std::int64_t v = first_node; v < last_node; ++v) {
    for_each_column(p.dim, [&](std::int64_t column, auto row) {
      const std::int64_t at = v * p.dim + column;
      const auto weighted = row.load(g.weighted + at);
      const auto average = row.load(g.average + at);
      auto sum = hn::Zero(d);
      for (std::int64_t e = p.edges.into[v]; e < p.edges.into[v + 1]; ++e) {
        const std::int64_t edge = e * p.dim + column;
        const auto weight = sigmoid(row.load(g.gates + edge));
        const auto value = row.load(p.projections + place(p, p.edges.source[e], kB, column));
        const auto slope = hn::Mul(weight, hn::Sub(hn::Set(d, 1.0F), weight));
        auto grad = hn::Mul(hn::Mul(weighted, hn::Sub(value, average)), slope);
        if (g.grad_gates != nullptr) grad = hn::Add(grad, row.load(g.grad_gates + edge));
        row.store(grad, g.grad_terms + edge);
        sum = hn::Add(sum, grad);
      }
      row.store(row.load(g.grad + at), g.grad_projections + place(p, v, kA, column));
      row.store(sum, g.grad_projections + place(p, v, kD, column));
    });
  }
}

void gated_source_gradients_range(const GatedProblem& p, const GatedGradients& g, std::int64_t first_node,
                                  std::int64_t last_node) {
  const Floats d;
  for (std::int64_t v = first_node; v < last_node; ++v) {
    for_each_column(p.dim, [&](std::int64_t column, auto row) {
      auto values = hn::Zero(d);
      auto gates = hn::Zero(d);
      for (std::int64_t i = p.edges.out_of[v]; i < p.edges.out_of[v + 1]; ++i) {
        const std::int64_t e = p.edges.by_source[i];
        const auto weighted = row.load(g.weighted + p.edges.target[e] * p.dim + column);
        values = hn::MulAdd(sigmoid(row.load(g.gates + e * p.dim + column)), weighted, values);
        gates = hn::Add(gates, row.load(g.grad_terms + e * p.dim + column));
      }
      row.store(values, g.grad_projections + place(p, v, kB, column));
      row.store(gates, g.grad_projections + place(p, v, kE, column));
    });
  }
}

}  // namespace
}  // namespace quest::nn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quest::nn::kernels {
HWY_EXPORT(gine_sums_range);
HWY_EXPORT(gine_feature_gradients_range);
HWY_EXPORT(gine_node_gradients_range);
HWY_EXPORT(gated_averages_range);
HWY_EXPORT(gated_target_gradients_range);
HWY_EXPORT(gated_source_gradients_range);

void gine_sums(const GineProblem& problem, float* to, std::int64_t first_node, std::int64_t last_node) {
  HWY_DYNAMIC_DISPATCH(gine_sums_range)(problem, to, first_node, last_node);
}

void gine_feature_gradients(const GineProblem& problem, const float* grad, float* grad_features,
                            std::int64_t first_node, std::int64_t last_node) {
  HWY_DYNAMIC_DISPATCH(gine_feature_gradients_range)(problem, grad, grad_features, first_node, last_node);
}

void gine_node_gradients(const GineProblem& problem, const float* grad, const float* grad_features, float* grad_nodes,
                         std::int64_t first_node, std::int64_t last_node) {
  HWY_DYNAMIC_DISPATCH(gine_node_gradients_range)(problem, grad, grad_features, grad_nodes, first_node, last_node);
}

void gated_averages(const GatedProblem& problem, const float* terms, const GatedResults& results,
                    std::int64_t first_node, std::int64_t last_node) {
  HWY_DYNAMIC_DISPATCH(gated_averages_range)(problem, terms, results, first_node, last_node);
}

void gated_target_gradients(const GatedProblem& problem, const GatedGradients& gradients, std::int64_t first_node,
                            std::int64_t last_node) {
  HWY_DYNAMIC_DISPATCH(gated_target_gradients_range)(problem, gradients, first_node, last_node);
}

void gated_source_gradients(const GatedProblem& problem, const GatedGradients& gradients, std::int64_t first_node,
                            std::int64_t last_node) {
  HWY_DYNAMIC_DISPATCH(gated_source_gradients_range)(problem, gradients, first_node, last_node);
}

}  // namespace quest::nn::kernels
#endif
