#include "quest/nn/segments.h"

#include <torch/torch.h>

#include <optional>

#include "ops/parallel.h"

namespace quest::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

void check(const at::Tensor& values, std::int64_t expected, const char* of_what) {
  TORCH_CHECK(values.dim() >= 1 && values.size(0) == expected, "quest::nn: expected values for ", expected, " ",
              of_what, ", got shape ", values.sizes(), "; the first dimension counts them");
}

std::vector<std::int64_t> with_first_size(const at::Tensor& values, std::int64_t first) {
  std::vector<std::int64_t> sizes = values.sizes().vec();
  sizes[0] = first;
  return sizes;
}

struct Lists {
  const std::int64_t* offsets;
  const std::int64_t* order;  // or nullptr
};

template <typename T>
void sum_segment(const T* values, std::int64_t columns, const Lists& lists, std::int64_t s, T* to) {
  for (std::int64_t i = lists.offsets[s]; i < lists.offsets[s + 1]; ++i) {
    const T* row = values + (lists.order != nullptr ? lists.order[i] : i) * columns;
    for (std::int64_t column = 0; column < columns; ++column) to[column] += row[column];
  }
}

template <typename T>
void sum_on_cpu(const at::Tensor& values, const Lists& lists, const at::Tensor& sums) {
  const std::int64_t count = sums.size(0);
  const std::int64_t columns = count > 0 ? sums.numel() / count : 0;
  const T* from = values.const_data_ptr<T>();
  T* to = sums.mutable_data_ptr<T>();
  ops::run_tasks(count, static_cast<double>(values.numel()), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t s = first; s < last; ++s) sum_segment(from, columns, lists, s, to + s * columns);
  });
}

at::Tensor cpu_sums(const at::Tensor& given, const Segments& segments) {
  const bool is_double = given.scalar_type() == at::kDouble;
  const at::Tensor values = given.to(is_double ? at::kDouble : at::kFloat).contiguous();
  const at::Tensor offsets = segments.offsets.to(at::kLong).contiguous();
  const at::Tensor order = segments.order.defined() ? segments.order.to(at::kLong).contiguous() : at::Tensor();
  const Lists lists{offsets.const_data_ptr<std::int64_t>(),
                    order.defined() ? order.const_data_ptr<std::int64_t>() : nullptr};
  const at::Tensor sums = at::zeros(with_first_size(values, segments.count()), values.options());
  is_double ? sum_on_cpu<double>(values, lists, sums) : sum_on_cpu<float>(values, lists, sums);
  return sums.to(given.scalar_type());
}

// A thread of the GPU walks through a segment for each column; there are no atomic additions.
at::Tensor other_sums(const at::Tensor& given, const Segments& segments) {
  const auto sizes = with_first_size(given, segments.count());
  if (given.numel() == 0 || segments.count() == 0) return at::zeros(sizes, given.options());
  const at::Tensor values = segments.order.defined() ? given.index_select(0, segments.order) : given;
  return at::segment_reduce(values.reshape({values.size(0), -1}), "sum", {}, {}, segments.offsets.to(at::kLong),
                            /*axis=*/0, /*unsafe=*/true, /*initial=*/0)
      .view(sizes);
}

void save(AutogradContext* context, const Segments& segments) {
  context->save_for_backward({segments.offsets, segments.segment, segments.order});
}

Segments load(AutogradContext* context) {
  const variable_list saved = context->get_saved_variables();
  return {.offsets = saved[0], .segment = saved[1], .order = saved[2]};
}

// Each is the other's gradient, so both can be differentiated as often as anybody wants.
struct Sum : torch::autograd::Function<Sum> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& values, const Segments& segments) {
    save(context, segments);
    return values.is_cpu() ? cpu_sums(values, segments) : other_sums(values, segments);
  }
  static variable_list backward(AutogradContext* context, const variable_list& grad) {
    return {segment_rows(grad[0], load(context)), at::Tensor()};
  }
};

struct Rows : torch::autograd::Function<Rows> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& values, const Segments& segments) {
    save(context, segments);
    return values.index_select(0, segments.segment);
  }
  static variable_list backward(AutogradContext* context, const variable_list& grad) {
    return {segment_sum(grad[0], load(context)), at::Tensor()};
  }
};

}  // namespace

Segments segments_from_offsets(const at::Tensor& offsets, std::int64_t rows) {
  const at::Tensor lengths = offsets.diff().to(at::kLong);
  return {
      .offsets = offsets, .segment = at::repeat_interleave(lengths, std::optional<std::int64_t>(rows)), .order = {}};
}

Segments segments_from_numbers(const at::Tensor& segment, std::int64_t count) {
  const auto [sorted, order] = segment.sort(/*stable=*/std::optional<bool>(true), /*dim=*/0);
  return {.offsets = at::searchsorted(sorted.contiguous(), at::arange(count + 1, sorted.options())),
          .segment = segment,
          .order = order};
}

at::Tensor segment_sum(const at::Tensor& values, const Segments& segments) {
  check(values, segments.rows(), "rows");
  return Sum::apply(values, segments);
}

at::Tensor segment_mean(const at::Tensor& values, const Segments& segments) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(values.dim()), 1);
  sizes[0] = segments.count();
  return segment_sum(values, segments) / segments.offsets.diff().clamp_min(1).to(values.scalar_type()).view(sizes);
}

at::Tensor segment_rows(const at::Tensor& values, const Segments& segments) {
  check(values, segments.count(), "segments");
  return Rows::apply(values, segments);
}

}  // namespace quest::nn
