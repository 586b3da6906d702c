#include "train/run/evaluation_file.h"

#include <nlohmann/json.hpp>

#include "base/atomic_file.h"

namespace quest::train {

void write_evaluation(const std::filesystem::path& run, const std::string& name, const nlohmann::ordered_json& facts,
                      const nlohmann::ordered_json& metrics) {
  const auto folder = run / kEvaluationFolder;
  std::filesystem::create_directories(folder);
  nlohmann::ordered_json content = {{"evaluation", name}};
  content.update(facts);
  content["metrics"] = metrics;
  base::write_atomically(folder / (name + ".json"), content.dump(2) + "\n");
}

}  // namespace quest::train
