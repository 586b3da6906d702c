// Trains the tiny task as `quest train` would train a real one:
//   train_tiny FOLDER BATCH EPOCHS [MILLISECONDS_PER_PASS [WORKERS [SHARD [OPTIMIZER]]]]
// A program of its own, so that tests can kill it and start several at once.

#include <chrono>
#include <iostream>
#include <optional>
#include <string>
#include <thread>

#include "tests/train/quiet_listener.h"
#include "tests/train/tiny_task.h"
#include "train/engine/engine.h"

int main(int count, char** words) {
  using namespace quest;
  const std::string folder = words[1];
  const int milliseconds = count > 4 ? std::stoi(words[4]) : 0;
  const int workers = count > 5 ? std::stoi(words[5]) : 0;
  try {
    at::set_num_threads(1);
    train::Recipe recipe{.task = "tiny", .seed = 11};
    recipe.train = {.epochs = std::stoi(words[3]),
                    .batch_size = std::stoi(words[2]),
                    .eval_every = 10,
                    .checkpoint_every = 3,
                    .log_every = 1,
                    .monitor_every = 5};
    if (count > 6) recipe.train.shard = words[6];
    if (count > 7) recipe.optimizer.name = words[7];
    recipe.optimizer.weight_decay = 0.05;
    recipe.optimizer.clip_norm = 0.2;
    recipe.optimizer.lr = 1e-3;
    testing::TinyTask task(0.0, [&](const at::Tensor& loss) {
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
      return loss;
    });
    task.noise = 0.1;
    const auto processes = train::communicator_from_environment(at::kCPU);
    std::optional<train::RunFolder> run;
    if (processes->rank() == 0) run.emplace(folder);
    testing::QuietListener listener;
    train::Surroundings around{*processes, listener, run ? &*run : nullptr};
    around.workers = workers;
    const auto ending = train::train(task, recipe, around);
    std::cout << ending.status << "\n";
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
