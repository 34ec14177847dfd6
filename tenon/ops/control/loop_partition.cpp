// split of loop, for linearize and transpose: a loop over what is known, stacking residuals, and a loop over the rest
// that reads them.
#include <algorithm>

#include "tenon/ir/adapt.h"
#include "tenon/ir/literal.h"
#include "tenon/ops/control/loop_roles.h"
#include "tenon/ops/control/update_chain.h"
#include "tenon/ops/elementwise/bits.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

using SplitSource = SplitResult::Source;
using From = Partitioned::Residual::From;
using Order = std::vector<std::optional<std::size_t>>;

std::vector<Dim> substitute_all(const std::vector<std::optional<Dim>>& sizes, const SizeBinding& own) {
  std::vector<Dim> result;
  for (const auto& size : sizes) {
    if (!size) throw VerifyError("loop: a size that data decide inside a body cannot cross into its derivative.");
    result.push_back(substitute(*size, own));
  }
  return result;
}

// Place of each true element among the true ones.
std::vector<std::size_t> places_of(const Mask& mask) {
  std::vector<std::size_t> place(mask.size());
  for (std::size_t i = 0, k = 0; i < mask.size(); ++i)
    if (mask[i]) place[i] = k++;
  return place;
}

// The inputs of the second body for one role, and where the second loop's operands come from.
struct Feed {
  Order order;
  std::vector<SplitSource> sources;
  void add(std::optional<std::size_t> input, SplitSource source) {
    order.push_back(input);
    sources.push_back(source);
  }
};

// A carry at the start of each step, from the rows that the loop stacks of it at the steps' ends and from where it
// began.
Array before_steps(const Array& ends, const Array& start, bool reverse) {
  const Array first = add_batch_axis(start, 1);
  const Dim steps = ends.type().shape[0];
  return reverse ? slice_in_dim(concatenate(Arrays{ends, first}, 0), 1, steps + 1, 0)
                 : slice_in_dim(concatenate(Arrays{first, ends}, 0), 0, steps, 0);
}

class LoopSplitter {
 public:
  explicit LoopSplitter(const SplitArgs& args)
      : args_(args), p_(args.params.as<LoopParams>()), roles_(p_), request_(request_of()) {
    if (p_.lanes && !request_.known_out.back())
      throw VerifyError("loop: the lanes of a step depend on what is not known.");
    parts_ = args.recurse.partition(p_.body, request_);
    body_ = parts_.first->parts();
    first_input_ = places_of(request_.known_in);
    known_place_ = places_of(request_.known_out);
  }

  SplitResult run() {
    SplitResult split{.first = &loop_op(), .second = &loop_op()};
    const auto known = std::count(request_.known_out.begin(), request_.known_out.end(), true);
    outputs_.assign(body_.outputs.begin(), body_.outputs.begin() + known);
    stored_.assign(body_.outputs.begin() + known, body_.outputs.end());
    if (p_.lanes) {
      lanes_output_ = outputs_.back();
      outputs_.pop_back();
    }
    known_outputs_ = outputs_.size();
    unknown_operands();
    residuals();
    LoopParams first = p_;
    first.consts = first.carries = 0;
    for (std::size_t i = 0; i < roles_.operands(); ++i) {
      if (!request_.known_in[i]) continue;
      split.first_in.push_back(i);
      if (roles_.is_const(i)) ++first.consts;
      if (roles_.is_carry(i)) ++first.carries;
    }
    for (std::size_t i = 0; i < roles_.results(); ++i)
      (request_.known_out[i] ? split.first_out : split.second_out).push_back(i);
    std::vector<Type> types(consts_.order.size() + carries_.order.size() + xs_.order.size());
    if (stacks_lists(p_)) types.push_back(mark_type());
    if (stacks_lists(p_)) mark_steps();
    finish_first(first);
    split.first_params = make_params(first);
    split.second_params = make_params(second(types));
    for (const Feed* feed : {&consts_, &carries_, &xs_})
      split.second_in.insert(split.second_in.end(), feed->sources.begin(), feed->sources.end());
    shift(split);
    return split;
  }

 private:
  static Type mark_type() { return Type::array(DType::bool_, {}); }

  PartitionRequest request_of() const {
    Mask unknown = args_.known;
    unknown.flip();
    const Mask unknown_in = loop_body_mask(p_, unknown, args_.recurse);
    PartitionRequest request{.known_in = unknown_in,
                             .known_out = args_.recurse.reach(p_.body, unknown_in),
                             .free_in = Mask(roles_.operands(), true),
                             .first_carry = roles_.consts,
                             .carries = p_.lanes ? 0 : roles_.carries,
                             .steps = p_.length,
                             .recompute = args_.recompute,
                             .given_sizes = true};
    request.known_in.flip();
    request.known_out.flip();
    request.free_out = request.known_out;  // what is stacked anyway
    if (p_.lanes) request.free_out.back() = false;
    for (std::size_t i = 0; i < roles_.carries; ++i) {
      request.free_out[i] = false;
      request.known_out[i] = !unknown_in[roles_.consts + i];
      request.free_in[roles_.consts + i] = stacked_carry(i, request.known_out).has_value();
    }
    return request;
  }

  // The known output that stacks a carry at the end of each step.
  std::optional<std::size_t> stacked_carry(std::size_t carry, const Mask& known_out) const {
    if (stacks_lists(p_) || p_.lanes || !known_out[carry]) return std::nullopt;
    const auto outputs = p_.body->outputs();
    for (std::size_t i = roles_.carries; i < roles_.results(); ++i)
      if (known_out[i] && outputs[i] == outputs[carry]) return i;
    return std::nullopt;
  }

  Feed& feed_of(std::size_t operand) {
    return roles_.is_const(operand) ? consts_ : roles_.is_carry(operand) ? carries_ : xs_;
  }

  // Whether a stack of this value may be kept as what each step changes (rewrite/delta_stacks.h), or is one of stacks.
  bool may_be_changes(Var v) const {
    const Program& body = *parts_.first;
    for (const Eqn& eqn : body.eqns())
      if (eqn.op == &loop_op() && std::ranges::find(eqn.out, v) != eqn.out.end()) return true;
    for (const Var to : body.outputs())
      if (body.type(to) == body.type(v))
        if (const auto chain = update_chain(body, to); chain && !chain->links.empty())
          if (std::ranges::find(chain->values, v) != chain->values.end()) return true;
    return false;
  }

  // The first loop stacks one more value of its body, for a residual; of booleans bits, which the second makes
  // booleans of again.
  SplitSource stack(Var v, std::optional<std::size_t> residual = {}) {
    if (const auto bits = kept_as_bits(body_.types[v], stacks_lists(p_) ? std::nullopt : p_.length);
        bits && residual && !may_be_changes(v)) {
      packed_.push_back({second_input(*residual), *bits});
      v = pack_in(body_, *bits, v);
    }
    outputs_.push_back(v);
    return {SplitSource::From::residual, outputs_.size() - 1 - known_outputs_};
  }

  void unknown_operands() {
    for (std::size_t i = 0, k = 0; i < roles_.operands(); ++i)
      if (!request_.known_in[i]) feed_of(i).add(k++, {SplitSource::From::operand, i});
  }

  // As consts where they are consts, as xs where they vary.
  void residuals() {
    for (std::size_t r = 0; r < parts_.residuals.size(); ++r) {
      const auto& residual = parts_.residuals[r];
      const std::size_t i = residual.index;
      if (residual.from == From::input && roles_.is_const(i))
        consts_.add(second_input(r), {SplitSource::From::operand, i});
      else
        xs_.add(second_input(r), stacked(residual.from, i, r));
    }
  }
  std::size_t second_input(std::size_t residual) const {
    return parts_.second->inputs().size() - parts_.residuals.size() + residual;
  }
  SplitSource stacked(From from, std::size_t i, std::size_t r) {
    switch (from) {
      case From::input:
        if (roles_.is_xs(i)) return {SplitSource::From::operand, i};
        if (const auto ends = stacked_carry(i - roles_.consts, request_.known_out)) {
          shifted_.push_back({xs_.sources.size(), i});
          return {SplitSource::From::output, *ends};
        }
        return stack(body_.inputs[first_input_[i]], r);
      case From::output:
        return i >= roles_.carries && i < roles_.results() ? SplitSource{SplitSource::From::output, i}
                                                           : stack(body_.outputs[known_place_[i]], r);
      default:
        return stack(stored_[i], r);
    }
  }

  // The second loop reads a carry that is stacked at the ends of steps as it was a step before.
  void shift(SplitResult& split) const {
    if (shifted_.empty()) return;
    std::vector<std::size_t> places;
    const std::size_t operands = split.second_in.size();
    for (const Shifted& s : shifted_) {
      places.push_back(consts_.sources.size() + carries_.sources.size() + s.place);
      split.second_in.push_back({SplitSource::From::operand, s.carry});
    }
    split.second_operands = [places, operands, reverse = p_.reverse](Arrays values) {
      for (std::size_t i = 0; i < places.size(); ++i)
        values[places[i]] = before_steps(values[places[i]], values[operands + i], reverse);
      values.resize(operands);
      return values;
    };
  }

  // The second loop runs once for each element of a list; without one, it gets a mark a step.
  void mark_steps() {
    const Var mark = static_cast<Var>(body_.types.size());
    body_.types.push_back(mark_type());
    body_.eqns.push_back({.op = &literal_op(), .params = literal_params(Scalar(true)), .out = {mark}});
    xs_.add(std::nullopt, stack(mark));
  }

  void finish_first(LoopParams& first) {
    body_.outputs = outputs_;
    if (lanes_output_) body_.outputs.push_back(*lanes_output_);
    first.body = Program::finish(std::move(body_));
    if (!p_.cond) return;
    const auto state = static_cast<std::ptrdiff_t>(roles_.consts + roles_.carries);
    PartitionRequest of_cond{.known_in = Mask(request_.known_in.begin(), request_.known_in.begin() + state),
                             .known_out = {true}};
    first.cond = args_.recurse.partition(p_.cond, of_cond).first;
  }

  LoopParams second(const std::vector<Type>& types) const {
    LoopParams second = p_;
    Order order;
    for (const Feed* feed : {&consts_, &carries_, &xs_})
      order.insert(order.end(), feed->order.begin(), feed->order.end());
    std::vector<std::size_t> outputs(parts_.second->outputs().size());
    for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i] = i;
    second.body = adapt(*with_packed_inputs(), order, types, outputs);
    second.body_sizes = substitute_all(parts_.second_sizes, loop_sizes(*p_.body, p_.body_sizes));
    second.cond = nullptr;
    second.cond_sizes.clear();
    second.lanes = false;
    if (stacks_lists(p_)) second.length = std::nullopt;
    second.consts = static_cast<std::int64_t>(consts_.order.size());
    second.carries = static_cast<std::int64_t>(carries_.order.size());
    return second;
  }

  // The second part, which takes bits where the first stacks bits.
  ProgramRef with_packed_inputs() const {
    if (packed_.empty()) return parts_.second;
    ProgramParts second = parts_.second->parts();
    std::vector<Eqn> unpacked;
    for (const Packed& p : packed_) {
      const Var bits = static_cast<Var>(second.types.size());
      second.types.push_back(p.bits.packed);
      for (Eqn& eqn : unpack_in(second, p.bits, bits, std::exchange(second.inputs[p.input], bits)))
        unpacked.push_back(std::move(eqn));
    }
    second.eqns.insert(second.eqns.begin(), unpacked.begin(), unpacked.end());
    return Program::finish(std::move(second));
  }

  const SplitArgs& args_;
  const LoopParams& p_;
  LoopRoles roles_;
  PartitionRequest request_;
  Partitioned parts_;
  ProgramParts body_;                                   // of the first loop
  std::vector<std::size_t> first_input_, known_place_;  // of operands and outputs of the body, in the first part
  std::vector<Var> outputs_, stored_;
  std::optional<Var> lanes_output_;
  std::size_t known_outputs_ = 0;
  struct Packed {
    std::size_t input;  // of the second part
    Bits bits;
  };
  std::vector<Packed> packed_;
  struct Shifted {
    std::size_t place, carry;  // among the second loop's xs; the operand of the eqn where it begins
  };
  Feed consts_, carries_, xs_;  // of the second loop
  std::vector<Shifted> shifted_;
};

}  // namespace

SplitResult loop_split(const SplitArgs& args) {
  if (auto split = checkpointed_split(args)) return *std::move(split);
  return LoopSplitter(args).run();
}

}  // namespace tenon
