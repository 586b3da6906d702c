#include "bench/data_contest.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

#include "app/train_options.h"
#include "base/clock.h"
#include "base/parallel.h"
#include "base/scratch_folder.h"
#include "bench/pillow_loop.h"
#include "bench/python_clock.h"
#include "data/formats/picture_file.h"
#include "data/load_stages.h"
#include "data/loader.h"
#include "train/engine/engine.h"

namespace quest::bench {
namespace {

constexpr std::size_t kKeptFiles = 256;
constexpr std::int64_t kForever = 1'000'000'000'000;  // steps

// What the measurement with one thread and the one with all have in common; `set` puts a rate in its place.
using SetRate = void (*)(DataRate& rate, double per_second);

void set_one(DataRate& rate, double per_second) { rate.one_thread = per_second; }
void set_all(DataRate& rate, double per_second) { rate.all_threads = per_second; }

struct Loading {
  double per_second = 0.0;
  std::array<double, data::kLoadStages.size()> stages{};  // per second of all threads; 0: was not done
  std::vector<data::DecodedFile> files;
  std::int64_t side = 0;  // of the loaded pictures; 0: they are none
};

class DataContest {
 public:
  DataContest(const app::TaskRecipe& recipe, const DataPlan& plan)
      : recipe_(recipe), plan_(plan), processes_(train::communicator_from_environment(at::kCPU)) {
    if (processes_->size() > 1) {
      throw std::runtime_error("expected one process, not " + std::to_string(processes_->size()));
    }
    at::set_num_threads(1);  // the loading threads are those that count
    task_ = app::make_task(recipe_, at::kCPU, *processes_);
  }

  DataRates measure(const std::function<void(double)>& on_progress) {
    const std::vector<std::pair<int, SetRate>> sides = {{1, set_one}, {plan_.threads, set_all}};
    DataRates rates{.threads = plan_.threads, .load = {.name = "load"}};
    double done = 0.0;
    for (const auto& [threads, set] : sides) {
      auto loading = load(threads);
      set(rates.load, loading.per_second);
      set_stages(rates, loading, set);
      on_progress(done += 0.25);
      if (!loading.files.empty()) files_ = std::move(loading.files);
      side_ = std::max(side_, loading.side);
    }
    if (files_.empty()) {
      rates.pillow_problem = "the task decodes no files of pictures";
      return rates;
    }
    rates.decode = DataRate{.name = "decode"};
    for (const auto& [threads, set] : sides) set(*rates.decode, decode(threads));
    on_progress(0.7);
    measure_pillow(rates, sides);
    return rates;
  }

 private:
  static void set_stages(DataRates& rates, const Loading& loading, SetRate set) {
    for (std::size_t stage = 0; stage < loading.stages.size(); ++stage) {
      if (loading.stages[stage] == 0.0) continue;
      const std::string name(data::kLoadStages[stage]);
      auto found = std::ranges::find(rates.stages, name, &DataRate::name);
      if (found == rates.stages.end()) found = rates.stages.insert(found, {.name = name});
      set(*found, loading.stages[stage]);
    }
  }

  [[nodiscard]] Loading load(int threads) const {
    Loading loading;
    const data::LoadStages stages(kKeptFiles);
    {
      data::Loader loader(task_->stream(train::stream_options(recipe_.recipe(), *processes_)),
                          [this](const data::Draw& draw) { return task_->load(draw); },
                          {.workers = threads, .end_step = kForever});
      const auto first = loader.next();  // until then threads start and pages are mapped
      const auto inputs = first.batch.get("inputs");
      if (inputs.defined() && inputs.dim() == 4) loading.side = inputs.size(-1);
      const double begin = base::steady_seconds();
      std::size_t samples = 0;
      while (base::steady_seconds() - begin < plan_.seconds) samples += loader.next().draw.samples.size();
      loading.per_second = static_cast<double>(samples) / (base::steady_seconds() - begin);
    }
    for (std::size_t i = 0; i < loading.stages.size(); ++i) {
      const auto stage = static_cast<data::LoadStage>(i);
      if (stages.count(stage) == 0) continue;
      loading.stages[i] = threads * static_cast<double>(stages.count(stage)) / stages.seconds(stage);
    }
    loading.files = stages.files();
    return loading;
  }

  [[nodiscard]] double decode(int threads) const {
    const double begin = base::steady_seconds();
    std::size_t decoded = 0;
    for (; base::steady_seconds() - begin < plan_.seconds; decoded += files_.size()) {
      base::for_each_on_threads(std::ssize(files_), threads, [&](std::int64_t i) {
        const auto& file = files_[static_cast<std::size_t>(i)];
        static_cast<void>(data::decode_picture(file.content, file.least_side));
      });
    }
    return static_cast<double>(decoded) / (base::steady_seconds() - begin);
  }

  void measure_pillow(DataRates& rates, const std::vector<std::pair<int, SetRate>>& sides) const {
    const base::ScratchFolder folder("quest-bench-data");
    nlohmann::json paths = nlohmann::json::array();
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const auto path = folder / std::to_string(i);
      std::ofstream(path, std::ios::binary) << files_[i].content;
      paths.push_back(path.string());
    }
    std::vector<std::string> names = {"decoding"};
    if (files_.front().least_side > 0) names.emplace_back("decoding at a scale (draft)");
    if (side_ > 0) names.emplace_back("decoding, random crop and flip, array");
    for (const auto& name : names) rates.pillow.push_back({.name = name});
    try {
      for (const auto& [threads, set] : sides) {
        PythonClock clock(plan_.python, kPillowLoop,
                          nlohmann::json({{"files", paths},
                                          {"names", names},
                                          {"processes", threads},
                                          {"least_side", files_.front().least_side},
                                          {"side", side_},
                                          {"seconds", plan_.seconds}})
                              .dump());
        for (std::size_t i = 0; i < names.size(); ++i) {
          set(rates.pillow[i], 1.0 / clock.seconds(static_cast<int>(i)));
        }
      }
    } catch (const std::runtime_error& error) {
      rates.pillow.clear();
      rates.pillow_problem = error.what();
    }
  }

  const app::TaskRecipe& recipe_;
  DataPlan plan_;
  std::unique_ptr<train::Communicator> processes_;
  std::unique_ptr<train::Task> task_;
  std::vector<data::DecodedFile> files_;
  std::int64_t side_ = 0;
};

}  // namespace

DataRates measure_data(const app::TaskRecipe& recipe, const DataPlan& plan,
                       const std::function<void(double)>& on_progress) {
  return DataContest(recipe, plan).measure(on_progress);
}

}  // namespace quest::bench
