// `quest data`: which data sets the program knows, where they lie, and how to get those that are missing.

#include <CLI/App.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "app/usage_error.h"
#include "cli/commands.h"
#include "domains/domain.h"
#include "recipe/fields.h"
#include "terminal/table.h"

namespace quest::cli {
namespace {

std::string place_of(const data::DataSet& set) {
  const auto folder = set.find();
  return folder ? folder->string() : "missing";
}

void list_data_sets() {
  base::Table table{.columns = {{"data set", base::Align::left},
                                {"domain", base::Align::left},
                                {"where", base::Align::left},
                                {"size", base::Align::right},
                                {"licence", base::Align::left}}};
  std::string missing;
  for (const auto& domain : domains::all()) {
    for (const auto& set : domain.data_sets) {
      const auto place = place_of(set);
      table.add_row({set.name, std::string(domain.name), place, set.size, set.licence});
      if (place == "missing") missing += "  " + set.name + ": " + set.how_to_get + "\n";
    }
  }
  std::cout << terminal::text_of(table);
  if (!missing.empty()) std::cout << "\nTo get what is missing:\n" << missing;
  std::cout << "\n`quest data NAME` tells more of one.\n";
}

void show(const data::DataSet& set, std::string_view domain) {
  std::cout << set.name << "\n"
            << set.summary << "\n\n"
            << "domain       " << domain << "\n"
            << "where        " << place_of(set) << "\n"
            << "size         " << set.size << "\n"
            << "licence      " << set.licence << "\n"
            << "to get it    " << set.how_to_get << "\n";
}

void show_data_set(const std::string& name) {
  std::vector<std::string> known;
  for (const auto& domain : domains::all()) {
    for (const auto& set : domain.data_sets) {
      if (set.name == name) return show(set, domain.name);
      known.push_back(set.name);
    }
  }
  throw app::UsageError("there is no data set \"" + name + "\"; the nearest is \"" + recipe::nearest(name, known) +
                        "\", and `quest data` lists all");
}

}  // namespace

void add_data_command(CLI::App& program) {
  auto* command = program.add_subcommand("data", "Data sets: present or missing, size, licence, how to get them");
  const auto name = std::make_shared<std::string>();
  command->add_option("name", *name, "Tell more of one")->type_name("NAME");
  add_data_pack_commands(*command);
  command->callback([command, name] {
    if (command->get_subcommands().empty()) name->empty() ? list_data_sets() : show_data_set(*name);
  });
}

}  // namespace quest::cli
