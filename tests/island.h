// An op without native form, for tests of what runs around such: it gives its operand.
#pragma once

#include "tenon/ir/op.h"
#include "tenon/ops/indexing/index_map.h"
#include "tenon/tenon.h"

namespace tenon {

Array island(const Operand& x);

inline const OpInfo& island_op() {
  static const OpInfo info{
      .name = "island",
      .summary = "x, without native form",
      .type = TypeRule([](const Params&, std::span<const Type> in, TypeContext&) { return std::vector<Type>{in[0]}; }),
      .eval = EvalRule(
          [](const Params&, std::span<const Value> in, const EvalContext&) { return std::vector<Value>{in[0]}; }),
      .jvp = jvp_by_itself(info),
      .transpose = TransposeRule([](const TransposeArgs& args) {
        if (args.cotangents[0]) args.sink.add(0, island(*args.cotangents[0]));
      }),
      .batch = BatchRule([](const BatchArgs& args) { return BatchResult{{island(args.operands[0])}, {true}}; }),
      .split = Absent{"wholly known or not"},
      .guard = Absent{"no Programs inside"},
      .lower = Absent{"a test's op"},
      .alias = Absent{"a new array"},
      .effect = Absent{"pure"},
      .sample = Absent{"of tests alone"}};
  static const bool installed = (install_op(info), true);
  static_cast<void>(installed);
  return info;
}

inline Array island(const Operand& x) {
  const SourceScope place(x.where());
  return bind1(island_op(), {}, {x}).with_weak(x->weak());
}

}  // namespace tenon
