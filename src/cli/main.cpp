// The program `quest`.

#include <c10/util/Exception.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "app/interrupt.h"
#include "app/usage_error.h"
#include "app/versions.h"
#include "cli/commands.h"
#include "domains/domain.h"
#include "recipe/settings.h"

namespace {

constexpr int kFailureExitCode = 1;

void add_verbs(CLI::App& program) {
  quest::cli::expect_subcommand(program);
  quest::cli::add_demo_command(program);
  quest::cli::add_train_command(program);
  quest::cli::add_eval_command(program);
  quest::cli::add_paper_command(program);
  quest::cli::add_report_command(program);
  quest::cli::add_recipes_command(program);
  quest::cli::add_data_command(program);
  quest::cli::add_bench_command(program);
  quest::cli::add_info_command(program);
  std::vector<std::string> own_verbs;
  for (const auto* command : program.get_subcommands([](const CLI::App*) { return true; })) {
    own_verbs.push_back(command->get_name());
  }
  quest::domains::check(quest::domains::all(), own_verbs);
  for (const auto& domain : quest::domains::all()) {
    for (const auto& verb : domain.verbs) {
      verb.add(*program.add_subcommand(std::string(verb.name), std::string(verb.summary)));
    }
  }
}

int run(CLI::App& program, int argc, char** argv) {
  try {
    add_verbs(program);
    program.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? 0 : quest::app::kUsageExitCode;
  } catch (const quest::app::UsageError& error) {
    std::cerr << "quest: " << error.what() << "\n";
    return quest::app::kUsageExitCode;
  } catch (const quest::recipe::RecipeError& error) {
    std::cerr << "quest: " << error.what() << "\n";
    return quest::app::kUsageExitCode;
  } catch (const quest::app::Interrupted& error) {
    std::cerr << "quest: " << error.what() << "\n";
    return quest::app::kInterruptedExitCode;
  } catch (const c10::Error& error) {
    std::cerr << "quest: " << error.what_without_backtrace() << "\n";
  } catch (const std::exception& error) {
    std::cerr << "quest: " << error.what() << "\n";
  }
  return kFailureExitCode;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App program("Query-modulated spherical attention: softmax(Q K'), K' = the keys divided by their norms.",
                   "quest");
  program.set_version_flag("--version", "quest " + quest::app::quest_version());
  return run(program, argc, argv);
}
