#include "quest/nn/graph_encoding.h"

#include <torch/torch.h>

#include <numeric>

namespace quest::nn {
namespace {

void check_features(const char* kind, const at::Tensor& x, std::int64_t rows, std::int64_t features) {
  TORCH_CHECK(x.defined() && x.dim() == 2 && x.size(0) == rows && x.size(1) == features, "quest::nn: expected ", kind,
              " of shape [", rows, ", ", features, "], got ", x.defined() ? x.sizes() : at::IntArrayRef());
}

// One embedding alone starts standard normal, as LibTorch's; several whose sum is taken start as Xavier's uniform ones.
void init_embedding(const at::Tensor& table, bool is_alone) {
  const at::NoGradGuard no_gradients;
  if (is_alone) {
    table.normal_();
  } else {
    torch::nn::init::xavier_uniform_(table);
  }
}

}  // namespace

FeatureEncoderImpl::FeatureEncoderImpl(const FeatureEncoderOptions& given) : options(given) { reset(); }

void FeatureEncoderImpl::reset() {
  const auto& categories = options.categories();
  TORCH_CHECK(categories.empty() || options.values() == 0,
              "quest::nn: a FeatureEncoder takes categorical features or continuous ones, got ", categories.size(),
              " and ", options.values());
  if (options.values() > 0) {
    linear = register_module("linear", torch::nn::Linear(options.values(), options.dim()));
    return;
  }
  if (categories.empty()) {
    vector = register_parameter("vector", at::empty({1, options.dim()}));
    init_embedding(vector, /*is_alone=*/true);
    return;
  }
  table = register_parameter(
      "table", at::empty({std::accumulate(categories.begin(), categories.end(), std::int64_t{0}), options.dim()}));
  category_counts_ = at::tensor(categories, at::kLong);
  first_rows_ = category_counts_.cumsum(0) - category_counts_;
  for (std::size_t i = 0; i < categories.size(); ++i) {
    const auto first = first_rows_[static_cast<std::int64_t>(i)].item<std::int64_t>();
    init_embedding(table.detach().narrow(0, first, categories[i]), categories.size() == 1);
  }
}

at::Tensor FeatureEncoderImpl::embed(const at::Tensor& ids, std::int64_t rows) {
  check_features("ids", ids, rows, category_counts_.size(0));
  if (rows == 0) return table.new_zeros({0, options.dim()});
  if (ids.is_cpu()) {
    // An id too large would be one of the next feature.
    const at::Tensor known = (ids >= 0).logical_and_(ids < category_counts_);
    TORCH_CHECK(known.all().item<bool>(), "quest::nn: ids must be below the categories of their features, ",
                options.categories(), ", got ids up to ", ids.amax(0), " and down to ", ids.amin(0));
  }
  first_rows_ = first_rows_.to(ids.device());
  const at::Tensor places = ids + first_rows_;
  if (places.size(1) == 1) return at::embedding(table, places.squeeze(1));
  const at::Tensor bags = at::arange(0, places.numel(), places.size(1), places.options());
  return std::get<0>(at::embedding_bag(table, places.flatten(), bags));
}

at::Tensor FeatureEncoderImpl::forward(const at::Tensor& ids, const at::Tensor& values, std::int64_t rows) {
  if (table.defined()) return embed(ids, rows);
  if (vector.defined()) return vector.expand({rows, -1});
  check_features("values", values, rows, options.values());
  return linear->forward(values);
}

LaplacianEncoderImpl::LaplacianEncoderImpl(const LaplacianEncoderOptions& given) : options(given) { reset(); }

void LaplacianEncoderImpl::reset() {
  fc1 = register_module("fc1", torch::nn::Linear(2, 2 * options.dim()));
  fc2 = register_module("fc2", torch::nn::Linear(2 * options.dim(), options.dim()));
}

at::Tensor LaplacianEncoderImpl::forward(const at::Tensor& vectors, const at::Tensor& values) {
  TORCH_CHECK(vectors.dim() == 2 && vectors.sizes() == values.sizes(),
              "quest::nn: expected eigenvectors and eigenvalues of shape [nodes, terms] both, got ", vectors.sizes(),
              " and ", values.sizes());
  at::Tensor signed_vectors = vectors;
  if (is_training()) {
    const at::Tensor positive = at::rand({vectors.size(1)}, vectors.options()) >= 0.5;
    signed_vectors = at::where(positive, vectors, -vectors);
  }
  const at::Tensor pairs = at::stack({signed_vectors, values}, -1);
  const at::Tensor exists = at::isnan(pairs).any(-1, /*keepdim=*/true).logical_not();
  const at::Tensor hidden = fc1->forward(at::where(exists, pairs, 0.0)).relu_();
  return at::where(exists, fc2->forward(hidden).relu_(), 0.0).sum(1);
}

RandomWalkEncoderImpl::RandomWalkEncoderImpl(const RandomWalkEncoderOptions& given) : options(given) { reset(); }

void RandomWalkEncoderImpl::reset() {
  norm = register_module("norm", BatchNorm(options.terms()));
  linear = register_module("linear", torch::nn::Linear(options.terms(), options.dim()));
}

at::Tensor RandomWalkEncoderImpl::forward(const at::Tensor& returns) { return linear->forward(norm->forward(returns)); }

}  // namespace quest::nn
