#include "tenon/rewrite/one_pass_search.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "tenon/ir/literal.h"
#include "tenon/ops/element_form.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/rewrite/hoist_search.h"
#include "tenon/rewrite/streams.h"

namespace tenon {
namespace {

constexpr std::size_t most_followed = 400;  // eqns that wait for one reduction
constexpr std::size_t most_terms = 4, most_distances = 2, most_factors = 6;

// Where to divide: rows of less stay in the cache while they are read again. A part fits the first level, or, of rows
// that lie side by side, has so many of each that its results are few beside what it reads.
std::optional<DividedAxis> divided_axis(const Type& x, std::span<const std::int64_t> axes) {
  constexpr std::int64_t least_bytes = 256 << 10, part_bytes = 16 << 10, side_by_side = 32, fewest_parts = 4;
  const auto elements = x.shape.elements();
  if (!elements.known() || elements == Dim(0)) return {};
  const auto bytes = static_cast<std::int64_t>(size_of(x.dtype));
  std::int64_t inner = 1, reduced = 1;  // of elements inside the axis, and of those that are reduced with it
  for (auto axis = static_cast<std::int64_t>(x.rank()) - 1; axis >= 0; --axis) {
    const std::int64_t n = x.shape[at(axis)].value();
    if (std::ranges::count(axes, axis) > 0) {
      const std::int64_t each = std::max({part_bytes / bytes / inner, side_by_side / reduced, std::int64_t(1)});
      if (n / each >= fewest_parts && inner * n >= least_bytes / bytes) {
        // A part that leaves nothing, if one of about that size does.
        for (std::int64_t near = each; near < 2 * each; ++near)
          if (n % near == 0) return DividedAxis{axis, n / near, near, 0};
        for (std::int64_t near = each; near > each / 2; --near)
          if (n % near == 0) return DividedAxis{axis, n / near, near, 0};
        return DividedAxis{axis, n / each, each, n % each};
      }
      reduced *= n;
    }
    inner *= n;
  }
  return {};
}

// Follows what waits for one reduction.
class WaitFollower {
 public:
  WaitFollower(const Program& program, std::span<const std::size_t> maker, const EqnReaders& readers, OnePass& pass)
      : program_(program), maker_(maker), readers_(readers), pass_(pass), whole_(program.type(pass.x).shape) {}

  void run() {
    const Eqn& first = program_.eqns()[pass_.first];
    wait(first.out[0]);
    for (std::size_t count = 0; !open_.empty() && count < most_followed; ++count) {
      const std::size_t e = *open_.begin();
      open_.erase(open_.begin());
      const Eqn& eqn = program_.eqns()[e];
      if (const auto terms = is_like(eqn, first) ? made(eqn) : std::nullopt)
        terms_.emplace(eqn.out[0], *terms);
      else
        note_sum(e);
      for (const Var v : eqn.out) wait(v);
    }
  }

 private:
  using Terms = std::vector<SummedTerm>;

  const Type& type(Var v) const { return program_.type(v); }
  const Eqn* maker(Var v) const { return maker_[v] == nowhere ? nullptr : &program_.eqns()[maker_[v]]; }
  void wait(Var v) {
    waits_.insert(v);
    open_.insert(readers_[v].begin(), readers_[v].end());
  }
  static bool is_like(const Eqn& eqn, const Eqn& first) {
    return eqn.numerics == Numerics::relaxed && eqn.recompute == first.recompute && eqn.out.size() == 1;
  }

  void note_sum(std::size_t e) {
    const Eqn& eqn = program_.eqns()[e];
    const auto form = is_like(eqn, program_.eqns()[pass_.first]) ? reduction_of(eqn, program_) : std::nullopt;
    if (!form || form->combine != kernel::Combine::add || form->axes != pass_.axes) return;
    const auto terms = terms_.find(eqn.in[0]);
    if (terms == terms_.end() || !is_real(type(eqn.out[0]).dtype)) return;
    pass_.sums.push_back({e, terms->second});
  }

  // Whether a variable is the same along all axes that are reduced, by a broadcast.
  bool is_of_rows(Var v) const {
    const Eqn* eqn = maker(v);
    if (eqn == nullptr || eqn->op != &broadcast_op() || type(v).shape != whole_) return false;
    const auto dims = broadcast_form(eqn->params).dims;
    for (std::size_t k = 0; k < dims.size(); ++k)
      if (std::ranges::count(pass_.axes, dims[k]) > 0 && type(eqn->in[0]).shape[k] != Dim(1)) return false;
    return true;
  }
  std::optional<double> number(Var v) const {
    const Eqn* eqn = maker(v);
    while (eqn != nullptr && eqn->op == &broadcast_op()) eqn = maker(eqn->in[0]);
    if (eqn == nullptr || eqn->op != &literal_op() || !is_real(type(v).dtype)) return {};
    return literal_value(eqn->params).as_double();
  }
  // What an operand is: nothing where it waits and is no sum of terms.
  std::optional<Terms> operand(Var v) const {
    if (type(v).shape != whole_ || !is_real(type(v).dtype)) return {};
    if (const auto found = terms_.find(v); found != terms_.end()) return found->second;
    if (const auto value = number(v)) return Terms{{.coefficient = *value}};
    if (is_of_rows(v)) return Terms{{.rows = {{v}}}};
    if (waits_.contains(v)) return {};
    return Terms{{.elements = {{v}}}};
  }

  std::optional<Terms> made(const Eqn& eqn) const {
    const Type& out = type(eqn.out[0]);
    if (!out.is_array() || out.shape != whole_ || !is_real(out.dtype)) return {};
    if (eqn.op == &broadcast_op()) return is_of_rows(eqn.out[0]) ? operand(eqn.out[0]) : std::nullopt;
    if (!is_elementwise(eqn) || effect_of(eqn) != Effect::none) return {};
    if (eqn.op == &select_op()) return chosen(eqn);
    if (eqn.op == &convert_op()) return operand(eqn.in[0]);
    const ElementForm form = element_form(program_, eqn);
    if (form.of_one) return of_one(*form.of_one, operand(eqn.in[0]));
    if (form.of_two && eqn.in.size() == 2) return of_two(*form.of_two, eqn);
    return {};
  }

  std::optional<Terms> of_one(kernel::Unary op, std::optional<Terms> x) const {
    if (!x) return {};
    if (op == kernel::Unary::neg) {
      for (SummedTerm& term : *x) term.coefficient = -term.coefficient;
      return x;
    }
    // exp(x - r), where a part knows a maximum of its own.
    if (op != kernel::Unary::exp || !pass_.largest || x->size() != 1) return {};
    SummedTerm& term = x->front();
    if (term.coefficient != 1 || term.distances.size() != 1 || !term.exponents.empty() || !term.elements.empty() ||
        !term.rows.empty() || !term.choices.empty())
      return {};
    std::swap(term.exponents, term.distances);
    return x;
  }
  std::optional<Terms> of_two(kernel::Binary op, const Eqn& eqn) const {
    const Var a = eqn.in[0], b = eqn.in[1];
    using enum kernel::Binary;
    if (op == sub && a == pass_.x && waits_.contains(b) && is_of_rows(b)) return Terms{{.distances = {b}}};
    if (op != add && op != sub && op != mul && op != div) return {};
    const auto x = operand(a), y = operand(b);
    if (!x || !y) return {};
    if (op == mul) return product(*x, *y);
    if (op == div) return quotient(*x, *y);
    Terms all = *x;
    for (SummedTerm term : *y) {
      if (op == sub) term.coefficient = -term.coefficient;
      add_to(all, std::move(term));
    }
    return bounded(std::move(all));
  }
  // Where a mask says so the one, else the other.
  std::optional<Terms> chosen(const Eqn& eqn) const {
    const Var condition = eqn.in[0];
    if (waits_.contains(condition) || type(condition).shape != whole_) return {};
    Terms all;
    for (const bool met : {true, false}) {
      auto branch = operand(eqn.in[met ? 1 : 2]);
      if (!branch) return {};
      for (SummedTerm& term : *branch) {
        if (term.coefficient == 0) continue;
        term.choices.push_back({condition, met});
        add_to(all, std::move(term));
      }
    }
    return bounded(std::move(all));
  }

  static bool is_alike(const SummedTerm& a, const SummedTerm& b) {
    return a.elements == b.elements && a.rows == b.rows && a.choices == b.choices && a.exponents == b.exponents &&
           a.distances == b.distances;
  }
  static void add_to(Terms& all, SummedTerm term) {
    const auto same = std::ranges::find_if(all, [&](const SummedTerm& other) { return is_alike(other, term); });
    if (same != all.end())
      same->coefficient += term.coefficient;
    else
      all.push_back(std::move(term));
  }
  static std::optional<Terms> bounded(Terms all) {
    if (all.size() > most_terms) return {};
    for (const SummedTerm& term : all)
      if (term.distances.size() > most_distances || term.exponents.size() > most_factors ||
          term.elements.size() + term.rows.size() + term.choices.size() > most_factors)
        return {};
    return all;
  }
  template <class T>
  static void join(std::vector<T>& into, const std::vector<T>& from) {
    into.insert(into.end(), from.begin(), from.end());
    std::ranges::sort(into);
  }
  static std::optional<Terms> product(const Terms& x, const Terms& y) {
    Terms all;
    for (const SummedTerm& a : x)
      for (const SummedTerm& b : y) {
        SummedTerm both = a;
        both.coefficient *= b.coefficient;
        join(both.elements, b.elements), join(both.rows, b.rows);
        join(both.exponents, b.exponents), join(both.distances, b.distances);
        join(both.choices, b.choices);
        both.choices.erase(std::ranges::unique(both.choices).begin(), both.choices.end());
        add_to(all, std::move(both));
      }
    return bounded(std::move(all));
  }
  static std::optional<Terms> quotient(const Terms& x, const Terms& y) {
    if (y.size() != 1 || !y[0].exponents.empty() || !y[0].distances.empty() || !y[0].choices.empty()) return {};
    SummedTerm one = y[0];
    one.coefficient = 1 / one.coefficient;
    for (auto* factors : {&one.elements, &one.rows})
      for (SummedTerm::Factor& factor : *factors) factor.divides = !factor.divides;
    return product(x, {one});
  }

  const Program& program_;
  std::span<const std::size_t> maker_;
  const EqnReaders& readers_;
  OnePass& pass_;
  const Shape whole_;
  std::set<Var> waits_;         // all that the reduction's result decides
  std::set<std::size_t> open_;  // eqns that read some of it
  std::map<Var, Terms> terms_;
};

class OnePassSearch {
 public:
  explicit OnePassSearch(const Program& program)
      : program_(program),
        maker_(maker_numbers(program)),
        readers_(program),
        taken_(program.eqns().size(), false),
        early_(program.eqns().size(), false) {}

  std::vector<OnePass> find() {
    std::vector<OnePass> found;
    for (std::size_t e = 0; e < program_.eqns().size(); ++e)
      if (auto pass = pass_of(e); pass && settle(*pass)) found.push_back(std::move(*pass));
    return found;
  }

 private:
  std::optional<OnePass> pass_of(std::size_t e) const {
    const Eqn& eqn = program_.eqns()[e];
    if (taken_[e] || early_[e] || eqn.numerics != Numerics::relaxed) return {};
    const auto form = reduction_of(eqn, program_);
    const bool largest = form && form->combine == kernel::Combine::max;
    if (!form || (!largest && form->combine != kernel::Combine::add) || form->axes.empty()) return {};
    const Type& x = program_.type(eqn.in[0]);
    if (!is_real(x.dtype)) return {};
    const auto divided = divided_axis(x, form->axes);
    if (!divided) return {};
    OnePass pass{e, largest, eqn.in[0], form->axes, *divided, {}};
    WaitFollower(program_, maker_, readers_, pass).run();
    return pass;
  }

  // Leaves the sums that can begin where the first reduction does. Whether there are some that wait for it.
  bool settle(OnePass& pass) {
    std::set<std::size_t> needed;
    std::erase_if(pass.sums, [&](const WaitingSum& sum) {
      const auto makers = needed_early(pass, sum);
      if (taken_[sum.eqn] || early_[sum.eqn] || !makers) return true;
      needed.insert(makers->begin(), makers->end());
      return false;
    });
    const auto waits = [](const WaitingSum& sum) {
      return std::ranges::any_of(sum.terms,
                                 [](const SummedTerm& t) { return !t.exponents.empty() || !t.distances.empty(); });
    };
    if (std::ranges::none_of(pass.sums, waits)) return false;
    taken_[pass.first] = true;
    for (const WaitingSum& sum : pass.sums) taken_[sum.eqn] = true;
    for (const std::size_t e : needed) early_[e] = true;
    return true;
  }
  // The eqns behind the first reduction that make what a sum reads.
  std::optional<std::set<std::size_t>> needed_early(const OnePass& pass, const WaitingSum& sum) const {
    std::vector<Var> open;
    for (const SummedTerm& term : sum.terms) {
      for (const auto& factor : term.elements) open.push_back(factor.of);
      for (const auto& choice : term.choices) open.push_back(choice.condition);
    }
    std::set<std::size_t> found;
    while (!open.empty()) {
      const std::size_t e = maker_[open.back()];
      open.pop_back();
      if (e == nowhere || e < pass.first || !found.insert(e).second) continue;
      const Eqn& eqn = program_.eqns()[e];
      if (taken_[e] || effect_of(eqn) != Effect::none || !eqn.new_sizes.empty() || found.size() > most_followed)
        return {};
      open.insert(open.end(), eqn.in.begin(), eqn.in.end());
    }
    return found;
  }

  const Program& program_;
  const std::vector<std::size_t> maker_;
  const EqnReaders readers_;
  std::vector<bool> taken_, early_;  // eqns that are written anew, and those that are bound before their turn
};

}  // namespace

std::vector<OnePass> find_one_passes(const Program& program) { return OnePassSearch(program).find(); }

}  // namespace tenon
