#pragma once

// Each add_ function adds one subcommand, with its options and what it does, to the program.

namespace CLI {
class App;
}

namespace quest::cli {

// Ends a call of `app` that names no subcommand with a UsageError that lists them.
void expect_subcommand(CLI::App& app);

void add_demo_command(CLI::App& program);
void add_info_command(CLI::App& program);
void add_train_command(CLI::App& program);
void add_eval_command(CLI::App& program);
void add_paper_command(CLI::App& program);
void add_report_command(CLI::App& program);
void add_recipes_command(CLI::App& program);
void add_data_command(CLI::App& program);
void add_data_pack_commands(CLI::App& data);
void add_bench_command(CLI::App& program);
void add_step_bench_command(CLI::App& bench);
void add_data_bench_command(CLI::App& bench);

}  // namespace quest::cli
