#include "domains/toy/spurious_result.h"

#include <array>
#include <string>
#include <utility>

#include "base/json_number.h"

namespace quest::toy {
namespace {

using engine::EpochRecord;

constexpr std::array<std::pair<const char*, float EpochRecord::*>, 8> kSeries = {{
    {"loss", &EpochRecord::loss},
    {kTrainAccuracy, &EpochRecord::train_accuracy},
    {kTestAccuracy, &EpochRecord::test_accuracy},
    {kBiasedKeyNorm, &EpochRecord::biased_key_norm},
    {kUnbiasedKeyNorm, &EpochRecord::unbiased_key_norm},
    {kOtherKeyNorm, &EpochRecord::other_key_norm},
    {"query_norm", &EpochRecord::query_norm},
    {"entropy", &EpochRecord::entropy},
}};

}  // namespace

std::string_view metric_of(Outcome outcome) { return outcome == Outcome::correct ? "success" : outcome_name(outcome); }

train::PackedResult packed_result(const engine::SweepResult& result) {
  train::PackedResult packed;
  // The outcome is that of the numbers as they are kept: 0.8 as a float lies above 0.8, where the rule ends.
  const double train_accuracy = base::short_number(result.train_accuracy);
  const double test_accuracy = base::short_number(result.test_accuracy);
  packed.metrics = {{kTrainAccuracy, train_accuracy}, {kTestAccuracy, test_accuracy}};
  const Outcome outcome = outcome_of(train_accuracy, test_accuracy);
  for (const Outcome one : kOutcomes) packed.metrics[std::string(metric_of(one))] = one == outcome ? 1.0 : 0.0;
  for (const auto& [name, member] : kSeries) {
    auto values = nlohmann::ordered_json::array();
    for (const EpochRecord& epoch : result.epochs) values.push_back(base::short_number(epoch.*member));
    packed.series[name] = std::move(values);
  }
  return packed;
}

}  // namespace quest::toy
