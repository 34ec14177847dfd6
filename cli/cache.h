// tenon cache: the compiled code that is kept on disk.
#pragma once

#include <CLI/CLI.hpp>

namespace tenon::cli {

// Adds the verb with its own verbs: ls, clear, verify.
CLI::App* add_cache(CLI::App& app);
// What the chosen one does; the exit status.
int run_cache(const CLI::App& cache);

}  // namespace tenon::cli
