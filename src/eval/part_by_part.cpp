#include "eval/part_by_part.h"

#include <ATen/ops/zeros.h>

#include <algorithm>

#include "eval/finished_parts.h"

namespace quest::eval {
namespace {

using Numbers = FinishedParts::Numbers;

std::string part_text(std::int64_t part, const Parts& parts) {
  return parts.name + " " + std::to_string(part) + " of " + std::to_string(parts.count);
}

void check_width(std::size_t width, std::int64_t part, const Parts& parts) {
  if (static_cast<std::int64_t>(width) == parts.width) return;
  throw std::logic_error("expected " + std::to_string(parts.width) + " numbers from " + part_text(part, parts) +
                         ", got " + std::to_string(width));
}

// Computes those of this process that are not done, until it is asked to stop.
void finish_own(FinishedParts& finished, const Subject& subject, const Callbacks& callbacks, const Parts& parts,
                const std::function<Numbers(std::int64_t)>& compute) {
  for (std::int64_t part = subject.processes.rank(); part < parts.count; part += subject.processes.size()) {
    if (finished.find(part) != nullptr) continue;
    if (callbacks.should_stop()) return;
    callbacks.on_progress(static_cast<double>(part) / static_cast<double>(parts.count), part_text(part + 1, parts));
    finished.add(part, compute(part));
  }
}

}  // namespace

std::vector<std::vector<double>> part_by_part(const Subject& subject, const Callbacks& callbacks, const Parts& parts,
                                              const std::function<std::vector<double>(std::int64_t)>& compute) {
  FinishedParts finished(subject.scratch, parts.name, subject.processes.rank());
  finish_own(finished, subject, callbacks, parts, compute);
  // Each row is of one process and zero in the others, so their sum is exact; the last column says that it is done.
  const auto table = at::zeros({parts.count, parts.width + 1}, at::kDouble);
  auto rows = table.accessor<double, 2>();
  for (std::int64_t part = subject.processes.rank(); part < parts.count; part += subject.processes.size()) {
    const auto* numbers = finished.find(part);
    if (numbers == nullptr) continue;
    check_width(numbers->size(), part, parts);
    std::ranges::copy(*numbers, rows[part].data());
    rows[part][parts.width] = 1.0;
  }
  subject.processes.all_reduce_sum(table);
  std::vector<Numbers> result;
  for (std::int64_t part = 0; part < parts.count; ++part) {
    if (rows[part][parts.width] == 1.0) result.emplace_back(rows[part].data(), rows[part].data() + parts.width);
  }
  const auto done = static_cast<std::int64_t>(result.size());
  if (done == parts.count) return result;
  throw Stopped("stopped after " + part_text(done, parts) +
                (subject.scratch.empty() ? "; nothing is kept" : "; started again, it goes on with the others"));
}

}  // namespace quest::eval
