#include "recipe/fields.h"

#include <gtest/gtest.h>

#include <functional>

namespace quest::recipe {
namespace {

struct Options {
  double lr = 0.001;
  double beta = 0.9;
  std::int64_t epochs = 10;
  int heads = 3;
  std::uint64_t seed = 0;
  bool nesterov = false;
  std::string name = "adamw";
  std::string note = "a \"quoted\" text";
};

void describe(recipe::Fields& fields, Options& options) {
  fields.number("optimizer.lr", options.lr, recipe::Range::above(0), "peak learning rate");
  fields.integer("seed", options.seed, {}, "names every random choice");
  fields.integer("train.epochs", options.epochs, recipe::IntegerRange::from(1), "passes over the data");
  fields.number("optimizer.beta", options.beta, recipe::Range::from_to_below(0, 1), "decay of the mean gradient");
  fields.flag("optimizer.nesterov", options.nesterov, "look ahead");
  fields.choice("optimizer.name", options.name, {"adamw", "sgd"}, "which one");
  fields.integer("model.heads", options.heads, recipe::IntegerRange::from(1), "attention heads");
  fields.text("note", options.note, "free text");
  fields.rule([&options] {
    return options.heads <= 64 ? "" : "model.heads: expected at most 64, got " + std::to_string(options.heads);
  });
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const recipe::RecipeError& error) {
    return error.what();
  }
  return "no error";
}

class FieldsTest : public ::testing::Test {
 protected:
  FieldsTest() { describe(fields_, options_); }

  void read(const std::string& toml) { fields_.apply(recipe::settings_of_toml(toml, "my.toml")); }
  void set(const std::string& assignment) { fields_.apply(std::vector{recipe::setting_of_assignment(assignment)}); }
  std::string read_error(const std::string& toml) {
    return error_of([&] { read(toml); });
  }
  std::string set_error(const std::string& assignment) {
    return error_of([&] { set(assignment); });
  }

  Options options_;
  recipe::Fields fields_;
};

TEST_F(FieldsTest, ReadEverySortOfValue) {
  read("seed = 7\nnote = 'x'\n[optimizer]\nlr = 1\nbeta = 0.5\nnesterov = true\nname = \"sgd\"\n[train]\nepochs = 3\n");
  EXPECT_EQ(options_.seed, 7U);
  EXPECT_EQ(options_.note, "x");
  EXPECT_EQ(options_.lr, 1.0);
  EXPECT_EQ(options_.beta, 0.5);
  EXPECT_TRUE(options_.nesterov);
  EXPECT_EQ(options_.name, "sgd");
  EXPECT_EQ(options_.epochs, 3);
  EXPECT_EQ(options_.heads, 3) << "what is not named keeps its default";
}

TEST_F(FieldsTest, CommandLineWordsMeanWhatTheFieldTakes) {
  set("optimizer.lr=5e-4");
  set("train.epochs=20");
  set("optimizer.nesterov=true");
  set("optimizer.name=sgd");
  set("note=12=13");
  EXPECT_EQ(options_.lr, 5e-4);
  EXPECT_EQ(options_.epochs, 20);
  EXPECT_TRUE(options_.nesterov);
  EXPECT_EQ(options_.name, "sgd");
  EXPECT_EQ(options_.note, "12=13");
}

TEST_F(FieldsTest, AWrongTypeRangeOrChoiceNamesPlaceKeyAndExpectation) {
  EXPECT_EQ(read_error("[optimizer]\n  lr = 'fast'\n"),
            "my.toml:2:3: optimizer.lr: expected a number above 0, got \"fast\"");
  EXPECT_EQ(read_error("[optimizer]\nlr = 0\n"), "my.toml:2:1: optimizer.lr: expected a number above 0, got 0");
  EXPECT_EQ(read_error("[optimizer]\nlr = nan\n"), "my.toml:2:1: optimizer.lr: expected a number above 0, got nan");
  EXPECT_EQ(read_error("optimizer.beta = 1.0"),
            "my.toml:1:11: optimizer.beta: expected a number from 0 to below 1, got 1.0");
  EXPECT_EQ(read_error("train.epochs = 2.5"), "my.toml:1:7: train.epochs: expected a whole number from 1, got 2.5");
  EXPECT_EQ(read_error("optimizer.nesterov = 1"), "my.toml:1:11: optimizer.nesterov: expected true or false, got 1");
  EXPECT_EQ(set_error("optimizer.name=adam"),
            "--set optimizer.name=adam: optimizer.name: expected one of adamw, sgd, got adam");
  EXPECT_EQ(set_error("train.epochs=0"), "--set train.epochs=0: train.epochs: expected a whole number from 1, got 0");
  EXPECT_EQ(set_error("train.epochs=3x"),
            "--set train.epochs=3x: train.epochs: expected a whole number from 1, got 3x");
  EXPECT_EQ(set_error("model.heads=3000000000"),
            "--set model.heads=3000000000: model.heads: expected a whole number from 1, got 3000000000");
  EXPECT_EQ(set_error("seed=-1"), "--set seed=-1: seed: expected a whole number from 0, got -1");
  EXPECT_EQ(options_.lr, 0.001) << "a refused value changes nothing";
}

TEST_F(FieldsTest, AnUnknownKeyNamesTheNearest) {
  EXPECT_EQ(read_error("[optimizer]\nlrr = 1\n"),
            "my.toml:2:1: there is no key \"optimizer.lrr\"; the nearest is \"optimizer.lr\"");
  EXPECT_EQ(set_error("lr=1"), "--set lr=1: there is no key \"lr\"; the nearest is \"optimizer.lr\"");
  EXPECT_EQ(set_error("optimiser.nam=sgd"),
            "--set optimiser.nam=sgd: there is no key \"optimiser.nam\"; the nearest is \"optimizer.name\"");
  EXPECT_EQ(set_error("trane.epoch=1"),
            "--set trane.epoch=1: there is no key \"trane.epoch\"; the nearest is \"train.epochs\"");
}

TEST_F(FieldsTest, WhatIsNoTomlOrNoSingleValueIsRefusedWithItsPlace) {
  EXPECT_TRUE(read_error("seed = 1\nseed = 2\n").starts_with("my.toml:2:")) << read_error("seed = 1\nseed = 2\n");
  EXPECT_TRUE(read_error("seed = = 2\n").starts_with("my.toml:1:"));
  EXPECT_EQ(read_error("seed = [1, 2]\n"), "my.toml:1:1: seed: expected a whole number from 0, got [1, 2]");
  EXPECT_EQ(read_error("seed = 1979-05-27\n"),
            "my.toml:1:1: seed: expected a number, true, false, a text or a list of them, got a TOML date");
  EXPECT_EQ(set_error("optimizer.lr"), "--set optimizer.lr: expected key=value, for example --set optimizer.lr=0.001");
  EXPECT_EQ(set_error("=3"), "--set =3: expected key=value, for example --set optimizer.lr=0.001");
}

TEST_F(FieldsTest, RulesBetweenFieldsAreAskedAfterAllSettings) {
  EXPECT_EQ(set_error("model.heads=65"), "the recipe does not fit together: model.heads: expected at most 64, got 65");
}

TEST_F(FieldsTest, TheResolvedRecipeReadsBackTheSame) {
  set("optimizer.lr=0.1");  // has no exact binary form
  set("optimizer.beta=0");
  set("seed=9223372036854775807");
  const std::string written = fields_.toml();
  Options copy;
  recipe::Fields fields;
  describe(fields, copy);
  fields.apply(recipe::settings_of_toml(written, "resolved"));
  EXPECT_EQ(copy.lr, 0.1);
  EXPECT_EQ(copy.beta, 0.0);
  EXPECT_EQ(copy.seed, 9223372036854775807U);
  EXPECT_EQ(copy.note, options_.note);
  EXPECT_EQ(fields.toml(), written);
}

TEST_F(FieldsTest, TheResolvedRecipeGroupsSections) {
  EXPECT_EQ(fields_.toml(), R"(seed = 0
note = "a \"quoted\" text"

[optimizer]
lr = 0.001
beta = 0.9
nesterov = false
name = "adamw"

[train]
epochs = 10

[model]
heads = 3
)");
  EXPECT_NE(fields_.toml(true).find("# peak learning rate (a number above 0)\nlr = 0.001\n"), std::string::npos);
}

TEST_F(FieldsTest, DescribingAKeyTwiceIsAMistakeOfTheProgram) {
  double other = 0.0;
  EXPECT_THROW(fields_.number("optimizer.lr", other, {}, ""), std::logic_error);
}

TEST(Nearest, OfNothingIsNothing) { EXPECT_EQ(recipe::nearest("lr", {}), ""); }

}  // namespace
}  // namespace quest::recipe
