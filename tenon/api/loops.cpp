#include "tenon/api/loops.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/api/varying.h"
#include "tenon/ir/adapt.h"
#include "tenon/ir/decided_sizes.h"
#include "tenon/ir/origins.h"
#include "tenon/ir/unify.h"
#include "tenon/ops/control/traced_region.h"
#include "tenon/ops/structure/as_size.h"

namespace tenon::api_detail {
namespace {

ProgramRef captures_first(TracedFunction& traced, std::span<const Type> before, std::span<const Type> behind) {
  return tenon::captures_first(*traced.program, traced.arguments, traced.captures.size(), before, behind, traced.sizes);
}

std::string leaf_name(const FlatLoop& loop, std::size_t i) {
  if (i >= loop.carry_paths.size()) return "a size of the carry";
  const std::string& path = loop.carry_paths[i];
  return path.empty() ? "the carry" : "carry leaf " + path;
}

// What a region is traced for: its inputs take part in the derivatives in which these do, and in all batches, since a
// predicate may be batched.
TracedFor region_of(std::span<const Array> operands) {
  TracedFor what_for = TracedFor::call(operands);
  const std::uint64_t lanes = TakesPart::in(what_for.ahead).lanes;
  for (TakesPart& input : what_for.inputs) input.lanes = lanes;
  return what_for;
}

// Adds to what carries take part in that which the body makes of them. Says whether they took part in all of it.
bool takes_part_enough(TracedFor& what_for, const TracedFunction& body, std::size_t carries, bool in_all) {
  bool enough = true;
  for (std::size_t i = 0; i < carries; ++i) {
    TakesPart& carry = what_for.inputs[i];
    const std::uint64_t before = carry.derivatives;
    carry.derivatives |= body.parts[i].derivatives;
    enough = enough && carry.derivatives == before;
  }
  for (std::size_t i = 0; !enough && in_all && i < carries; ++i)
    what_for.inputs[i].derivatives = TakesPart::in(what_for.ahead).derivatives;
  return enough;
}

struct SettledBody {
  TracedFunction traced;
  std::optional<std::vector<TakesPart>> parts;  // of carries, then of ys, if they are known better than by what is read
};

// A function of carries that vary, and of more, as one of their form for all steps.
Arrays of_packed(const FlatFunction& f, const VaryingSizes& varying, std::span<const Array> in) {
  if (!varying.any()) return f(in);
  return f(joined({varying.unpack(in.first(varying.values())), in.subspan(varying.values())}));
}
// The first arrays in their form for all.
Arrays with_packed(const VaryingSizes& varying, std::span<const Array> arrays) {
  return joined({varying.pack(arrays.first(varying.arrays())), arrays.subspan(varying.arrays())});
}
Arrays with_unpacked(const VaryingSizes& varying, Arrays values) {
  if (!varying.any()) return values;
  const std::span<const Array> all(values);
  return joined({varying.unpack(all.first(varying.values())), all.subspan(varying.values())});
}

// Notes axes of an output of which a Program's data decide how large they are. Says whether there are any.
bool note_decided(VaryingSizes& varying, std::size_t array, std::size_t rank, const Program& program) {
  const Type& type = program.type(program.outputs()[array]);
  const Type& rows = type.is_list() ? *type.element : type;  // without the axes that are known to vary
  if (!rows.is_array() || !has_other_sizes(rows, program.size_params())) return false;
  std::vector<std::size_t> decided;
  for (std::size_t axis = 0, left = 0; axis < rank; ++axis)
    if (!(type.is_list() && varying.varies(array, axis)) && has_other_sizes(rows.shape[left++], program.size_params()))
      decided.push_back(axis);
  for (const std::size_t axis : decided) varying.add(array, rank, axis);
  return !decided.empty();
}

// The carries of a loop whose sizes change from step to step: what entered the step that was traced last, and what it
// passed on, as arrays.
class VaryingCarries {
 public:
  VaryingCarries(VaryingSizes& sizes, Arrays& carries) : sizes_(sizes), carries_(carries), initial_(carries) {}

  Arrays step(const FlatFunction& body, std::span<const Array> in) {
    const std::size_t arrays = sizes_.arrays();
    const auto noting = [&](std::span<const Array> whole) {
      entered_ = types_of(whole.first(arrays));
      Arrays out = body(whole);
      passed_on_ = types_of(std::span<const Array>(out).first(arrays));
      return out;
    };
    const Arrays out = of_packed(noting, sizes_, in);
    return sizes_.any() ? with_packed(sizes_, out) : out;
  }
  // Whether a carry that entered the traced step with other sizes than the step gives it varies from now on.
  bool note(std::size_t i, const Program& body) {
    const Type &before = entered_[i], &after = passed_on_[i];
    if (!before.is_array() || !after.is_array() || before.dtype != after.dtype || before.rank() != after.rank())
      return false;
    const bool more = note_decided(sizes_, i, after.rank(), body);
    noted_ = noted_ || more;
    return more;
  }
  // Carries in the form that is known by now. Says whether it is another one.
  bool renew(const VaryingSizes& before) {
    if (!sizes_.any()) return false;
    const auto initial = [&](std::size_t i, std::size_t axis) { return initial_[i].shape()[axis]; };
    const auto passed_on = [&](std::size_t i, std::size_t axis) { return passed_on_[i].shape[axis]; };
    if (std::exchange(noted_, false))
      sizes_.split(initial), sizes_.split(passed_on);
    else if (!sizes_.split(passed_on))
      return false;
    for (std::size_t i = 0; i < initial_.size(); ++i)
      if (!before.varies(i)) initial_[i] = carries_[i];
    carries_ = sizes_.pack(initial_);
    return true;
  }

 private:
  VaryingSizes& sizes_;
  Arrays& carries_;
  Arrays initial_;
  std::vector<Type> entered_, passed_on_;
  bool noted_ = false;
};

// Converts weak carries until the body keeps every type; an error names the leaf that changes otherwise. Carries whose
// sizes a step decides are packed. A body with rules of the user's is traced until carries take part in what it makes
// of them.
SettledBody settle(std::string_view op, const FlatLoop& loop, Arrays& carries, VaryingSizes& varying,
                   std::span<const Type> elements, const Arrays& xs) {
  VaryingCarries changing(varying, carries);
  const auto body = [&](std::span<const Array> in) { return changing.step(loop.body, in); };
  TracedFor what_for = region_of(joined({carries, xs}));
  for (int round = 0, grown = 0;; ++round) {
    const VaryingSizes packed_so_far = varying;
    const std::uint64_t asked = asked_what_for();
    std::vector<Type> types = types_of(carries);
    types.insert(types.end(), elements.begin(), elements.end());
    std::vector<bool> weak;
    for (std::size_t i = 0; i < types.size(); ++i) weak.push_back(i < carries.size() && carries[i].weak());
    TracedFunction traced = trace_types(body, types, weak, writes_refs, what_for);
    const bool asks = asked != asked_what_for(),
               enough = takes_part_enough(what_for, traced, carries.size(), grown > 3);
    bool changed = asks && !enough;
    if (changed) ++grown;
    SizeBinding sizes;
    for (std::size_t i = 0; i < traced.sizes.size(); ++i)
      sizes.emplace(traced.program->size_params()[i], traced.sizes[i]);
    for (std::size_t i = 0; i < carries.size(); ++i) {
      const Type& before = types[i];
      const Type after = substitute(traced.program->type(traced.program->outputs()[i]), sizes);
      if (before == after) {
        if (carries[i].weak() && !traced.weak[i]) carries[i] = carries[i].with_weak(false), changed = true;
        continue;
      }
      if (carries[i].weak() && round < 4 && before.is_array() && after.is_array()) {
        Array promoted = convert(carries[i], after.dtype);
        if (after.shape == before.shape) {
          carries[i] = promoted.with_weak(traced.weak[i]);
          changed = true;
          continue;
        }
      }
      if (i < varying.arrays() && changing.note(i, *traced.program)) continue;
      const std::string what = fmt::format("{}: {} enters a step as {} and leaves it as {}.", op, leaf_name(loop, i),
                                           before.text(), after.text());
      if (before.is_array() && after.is_array() && before.shape == after.shape)
        throw DTypeError(what, "A carry keeps its dtype from step to step: convert the initial value, or the new one.");
      throw ShapeError(what,
                       "A carry keeps its dtype and shape from step to step: convert or broadcast the initial value, "
                       "or the new one.");
    }
    if (changing.renew(packed_so_far)) {
      what_for = region_of(joined({carries, xs}));
      continue;
    }
    if (changed) continue;
    if (!enough) return {std::move(traced), std::nullopt};
    std::vector<TakesPart> parts = traced.parts;
    std::copy_n(what_for.inputs.begin(), carries.size(), parts.begin());
    return {std::move(traced), std::move(parts)};
  }
}

// A loop whose types are settled; references that its body writes are carries behind the others.
struct Settled {
  TracedFunction body;
  std::vector<CellRef> refs;
  std::optional<std::vector<TakesPart>> parts;
};
Settled settle_with_refs(std::string_view op, const FlatLoop& loop, Arrays& carries, VaryingSizes& varying,
                         std::span<const Type> elements, const Arrays& xs) {
  auto [body, parts] = settle(op, loop, carries, varying, elements, xs);
  std::vector<CellRef> refs = body.written();
  if (refs.empty()) return {std::move(body), {}, std::move(parts)};
  TracedFunction discharged = with_refs_as_arguments(body, refs, carries.size(), carries.size());
  for (const CellRef& ref : refs) carries.push_back(read_cell(ref));
  return {std::move(discharged), std::move(refs), std::nullopt};
}

// Takes what the references became off the results of a loop of so many carries, and writes it to them.
void write_refs(const std::vector<CellRef>& refs, std::size_t carries, Arrays& results) {
  const auto first = results.begin() + static_cast<std::ptrdiff_t>(carries - refs.size());
  for (std::size_t k = 0; k < refs.size(); ++k) write_cell(refs[k], first[static_cast<std::ptrdiff_t>(k)]);
  results.erase(first, first + static_cast<std::ptrdiff_t>(refs.size()));
}

// What a traced function of these arguments passes on as a result: one of them, or what it captured; nothing where it
// computes the result.
const Array* passed_on(const TracedFunction& f, std::size_t result, std::span<const Array> arguments) {
  const auto& inputs = f.program->inputs();
  const auto at = static_cast<std::size_t>(std::ranges::find(inputs, f.program->outputs()[result]) - inputs.begin());
  if (at < arguments.size()) return &arguments[at];
  return at < inputs.size() && at >= arguments.size() + f.refs.size() ? &f.captures[at - arguments.size()] : nullptr;
}

// Whether two handles are known to stand for one array.
bool is_same(const Array* a, const Array* b) {
  if (a == nullptr || b == nullptr || a == b) return a == b && a != nullptr;
  if (const Traced *x = a->traced(), *y = b->traced(); x != nullptr && y != nullptr)
    return x->scope == y->scope && x->var == y->var;
  const Buffer *x = a->buffer(), *y = b->buffer();
  return x != nullptr && y != nullptr && x->data() == y->data() && x->contiguous() && y->contiguous();
}

// Other axes in place of the first `from`.
Array with_first_axes(const Array& x, std::size_t from, std::initializer_list<Dim> axes) {
  std::vector<Dim> dims(axes);
  for (std::size_t i = from; i < x.rank(); ++i) dims.push_back(x.shape()[i]);
  return reshape(x, Shape(dims));
}

// `unroll` steps a turn: the body calls the step's Program for each. Steps that are left over come last.
Arrays run_unrolled(std::string_view op, const FlatLoop& loop, Arrays carries, const Arrays& xs,
                    std::span<const Type> elements) {
  VaryingSizes varying(carries.size());
  const auto [step, refs, parts] = settle_with_refs(op, loop, carries, varying, elements, xs);
  const auto states = static_cast<std::ptrdiff_t>(carries.size());
  const std::size_t ys = step.program->outputs().size() - carries.size();
  const std::int64_t n = loop.length->value(), width = std::min(loop.unroll, n), turns = n / width, rest = n % width;
  FlatLoop in_turns = loop, left = loop;
  in_turns.unroll = left.unroll = 1;
  in_turns.length = turns, left.length = rest;
  // A turn is the step that checkpoints count.
  if (loop.checkpoints && loop.checkpoints->kind == CheckpointKind::every)
    in_turns.checkpoints->count = std::max<std::int64_t>(loop.checkpoints->count / width, 1);
  left.checkpoints = std::nullopt;
  const auto one = [&](std::span<const Array> in) { return tenon::apply(step, in); };
  const auto turn = [&](std::span<const Array> in) {
    Arrays state(in.begin(), in.begin() + states);
    std::vector<Arrays> stacked(ys, Arrays(static_cast<std::size_t>(width)));
    for (std::int64_t i = 0; i < width; ++i) {
      const std::int64_t at = loop.reverse ? width - 1 - i : i;
      for (const Array& x : in.subspan(carries.size())) state.push_back(squeeze(slice_in_dim(x, at, at + 1, 0), 0));
      state = tenon::apply(step, state);
      for (std::size_t y = 0; y < ys; ++y) stacked[y][static_cast<std::size_t>(at)] = state[carries.size() + y];
      state.resize(carries.size());
    }
    for (const Arrays& y : stacked) state.push_back(stack(y));
    return state;
  };
  left.body = FlatFunction(one), in_turns.body = FlatFunction(turn);
  const std::int64_t begin = loop.reverse ? rest : 0, end = begin + turns * width;
  Arrays chunks, others;
  for (const Array& x : xs) {
    chunks.push_back(with_first_axes(slice_in_dim(x, begin, end, 0), 1, {turns, width}));
    others.push_back(loop.reverse ? slice_in_dim(x, 0, begin, 0) : slice_in_dim(x, end, n, 0));
  }
  Arrays results = run_loop(op, in_turns, carries, chunks);
  for (std::size_t i = carries.size(); i < results.size(); ++i)
    results[i] = with_first_axes(results[i], 2, {turns * width});
  if (rest > 0) {
    Arrays last = run_loop(op, left, Arrays(results.begin(), results.begin() + states), others);
    for (std::size_t i = carries.size(); i < results.size(); ++i)
      last[i] = concatenate(loop.reverse ? Arrays{last[i], results[i]} : Arrays{results[i], last[i]}, 0);
    results = std::move(last);
  }
  write_refs(refs, carries.size(), results);
  return with_unpacked(varying, std::move(results));
}

// Results of branches whose sizes the data of one of them decide.
VaryingSizes varying_results(std::string_view op, std::span<const TracedFunction> branches) {
  VaryingSizes varying(branches[0].results());
  const auto type = [&](const TracedFunction& branch, std::size_t i) -> const Type& {
    return branch.program->type(branch.program->outputs()[i]);
  };
  for (const TracedFunction& branch : branches)
    for (std::size_t i = 0; i < std::min(varying.arrays(), branch.results()); ++i)
      if (type(branch, i).is_array()) note_decided(varying, i, type(branch, i).rank(), *branch.program);
  if (!varying.any()) return varying;
  for (std::size_t i = 0; i < varying.arrays(); ++i) {
    if (!varying.varies(i)) continue;
    const auto with_sizes_left_out = [&](const TracedFunction& branch) {
      std::vector<Dim> dims;
      const Type& t = type(branch, i);
      SizeBinding sizes;
      for (std::size_t s = 0; s < branch.sizes.size(); ++s)
        sizes.emplace(branch.program->size_params()[s], branch.sizes[s]);
      for (std::size_t axis = 0; t.is_array() && axis < t.rank(); ++axis)
        dims.push_back(varying.varies(i, axis) ? Dim(0) : substitute(t.shape[axis], sizes));
      return t.is_array() ? Type::array(t.dtype, Shape(dims)) : t;
    };
    for (std::size_t b = 1; b < branches.size(); ++b)
      if (branches[b].results() == varying.arrays() &&
          with_sizes_left_out(branches[b]) != with_sizes_left_out(branches[0]))
        throw ShapeError(fmt::format("{}: branch 0 gives {} as result {}, branch {} gives {}.", op,
                                     type(branches[0], i).text(), i, b, type(branches[b], i).text()),
                         "Branches return the same types, but for sizes that data decide; convert or broadcast one of "
                         "them.");
  }
  for (const TracedFunction& branch : branches)
    varying.split([&](std::size_t i, std::size_t axis) { return type(branch, i).shape[axis]; });
  return varying;
}

}  // namespace

std::vector<Type> types_of_elements(std::string_view op, const FlatLoop& loop, const Arrays& xs) {
  std::vector<Type> elements;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const Type t = xs[i].type();
    const std::string name = loop.xs_paths[i].empty() ? "xs" : "leaf " + loop.xs_paths[i] + " of xs";
    if (!t.is_array() || t.rank() == 0)
      throw ShapeError(
          fmt::format("{}: {} is {}, which has no axis to run along.", op, name, t.text()),
          "Every array of xs has one element a step along axis 0; capture what is the same in every step.");
    if (t.shape[0] != *loop.length && t.shape[0].known() && loop.length->known())
      throw ShapeError(fmt::format("{}: {} is {}: {} steps where there are {}.{}", op, name, t.text(),
                                   t.shape[0].text(), loop.length->text(), lines_of(std::vector<Array>{xs[0], xs[i]})),
                       "All arrays of xs have the same size along axis 0, which is also `length` if that is given.");
    elements.push_back(Type::array(t.dtype, t.shape.without_axis(0)));
  }
  return elements;
}

void trace_once(std::string_view op, const FlatLoop& loop, Arrays carries, const Arrays& xs) {
  VaryingSizes varying(carries.size());
  settle(op, loop, carries, varying, loop.length ? types_of_elements(op, loop, xs) : types_of(xs), xs);
}

void throw_list_in_ys() {
  throw ShapeError("scan: the function returns a list beside the carry, and lists are not stacked.",
                   "Put the list into the carry, or give what stands in it: list.stack(n).");
}

Arrays run_loop(std::string_view op, const FlatLoop& loop, Arrays carries, const Arrays& xs) {
  if (loop.unroll < 1)
    throw ShapeError(fmt::format("{}: `unroll` is {}.", op, loop.unroll), "A turn of the loop does at least one step.");
  const std::vector<Type> elements = types_of_elements(op, loop, xs);
  if (loop.unroll > 1 && loop.length && loop.length->known() && loop.length->value() > 1)
    return run_unrolled(op, loop, std::move(carries), xs, elements);
  VaryingSizes varying(carries.size());
  auto [body, refs, parts] = settle_with_refs(op, loop, carries, varying, elements, xs);
  const std::size_t own = varying.values();
  if (loop.cond && loop.checkpoints && loop.checkpoints->kind == CheckpointKind::every)
    throw ShapeError(fmt::format("{}: every({}) keeps as many carries as there are steps, whose number only data tell.",
                                 op, loop.checkpoints->count),
                     "Use binomial(n), which keeps n carries whatever their number.");
  for (std::size_t i = 0; loop.checkpoints && i < carries.size(); ++i)
    if (!carries[i].type().is_array())
      throw ShapeError(fmt::format("{}: {} is {}, of which no checkpoint can be kept.", op, leaf_name(loop, i),
                                   carries[i].type().text()),
                       "Leave out the checkpoints, or keep arrays of a fixed size in the carry.");
  LoopParams params{.length = loop.length,
                    .reverse = loop.reverse,
                    .carries = static_cast<std::int64_t>(carries.size()),
                    .checkpoints = loop.checkpoints};
  Arrays operands = body.captures;
  if (!loop.cond) {
    params.body = captures_first(body, {}, {});
  } else {
    const std::vector<Type> state = types_of(carries);
    const auto holds = [&](std::span<const Array> in) { return of_packed(loop.cond, varying, in); };
    TracedFunction cond =
        with_refs_as_arguments(trace_types(holds, std::span(state).first(own),
                                           weak_flags_of(std::span(carries).first(own)), "the condition of while_loop"),
                               refs, own, std::nullopt);
    const Type result = cond.program->type(cond.program->outputs()[0]);
    if (!result.is_array() || result.rank() != 0)
      throw ShapeError(fmt::format("{}: the condition returns {}, not one bool.", op, result.text()),
                       result.dtype == DType::bool_ ? "Reduce it with any() or all()."
                                                    : "Compare it, and reduce what comes out with any() or all().");
    if (result.dtype != DType::bool_)
      throw DTypeError(fmt::format("{}: the condition returns {}, not one bool.", op, result.text()),
                       "Compare it: x > 0.f, n != 0.");
    params.body = captures_first(body, {}, types_of(cond.captures));
    params.cond = captures_first(cond, types_of(body.captures), {});
    params.cond_sizes = cond.sizes;
    operands.insert(operands.end(), cond.captures.begin(), cond.captures.end());
  }
  params.body_sizes = body.sizes;
  params.consts = static_cast<std::int64_t>(operands.size());
  operands.insert(operands.end(), carries.begin(), carries.end());
  operands.insert(operands.end(), xs.begin(), xs.end());
  Arrays results = tenon::loop(std::move(params), operands);
  for (std::size_t i = 0; parts && i < results.size(); ++i)
    if (const Traced* t = results[i].traced())
      Scope::of(*t).set_takes_part(results[i], {(*parts)[i].derivatives, Scope::takes_part(results[i]).lanes});
  // A carry that no step changes is what it was at first, which a batch or derivative of the others need not reach.
  for (std::size_t i = 0; i < own; ++i)
    if (body.program->outputs()[i] == body.program->inputs()[i]) results[i] = carries[i];
  results = weakly_typed(std::move(results), body.weak);
  write_refs(refs, carries.size(), results);
  return with_unpacked(varying, std::move(results));
}

Checkpoints checkpoints(std::string_view function, CheckpointKind kind, std::int64_t count) {
  if (count >= 1) return {kind, count};
  if (kind == CheckpointKind::every)
    throw ShapeError(fmt::format("{}: a carry is to be kept of every {} steps.", function, count),
                     "Give a number of steps from 1 on.");
  throw ShapeError(fmt::format("{}: {} carries are to be kept.", function, count),
                   "Reverse mode needs at least one, the first.");
}

Dim steps_of(std::string_view op, const std::optional<Dim>& length, const Arrays& xs) {
  if (length && length->known() && length->value() < 0)
    throw ShapeError(fmt::format("{}: the length is {}.", op, length->text()), "A number of steps is not negative.");
  if (length) return *length;
  if (xs.empty())
    throw ShapeError(fmt::format("{}: neither xs nor the option `length` says how many steps there are.", op),
                     "Give {.length = n}, or an array in xs.");
  const Type t = xs[0].type();
  return t.is_array() && t.rank() > 0 ? t.shape[0] : Dim(0);  // run_loop() says what is wrong with it
}

ForiBounds fori_bounds(const Operand& lower, const Operand& upper) {
  const auto text = [&] { return fmt::format("{} and {}", lower->type().text(), upper->type().text()); };
  DType dtype = DType::i32;
  for (const Operand* bound : {&lower, &upper}) {
    const Type t = (*bound)->type();
    if (!t.is_array() || !is_integer(t.dtype))
      throw DTypeError(fmt::format("fori_loop: the bounds are {}, not integers.", text()),
                       "Convert them with convert(bound, DType::i32).");
    if (t.rank() != 0)
      throw ShapeError(fmt::format("fori_loop: the bounds are {}, not one number each.", text()),
                       "Use scan() over an array of indices, or vmap() over loops.");
    const Scalar* number = (*bound)->number();
    const bool fits =
        number != nullptr && (*bound)->weak()
            ? number->convert(DType::i64).convert(DType::i32).convert(DType::i64) == number->convert(DType::i64)
            : size_of(t.dtype) < 8 && t.dtype != DType::u32;
    if (!fits) dtype = DType::i64;
  }
  ForiBounds bounds{convert(lower, dtype), convert(upper, dtype), std::nullopt};
  const auto from = as_size(lower), to = as_size(upper);
  if (from && to) bounds.count = decided_less(*to, *from) == false ? *to - *from : max(*to - *from, 0);
  return bounds;
}

Array branch_number(const Operand& index, std::size_t branches) {
  const Type t = index->type();
  if (!t.is_array() || !is_integer(t.dtype))
    throw DTypeError(fmt::format("switch_case: the index is {}, not an integer.", t.text()),
                     "Convert it with convert(index, DType::i32); where() or cond() take a bool.");
  if (t.rank() != 0)
    throw ShapeError(fmt::format("switch_case: the index is {}, not one integer.", t.text()),
                     "Use vmap() for an index of each element.");
  const Array last(Scalar(static_cast<std::int64_t>(branches) - 1).convert(t.dtype));
  const Array first(Scalar(0).convert(t.dtype));
  return convert(clamp(index, first, last), DType::i32);
}

Arrays run_cond(std::string_view op, const Array& index, std::span<const FlatFunction> branches, const Arrays& operands,
                FunctionRef<bool()> settled) {
  if (index.rank() != 0)
    throw ShapeError(
        fmt::format("{}: the predicate is {}, not one bool.", op, Type::array(DType::bool_, index.shape()).text()),
        "Use where() to choose element by element.");
  const std::vector<Type> types = types_of(operands);
  std::vector<TracedFunction> traced;
  std::vector<CellRef> refs;  // that some branch writes: operands and results of all
  std::vector<Type> captured;
  const auto trace = [&](const VaryingSizes* varying) {
    traced.clear();
    for (const FlatFunction& branch : branches) {
      const auto packed = [&](std::span<const Array> in) { return varying ? varying->pack(branch(in)) : branch(in); };
      traced.push_back(trace_types(packed, types, weak_flags_of(operands), writes_refs, region_of(operands)));
    }
    return settled();
  };
  while (!trace(nullptr)) {
  }
  const VaryingSizes varying = varying_results(op, traced);
  if (varying.any()) trace(&varying);
  for (const TracedFunction& branch : traced)
    for (const CellRef& ref : branch.written())
      if (std::ranges::find(refs, ref) == refs.end()) refs.push_back(ref);
  const std::size_t own = traced[0].results();
  // Results that every branch passes on from one array are that array, which a batch or derivative need not reach.
  std::vector<std::optional<Array>> passed(own);
  for (std::size_t i = 0; i < own; ++i) {
    const Array* first = passed_on(traced[0], i, operands);
    const bool by_all = std::ranges::all_of(
        traced, [&](const TracedFunction& branch) { return is_same(passed_on(branch, i, operands), first); });
    if (by_all) passed[i] = *first;
  }
  for (TracedFunction& branch : traced) {
    if (!refs.empty()) branch = with_refs_as_arguments(branch, refs, operands.size(), own);
    for (const Array& a : branch.captures) captured.push_back(a.type());
  }
  // Every branch takes the captures of all, then the operands.
  CondParams params;
  Arrays all;
  std::size_t start = 0;
  for (TracedFunction& branch : traced) {
    const std::size_t end = start + branch.captures.size();
    params.branches.push_back(
        captures_first(branch, std::span(captured).first(start), std::span(captured).subspan(end)));
    params.sizes.push_back(branch.sizes);
    all.insert(all.end(), branch.captures.begin(), branch.captures.end());
    start = end;
  }
  all.insert(all.end(), operands.begin(), operands.end());
  for (const CellRef& ref : refs) all.push_back(read_cell(ref));
  std::vector<bool> weak = traced[0].weak;  // where every branch's results are
  for (const TracedFunction& branch : traced)
    for (std::size_t i = 0; i < weak.size() && i < branch.weak.size(); ++i) weak[i] = weak[i] && branch.weak[i];
  Arrays results = tenon::cond(std::move(params), index, all);
  for (std::size_t i = 0; i < own; ++i)
    if (passed[i]) results[i] = *passed[i];
  results = weakly_typed(std::move(results), weak);
  write_refs(refs, own + refs.size(), results);
  return with_unpacked(varying, std::move(results));
}

}  // namespace tenon::api_detail
