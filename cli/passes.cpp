#include "cli/passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "tenon/compile/pipeline.h"
#include "tenon/ir/replay.h"
#include "tenon/transform/gradient.h"

namespace tenon::cli {
namespace {

using Number = std::optional<std::int64_t>;

// The same Program without eqns that nothing reads, and with equal ones joined.
ProgramRef without_dead(const ProgramRef& program) {
  Scope scope;
  const std::vector<Dim> sizes = scope.size_params_of(*program);
  const Replay types(*program, sizes);
  Arrays inputs;
  for (Var v : program->inputs()) inputs.push_back(scope.input(types.type(v)));
  return scope.finish(inline_program(*program, sizes, inputs), program->name()).program;
}

std::vector<NamedPass> make_passes() {
  std::vector<NamedPass> all{
      {"jvp", "forward mode: inputs, then tangents -> outputs, then tangents",
       [](const ProgramRef& p, Number) { return jvp(p, differentiable_inputs(*p), differentiable_outputs(*p)); }},
      {"vjp", "reverse mode: inputs, then cotangents of outputs -> outputs, then cotangents of inputs",
       [](const ProgramRef& p, Number) { return pullback(p, differentiable_inputs(*p), differentiable_outputs(*p)); }},
      {"grad", "the derivatives of the first output, one real number",
       [](const ProgramRef& p, Number) { return gradient(p, differentiable_inputs(*p)); }},
      {"jacrev", "the Jacobians of the first output, row by row",
       [](const ProgramRef& p, Number) { return jacobian_by_rows(p, differentiable_inputs(*p)); }},
      {"forward", "what reverse mode keeps: inputs -> outputs, then residuals that are neither",
       [](const ProgramRef& p, Number) {
         return linearize(p, differentiable_inputs(*p), differentiable_outputs(*p)).first;
       }},
      {"linear", "the linear part alone: tangents, then residuals -> tangents of outputs",
       [](const ProgramRef& p, Number) {
         return linearize(p, differentiable_inputs(*p), differentiable_outputs(*p)).second;
       }},
      {"vmap", "vmap=N: all inputs and outputs with N lanes along a new axis 0; without N of any number",
       [](const ProgramRef& p, Number lanes) {
         const Dim size = lanes ? Dim(*lanes) : Dim::variable(0);
         return vmap(p, Mask(p->inputs().size(), true), Mask(p->outputs().size(), true), size);
       },
       true},
      {"inline", "calls replaced by what they call", [](const ProgramRef& p, Number) { return inline_calls(p); }},
      {"dce", "without what nothing reads; equal eqns joined",
       [](const ProgramRef& p, Number) { return without_dead(p); }},
  };
  for (const ProgramPass& pass : compile_passes())
    all.push_back({pass.name, pass.summary, [&pass](const ProgramRef& p, Number) { return run_pass(pass, p); }});
  return all;
}

}  // namespace

const std::vector<NamedPass>& passes() {
  static const std::vector<NamedPass> all = make_passes();
  return all;
}

ProgramRef apply_passes(ProgramRef program, const std::vector<std::string>& names) {
  for (const std::string& text : names) {
    const std::string name = text.substr(0, text.find('='));
    Number number;
    if (name.size() < text.size()) {
      const char* end = text.data() + text.size();
      std::int64_t value = 0;
      if (const auto read = std::from_chars(text.data() + name.size() + 1, end, value);
          read.ec != std::errc() || read.ptr != end || value < 0)
        throw Error("Error", fmt::format("pass '{}': what stands behind '=' is no number.", text), {}, Source());
      number = value;
    }
    const auto found = std::ranges::find(passes(), name, &NamedPass::name);
    if (found == passes().end()) {
      std::string known;
      for (const NamedPass& pass : passes()) known += (known.empty() ? "" : ", ") + pass.name;
      throw Error("Error", fmt::format("there is no pass '{}'.", name), "There are " + known + ".", Source());
    }
    if (name.size() < text.size() && !found->numbered)
      throw Error("Error", fmt::format("pass '{}': {} takes no number.", text, name), "Write " + name + ".", Source());
    program = found->run(program, number);
  }
  return program;
}

}  // namespace tenon::cli
