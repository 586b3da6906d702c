#include <CLI/App.hpp>
#include <string>

#include "app/usage_error.h"
#include "cli/commands.h"

namespace quest::cli {

// CLI11's own require_subcommand would hide a misspelt name behind "a subcommand is required".
void expect_subcommand(CLI::App& app) {
  app.require_subcommand(0, 1);  // a second name is an argument of the first: `quest recipes show`
  app.callback([&app] {
    if (!app.get_subcommands().empty()) return;
    std::string known;
    for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; })) {
      known += (known.empty() ? "" : ", ") + command->get_name();
    }
    throw app::UsageError("expected a command after \"" + app.get_name() + "\", one of " + known + "; try --help");
  });
}

}  // namespace quest::cli
