// tenon kernel: reads a kernel, a function of the loop language, and prints what passes make of it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tenon::cli {

struct KernelOptions {
  std::string file;
  std::vector<std::string> passes, donated;
};

const CLI::App* add_kernel(CLI::App& app, KernelOptions& options);
int run_kernel(const KernelOptions& options);

}  // namespace tenon::cli
