#include "train/engine/recipe.h"

namespace quest::train {

std::int64_t total_steps(const TrainOptions& options, std::int64_t steps_per_epoch) {
  return options.steps > 0 ? options.steps : options.epochs * steps_per_epoch;
}

void describe(recipe::Fields& fields, TrainOptions& options) {
  fields.integer("train.epochs", options.epochs, recipe::IntegerRange::from(1), "passes over the training data");
  fields.integer("train.steps", options.steps, recipe::IntegerRange::from(0),
                 "length in updates of the weights, whatever train.epochs says; 0: train.epochs decides");
  fields.integer("train.batch_size", options.batch_size, recipe::IntegerRange::from(1),
                 "samples per process and pass backward");
  fields.integer("train.accumulate", options.accumulate, recipe::IntegerRange::from(1),
                 "passes backward per step, their gradients averaged");
  fields.choice("train.precision", options.precision, {"float32", "bfloat16"},
                "of the model's arithmetic; weights are float32 always");
  fields.choice("train.shard", options.shard, {"none", "optimizer"},
                "what several processes divide among them; optimizer: its state, and the update of the weights");
  fields.number("train.ema", options.ema, recipe::Range::from_to_below(0, 1),
                "decay of the moving average of the weights that is evaluated and kept; 0: none");
  fields.integer("train.eval_every", options.eval_every, recipe::IntegerRange::from(1),
                 "epochs between evaluations; the end is always evaluated");
  fields.integer("train.eval_steps", options.eval_steps, recipe::IntegerRange::from(0),
                 "steps between evaluations, whatever train.eval_every says; 0: train.eval_every decides");
  fields.integer("train.patience", options.patience, recipe::IntegerRange::from(0),
                 "evaluations without a new best before stopping early; 0: never");
  fields.integer("train.checkpoint_every", options.checkpoint_every, recipe::IntegerRange::from(0),
                 "steps between checkpoints to resume from; 0: only after evaluations");
  fields.number("train.checkpoint_seconds", options.checkpoint_seconds, recipe::Range::from(0),
                "least time between checkpoints after evaluations; 0: one after each");
  fields.integer("train.log_every", options.log_every, recipe::IntegerRange::from(1),
                 "steps between lines of metrics.jsonl");
  fields.integer("train.monitor_every", options.monitor_every, recipe::IntegerRange::from(0),
                 "steps between looks at the attention of every layer and head; 0: never");
}

void describe(recipe::Fields& fields, Recipe& recipe) {
  fields.text("task", recipe.task, "what is trained");
  fields.integer("seed", recipe.seed, recipe::IntegerRange::from(0),
                 "names initial weights, order of samples and every other draw");
  describe(fields, recipe.train);
  describe(fields, recipe.optimizer);
  describe(fields, recipe.schedule);
  fields.rule([&recipe]() -> std::string {
    if (recipe.schedule.min_lr <= recipe.optimizer.lr) return "";
    return "expected schedule.min_lr to be at most optimizer.lr, got " + recipe::text_of(recipe.schedule.min_lr) +
           " and " + recipe::text_of(recipe.optimizer.lr);
  });
}

}  // namespace quest::train
