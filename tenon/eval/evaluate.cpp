#include "tenon/eval/evaluate.h"

#include <fmt/format.h>

#include "tenon/base/stack.h"
#include "tenon/ir/unify.h"
#include "tenon/runtime/context.h"

namespace tenon {
namespace {

// Who is told of each eqn, and what runs those that hold no Programs.
struct Watch {
  Executor& by;
  EqnSeen seen;
};

// What runs the Programs that eqns hold, if it is not the evaluator.
using Nested = const RunNested*;

// Runs one Program: its variables' values, and what its sizes turned out to be.
class Evaluation {
 public:
  Evaluation(const Program& program, std::span<const std::int64_t> sizes, const Watch* watch, Nested nested = nullptr)
      : program_(program), watch_(watch), nested_(nested), values_(program.vars()), reads_(reads_of(program)) {
    if (sizes.size() != program.size_params().size()) throw VerifyError("evaluate: sizes are missing.");
    for (std::size_t i = 0; i < sizes.size(); ++i) sizes_.emplace(program.size_params()[i], Dim(sizes[i]));
  }

  std::vector<Value> run(std::span<const Value> inputs) {
    require_stack();
    if (inputs.size() != program_.inputs().size())
      throw ShapeError(
          fmt::format("evaluate: the Program takes {} inputs, {} are given.", program_.inputs().size(), inputs.size()));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Var v = program_.inputs()[i];
      const Type wanted = substitute(program_.type(v), sizes_);
      if (const auto* b = std::get_if<Buffer>(&inputs[i]);
          wanted != type_of(inputs[i]) && (b != nullptr || !wanted.is_list()))
        throw ShapeError(fmt::format("evaluate: input {} is {}, the Program takes {}.", i, type_of(inputs[i]).text(),
                                     wanted.text()));
      values_[v] = inputs[i];
    }
    for (const Eqn& eqn : program_.eqns()) step(eqn);
    std::vector<Value> outputs;
    for (Var v : program_.outputs()) outputs.push_back(values_[v]);
    return outputs;
  }

 private:
  void step(const Eqn& eqn) {
    const SourceOverride place(eqn.where);
    Context::current().check();
    std::vector<Value> operands;
    for (Var v : eqn.in) operands.push_back(values_[v]);
    for (Var v : eqn.in)
      if (--reads_[v] == 0) values_[v] = Value();  // the last reader
    std::vector<Type> out;
    for (Var v : eqn.out) out.push_back(substitute(program_.type(v), sizes_));
    if (!eqn.op->eval)
      throw RuntimeError(fmt::format("{} cannot be evaluated: {}.", eqn.op->name, eqn.op->eval.reason()));
    const Params params =
        sizes_.empty() ? eqn.params : eqn.params.map_dims([&](const Dim& d) { return substitute(d, sizes_); });
    const EvalContext context{[this](const Program& p, std::span<const std::int64_t> sizes, std::span<const Value> in) {
                                return nested_ != nullptr ? (*nested_)(p, sizes, in)
                                                          : Evaluation(p, sizes, watch_).run(in);
                              },
                              out};
    std::vector<Value> results = watch_ != nullptr && !params.hold_programs()
                                     ? watch_->by.run_op(*eqn.op, params, operands)
                                     : (*eqn.op->eval)(params, operands, context);
    if (watch_ != nullptr) watch_->seen(eqn, operands, results);
    for (std::size_t i = 0; i < eqn.out.size(); ++i) {
      if (!eqn.new_sizes.empty() && !unify(program_.type(eqn.out[i]), type_of(results[i]), sizes_))
        throw ShapeError(
            fmt::format("{}: gave {} where {} was expected.", eqn.op->name, type_of(results[i]).text(), out[i].text()));
      if (reads_[eqn.out[i]] > 0) values_[eqn.out[i]] = std::move(results[i]);
    }
  }

  const Program& program_;
  const Watch* watch_;
  Nested nested_;
  SizeBinding sizes_;
  std::vector<Value> values_;
  std::vector<int> reads_;
};

}  // namespace

std::vector<Value> evaluate(const Program& program, std::span<const std::int64_t> sizes,
                            std::span<const Value> inputs) {
  return Evaluation(program, sizes, nullptr).run(inputs);
}

std::vector<Value> evaluate(const Program& program, std::span<const std::int64_t> sizes, std::span<const Value> inputs,
                            RunNested nested) {
  return Evaluation(program, sizes, nullptr, &nested).run(inputs);
}

std::vector<Value> evaluate(const Program& program, std::span<const std::int64_t> sizes, std::span<const Value> inputs,
                            Executor& by, EqnSeen seen) {
  const Watch watch{by, seen};
  return Evaluation(program, sizes, &watch).run(inputs);
}

std::vector<Value> ReferenceExecutor::run(const ProgramRef& program, std::span<const std::int64_t> sizes,
                                          std::span<const Value> inputs) {
  return evaluate(*program, sizes, inputs);
}

std::vector<Value> ReferenceExecutor::run_op(const OpInfo& op, const Params& params, std::span<const Value> operands) {
  std::vector<Type> types;
  for (const Value& value : operands) types.push_back(type_of(value));
  return evaluate(*program_of(op, params, types), {}, operands);
}

}  // namespace tenon
