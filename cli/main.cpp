// tenon: looks at programs in their text form, changes them by passes, and runs them; at kernels; and at code that is
// kept on disk.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/cache.h"
#include "cli/kernel.h"
#include "cli/passes.h"
#include "cli/program_file.h"
#include "cli/values.h"
#include "tenon/compile/explain.h"
#include "tenon/eval/evaluate.h"
#include "tenon/ir/print.h"
#include "tenon/ir/recurse.h"
#include "tenon/version.h"

namespace tenon::cli {
namespace {

struct Options {
  std::string file;
  std::vector<std::string> passes, inputs, outputs;
  bool places = false, reference = false;
};

std::string types_text(const std::vector<Type>& types) {
  std::string text;
  for (const Type& t : types) text += (text.empty() ? "" : ", ") + t.text();
  return "(" + text + ")";
}

void check(const Program& program) {
  fmt::print("@{}: {} -> {}, {} eqns, {}\n", program.name(), types_text(program.input_types()),
             types_text(program.output_types()), program.eqns().size(), program.hash().hex());
}

void run(const ProgramRef& program, const Options& options) {
  const std::vector<Value> inputs = read_inputs(*program, options.inputs);
  std::vector<Type> types;
  for (const Value& v : inputs) types.push_back(type_of(v));
  std::vector<std::int64_t> sizes;
  for (const Dim& d : infer_sizes(*program, types)) sizes.push_back(d.value());
  write_outputs(options.reference ? evaluate(*program, sizes, inputs) : executor().run(program, sizes, inputs),
                options.outputs);
}

// Sets up the verbs; each runs on the Program that has gone through the passes.
using Verb = std::function<void(const ProgramRef&, const Options&)>;
std::map<CLI::App*, Verb> add_verbs(CLI::App& app, Options& options) {
  std::map<CLI::App*, Verb> verbs;
  const auto add = [&](const char* name, const char* help, Verb verb) {
    CLI::App* command = app.add_subcommand(name, help);
    command->add_option("file", options.file, "the Program's text; - is the standard input")->required();
    verbs.emplace(command, std::move(verb));
    return command;
  };
  add("print", "print the Program, variables and sizes numbered", [](const ProgramRef& p, const Options& o) {
    std::cout << print(*p, {.places = o.places});
  })->add_flag("--places", options.places, "with the line of each eqn");
  add("check", "read and verify it; say its type", [](const ProgramRef& p, const Options&) { check(*p); });
  CLI::App* opt =
      add("opt", "print what passes make of it", [](const ProgramRef& p, const Options&) { std::cout << print(*p); });
  std::string known = "in order, with commas between them:";
  for (const NamedPass& pass : passes()) known += fmt::format("\n  {}: {}", pass.name, pass.summary);
  opt->add_option("--passes", options.passes, known)->delimiter(',')->required();
  add("explain", "tell what it is compiled to: kernels, products, memory, copies, and why",
      [](const ProgramRef& p, const Options&) { std::cout << explain(p); })
      ->add_option("--passes", options.passes, "passes to apply first, as for opt")
      ->delimiter(',');
  CLI::App* command = add("run", "run it on arrays", run);
  command->add_option("--inputs", options.inputs, "a .npy file or numbers (\"0.5 1 2\") an input, with commas between")
      ->delimiter(',');
  command->add_option("--outputs", options.outputs, "a .npy file an output; otherwise they are printed")
      ->delimiter(',');
  command->add_option("--passes", options.passes, "passes to apply first, as for opt")->delimiter(',');
  command->add_flag("--reference", options.reference, "by the reference evaluator, not compiled");
  return verbs;
}

int run_tool(int argc, char** argv) {
  CLI::App app{"Looks at Tenon programs in their text form, changes them by passes, and runs them.", "tenon"};
  app.set_version_flag("--version", "tenon " TENON_VERSION_STRING);
  app.require_subcommand(1);
  Options options;
  const auto verbs = add_verbs(app, options);
  const CLI::App* cache = add_cache(app);
  KernelOptions kernel_options;
  const CLI::App* kernel = add_kernel(app, kernel_options);
  CLI11_PARSE(app, argc, argv);
  if (cache->parsed()) return run_cache(*cache);
  if (kernel->parsed()) return run_kernel(kernel_options);
  ProgramFile file;
  try {
    file = ProgramFile::read(options.file);
    const ProgramRef program = apply_passes(file.program(), options.passes);
    verbs.at(app.get_subcommands()[0])(program, options);
    return 0;
  } catch (const Error& error) {
    std::cerr << file.message(error) << "\n";
    return 1;
  }
}

}  // namespace
}  // namespace tenon::cli

int main(int argc, char** argv) {
  try {
    return tenon::cli::run_tool(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "tenon: " << error.what() << "\n";
    return 2;
  }
}
