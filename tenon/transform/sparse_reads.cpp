#include "tenon/transform/sparse_reads.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/ir/replay.h"
#include "tenon/ops/control/callee.h"
#include "tenon/ops/control/loop_roles.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"

namespace tenon {
namespace {

using Read = SparseReads::Read;

class Rewriter {
 public:
  Rewriter(const Program& program, const Mask& tables, FunctionRef<std::string(std::size_t)> what)
      : program_(program), what_(what), replay_(program, {}), table_of_(program.vars()) {
    for (std::size_t i = 0; i < tables.size(); ++i)
      if (tables[i]) table_of_[program.inputs()[i]] = i;
  }

  SparseReads run() {
    Scope scope;
    for (Var v : program_.inputs())
      if (!table_of_[v]) replay_.set(v, scope.input(program_.type(v)));
    for (const Eqn& eqn : program_.eqns()) {
      const EqnScope place(eqn);
      if (std::ranges::none_of(eqn.in, [&](Var v) { return table_of_[v].has_value(); }))
        replay_.bind_eqn(eqn);
      else
        read(eqn);
    }
    Arrays outputs;
    for (Var v : program_.outputs()) {
      if (table_of_[v]) refuse(*table_of_[v], "it is a result itself");
      outputs.push_back(replay_.get(v));
    }
    outputs.insert(outputs.end(), numbers_.begin(), numbers_.end());
    return {scope.finish(outputs, program_.name() + "_rows").program, std::move(reads_)};
  }

 private:
  [[noreturn]] void refuse(std::size_t table, std::string why) const {
    throw DifferentiationError(
        fmt::format("grad: with sparse, {} may only be indexed along its first axis: {}.", what_(table), why),
        "Take its gradient densely, without naming it in tn::sparse; or index it first and go on with what is read.");
  }
  [[noreturn]] void refuse(const Eqn& eqn) const {
    const auto table = std::ranges::find_if(eqn.in, [&](Var v) { return table_of_[v].has_value(); });
    refuse(*table_of_[*table],
           fmt::format("{} at {} needs the whole of {}", eqn.op->name, eqn.where.text(), program_.type(*table).text()));
  }

  // As the type says; the input itself has the axes and the dtype of the table's rows.
  Array new_rows(std::size_t table, const Type& type) {
    const Type& whole = program_.type(program_.inputs()[table]);
    std::vector<Dim> dims = whole.shape.dims();
    dims[0] = type.shape[0];
    reads_.push_back({table, Type::array(whole.dtype, Shape(std::move(dims)))});
    return reshape(convert(Scope::top()->input(reads_.back().rows), type.dtype), type.shape);
  }

  // Another form of a table, row by row.
  static bool keeps_rows(const Eqn& eqn, const Type& before, const Type& after) {
    if (eqn.op == &convert_op()) return has_tangent(after);
    const auto row = [](const Type& t) { return t.shape.without_axis(0).elements(); };
    return eqn.op == &reshape_op() && before.rank() > 0 && after.rank() > 0 && before.shape[0] == after.shape[0] &&
           row(before) == row(after);
  }

  void read(const Eqn& eqn) {
    if (eqn.op == &loop_op()) return read_in_loop(eqn);
    if (eqn.op == &cond_op()) return read_in_branches(eqn);
    if (is_call(*eqn.op)) return read_in_call(eqn);
    if (keeps_rows(eqn, program_.type(eqn.in[0]), program_.type(eqn.out[0]))) {
      table_of_[eqn.out[0]] = table_of_[eqn.in[0]];
      return;
    }
    Arrays indices;
    for (std::size_t i = 1; i < eqn.in.size(); ++i) {
      if (table_of_[eqn.in[i]]) refuse(eqn);
      indices.push_back(replay_.get(eqn.in[i]));
    }
    const Type& type = program_.type(eqn.in[0]);
    const auto rows = table_of_[eqn.in[0]] ? rows_read(*eqn.op, eqn.params, type, indices) : std::nullopt;
    if (!rows) refuse(eqn);
    numbers_.push_back(rows->rows);
    replay_.set(eqn.out[0], rows->result(new_rows(*table_of_[eqn.in[0]], rows->type)));
  }

  // The inputs of a Program inside that are tables, which are this one's operands from `skip` on.
  SparseReads inside(const Eqn& eqn, const ProgramRef& program, std::size_t skip) const {
    if (!program->size_params().empty()) refuse(eqn);
    Mask tables;
    for (std::size_t i = skip; i < eqn.in.size(); ++i) tables.push_back(table_of_[eqn.in[i]].has_value());
    return Rewriter(*program, tables, [&](std::size_t i) { return what_(*table_of_[eqn.in[skip + i]]); }).run();
  }
  Arrays other_operands(const Eqn& eqn) const {
    Arrays operands;
    for (Var v : eqn.in)
      if (!table_of_[v]) operands.push_back(replay_.get(v));
    return operands;
  }

  void read_in_call(const Eqn& eqn) {
    const SparseReads in = inside(eqn, eqn.params.as<CallParams>().program, 0);
    Arrays operands = other_operands(eqn);
    for (const Read& r : in.reads) operands.push_back(new_rows(*table_of_[eqn.in[r.table]], r.rows));
    const Arrays results = bind_op(*eqn.op, call_params(in.program, {}), operands);
    replay_.set_results(eqn, std::span(results).first(eqn.out.size()));
    numbers_.insert(numbers_.end(), results.begin() + static_cast<std::ptrdiff_t>(eqn.out.size()), results.end());
  }

  // Rows and numbers of all steps, along xs and ys.
  void read_in_loop(const Eqn& eqn) {
    LoopParams p = eqn.params.as<LoopParams>();
    const LoopRoles roles(p);
    for (std::size_t i = roles.consts; i < eqn.in.size(); ++i)
      if (table_of_[eqn.in[i]]) refuse(eqn);
    const auto table = std::ranges::find_if(eqn.in, [&](Var v) { return table_of_[v].has_value(); });
    if (p.cond || !p.length || p.lanes || !p.length->known())
      refuse(*table_of_[*table], fmt::format("data decide how many steps the loop at {} makes", eqn.where.text()));
    const SparseReads in = inside(eqn, p.body, 0);
    for (std::size_t i = 0; i < roles.consts; ++i) p.consts -= table_of_[eqn.in[i]].has_value();
    p.body = in.program;
    Arrays operands = other_operands(eqn);
    for (const Read& r : in.reads) {
      std::vector<Dim> all = r.rows.shape.dims(), steps = all;
      all[0] = all[0] * *p.length;
      steps.insert(steps.begin(), *p.length);
      operands.push_back(reshape(new_rows(*table_of_[eqn.in[r.table]], Type::array(r.rows.dtype, Shape(all))),
                                 Shape(std::move(steps))));
    }
    const Arrays results = loop(std::move(p), operands);
    replay_.set_results(eqn, std::span(results).first(eqn.out.size()));
    for (std::size_t i = eqn.out.size(); i < results.size(); ++i)
      numbers_.push_back(reshape(results[i], Shape{results[i].shape().elements()}));
  }

  // A branch that is not taken reads no row: its numbers are those behind the last row.
  void read_in_branches(const Eqn& eqn) {
    CondParams p = eqn.params.as<CondParams>();
    if (table_of_[eqn.in[0]]) refuse(eqn);
    std::vector<SparseReads> in;
    for (const ProgramRef& branch : p.branches) in.push_back(inside(eqn, branch, 1));
    Arrays operands = other_operands(eqn);
    const Array index = operands.front();
    operands.erase(operands.begin());
    std::vector<Type> rows;
    std::vector<Dim> behind;
    for (const SparseReads& branch : in)
      for (const Read& r : branch.reads) {
        const std::size_t table = *table_of_[eqn.in[1 + r.table]];
        operands.push_back(new_rows(table, r.rows));
        rows.push_back(r.rows);
        behind.push_back(program_.type(eqn.in[1 + r.table]).shape[0]);
      }
    std::size_t own = 0;
    for (std::size_t b = 0; b < in.size(); ++b) {
      p.branches[b] = branch_of(in[b], own, rows, behind, eqn.out.size());
      own += in[b].reads.size();
    }
    const Arrays results = cond(std::move(p), index, operands);
    replay_.set_results(eqn, std::span(results).first(eqn.out.size()));
    numbers_.insert(numbers_.end(), results.begin() + static_cast<std::ptrdiff_t>(eqn.out.size()), results.end());
  }

  // A branch among all that read: it takes every branch's rows, its own from `own` on.
  static ProgramRef branch_of(const SparseReads& branch, std::size_t own, const std::vector<Type>& rows,
                              const std::vector<Dim>& behind, std::size_t results) {
    Scope scope;
    const std::vector<Type> types = branch.program->input_types();
    Arrays inputs, numbers;
    for (std::size_t i = 0; i + branch.reads.size() < types.size(); ++i) inputs.push_back(scope.input(types[i]));
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const Array given = scope.input(rows[r]);
      if (r >= own && r < own + branch.reads.size()) inputs.push_back(given);
    }
    Arrays outputs = inline_program(*branch.program, {}, inputs);
    for (std::size_t r = 0; r < rows.size(); ++r)
      numbers.push_back(r >= own && r < own + branch.reads.size()
                            ? outputs[results + r - own]
                            : broadcast_to(convert(size_as_array(behind[r]), DType::i64), Shape{rows[r].shape[0]}));
    outputs.resize(results);
    outputs.insert(outputs.end(), numbers.begin(), numbers.end());
    return scope.finish(outputs, branch.program->name()).program;
  }

  const Program& program_;
  FunctionRef<std::string(std::size_t)> what_;
  Replay replay_;
  std::vector<std::optional<std::size_t>> table_of_;
  std::vector<Read> reads_;
  Arrays numbers_;
};

}  // namespace

SparseReads sparse_reads(const ProgramRef& program, const Mask& tables, FunctionRef<std::string(std::size_t)> what) {
  return Rewriter(*program, tables, what).run();
}

}  // namespace tenon
