#pragma once

// While it lives a task's model is in evaluation mode, without gradients, in the precision of the recipe.

#include <c10/core/GradMode.h>

#include "train/engine/autocast.h"
#include "train/engine/recipe.h"
#include "train/engine/task.h"

namespace quest::train {

class EvaluationMode {
 public:
  EvaluationMode(Task& task, const Recipe& recipe)
      : autocast_(recipe.train.precision == "bfloat16", task.model().parameters().front().device().type()) {
    task.model().eval();
  }

 private:
  c10::NoGradGuard no_grad_;
  Autocast autocast_;
};

}  // namespace quest::train
