#pragma once

// Losses over what GraphGps predicts, each a mean. Labels of classes are checked on the CPU; on a GPU nobody waits for
// them.

#include <ATen/core/Tensor.h>

#include "quest/export.h"

namespace quest::models {

// Cross entropy of nodes in which each class weighs the more the rarer it is in the batch: w_c = (V - n_c) / V.
// logits [V, classes], labels [V]: Σ w_y · loss / Σ w_y, and 0 where one class is all there is. One logit stands for
// two classes: then the plain mean of w_y · loss.
[[nodiscard]] QUEST_API at::Tensor balanced_cross_entropy(const at::Tensor& logits, const at::Tensor& labels);

// Classes of graphs: logits [G, classes], labels [G].
[[nodiscard]] QUEST_API at::Tensor graph_cross_entropy(const at::Tensor& logits, const at::Tensor& labels);

// Several labels of a graph that are 0 or 1, both of one shape.
[[nodiscard]] QUEST_API at::Tensor graph_binary_cross_entropy(const at::Tensor& logits, const at::Tensor& targets);

// |outputs - targets|, both of one shape.
[[nodiscard]] QUEST_API at::Tensor graph_absolute_error(const at::Tensor& outputs, const at::Tensor& targets);

// Scores of pairs of nodes from the rows of a head for pairs: [V, dim], [P] and [P] -> [P]
[[nodiscard]] QUEST_API at::Tensor pair_scores(const at::Tensor& nodes, const at::Tensor& source,
                                               const at::Tensor& target);
// Their binary cross entropy with labels [P], 0 or 1; 0 without a pair.
[[nodiscard]] QUEST_API at::Tensor pair_cross_entropy(const at::Tensor& nodes, const at::Tensor& source,
                                                      const at::Tensor& target, const at::Tensor& labels);

}  // namespace quest::models
