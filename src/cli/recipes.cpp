// `quest recipes`: which recipes the program holds, and what one of them says in full.

#include <CLI/App.hpp>
#include <iostream>
#include <memory>
#include <string>

#include "app/task_recipe.h"
#include "base/table.h"
#include "cli/commands.h"
#include "recipe/recipe_files.h"
#include "terminal/table.h"

namespace quest::cli {
namespace {

// The comment at the head of a recipe.
std::string summary_of(std::string_view text) {
  if (!text.starts_with("# ")) return "";
  return std::string(text.substr(2, text.find('\n') - 2));
}

void list_recipes() {
  base::Table table{.caption = "",
                    .columns = {{"recipe", base::Align::left}, {"task", base::Align::left}, {"", base::Align::left}},
                    .rows = {}};
  for (const auto& recipe : recipe::embedded_recipes()) {
    const std::string name(recipe.name);
    table.add_row({name, app::task_of(recipe::settings_of_recipe(name)), summary_of(recipe.text)});
  }
  std::cout << terminal::text_of(table) << "\n`quest recipes show NAME` prints one with every key and its meaning.\n";
}

void show_recipe(const std::string& name) {
  const app::TaskRecipe recipe(recipe::settings_of_recipe(name));
  std::cout << recipe.fields().toml(true);
}

}  // namespace

void add_recipes_command(CLI::App& program) {
  auto* command = program.add_subcommand("recipes", "List the recipes of `quest train`, or show one in full");
  const auto name = std::make_shared<std::string>();
  auto* show =
      command->add_subcommand("show", "Print a recipe with every key and its meaning; it can be edited and used");
  show->add_option("recipe", *name, "A recipe's name, or a file")->required()->type_name("NAME|FILE");
  show->callback([name] { show_recipe(*name); });
  command->callback([command] {
    if (command->get_subcommands().empty()) list_recipes();
  });
}

}  // namespace quest::cli
