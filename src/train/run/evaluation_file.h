#pragma once

// evaluations/NAME.json of a run: what an evaluation found. Tables read nothing else.

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace quest::train {

inline constexpr const char* kEvaluationFolder = "evaluations";
inline constexpr const char* kBestEvaluation = "best";  // the engine's own, of the weights in best.safetensors

// `facts` come after the evaluation's name, `metrics` (name to number, or null for what is not finite) after them.
void write_evaluation(const std::filesystem::path& run, const std::string& name, const nlohmann::ordered_json& facts,
                      const nlohmann::ordered_json& metrics);

}  // namespace quest::train
