#include "quest/models/graph_losses.h"

#include <torch/torch.h>

#include <algorithm>

#include "quest/nn/segments.h"

namespace quest::models {
namespace {

void check_same_shape(const char* what, const at::Tensor& outputs, const at::Tensor& targets) {
  TORCH_CHECK(outputs.sizes() == targets.sizes(), "quest::models: ", what, " takes targets of the outputs' shape, ",
              outputs.sizes(), ", got ", targets.sizes());
}

void check_labels(const at::Tensor& logits, const at::Tensor& labels, std::int64_t classes) {
  TORCH_CHECK(logits.dim() == 2 && labels.dim() == 1 && labels.size(0) == logits.size(0),
              "quest::models: expected logits of shape [samples, classes] and a label for each sample, got shapes ",
              logits.sizes(), " and ", labels.sizes());
  if (!labels.is_cpu() || labels.numel() == 0) return;
  const auto [least, most] = labels.aminmax();
  TORCH_CHECK(least.item<std::int64_t>() >= 0 && most.item<std::int64_t>() < classes,
              "quest::models: labels must be classes from 0 to ", classes - 1, ", got ", least.item<std::int64_t>(),
              " to ", most.item<std::int64_t>());
}

// The weight of each label's class. Counts are exact: no sum of ones is rounded below 2^53.
at::Tensor label_weights(const at::Tensor& labels, std::int64_t classes, at::ScalarType type) {
  const auto samples = static_cast<double>(std::max<std::int64_t>(labels.size(0), 1));
  const at::Tensor ones = at::ones(labels.sizes(), labels.options().dtype(at::kDouble));
  const at::Tensor counts = at::zeros({classes}, ones.options()).scatter_add_(0, labels, ones);
  return (1.0 - counts / samples).index_select(0, labels).to(type);
}

at::Tensor balanced_binary(const at::Tensor& logits, const at::Tensor& labels) {
  const at::Tensor weights = label_weights(labels, 2, logits.scalar_type());
  return at::binary_cross_entropy_with_logits(logits, labels.to(logits.scalar_type()), weights);
}

}  // namespace

at::Tensor balanced_cross_entropy(const at::Tensor& logits, const at::Tensor& labels) {
  const bool is_binary = logits.dim() == 2 && logits.size(1) == 1;
  const std::int64_t classes = is_binary ? 2 : logits.size(-1);
  check_labels(logits, labels, classes);
  if (labels.numel() == 0) return logits.sum();
  if (is_binary) return balanced_binary(logits.squeeze(1), labels);
  const at::Tensor weights = label_weights(labels, classes, logits.scalar_type());
  const at::Tensor losses = at::cross_entropy_loss(logits, labels, /*weight=*/{}, at::Reduction::None);
  const double least = 1.0 / (2.0 * static_cast<double>(labels.size(0)));  // below the weights of any two classes
  return (weights * losses).sum() / weights.sum().clamp_min(least);
}

at::Tensor graph_cross_entropy(const at::Tensor& logits, const at::Tensor& labels) {
  check_labels(logits, labels, logits.size(-1));
  return at::cross_entropy_loss(logits, labels);
}

at::Tensor graph_binary_cross_entropy(const at::Tensor& logits, const at::Tensor& targets) {
  check_same_shape("binary cross entropy", logits, targets);
  return at::binary_cross_entropy_with_logits(logits, targets.to(logits.scalar_type()));
}

at::Tensor graph_absolute_error(const at::Tensor& outputs, const at::Tensor& targets) {
  check_same_shape("the absolute error", outputs, targets);
  return at::l1_loss(outputs, targets.to(outputs.scalar_type()));
}

at::Tensor pair_scores(const at::Tensor& nodes, const at::Tensor& source, const at::Tensor& target) {
  check_same_shape("a pair", source, target);
  const auto rows = [&](const at::Tensor& of) {
    return nn::segment_rows(nodes, nn::segments_from_numbers(of, nodes.size(0)));
  };
  return (rows(source) * rows(target)).sum(-1);
}

at::Tensor pair_cross_entropy(const at::Tensor& nodes, const at::Tensor& source, const at::Tensor& target,
                              const at::Tensor& labels) {
  check_same_shape("a pair", source, labels);
  if (labels.numel() == 0) return nodes.sum() * 0.0;
  const at::Tensor scores = pair_scores(nodes, source, target);
  return at::binary_cross_entropy_with_logits(scores, labels.to(scores.scalar_type()));
}

}  // namespace quest::models
