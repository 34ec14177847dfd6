#include "cli/kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iostream>

#include "cli/program_file.h"
#include "tenon/base/settings.h"
#include "tenon/compile/pipeline.h"
#include "tenon/compile/target.h"
#include "tenon/kernel/parse.h"
#include "tenon/kernel/verify.h"

namespace tenon::cli {
namespace {

// "to=from": argument `to` may have the memory of argument `from`.
void add_donated(const std::string& text, std::uint32_t arguments, kernel::Donated& donated) {
  std::uint32_t to = arguments, from = arguments;
  const char *first = text.data(), *end = first + text.size();
  const auto read = std::from_chars(first, end, to);
  if (read.ec == std::errc() && read.ptr != end && *read.ptr == '=' &&
      std::from_chars(read.ptr + 1, end, from).ptr == end && to < arguments && from < arguments) {
    donated.resize(arguments);
    return donated[to].push_back(from);
  }
  throw Error("Error", fmt::format("'{}' are no two arguments.", text),
              "Write to=from, by their numbers: argument `to` may have the memory of argument `from`.", Source());
}

// With a first-level cache that is the same on all machines, and so is what is printed.
kernel::Target printed_target() {
  kernel::Target machine = target();
  if (!blocks_are_small()) machine.cache_bytes = kernel::Target{}.cache_bytes;
  return machine;
}

kernel::Function through(const std::vector<std::string>& names, kernel::Function function,
                         const kernel::Donated& donated) {
  const std::vector<kernel::Pass> passes = kernel_passes(printed_target(), donated);
  for (const std::string& name : names) {
    const auto found = std::ranges::find(passes, name, &kernel::Pass::name);
    if (found == passes.end()) {
      std::string known;
      for (const kernel::Pass& pass : passes)
        if (known.find(pass.name) == std::string::npos) known += (known.empty() ? "" : ", ") + pass.name;
      throw Error("Error", fmt::format("there is no kernel pass '{}'.", name), "There are " + known + ".", Source());
    }
    function = run_pass(*found, std::move(function));
  }
  return function;
}

}  // namespace

const CLI::App* add_kernel(CLI::App& app, KernelOptions& options) {
  CLI::App* command = app.add_subcommand("kernel", "print what kernel passes make of a kernel in its text form");
  command->add_option("file", options.file, "the kernel's text; - is the standard input")->required();
  std::string known = "in order, with commas between them:";
  std::vector<std::string> named;
  for (const kernel::Pass& pass : kernel_passes({})) {
    if (std::ranges::find(named, pass.name) != named.end()) continue;
    named.push_back(pass.name);
    known += fmt::format("\n  {}: {}", pass.name, pass.summary);
  }
  command->add_option("--passes", options.passes, known)->delimiter(',');
  command
      ->add_option("--donate", options.donated,
                   "for share_donated, to=from: argument `to` may have the memory of `from`")
      ->delimiter(',');
  return command;
}

int run_kernel(const KernelOptions& options) {
  ProgramFile file;
  try {
    file = ProgramFile::read(options.file);
    kernel::Function function = kernel::parse(file.text, file.name);
    kernel::verify(function);
    kernel::Donated donated;
    for (const std::string& each : options.donated) add_donated(each, function.arguments, donated);
    std::cout << print(through(options.passes, std::move(function), donated));
    return 0;
  } catch (const Error& error) {
    std::cerr << file.message(error) << "\n";
    return 1;
  }
}

}  // namespace tenon::cli
