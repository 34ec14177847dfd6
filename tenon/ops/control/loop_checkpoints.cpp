// Reverse mode of a loop with checkpoints. Its split keeps carries at some steps and nothing else; the second half, an
// op of its own, is the whole loop again to forward mode, while its transpose walks back by the schedule, segment by
// segment: the known part is run again from a carry that was kept, and the segment recorded and pulled back.
#include <algorithm>

#include "tenon/ir/adapt.h"
#include "tenon/ir/replay.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/control/callee.h"
#include "tenon/ops/control/loop_roles.h"
#include "tenon/ops/control/schedule.h"
#include "tenon/ops/control/traced_region.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/families.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {

// loop_again {…} operands of the loop…, what is kept…, steps, places  ->  results of the loop that are not known
//   unknown: operands of the loop that are linear; whole: the Program that this is
struct LoopAgainParams {
  LoopParams loop;
  std::vector<bool> unknown;
  ProgramRef whole;
  std::vector<Dim> whole_sizes;
};
BOOST_DESCRIBE_STRUCT(LoopAgainParams, (), (loop, unknown, whole, whole_sizes))

namespace {

extern const OpInfo loop_again_info;

Array with_row(const Array& x, const Array& i, const Array& value) {
  Arrays start(x.rank(), Array(Scalar(std::int64_t(0))));
  start[0] = i;
  return dynamic_update_slice(x, expand_dims(value, 0), start);
}

template <class T>
std::vector<T> chosen(std::span<const T> all, const Mask& mask) {
  std::vector<T> some;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (mask[i]) some.push_back(all[i]);
  return some;
}
void append(Arrays& all, const Arrays& more) { all.insert(all.end(), more.begin(), more.end()); }

// A loop's roles, what of them is known, and its steps as functions of handles.
class Stepper {
 public:
  // `unknown`: of the operands, carries by the fix-point.
  Stepper(LoopParams p, Mask unknown, Recurse& recurse)
      : p_(without_lanes(std::move(p))), roles_(p_), unknown_(std::move(unknown)) {
    known_out_ = complement(recurse.reach(p_.body, unknown_));
    for (std::size_t i = 0; i < roles_.carries; ++i) known_out_[i] = !unknown_[roles_.consts + i];
    const Mask known = complement(unknown_);
    known_body_ = recurse.partition(p_.body, {.known_in = known, .known_out = known_out_, .free_in = known}).first;
    if (!p_.cond) return;
    const auto state = static_cast<std::ptrdiff_t>(roles_.consts + roles_.carries);
    known_cond_ =
        recurse.partition(p_.cond, {.known_in = Mask(known.begin(), known.begin() + state), .known_out = {true}}).first;
  }

  const LoopParams& params() const { return p_; }
  const LoopRoles& roles() const { return roles_; }
  const Mask& unknown() const { return unknown_; }
  const Mask& known_out() const { return known_out_; }
  std::size_t known_carries() const { return count(known_out_, 0, roles_.carries); }
  std::size_t known_ys() const { return count(known_out_, roles_.carries, roles_.results()); }

  Schedule schedule() const {
    Schedule s{.checkpoints = *p_.checkpoints, .segment = p_.checkpoints->count};
    if (p_.length) s.steps = size_as_array(*p_.length).with_weak(false);
    return s;
  }
  // Where step t reads xs and writes ys.
  Array place(const Array& t) const { return p_.reverse ? size_as_array(*p_.length) - 1 - t : t; }
  Array more(const Arrays& consts, const Arrays& carries) const {
    return inline_program(*known_cond_, p_.cond_sizes, joined({consts, carries}))[0];
  }
  // Known carries after one step, then known ys.
  Arrays known_step(const Arrays& consts, const Arrays& carries, const Arrays& xs, const Array& t) const {
    Arrays results = inline_program(*known_body_, p_.body_sizes, joined({consts, carries, rows(xs, t)}));
    results.resize(known_carries() + known_ys());
    return results;
  }
  // All results of one step of all operands, of xs their elements.
  Arrays step(const Arrays& consts, const Arrays& carries, const Arrays& elements) const {
    return inline_program(*p_.body, p_.body_sizes, joined({consts, carries, elements}));
  }

 private:
  static LoopParams without_lanes(LoopParams p) {
    if (!p.lanes) return p;
    std::vector<std::optional<std::size_t>> order;
    for (std::size_t i = 0; i < p.body->inputs().size(); ++i) order.emplace_back(i);
    std::vector<std::size_t> outputs(p.body->outputs().size() - 1);
    for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i] = i;
    p.body = adapt(*p.body, order, std::vector<Type>(order.size()), outputs);
    p.lanes = false;
    return p;
  }
  static std::size_t count(const Mask& mask, std::size_t from, std::size_t to) {
    return static_cast<std::size_t>(std::count(mask.begin() + static_cast<std::ptrdiff_t>(from),
                                               mask.begin() + static_cast<std::ptrdiff_t>(to), true));
  }
  Arrays rows(const Arrays& xs, const Array& t) const {
    Arrays elements;
    for (const Array& x : xs) elements.push_back(row_at(x, place(t)));
    return elements;
  }

  LoopParams p_;
  LoopRoles roles_;
  Mask unknown_, known_out_;
  ProgramRef known_body_, known_cond_;
};

// Operands of the loop by role, those of a mask.
struct Roles {
  Arrays consts, carries, xs;
  Roles(const LoopRoles& roles, const Mask& mask, const Arrays& some) {
    for (std::size_t i = 0, k = 0; i < roles.operands(); ++i)
      if (mask[i]) (roles.is_const(i) ? consts : roles.is_carry(i) ? carries : xs).push_back(some[k++]);
  }
};

// Steps `from` to before `to` of the known part (or while the condition holds): the step reached, carries, and ys where
// they are given.
Arrays run_known(const Stepper& loop, const Roles& in, const Array& from, const Array& to, bool asks,
                 const Arrays& carries, const Arrays& ys) {
  const auto carries_of = [&](const Arrays& s) {
    return Arrays(s.begin() + 1, s.begin() + 1 + static_cast<std::ptrdiff_t>(carries.size()));
  };
  return while_loop_of(
      [&](const Arrays& s) {
        const Array below = s[0] < to;
        return Arrays{asks ? below & loop.more(in.consts, carries_of(s)) : below};
      },
      [&](const Arrays& s) {
        Arrays results = loop.known_step(in.consts, carries_of(s), in.xs, s[0]);
        results.insert(results.begin(), s[0] + 1);
        for (std::size_t i = 0; i < ys.size(); ++i) {
          const std::size_t at = 1 + carries.size() + i;
          results[at] = with_row(s[at], loop.place(s[0]), results[at]);
        }
        results.resize(s.size());
        return results;
      },
      joined({Arrays{from}, carries, ys}));
}

// The known results of the loop, then what is kept, steps, places.
Arrays go_out_of(const Stepper& loop, const Arrays& known) {
  const LoopRoles& roles = loop.roles();
  const Schedule schedule = loop.schedule();
  const Roles in(roles, complement(loop.unknown()), known);
  Arrays state = in.carries;
  const SizeBinding sizes = loop_sizes(*loop.params().body, loop.params().body_sizes);
  for (std::size_t i = roles.carries; i < roles.results(); ++i) {
    if (!loop.known_out()[i]) continue;
    const Type y = substitute(loop.params().body->type(loop.params().body->outputs()[i]), sizes);
    state.push_back(zeros(y.shape.with_axis(0, *loop.params().length), y.dtype));
  }
  const std::size_t carries = in.carries.size(), results = state.size();
  const Dim places = places_of(schedule, loop.params().length.value_or(Dim(0)));
  for (const Array& c : in.carries) state.push_back(zeros(c.shape().with_axis(0, places), c.dtype()));
  const auto part = [](const Arrays& s, std::size_t from, std::size_t to) {
    return Arrays(s.begin() + static_cast<std::ptrdiff_t>(from), s.begin() + static_cast<std::ptrdiff_t>(to));
  };
  const WayOut out{.more = [&](const Arrays& s) { return loop.more(in.consts, part(s, 0, carries)); },
                   .keep =
                       [&](const Array& place, Arrays s) {
                         for (std::size_t i = 0; i < carries; ++i)
                           s[results + i] = with_row(s[results + i], place, s[i]);
                         return s;
                       },
                   .run =
                       [&](const Array& from, const Array& to, const Arrays& s) {
                         Arrays reached = run_known(loop, in, from, to, !schedule.steps, part(s, 0, carries),
                                                    part(s, carries, results));
                         append(reached, part(s, results, s.size()));
                         return reached;
                       }};
  Kept kept = go_out(schedule, out, state);
  kept.state.push_back(kept.steps);
  if (kept.at) kept.state.push_back(*kept.at);
  return kept.state;
}

// --- the way back ---
// Steps `from` to before `to` with all their parts, recorded at once, and pulled back. Of stacked operands and results
// that are not known it has the rows of as many steps, from `start` on.
class Segment {
 public:
  Segment(const Stepper& loop, const Roles& known, const Mask& present, Recurse& recurse)
      : loop_(loop), known_(known), present_(present), recurse_(recurse) {}

  // Its rows, fewer than a segment's steps where the loop has fewer; and those of an array with a row a step.
  Dim rows() const { return min(Dim(loop_.schedule().segment), *loop_.params().length); }
  Array start(const Array& from) const { return min(from, steps() - size_as_array(rows())); }
  Array of(const Array& all, const Array& start) const {
    std::vector<Dim> sizes = all.shape().dims();
    sizes[0] = rows();
    return dynamic_slice(all, first_row(all, start), sizes);
  }
  Array with(const Array& all, const Array& start, const Array& rows) const {
    return dynamic_update_slice(all, rows, first_row(all, start));
  }

  // `pulled`: cotangents of unknown carries, of rows of the ys that are there, then sums of linear consts and rows of
  // xs.
  Arrays pull(const Array& from, const Array& to, const Array& start, bool whole, const Arrays& carry,
              const Arrays& pulled) const {
    const Arrays known = joined({Arrays{from, to, start}, known_.consts, carry, known_.xs});
    const std::vector<Type> linear_types = types_of(pulled);
    const TraceResult traced = trace(types_of(known), linear_types, whole);
    PartitionRequest split{.known_in = Mask(known.size(), true),
                           .known_out = Mask(traced.program->outputs().size(), false),
                           .free_in = Mask(known.size(), true)};
    split.known_in.resize(known.size() + linear_types.size(), false);
    split.free_in.resize(split.known_in.size(), false);
    const Partitioned parts = recurse_.partition(traced.program, split);
    const Arrays stored = inline_program(*parts.first, traced.sizes, known);
    Arrays operands;
    for (const auto& r : parts.residuals)
      operands.push_back(r.from == Partitioned::Residual::From::input ? known[r.index] : stored[r.index]);
    TransposeRequest request{.linear_in = Mask(parts.second->inputs().size(), false),
                             .cotangents = Mask(parts.second->outputs().size(), true),
                             .accumulate = Mask(parts.second->inputs().size(), false)};
    std::fill_n(request.linear_in.begin(), linear_types.size(), true);
    for (std::size_t i = parts.second->outputs().size(); i < linear_types.size(); ++i) request.accumulate[i] = true;
    const std::vector<Dim> sizes = second_sizes(parts, traced, operands);
    const ProgramRef backward = recurse_.transpose(parts.second, request);
    append(operands, pulled);
    return inline_program(*backward, infer_sizes(*backward, types_of(operands), sizes), operands);
  }

 private:
  // (from, to, start, known consts, carries, xs; unknown carries, ys, consts, xs) -> (unknown carries, ys)
  TraceResult trace(const std::vector<Type>& known_types, const std::vector<Type>& linear_types, bool whole) const {
    Scope scope;
    Arrays known, linear;
    for (const Type& t : known_types) known.push_back(scope.input(t));
    for (const Type& t : linear_types) linear.push_back(scope.input(t));
    const LoopRoles& roles = loop_.roles();
    const std::size_t carries_at = 3 + known_.consts.size();
    std::size_t next_known = 3, next_linear = 0;
    Arrays consts(roles.consts), xs(roles.xs), state{known[0]};
    for (std::size_t i = 0; i < roles.carries; ++i)
      state.push_back(loop_.unknown()[roles.consts + i] ? linear[next_linear++] : known[carries_at + i - next_linear]);
    for (std::size_t i = 0; i < roles.ys; ++i)
      if (present_[roles.carries + i]) state.push_back(linear[next_linear++]);
    for (std::size_t i = 0; i < roles.consts; ++i)
      consts[i] = loop_.unknown()[i] ? linear[next_linear++] : known[next_known++];
    next_known += loop_.known_carries();
    for (std::size_t i = 0; i < roles.xs; ++i) xs[i] = unknown_xs(i) ? linear[next_linear++] : known[next_known++];
    const HandleFunction step = [&](const Arrays& s) { return one_step(s, known[2], consts, xs); };
    const Arrays end = whole ? counted_loop_of(Dim(loop_.schedule().segment), step, state)
                             : while_loop_of([&](const Arrays& s) { return Arrays{s[0] < known[1]}; }, step, state);
    Arrays outputs;
    for (std::size_t i = 0; i < roles.carries; ++i)
      if (loop_.unknown()[roles.consts + i]) outputs.push_back(end[1 + i]);
    outputs.insert(outputs.end(), end.begin() + 1 + static_cast<std::ptrdiff_t>(roles.carries), end.end());
    return scope.finish(outputs, loop_.params().body->name() + "_segment");
  }

  Arrays one_step(const Arrays& s, const Array& start, const Arrays& consts, const Arrays& xs) const {
    const LoopRoles& roles = loop_.roles();
    Arrays elements;
    for (std::size_t i = 0; i < roles.xs; ++i)
      elements.push_back(row_at(xs[i], unknown_xs(i) ? place(s[0], start) : loop_.place(s[0])));
    const auto ys_at = static_cast<std::ptrdiff_t>(1 + roles.carries);
    const Arrays results = loop_.step(consts, Arrays(s.begin() + 1, s.begin() + ys_at), elements);
    Arrays next{s[0] + 1};
    next.insert(next.end(), results.begin(), results.begin() + static_cast<std::ptrdiff_t>(roles.carries));
    for (std::size_t i = roles.carries; i < roles.results(); ++i)
      if (present_[i]) next.push_back(with_row(s[next.size()], place(s[0], start), results[i]));
    return next;
  }

  bool unknown_xs(std::size_t i) const { return loop_.unknown()[loop_.roles().consts + loop_.roles().carries + i]; }
  Array steps() const { return *loop_.schedule().steps; }
  // Of step t among the rows.
  Array place(const Array& t, const Array& start) const {
    return loop_.params().reverse ? size_as_array(rows()) - 1 - (t - start) : t - start;
  }
  Arrays first_row(const Array& all, const Array& start) const {
    Arrays first(all.rank(), Array(Scalar(std::int64_t(0))));
    first[0] = loop_.params().reverse ? steps() - size_as_array(rows()) - start : start;
    return first;
  }

  static std::vector<Dim> second_sizes(const Partitioned& parts, const TraceResult& traced, const Arrays& residuals) {
    const Program& second = *parts.second;
    const SizeBinding own = callee_sizes(*traced.program, traced.sizes);
    SizeBinding shown;
    const std::size_t linear = second.inputs().size() - residuals.size();
    for (std::size_t i = 0; i < residuals.size(); ++i)
      unify(second.type(second.inputs()[linear + i]), residuals[i].type(), shown);
    std::vector<Dim> sizes;
    for (std::size_t i = 0; i < parts.second_sizes.size(); ++i)
      sizes.push_back(parts.second_sizes[i] ? substitute(*parts.second_sizes[i], own)
                                            : shown.at(second.size_params()[i]));
    return sizes;
  }

  const Stepper& loop_;
  const Roles& known_;
  const Mask& present_;
  Recurse& recurse_;
};

// What is pulled back: cotangents of unknown carries, sums for linear consts, sums for linear xs; the operand of each,
// and what is read on the way: the cotangents of the ys that are there.
struct Pulled {
  Arrays carries, consts, xs, ys;
  std::vector<std::size_t> operands;
  Arrays values() const { return joined({carries, consts, xs}); }
};

Pulled pulled_of(const Stepper& loop, const TransposeArgs& args) {
  const LoopRoles& roles = loop.roles();
  Pulled pulled;
  std::size_t result = 0;
  for (std::size_t i = 0; i < roles.results(); ++i) {
    if (loop.known_out()[i]) continue;
    const MaybeArray& ct = args.cotangents[result++];
    const std::size_t operand = roles.consts + i;
    if (i < roles.carries) {
      pulled.carries.push_back(ct ? *ct : zeros_of(args.operands[operand].type));
      pulled.operands.push_back(operand);
    } else if (ct) {
      pulled.ys.push_back(*ct);
    }
  }
  for (const bool of_xs : {false, true})
    for (std::size_t i = 0; i < roles.operands(); ++i) {
      if (roles.is_carry(i) || roles.is_xs(i) != of_xs || !loop.unknown()[i]) continue;
      (of_xs ? pulled.xs : pulled.consts).push_back(zeros_of(args.operands[i].type));
      pulled.operands.push_back(i);
    }
  return pulled;
}

// One segment's part of all that is pulled back.
Arrays pull_segment(const Segment& segment, const Schedule& schedule, const Pulled& pulled, const Array& from,
                    const Array& to, const Arrays& carry, const Arrays& so_far) {
  const bool stacked = !pulled.ys.empty() || !pulled.xs.empty();
  const Array start = stacked ? segment.start(from) : from;
  const std::size_t whole = so_far.size() - pulled.xs.size();  // all but the sums for xs
  Arrays given(so_far.begin(), so_far.begin() + static_cast<std::ptrdiff_t>(pulled.carries.size()));
  for (const Array& ct : pulled.ys) given.push_back(segment.of(ct, start));
  given.insert(given.end(), so_far.begin() + static_cast<std::ptrdiff_t>(pulled.carries.size()),
               so_far.begin() + static_cast<std::ptrdiff_t>(whole));
  for (std::size_t i = whole; i < so_far.size(); ++i) given.push_back(zeros_of(segment.of(so_far[i], start).type()));
  const auto pull = [&](bool full) { return segment.pull(from, to, start, full, carry, given); };
  const std::array<std::function<Arrays()>, 2> branches{[&] { return pull(false); }, [&] { return pull(true); }};
  Arrays next =
      schedule.segment == 1 ? pull(true) : branch_of(convert(to - from == schedule.segment, DType::i32), branches);
  const auto ys = next.begin() + static_cast<std::ptrdiff_t>(pulled.carries.size());
  next.erase(ys, ys + static_cast<std::ptrdiff_t>(pulled.ys.size()));
  for (std::size_t i = whole; i < so_far.size(); ++i)
    next[i] = segment.with(so_far[i], start, segment.of(so_far[i], start) + next[i]);
  return next;
}

void loop_again_transpose(const TransposeArgs& args) {
  const auto& p = args.params.as<LoopAgainParams>();
  // What is zero where it could have been linear is known now.
  Mask unknown = p.unknown;
  const LoopRoles given(p.loop);
  for (std::size_t i = 0; i < unknown.size(); ++i)
    if (!given.is_carry(i)) unknown[i] = args.operands[i].linear();
  const Stepper loop(p.loop, unknown, args.recurse);
  const LoopRoles& roles = loop.roles();
  Arrays values;
  for (std::size_t i = 0; i < roles.operands(); ++i)
    if (!unknown[i])
      values.push_back(args.operands[i].value ? *args.operands[i].value : zeros_of(args.operands[i].type));
  const Roles known(roles, complement(unknown), values);
  Kept kept;
  std::size_t at = roles.operands();
  for (std::size_t i = 0; i < loop.known_carries(); ++i) kept.state.push_back(*args.operands[at++].value);
  kept.steps = *args.operands[at++].value;
  if (at < args.operands.size()) kept.at = *args.operands[at].value;
  // Of the ys, results of this op that were not known: those whose cotangent is there.
  Mask present(roles.results(), false);
  std::size_t result = 0;
  for (std::size_t i = 0; i < roles.results(); ++i)
    if (!loop.known_out()[i]) present[i] = args.cotangents[result++].has_value() && i >= roles.carries;
  const Pulled pulled = pulled_of(loop, args);
  const Segment segment(loop, known, present, args.recurse);
  const Schedule schedule = loop.schedule();
  const WayBack back{
      .restore =
          [](const Array& place, const Arrays& kept) {
            Arrays carry;
            for (const Array& k : kept) carry.push_back(row_at(k, place));
            return carry;
          },
      .run =
          [&](const Array& from, const Array& to, const Arrays& carry) {
            Arrays reached = run_known(loop, known, from, to, false, carry, {});
            return Arrays(reached.begin() + 1, reached.end());
          },
      .keep =
          [](const Array& place, const Array& wanted, const Arrays& carry, Arrays kept) {
            for (std::size_t i = 0; i < kept.size(); ++i)
              kept[i] = with_row(kept[i], place, where(wanted, carry[i], row_at(kept[i], place)));
            return kept;
          },
      .pull = [&](const Array& from, const Array& to, const Arrays& carry,
                  const Arrays& so_far) { return pull_segment(segment, schedule, pulled, from, to, carry, so_far); }};
  const Arrays results = come_back(schedule, back, kept, pulled.values());
  for (std::size_t i = 0; i < results.size(); ++i)
    if (args.operands[pulled.operands[i]].linear()) args.sink.add(pulled.operands[i], results[i]);
}

// Linear in what is not known; else as the loop that it is.
JvpResult loop_again_jvp(const JvpArgs& args) {
  const auto& p = args.params.as<LoopAgainParams>();
  for (std::size_t i = 0; i < args.tangents.size(); ++i)
    if (args.tangents[i] && (i >= p.unknown.size() || !p.unknown[i]))
      return callee_jvp(call_op(), {p.whole, p.whole_sizes}, args);
  Arrays operands(args.primals.begin(), args.primals.end());
  JvpResult result{bind_op(loop_again_info, args.params, operands), {}};
  for (std::size_t i = 0; i < p.unknown.size(); ++i)
    if (p.unknown[i]) operands[i] = tangent_or_zero(args, i);
  for (const Array& t : bind_op(loop_again_info, args.params, operands)) result.tangents.emplace_back(t);
  return result;
}

const OpInfo loop_again_info{
    .name = "loop_again",
    .summary = "what of a loop with checkpoints is linear; reverse mode runs the rest again from them",
    .params = &describe::params_ops<LoopAgainParams>,
    .type = TypeRule([](const Params& params, std::span<const Type> in, TypeContext& context) {
      const auto& p = params.as<LoopAgainParams>();
      if (!p.loop.body || !p.loop.checkpoints || p.unknown.size() != LoopRoles(p.loop).operands())
        throw VerifyError("loop_again: there is no loop, or it has no checkpoints.");
      return callee_types("loop_again", p.whole, p.whole_sizes, in, context);
    }),
    .eval = EvalRule([](const Params& params, std::span<const Value> in, const EvalContext& context) {
      const auto& p = params.as<LoopAgainParams>();
      return callee_eval(p.whole, p.whole_sizes, in, context);
    }),
    .jvp = JvpRule(loop_again_jvp),
    .transpose = TransposeRule(loop_again_transpose),
    .batch = BatchRule([](const BatchArgs& args) {
      const auto& p = args.params.as<LoopAgainParams>();
      return callee_batch(call_op(), {p.whole, p.whole_sizes}, args);
    }),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerCall{[](const Params& params) -> LowerCall::Callee {
      const auto& p = params.as<LoopAgainParams>();
      return {p.whole, p.whole_sizes};
    }}),
    .alias = Absent{"decided inside"},
    .effect = Absent{"pure"},
    .sample = Absent{"tested through the Programs that tests build"},
};
const bool loop_checkpoints_installed = (install_op(loop_again_info), true);

// Whether carries can be kept as rows, and fewer of them than there are steps.
bool gains(const LoopParams& p, std::span<const Type> types, const Mask& unknown) {
  const LoopRoles roles(p);
  if (!p.checkpoints || (p.cond && roles.ys > 0) || (!p.cond && !p.length)) return false;
  if (p.body->effect() != Effect::none) return false;
  if (p.length && p.length->known()) {
    const std::int64_t steps = p.length->value(), count = p.checkpoints->count;
    if (steps == 0 || (p.checkpoints->kind == CheckpointKind::binomial && steps <= count)) return false;
  }
  bool any = false;
  for (std::size_t i = 0; i < roles.operands(); ++i) {
    if (!types[i].is_array()) return false;
    any = any || (roles.is_carry(i) && !unknown[i]);
  }
  for (Var v : p.body->outputs())
    if (!p.body->type(v).is_array()) return false;
  return any;
}

}  // namespace

std::optional<SplitResult> checkpointed_split(const SplitArgs& args) {
  const auto& p = args.params.as<LoopParams>();
  const Mask unknown = loop_body_mask(p, complement(args.known), args.recurse);
  if (!gains(p, args.types, unknown)) return std::nullopt;
  const Stepper loop(p, unknown, args.recurse);
  const LoopRoles& roles = loop.roles();
  const Mask known = complement(unknown);
  SplitResult split{.first = &call_op(), .second = &loop_again_info};
  using From = SplitResult::Source::From;
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (known[i]) split.first_in.push_back(i);
    split.second_in.push_back({From::operand, i});
  }
  for (std::size_t i = 0; i < roles.results(); ++i)
    (loop.known_out()[i] ? split.first_out : split.second_out).push_back(i);
  std::vector<Type> kept;
  {
    Scope scope;
    Arrays inputs;
    for (std::size_t i : split.first_in) inputs.push_back(scope.input(args.types[i]));
    const Arrays outputs = go_out_of(loop, inputs);
    for (std::size_t i = split.first_out.size(); i < outputs.size(); ++i) kept.push_back(outputs[i].type());
    TraceResult traced = scope.finish(outputs, p.body->name() + "_kept");
    split.first_params = call_params(traced.program, traced.sizes);
  }
  for (std::size_t i = 0; i < kept.size(); ++i) split.second_in.push_back({From::residual, i});
  Scope scope;
  Arrays inputs, outputs;
  for (const Type& t : args.types) inputs.push_back(scope.input(t));
  const Arrays results = bind_op(loop_op(), make_params(loop.params()), inputs);
  for (const Type& t : kept) scope.input(t);
  for (std::size_t i : split.second_out) outputs.push_back(results[i]);
  TraceResult whole = scope.finish(outputs, p.body->name() + "_again");
  split.second_params = make_params(LoopAgainParams{loop.params(), unknown, whole.program, whole.sizes});
  return split;
}

const OpInfo& loop_again_op() { return loop_again_info; }

}  // namespace tenon
