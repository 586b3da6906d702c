#include "data/sets/encoded_graphs.h"

#include <functional>
#include <string>

#include "data/sets/made_file.h"
#include "data/weights/tensor_bytes.h"

namespace quest::data {
namespace {

constexpr const char* kFolder = "encodings";

std::string content_of(const GraphTensors& tensors) {
  std::uint64_t hash = 0;
  for (const auto& tensor : {tensors.offsets, tensors.in_edges, tensors.source}) {
    hash = fingerprint(bytes_of(tensor), hash);
  }
  return hexadecimal(hash);
}

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

NamedTensors cached(const GraphSet& set, const std::string& encoding, const std::function<NamedTensors()>& compute) {
  const auto key = encoding + ", edges " + content_of(set.tensors());
  const auto path = made_file(kFolder, set.schema().name, key);
  if (auto file = find_made_file(path, key)) return std::move(file->tensors);
  auto tensors = compute();
  save_made_file(path, {.tensors = tensors, .metadata = {{"key", key}}});
  return tensors;
}

at::Tensor named(const NamedTensors& tensors, std::string_view name) {
  for (const auto& [own, tensor] : tensors) {
    if (own == name) return tensor;
  }
  return {};
}

}  // namespace

GraphSet with_cached_encodings(const GraphSet& set, const EncodingOptions& options, const Progress& progress) {
  NamedTensors laplacian;
  NamedTensors walk;
  if (options.laplacian_terms > 0) {
    laplacian = cached(set, "laplacian 1, terms " + std::to_string(options.laplacian_terms), [&]() -> NamedTensors {
      auto encoding = laplacian_encoding(set, options.laplacian_terms, progress);
      return {{"vectors", encoding.vectors}, {"values", encoding.values}};
    });
  }
  if (options.walk_steps > 0) {
    walk = cached(set, "random walk 1, steps " + std::to_string(options.walk_steps), [&]() -> NamedTensors {
      return {{"rwse", random_walk_encoding(set, options.walk_steps, progress)}};
    });
  }
  return set.with_encodings(named(laplacian, "vectors"), named(laplacian, "values"), named(walk, "rwse"));
}

}  // namespace quest::data
