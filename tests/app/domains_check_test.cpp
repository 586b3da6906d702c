// What two domains may not both declare, and what every domain of the program does.

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "domains/domain.h"
#include "recipe/recipe_files.h"
#include "tests/testing/messages.h"

namespace quest::domains {
namespace {

using testing::has;
using testing::message_of;

std::unique_ptr<TaskFactory> no_factory() { return nullptr; }
std::unique_ptr<PackedTask> no_packed() { return nullptr; }
std::unique_ptr<eval::Evaluation> no_evaluation() { return nullptr; }
void no_options(CLI::App& /*command*/) {}

Domain with_task(std::string_view domain, std::string_view task) {
  return {.name = domain, .tasks = {{.name = task, .factory = no_factory}}};
}

std::string problem_of(const std::vector<Domain>& domains, const std::vector<std::string>& verbs_of_program = {}) {
  return message_of([&] { check(domains, verbs_of_program); });
}

TEST(Domains, MayDeclareNamesThatNobodyElseHas) {
  auto one = with_task("one", "a");
  one.verbs = {{.name = "cam", .summary = "", .add = no_options}};
  one.evaluations = {{"lines", "", no_evaluation}};
  auto two = with_task("two", "b");
  two.verbs = {{.name = "generate", .summary = "", .add = no_options}};
  EXPECT_EQ(problem_of({one, two}), "");
  EXPECT_EQ(problem_of({}), "");
}

TEST(Domains, ThatDeclareOneTaskAreBothNamed) {
  EXPECT_EQ(problem_of({with_task("one", "a"), with_task("two", "b"), with_task("three", "a")}),
            "the task \"a\" is declared twice, in src/domains/one and src/domains/three; rename one of them");
}

TEST(Domains, ThatDeclareOneVerbAreBothNamed) {
  auto one = with_task("one", "a");
  one.verbs = {{.name = "cam", .summary = "", .add = no_options}};
  auto two = with_task("two", "b");
  two.verbs = one.verbs;
  EXPECT_EQ(problem_of({one, two}),
            "the verb \"cam\" is declared twice, in src/domains/one and src/domains/two; rename one of them");
}

TEST(Domains, ThatDeclareOneDataSetAreBothNamed) {
  auto one = with_task("one", "a");
  one.data_sets = {{.name = "Digits"}};
  auto two = with_task("two", "b");
  two.data_sets = one.data_sets;
  EXPECT_EQ(problem_of({one, two}),
            "the data set \"Digits\" is declared twice, in src/domains/one and src/domains/two; rename one of them");
}

TEST(Domains, ThatDeclareOneEvaluationAreBothNamed) {
  auto one = with_task("one", "a");
  one.evaluations = {{"lines", "", no_evaluation}};
  auto two = with_task("two", "b");
  two.evaluations = one.evaluations;
  EXPECT_TRUE(has(problem_of({one, two}), "the evaluation \"lines\" is declared twice, in src/domains/one and"));
  one.evaluations = {{"calibration", "", no_evaluation}};
  EXPECT_EQ(problem_of({one}),
            "the evaluation \"calibration\" is declared twice, in src/eval and src/domains/one; rename one of them");
}

TEST(Domains, MayNotTakeTheProgramsVerbs) {
  auto one = with_task("one", "a");
  one.verbs = {{.name = "cam", .summary = "", .add = no_options}};
  EXPECT_EQ(problem_of({one}, {"train", "eval"}), "");
  EXPECT_EQ(problem_of({one}, {"train", "cam"}),
            "the verb \"cam\" is declared twice, in the program itself and src/domains/one; rename one of them");
}

TEST(Domains, ATaskIsEitherPackedOrHasAFactory) {
  for (const auto& task :
       {TaskEntry{.name = "a"}, TaskEntry{.name = "a", .factory = no_factory, .packed = no_packed}}) {
    EXPECT_EQ(problem_of({{.name = "one", .tasks = {task}}}),
              "the task \"a\" in src/domains/one must declare a factory or a packed task, and not both");
  }
  EXPECT_EQ(problem_of({{.name = "one", .tasks = {{.name = "a", .packed = no_packed}}}}), "");
}

TEST(Domains, OfTheProgramFitTogether) {
  EXPECT_EQ(problem_of(std::vector(all().begin(), all().end())), "");
  EXPECT_FALSE(all().empty());
}

TEST(Domains, OfTheProgramDescribeTheirDataSets) {
  std::set<std::string> names;
  for (const auto& domain : all()) {
    for (const auto& set : domain.data_sets) {
      EXPECT_TRUE(names.insert(set.name).second) << set.name << " twice";
      for (const auto& text : {set.name, set.summary, set.licence, set.size, set.how_to_get}) {
        EXPECT_FALSE(text.empty()) << set.name;
      }
      ASSERT_NE(set.find, nullptr) << set.name;
      const auto place = set.find();
      EXPECT_TRUE(!place || std::filesystem::exists(*place)) << set.name;
    }
  }
  EXPECT_FALSE(names.empty());
}

TEST(Domains, OfTheProgramHaveARecipeForEveryTask) {
  std::set<std::string> trained;
  for (const auto& recipe : recipe::embedded_recipes()) {
    for (const auto& setting : recipe::settings_of_recipe(std::string(recipe.name))) {
      if (setting.key == "task") trained.insert(std::get<std::string>(setting.value));
    }
  }
  for (const auto& domain : all()) {
    for (const auto& task : domain.tasks) EXPECT_TRUE(trained.contains(std::string(task.name))) << task.name;
  }
}

}  // namespace
}  // namespace quest::domains
