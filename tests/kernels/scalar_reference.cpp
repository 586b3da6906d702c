#include "tests/kernels/scalar_reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/attention.h"

namespace quest::testing {
namespace {

using kernels::AttentionProblem;
using kernels::Causal;
using kernels::Input;
using kernels::MaskType;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Row {
  std::vector<double> unit;  // divided by the norm where the formulation asks for it
  double norm = 0.0;
  bool normalized = false;
};

struct Given {
  const Buffer& grad_out;
  const Buffer* stored_out = nullptr;
  bool magnitudes = false;
};

// One sequence and query head, with rows counted from the sequence's first.
class HeadReference {
 public:
  HeadReference(const AttentionProblem& problem, const Given& given, std::int64_t sequence, std::int64_t head,
                ScalarResults& results)
      : problem_(problem), given_(given), sequence_(sequence), head_(head), results_(results) {
    const bool packed = problem.cu_seqlens_q != nullptr;
    batch_ = packed ? 0 : sequence;
    kv_head_ = head / (problem.heads / problem.kv_heads);
    q_begin_ = packed ? problem.cu_seqlens_q[sequence] : 0;
    k_begin_ = packed ? problem.cu_seqlens_k[sequence] : 0;
    queries_ = packed ? problem.cu_seqlens_q[sequence + 1] - q_begin_ : problem.queries;
    keys_ = packed ? problem.cu_seqlens_k[sequence + 1] - k_begin_ : problem.keys;
    keep_.assign(static_cast<std::size_t>(queries_ * keys_), 1.0F);
    if (problem.dropout_p > 0.0F) {
      kernels::cpu::dropout_factors(problem.dropout_p, problem.dropout_seed, sequence, head, queries_, keys_,
                                    keep_.data());
    }
  }

  void run() {
    std::vector<Row> keys;
    for (std::int64_t j = 0; j < keys_; ++j) {
      keys.push_back(row(problem_.k, kv_head_, k_begin_ + j, problem_.normalize_k));
      results_.k_norm[size(key_row(j))] = j < existing_keys() ? keys.back().norm : 0.0;
    }
    std::vector<std::vector<double>> grad_unit_keys(keys.size(), std::vector<double>(size(problem_.dim)));
    for (std::int64_t i = 0; i < queries_; ++i) {
      run_query(i, keys, grad_unit_keys);
    }
    for (std::int64_t j = 0; j < keys_; ++j) {
      add_row_gradient(keys[size(j)], grad_unit_keys[size(j)], results_.grad_k, key_row(j));
    }
  }

 private:
  static std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

  [[nodiscard]] std::int64_t key_row(std::int64_t j) const {
    return (batch_ * problem_.kv_heads + kv_head_) * problem_.keys + k_begin_ + j;
  }

  [[nodiscard]] std::int64_t existing_keys() const {
    return problem_.key_lengths == nullptr ? keys_ : problem_.key_lengths[sequence_];
  }

  // One term of a gradient's sum.
  [[nodiscard]] double term(double value) const { return given_.magnitudes ? std::abs(value) : value; }

  [[nodiscard]] double element(const Input& matrix, std::int64_t head, std::int64_t row, std::int64_t d) const {
    return load(matrix.data, problem_.type,
                batch_ * matrix.batch_stride + head * matrix.head_stride + row * matrix.row_stride + d);
  }

  [[nodiscard]] Row row(const Input& matrix, std::int64_t head, std::int64_t index, bool normalize) const {
    Row result;
    for (std::int64_t d = 0; d < problem_.dim; ++d) {
      result.unit.push_back(element(matrix, head, index, d));
      result.norm += result.unit.back() * result.unit.back();
    }
    result.norm = std::sqrt(result.norm);
    result.normalized = normalize;
    for (double& x : result.unit) {
      x = !normalize ? x : result.norm == 0.0 ? 0.0 : x / result.norm;
    }
    return result;
  }

  [[nodiscard]] double gain(std::int64_t d) const {
    return problem_.gain == nullptr ? 1.0
                                    : problem_.gain[head_ * problem_.gain_head_stride + d * problem_.gain_dim_stride];
  }

  [[nodiscard]] double mask(std::int64_t i, std::int64_t j) const {
    const kernels::Mask& mask = problem_.mask;
    const std::int64_t index = batch_ * mask.batch_stride + head_ * mask.head_stride + i * mask.row_stride + j;
    switch (mask.type) {
      case MaskType::none:
        return 0.0;
      case MaskType::boolean:
        return static_cast<const bool*>(mask.data)[index] ? 0.0 : -kInfinity;
      case MaskType::additive_float32:
        return load(mask.data, StorageType::float32, index);
      case MaskType::additive_bfloat16:
        return load(mask.data, StorageType::bfloat16, index);
      case MaskType::additive_float16:
        return load(mask.data, StorageType::float16, index);
    }
    return 0.0;
  }

  [[nodiscard]] bool visible(std::int64_t i, std::int64_t j) const {
    const std::int64_t existing = existing_keys();
    const bool in_past = problem_.causal == Causal::none || (problem_.causal == Causal::top_left && j <= i) ||
                         (problem_.causal == Causal::lower_right && j <= i + existing - queries_);
    return j < existing && in_past && mask(i, j) != -kInfinity;
  }

  void run_query(std::int64_t i, const std::vector<Row>& keys, std::vector<std::vector<double>>& grad_unit_keys) {
    const Row query = row(problem_.q, head_, q_begin_ + i, problem_.normalize_q);
    const std::int64_t out_row = (batch_ * problem_.heads + head_) * problem_.queries + q_begin_ + i;
    std::vector<double> logits(keys.size(), -kInfinity);
    for (std::int64_t j = 0; j < keys_; ++j) {
      if (visible(i, j)) {
        double score = 0.0;
        for (std::int64_t d = 0; d < problem_.dim; ++d) {
          score += problem_.scale * gain(d) * query.unit[size(d)] * keys[size(j)].unit[size(d)];
        }
        logits[size(j)] = is_additive(problem_.mask.type) ? static_cast<float>(score + mask(i, j)) : score;
      }
    }
    const std::vector<double> p = softmax(logits, out_row);
    results_.q_norm[size(out_row)] = query.norm;
    write_output(i, p, out_row);
    add_gradients(i, p, query, keys, grad_unit_keys, out_row);
  }

  std::vector<double> softmax(const std::vector<double>& logits, std::int64_t out_row) {
    const double peak = logits.empty() ? -kInfinity : *std::max_element(logits.begin(), logits.end());
    double sum = 0.0;
    for (const double logit : logits) {
      sum += logit == -kInfinity ? 0.0 : std::exp(logit - peak);
    }
    const double lse = sum == 0.0 ? -kInfinity : peak + std::log(sum);
    std::vector<double> p;
    double entropy = 0.0;
    for (const double logit : logits) {
      const double log_p = logit - peak - std::log(sum);
      p.push_back(logit == -kInfinity ? 0.0 : std::exp(log_p));
      entropy -= p.back() == 0.0 ? 0.0 : p.back() * log_p;
    }
    results_.lse[size(out_row)] = lse;
    results_.max_logit[size(out_row)] = peak;
    results_.entropy[size(out_row)] = entropy;
    return p;
  }

  void write_output(std::int64_t i, const std::vector<double>& p, std::int64_t out_row) {
    for (std::int64_t j = 0; j < keys_; ++j) {
      results_.key_mass[size((batch_ * problem_.heads + head_) * problem_.keys + k_begin_ + j)] += p[size(j)];
      for (std::int64_t d = 0; d < problem_.value_dim && p[size(j)] != 0.0; ++d) {
        results_.out[size(out_row * problem_.value_dim + d)] +=
            keep_[size(i * keys_ + j)] * p[size(j)] * element(problem_.v, kv_head_, k_begin_ + j, d);
      }
    }
  }

  void add_gradients(std::int64_t i, const std::vector<double>& p, const Row& query, const std::vector<Row>& keys,
                     std::vector<std::vector<double>>& grad_unit_keys, std::int64_t out_row) {
    std::vector<double> grad_p(p.size());
    double expected = 0.0;
    for (std::int64_t j = 0; j < keys_; ++j) {
      for (std::int64_t d = 0; d < problem_.value_dim && p[size(j)] != 0.0; ++d) {
        const double grad = given_.grad_out.get(batch_, head_, q_begin_ + i, d) * keep_[size(i * keys_ + j)];
        grad_p[size(j)] += term(grad * element(problem_.v, kv_head_, k_begin_ + j, d));
        results_.grad_v[size(key_row(j) * problem_.value_dim + d)] += term(p[size(j)] * grad);
      }
      expected += p[size(j)] * grad_p[size(j)];
    }
    if (given_.stored_out != nullptr) {
      expected = 0.0;
      for (std::int64_t d = 0; d < problem_.value_dim; ++d) {
        expected += given_.stored_out->get(batch_, head_, q_begin_ + i, d) *
                    given_.grad_out.get(batch_, head_, q_begin_ + i, d);
      }
    }
    std::vector<double> grad_unit_query(size(problem_.dim));
    for (std::int64_t j = 0; j < keys_; ++j) {
      const double grad_logit = p[size(j)] * (grad_p[size(j)] + term(-expected));
      results_.grad_logits[size(out_row * problem_.keys + k_begin_ + j)] = grad_logit;
      for (std::int64_t d = 0; d < problem_.dim && grad_logit != 0.0; ++d) {
        const double q = query.unit[size(d)];
        const double k = keys[size(j)].unit[size(d)];
        grad_unit_query[size(d)] += term(grad_logit * problem_.scale * gain(d) * k);
        grad_unit_keys[size(j)][size(d)] += term(grad_logit * problem_.scale * gain(d) * q);
        results_.grad_gain[size(head_ * problem_.dim + d)] += term(grad_logit * problem_.scale * q * k);
      }
    }
    add_row_gradient(query, grad_unit_query, results_.grad_q, out_row);
  }

  // dx = (dx̄ − x̄ (x̄·dx̄)) / ‖x‖ for a normalised row
  void add_row_gradient(const Row& row, const std::vector<double>& grad_unit, std::vector<double>& target,
                        std::int64_t target_row) const {
    double radial = 0.0;
    for (std::size_t d = 0; d < grad_unit.size(); ++d) {
      radial += term(row.unit[d] * grad_unit[d]);
    }
    for (std::size_t d = 0; d < grad_unit.size(); ++d) {
      const double tangent = row.norm == 0.0 ? 0.0 : (grad_unit[d] + term(-row.unit[d] * radial)) / row.norm;
      target[size(target_row * problem_.dim) + d] += row.normalized ? tangent : grad_unit[d];
    }
  }

  const AttentionProblem& problem_;
  const Given& given_;
  std::int64_t sequence_, head_;
  ScalarResults& results_;
  std::int64_t batch_ = 0, kv_head_ = 0, q_begin_ = 0, k_begin_ = 0, queries_ = 0, keys_ = 0;
  std::vector<float> keep_;
};

ScalarResults run_all(const AttentionProblem& problem, const Given& given) {
  const auto zeros = [](std::int64_t n) { return std::vector<double>(static_cast<std::size_t>(n)); };
  const std::int64_t batch = problem.cu_seqlens_q != nullptr ? 1 : problem.batch;
  const std::int64_t query_rows = batch * problem.heads * problem.queries;
  const std::int64_t key_rows = batch * problem.kv_heads * problem.keys;
  ScalarResults results;
  results.out = zeros(query_rows * problem.value_dim);
  results.lse = results.max_logit = results.entropy = results.q_norm = zeros(query_rows);
  results.k_norm = zeros(key_rows);
  results.key_mass = zeros(batch * problem.heads * problem.keys);
  results.grad_q = zeros(query_rows * problem.dim);
  results.grad_k = zeros(key_rows * problem.dim);
  results.grad_v = zeros(key_rows * problem.value_dim);
  results.grad_gain = zeros(problem.heads * problem.dim);
  results.grad_logits = zeros(query_rows * problem.keys);
  for (std::int64_t sequence = 0; sequence < problem.batch; ++sequence) {
    for (std::int64_t head = 0; head < problem.heads; ++head) {
      HeadReference(problem, given, sequence, head, results).run();
    }
  }
  return results;
}

}  // namespace

ScalarResults scalar_attention(const AttentionProblem& problem, const Buffer& grad_out) {
  return run_all(problem, {.grad_out = grad_out});
}

ScalarResults scalar_attention(const AttentionProblem& problem, const Buffer& grad_out, const Buffer& stored_out) {
  return run_all(problem, {.grad_out = grad_out, .stored_out = &stored_out});
}

ScalarResults scalar_magnitudes(const AttentionProblem& problem, const Buffer& grad_out) {
  return run_all(problem, {.grad_out = grad_out, .magnitudes = true});
}

}  // namespace quest::testing
