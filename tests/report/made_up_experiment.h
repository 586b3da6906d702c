#pragma once

// An experiment with one table, and runs that fill it.

#include "tests/paper/made_up_runs.h"

namespace quest::report {

using paper::RunList;

// Three rows, two columns with runs and the paper's numbers; `head` stands above the sweep, `item` below the table.
inline paper::Experiment made_up_experiment(const std::string& head = "", const std::string& item = "") {
  return paper::experiment_of(R"(tex = "table:errors"
metric = "accuracy"
metric_name = "accuracy, %"
factor = 100
has_means = true
columns = [
  { title = "mean", match = { model.head = "mean" } },
  { title = "first", match = { model.head = "first" } },
]
rows = [
  { title = "Heartbeat", match = { data.name = "Heartbeat" }, numbers = ["77.56", "78.54"] },
  { title = "Vowels", match = { data.name = "Vowels" }, numbers = ["98.38", ""] },
  { title = "Traffic", match = { data.name = "Traffic" }, numbers = ["83.82", "80.92"] },
]
)" + item,
                              head, "data.name = [\"Heartbeat\", \"Vowels\", \"Traffic\"]\n");
}

inline paper::Run made_up_run(const std::string& data, const std::string& head, int seed, double accuracy) {
  auto run = paper::run_of({{"data.name", data},
                            {"model.head", head},
                            {"seed", std::to_string(seed)},
                            {"train.epochs", "100"},
                            {"odd", "<key>"}},
                           {{"accuracy", accuracy}});
  run.folder = "runs/line/" + data + "/" + head + "/seed-" + std::to_string(seed);
  return run;
}

// Of each cell three runs.
inline paper::Runs made_up_runs() {
  paper::Runs runs;
  double accuracy = 0.6;
  for (const char* data : {"Heartbeat", "Vowels", "Traffic"}) {
    for (const char* head : {"mean", "first"}) {
      accuracy += 0.04;
      for (int seed = 0; seed < 3; ++seed) runs.runs.push_back(made_up_run(data, head, seed, accuracy + 0.01 * seed));
    }
  }
  return runs;
}

}  // namespace quest::report
