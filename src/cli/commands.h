#pragma once

// Each function adds one subcommand, with its options and what it does, to the program.

namespace CLI {
class App;
}

namespace quest::cli {

void add_info_command(CLI::App& program);
void add_bench_command(CLI::App& program);
void add_demo_command(CLI::App& program);

}  // namespace quest::cli
