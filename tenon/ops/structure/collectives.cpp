#include "tenon/ops/structure/collectives.h"

#include <fmt/format.h>

#include "tenon/ir/bind.h"
#include "tenon/ir/describe_params.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/composites/statistics.h"
#include "tenon/ops/control/region.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {

struct AllGatherParams {
  Dim size;  // how many lanes there are
};
BOOST_DESCRIBE_STRUCT(AllGatherParams, (), (size))

namespace {

extern const OpInfo all_gather_info;

std::vector<Type> all_gather_type(const Params& params, std::span<const Type> in, TypeContext&) {
  if (in.size() != 2) throw VerifyError("all_gather: takes an array and the number of the lane.");
  if (!in[0].is_array()) throw DTypeError("all_gather: " + in[0].text() + " is not an array.", "Stack the list first.");
  if (in[1] != Type::array(DType::i32, {})) throw VerifyError("all_gather: the number of the lane is one i32.");
  return {Type::array(in[0].dtype, in[0].shape.with_axis(0, params.as<AllGatherParams>().size))};
}

// The lane's number tells whose lanes are batched: those that it counts, or others.
BatchResult all_gather_batch(const BatchArgs& args) {
  const Array &x = args.operands[0], &lane = args.operands[1];
  if (args.batched[1]) return {{args.batched[0] ? x : one_for_all_lanes(x, args.size)}, {false}};
  return {{move_axis(bind1(all_gather_info, args.params, {x, lane}), 0, 1)}, {true}};
}

// Every lane has a cotangent of x of every lane: each is given the sum of those of its own.
void all_gather_transpose(const TransposeArgs& args) {
  if (!args.cotangents[0]) return;
  const Array& lane = *args.operands[1].value;
  const Array of_all = sum(bind1(all_gather_info, args.params, {*args.cotangents[0], lane}), 0);
  args.sink.add(0, take(of_all, lane, 0));
}

const OpInfo all_gather_info{
    .name = "all_gather",
    .summary = "x of all lanes of a vmap, of which the second operand is the number of this one",
    .params = &describe::params_ops<AllGatherParams>,
    .type = TypeRule(all_gather_type),
    .eval = Absent{"it is of one lane: vmap takes its place"},
    .jvp = JvpRule([](const JvpArgs& args) {
      const Array& lane = args.primals[1];
      const auto gathered = [&](const Array& x) { return bind1(all_gather_info, args.params, {x, lane}); };
      return JvpResult{{gathered(args.primals[0])}, {gathered(*args.tangents[0])}};
    }),
    .transpose = TransposeRule(all_gather_transpose),
    .batch = BatchRule(all_gather_batch),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = Absent{"it is of one lane: vmap takes its place"},
    .alias = Absent{"the result is larger"},
    .effect = Absent{"pure"},
    .sample = Absent{"it is of one lane: tested under vmap"}};
const bool all_gather_installed = (install_op(all_gather_info), true);

thread_local const NamedAxis* innermost_axis = nullptr;

const NamedAxis& axis_of(std::string_view op, std::string_view name) {
  if (const NamedAxis* axis = NamedAxis::find(name)) return *axis;
  throw ShapeError(fmt::format("{}: no axis has the name '{}'.", op, name),
                   "Give it to the lanes: vmap with the option axis_name.");
}

Array gathered(std::string_view op, const Array& x, std::string_view axis) {
  const NamedAxis& named = axis_of(op, axis);
  return bind1(all_gather_info, make_params(AllGatherParams{named.size()}), {x, named.lane()}).with_weak(x.weak());
}

}  // namespace

bool is_all_gather(const OpInfo& op) { return &op == &all_gather_info; }

NamedAxis::NamedAxis(std::string name, Array lane, Dim size)
    : name_(std::move(name)), lane_(std::move(lane)), size_(std::move(size)), outer_(innermost_axis) {
  innermost_axis = this;
}
NamedAxis::~NamedAxis() { innermost_axis = outer_; }

const NamedAxis* NamedAxis::innermost() { return innermost_axis; }
const NamedAxis* NamedAxis::find(std::string_view name) {
  const NamedAxis* axis = innermost_axis;
  while (axis != nullptr && axis->name() != name) axis = axis->outer();
  return axis;
}

Array all_gather(const Operand& x, std::string_view axis) {
  const SourceScope place(x.where(), "all_gather");
  return gathered("all_gather", x, axis);
}

Array psum(const Operand& x, std::string_view axis) {
  const SourceScope place(x.where(), "psum");
  return sum(gathered("psum", x, axis), 0).with_weak(x->weak());
}

Array pmean(const Operand& x, std::string_view axis) {
  const SourceScope place(x.where(), "pmean");
  return mean(gathered("pmean", x, axis), 0).with_weak(x->weak());
}

Array pmax(const Operand& x, std::string_view axis) {
  const SourceScope place(x.where(), "pmax");
  return max(gathered("pmax", x, axis), Axes(0)).with_weak(x->weak());
}

Array pmin(const Operand& x, std::string_view axis) {
  const SourceScope place(x.where(), "pmin");
  return min(gathered("pmin", x, axis), Axes(0)).with_weak(x->weak());
}

Array axis_index(std::string_view axis, const Source& where) {
  const SourceScope place(where, "axis_index");
  return axis_of("axis_index", axis).lane();
}

Dim axis_size(std::string_view axis, const Source& where) {
  const SourceScope place(where, "axis_size");
  return axis_of("axis_size", axis).size();
}

}  // namespace tenon
