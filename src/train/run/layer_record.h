#pragma once

// What the monitor saw of one attention layer at one step: a line of stats.jsonl. One entry per head everywhere.

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace quest::train {

inline constexpr std::array<double, 5> kNormQuantiles = {0.05, 0.25, 0.5, 0.75, 0.95};

using NormQuantiles = std::array<double, kNormQuantiles.size()>;

struct LayerRecord {
  std::int64_t step = 0;
  std::string layer;
  std::vector<double> max_logit;   // over the batch
  std::vector<double> query_norm;  // of the pair behind the largest logit
  std::vector<double> key_norm;
  std::vector<double> entropy;  // mean over the queries, in nats
  std::vector<double> sink;     // largest share of a sequence's attention that one key receives, mean over the batch
  std::vector<NormQuantiles> query_norms;
  std::vector<NormQuantiles> key_norms;

  [[nodiscard]] std::size_t heads() const { return max_logit.size(); }

  bool operator==(const LayerRecord&) const = default;
};

// The figures that are one number per head, by the names they have in stats.jsonl.
using HeadFigure = std::vector<double> LayerRecord::*;
inline constexpr std::array<std::pair<const char*, HeadFigure>, 5> kHeadFigures = {{
    {"max_logit", &LayerRecord::max_logit},
    {"query_norm", &LayerRecord::query_norm},
    {"key_norm", &LayerRecord::key_norm},
    {"entropy", &LayerRecord::entropy},
    {"sink", &LayerRecord::sink},
}};

// Those that are quantiles per head.
using NormFigure = std::vector<NormQuantiles> LayerRecord::*;
inline constexpr std::array<std::pair<const char*, NormFigure>, 2> kNormFigures = {{
    {"query_norms", &LayerRecord::query_norms},
    {"key_norms", &LayerRecord::key_norms},
}};

[[nodiscard]] nlohmann::ordered_json to_json(const LayerRecord& record);
// Throws nlohmann's exceptions, or std::invalid_argument when figures have different numbers of heads.
[[nodiscard]] LayerRecord layer_record_from_json(const nlohmann::ordered_json& line);

}  // namespace quest::train
