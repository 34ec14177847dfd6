// stop_gradient: a value through which no derivative flows; stop_unless: one through which it flows where a condition
// holds.
#include <numeric>

#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/control/region.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/families.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"

namespace tenon {
namespace {

extern const OpInfo stop_info;

const OpInfo stop_info{
    .name = "stop_gradient",
    .summary = "x without its derivative",
    .params = nullptr,
    .type = TypeRule([](const Params&, std::span<const Type> in, TypeContext&) {
      if (in.size() != 1) throw VerifyError("stop_gradient: takes one operand.");
      return std::vector{in[0]};
    }),
    .eval = family::first_operand(),
    // Bound again, so that derivatives of the next order stop here too.
    .jvp = JvpRule(
        [](const JvpArgs& args) { return JvpResult{{bind1(stop_info, {}, {args.primals[0]})}, {std::nullopt}}; }),
    .transpose = Absent{"it has no tangent"},
    .batch = BatchRule(
        [](const BatchArgs& args) { return BatchResult{{bind1(stop_info, {}, {args.operands[0]})}, {true}}; }),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerElement{
        .rule = [](const LowerArgs& args) { return args.load(0, args.index); }, .elementwise = true, .identity = true}),
    .alias = AliasRule{0, 0},
    .effect = Absent{"pure"},
    .sample = SampleRule([](DType d) -> std::vector<SampleCase> {
      return {{.params = {}, .types = {Type::array(d, {Dim(3)})}, .domains = {{-3, 3}}, .by_values = false}};
    })};
const bool stop_gradient_installed = (install_op(stop_info), true);

// A bool for all elements as one for each: of all lanes, or of each.
Array for_each_element(const Array& running, const Shape& shape) {
  std::vector<std::int64_t> axes(running.rank());
  std::iota(axes.begin(), axes.end(), 0);
  return broadcast_in_dim(running, shape, axes);
}

Array where_running(const Array& running, const Array& derivative) {
  return bind1(select_op(), {},
               {for_each_element(running, derivative.shape()), derivative, zeros_of(derivative.type())});
}

extern const OpInfo unless_info;

BatchResult unless_batch(const BatchArgs& args) {
  Array x = args.operands[0], running = args.operands[1];
  if (!args.batched[0]) x = one_for_all_lanes(x, args.size);
  if (args.batched[1])
    running = for_each_element(running, x.shape());
  else if (running.rank() > 0)
    running = one_for_all_lanes(running, args.size);
  return {{bind1(unless_info, {}, {x, running})}, {true}};
}

const OpInfo unless_info{
    .name = "stop_unless",
    .summary = "x without its derivative where a condition does not hold",
    .params = nullptr,
    .type = TypeRule([](const Params&, std::span<const Type> in, TypeContext&) {
      if (in.size() != 2 || !in[0].is_array() || !is_inexact(in[0].dtype) || !in[1].is_array() ||
          in[1].dtype != DType::bool_ || (in[1].rank() != 0 && in[1].shape != in[0].shape))
        throw VerifyError("stop_unless: takes an inexact array and bools, one or as many.");
      return std::vector{in[0]};
    }),
    .eval = family::first_operand(),
    .jvp = JvpRule([](const JvpArgs& args) {
      const Array &x = args.primals[0], &running = args.primals[1];
      return JvpResult{{bind1(unless_info, {}, {x, running})}, {where_running(running, *args.tangents[0])}};
    }),
    // Of what is linear in x already.
    .transpose = TransposeRule([](const TransposeArgs& args) {
      args.sink.add(0, where_running(*args.operands[1].value, *args.cotangents[0]));
    }),
    .batch = BatchRule(unless_batch),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerElement{.rule = [](const LowerArgs& args) { return args.load(0, args.index); },
                                    .elementwise = false,  // the condition may be one for all elements
                                    .identity = true}),
    .alias = AliasRule{0, 0},
    .effect = Absent{"pure"},
    .sample = SampleRule([](DType d) -> std::vector<SampleCase> {
      if (!is_inexact(d)) return {};
      const Type x = Type::array(d, {Dim(2), Dim(3)});
      const auto with = [&](Type running) {
        return SampleCase{.params = {}, .types = {x, running}, .domains = {{-3, 3}, {0, 1}}, .by_values = false};
      };
      return {with(Type::array(DType::bool_, {})), with(Type::array(DType::bool_, x.shape))};
    })};
const bool stop_unless_installed = (install_op(unless_info), true);

}  // namespace

Array stop_unless(const Array& running, const Array& x) { return bind1(unless_info, {}, {x, running}); }

const OpInfo& stop_gradient_op() { return stop_info; }

Array stop_gradient(const Operand& x) {
  const SourceScope place(x.where(), "stop_gradient");
  const Array stopped = bind1(stop_info, {}, {x});
  if (const Traced* t = stopped.traced())
    Scope::of(*t).set_takes_part(stopped, {.lanes = Scope::takes_part(stopped).lanes});
  return stopped;
}

}  // namespace tenon
