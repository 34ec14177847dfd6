#include "tenon/rewrite/delay_sums.h"

#include <algorithm>
#include <map>

#include "tenon/ir/adapt.h"
#include "tenon/ir/estimate.h"
#include "tenon/ops/control/loop_edit.h"
#include "tenon/ops/control/update_chain.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/linear_algebra/dot.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/transform/memo.h"

namespace tenon {
namespace {

constexpr std::int64_t largest_summand = 1 << 16;  // elements added up in place of their sum
constexpr std::int64_t many_rows = 8, few_rows = 8, vector_row = 16, large_sum = 256;

// What a reduction does that is done here with two operands.
std::optional<kernel::Combine> combine_of(const Eqn& e) {
  using enum kernel::Combine;
  for (const kernel::Combine combine : {add, mul, max, min, and_, or_})
    if (e.op == &combining_op(combine)) return combine;
  return {};
}

bool is_linear_map(const Eqn& e) { return e.op == &transpose_op() || e.op == &reshape_op(); }
bool is_numeric(DType d) { return d != DType::bool_; }

// One carry that can be taken out: carry' = carry + map(made), or max(carry, map(made)) and the like.
struct Delayed {
  std::size_t carry;
  const Eqn* combined;           // the sum, product, maximum, …
  const Eqn* made;               // a product of matrices, a reduction of that kind or a broadcast
  std::vector<const Eqn*> maps;  // applied to its result, first to last
};

// Reads the body of one loop.
class LoopReader {
 public:
  explicit LoopReader(const LoopParams& p) : p_(p), body_(*p.body), maker_(makers_of(body_)), reads_(reads_of(body_)) {}

  std::vector<Delayed> delayed() const {
    std::vector<Delayed> found;
    if (p_.cond || !p_.length || p_.lanes) return found;
    for (std::size_t k = 0; k < static_cast<std::size_t>(p_.carries); ++k)
      if (auto d = delayed_carry(k)) found.push_back(std::move(*d));
    std::erase_if(found, [&](const Delayed& d) { return !is_product(*d.made->op) && !small_sum(*d.made); });
    if (stacked(found) > removed(found)) std::erase_if(found, [](const Delayed& d) { return is_product(*d.made->op); });
    return found;
  }

  std::size_t input_index(Var v) const {
    return static_cast<std::size_t>(std::ranges::find(body_.inputs(), v) - body_.inputs().begin());
  }
  bool is_stack(Var v) const {  // an element of an array that the loop reads step by step
    const std::size_t i = input_index(v), first = static_cast<std::size_t>(p_.consts + p_.carries);
    return i < body_.inputs().size() && i >= first;
  }

 private:
  bool is_const(Var v) const { return input_index(v) < static_cast<std::size_t>(p_.consts); }

  std::optional<Delayed> delayed_carry(std::size_t k) const {
    const Var before = body_.inputs()[static_cast<std::size_t>(p_.consts) + k], after = body_.outputs()[k];
    const Eqn* add = maker_[after];
    if (add == nullptr || !combine_of(*add) || reads_[before] != 1 || reads_[after] != 1) return {};
    if (add->numerics == Numerics::strict) return {};
    if (add->in[0] != before && add->in[1] != before) return {};
    if (add->op == &add_op() && !is_numeric(body_.type(after).dtype)) return {};
    Delayed d{k, add, nullptr, {}};
    Var x = add->in[0] == before ? add->in[1] : add->in[0];
    for (; maker_[x] != nullptr && reads_[x] == 1; x = maker_[x]->in[0]) {
      const Eqn& e = *maker_[x];
      if (is_linear_map(e)) {
        d.maps.insert(d.maps.begin(), &e);
        continue;
      }
      const bool adds = add->op == &add_op();
      if (!reduces(e, *combine_of(*add)) && !(adds && (is_product(*e.op) || repeats(e)))) return {};
      if (e.numerics == Numerics::strict) return {};
      // What sizes that the body finds have is stacked by nobody.
      if (!std::ranges::all_of(e.in, [&](Var v) { return are_given(body_, body_.type(v).shape.dims()); })) return {};
      if (is_product(*e.op) && (is_const(e.in[0]) || is_const(e.in[1]) || has_many_rows(e))) return {};
      d.made = &e;
      return d;
    }
    return {};
  }
  // Whether steps run row by row as it is: each matrix of a batch adds to its own.
  bool has_many_rows(const Eqn& e) const {
    Dim rows = 1;
    const Type& a = body_.type(e.in[0]);
    for (const std::int64_t axis : product_form(e.params, a, body_.type(e.in[1])).batch_a)
      rows = rows * a.shape[static_cast<std::size_t>(axis)];
    return estimate(rows) >= many_rows;
  }
  bool reduces(const Eqn& e, kernel::Combine combine) const {
    const auto* r = rule_of<LowerReduction>(*e.op);
    if (r == nullptr) return false;
    const std::vector<Type> in{body_.type(e.in[0])};
    return r->rule(e.params, in).combine == combine && in[0].dtype == body_.type(e.out[0]).dtype;
  }
  bool repeats(const Eqn& e) const {
    if (e.op != &broadcast_op()) return false;
    return estimated_elements(body_.type(e.in[0])) < estimated_elements(body_.type(e.out[0]));
  }
  bool small_sum(const Eqn& e) const {
    return repeats(e) || (estimated_elements(body_.type(e.in[0])) <= largest_summand && !adds_few_rows(e));
  }
  // Vectors go along the rows of such a sum, and it writes far less than what it sums.
  bool adds_few_rows(const Eqn& e) const {
    const double before = estimated_elements(body_.type(e.in[0])), after = estimated_elements(body_.type(e.out[0]));
    const Type& sum = body_.type(e.out[0]);
    if (sum.rank() == 0) return false;
    const Dim& row = sum.shape[sum.rank() - 1];
    return before <= few_rows * after && after >= large_sum && estimate(row) >= vector_row &&
           row == body_.type(e.in[0]).shape[body_.type(e.in[0]).rank() - 1];
  }

  // Elements a step: of new stacks, and of the carries that go.
  double stacked(const std::vector<Delayed>& all) const {
    double sum = 0;
    std::vector<Var> seen;
    for (const Delayed& d : all)
      if (is_product(*d.made->op))
        for (Var v : d.made->in)
          if (!is_stack(v) && std::ranges::find(seen, v) == seen.end()) {
            seen.push_back(v);
            sum += estimated_elements(body_.type(v));
          }
    return sum;
  }
  double removed(const std::vector<Delayed>& all) const {
    double sum = 0;
    for (const Delayed& d : all)
      if (is_product(*d.made->op)) sum += estimated_elements(body_.type(body_.outputs()[d.carry]));
    return sum;
  }

  const LoopParams& p_;
  const Program& body_;
  std::vector<const Eqn*> maker_;
  std::vector<int> reads_;
};

// Writes one loop anew.
class LoopWriter {
 public:
  LoopWriter(const LoopParams& p, std::vector<Delayed> delayed)
      : p_(p), body_(*p.body), reader_(p), delayed_(std::move(delayed)) {}

  Arrays write(std::span<const Array> operands) {
    for (const Delayed& d : delayed_) {
      if (is_product(*d.made->op)) {
        for (Var v : d.made->in)
          if (!reader_.is_stack(v)) stacks_.emplace(v, stacks_.size());
      } else {
        sums_.emplace(Summed{d.made->in[0], d.combined->op}, sums_.size());
      }
    }
    LoopEdit edit(p_, {operands.begin(), operands.end()});
    for (const Delayed& d : delayed_) edit.drop(static_cast<std::size_t>(p_.consts) + d.carry);
    const std::vector<Summed> sums = ordered(sums_);
    std::vector<LoopEdit::Added> added;
    for (const Summed& summed : sums) added.push_back(edit.add_carry(identity(summed)));
    const LoopEdit::Built built = edit.build([&](LoopEdit::Step& step) {
      for (const Eqn& e : body_.eqns())
        if (std::ranges::count(delayed_, &e, &Delayed::combined) == 0) step.old.bind_eqn(e);
      for (std::size_t i = 0; i < sums.size(); ++i)
        step.carry_on(added[i], bind1(*sums[i].second, {}, {step.at(added[i]), step.old.get(sums[i].first)}));
      for (const Var v : ordered(stacks_)) step.stack(step.old.get(v));
    });
    return results(built, operands);
  }

 private:
  using Summed = std::pair<Var, const OpInfo*>;  // a variable of the body, and by which op it is added up
  template <class Key>
  static std::vector<Key> ordered(const std::map<Key, std::size_t>& numbered) {
    std::vector<Key> keys(numbered.size());
    for (const auto& [key, i] : numbered) keys[i] = key;
    return keys;
  }
  // What changes nothing that it is combined with.
  Array identity(const Summed& summed) const {
    const auto& made = *std::ranges::find(delayed_, summed, [](const Delayed& d) {
                          return Summed{d.made->in[0], d.combined->op};
                        })->made;
    const Type type = body_type(summed.first);
    const auto* r = rule_of<LowerReduction>(*made.op);
    if (r == nullptr) return zeros_like(type);
    return full(type.shape, Array(r->rule(made.params, std::vector{type}).initial));
  }
  // With the sizes of the loop's own scope.
  Type body_type(Var v) const { return Replay(body_, p_.body_sizes).type(v); }

  Arrays results(const LoopEdit::Built& built, std::span<const Array> operands) const {
    const auto whole = [&](Var v) {  // all steps of a variable
      return reader_.is_stack(v) ? operands[reader_.input_index(v)] : built.stacks[stacks_.at(v)];
    };
    Arrays results = built.results;
    for (const Delayed& d : delayed_) {
      const Eqn& e = *d.made;
      const EqnScope place(e);
      const Replay replay(body_, p_.body_sizes);
      Array total = is_product(*e.op)
                        ? dot_general(whole(e.in[0]), whole(e.in[1]), with_steps(e))
                        : bind1(*e.op, replay.params(e), {built.carries[sums_.at({e.in[0], d.combined->op})]});
      for (const Eqn* map : d.maps) total = bind1(*map->op, replay.params(*map), {total});
      const Array& before = operands[static_cast<std::size_t>(p_.consts) + d.carry];
      results[d.carry] = bind1(*d.combined->op, {}, {before, total});
    }
    return results;
  }

  // The product's axes with the steps as one more axis to sum over, first of both operands.
  DotAxes with_steps(const Eqn& e) const {
    const ProductForm form = product_form(e.params, body_.type(e.in[0]), body_.type(e.in[1]));
    DotAxes axes{{0}, {0}, form.batch_a, form.batch_b};
    for (std::int64_t a : form.contract_a) axes.contract_a.push_back(a + 1);
    for (std::int64_t b : form.contract_b) axes.contract_b.push_back(b + 1);
    for (std::int64_t& a : axes.batch_a) ++a;
    for (std::int64_t& b : axes.batch_b) ++b;
    return axes;
  }

  const LoopParams& p_;
  const Program& body_;
  LoopReader reader_;
  std::vector<Delayed> delayed_;
  std::map<Var, std::size_t> stacks_;  // variables of the body, numbered
  std::map<Summed, std::size_t> sums_;
};

}  // namespace

ProgramRef delay_sums(const ProgramRef& program) {
  if (!has_loops(*program)) return program;
  static constinit Memo<ProgramRef> memo;
  return memo.get(program->hash(), [&] {
    const auto delayed = [](const Eqn&, const LoopParams& p) { return LoopReader(p).delayed(); };
    const auto write = [](const LoopParams& p, const std::vector<Delayed>& found, const Arrays& operands) {
      return LoopWriter(p, found).write(operands);
    };
    return with_loops(program, delay_sums, delayed, write);
  });
}

}  // namespace tenon
