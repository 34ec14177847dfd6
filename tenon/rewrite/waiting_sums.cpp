#include "tenon/rewrite/waiting_sums.h"

#include <algorithm>
#include <map>

#include "tenon/ir/literal.h"
#include "tenon/ops/element_form.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/rewrite/product_axes.h"
#include "tenon/rewrite/steps_in.h"
#include "tenon/rewrite/streams.h"

namespace tenon {
namespace {

constexpr std::size_t most_followed = 400;  // eqns that wait for one reduction
constexpr std::size_t most_terms = 4, most_distances = 4, most_factors = 6;

bool is_like(const Eqn& eqn, const Eqn& first) {
  return eqn.numerics == Numerics::relaxed && eqn.recompute == first.recompute && eqn.out.size() == 1;
}

// What the reduction takes before it is widened, where it is: sums of f16 and bf16 are taken in f32.
std::optional<Var> narrow_x(const Program& program, std::span<const std::size_t> maker, const FirstReduction& first) {
  const std::size_t e = maker[first.x];
  if (e == nowhere || program.eqns()[e].op != &convert_op()) return {};
  const Var v = program.eqns()[e].in[0];
  return is_half(program.type(v).dtype) ? std::optional(v) : std::nullopt;
}

// Follows what waits for one reduction.
class WaitFollower {
 public:
  WaitFollower(const Program& program, std::span<const std::size_t> maker, const EqnReaders& readers,
               const FirstReduction& first, bool wider, FunctionRef<bool(Var)> is_late)
      : program_(program),
        maker_(maker),
        readers_(readers),
        first_(first),
        wider_(wider),
        is_late_(is_late),
        whole_{program.type(first.x).shape, {}, first.axes} {}

  std::vector<WaitingSum> run() {
    const Eqn& first = program_.eqns()[first_.eqn];
    wait(first.out[0]);
    for (std::size_t count = 0; !open_.empty() && count < most_followed; ++count) {
      const std::size_t e = *open_.begin();
      open_.erase(open_.begin());
      const Eqn& eqn = program_.eqns()[e];
      if (!is_like(eqn, first)) {
      } else if (auto made = this->made(eqn)) {
        made_.emplace(eqn.out[0], std::move(*made));
      } else {
        note_sum(e), note_product(e);
      }
      for (const Var v : eqn.out) wait(v);
    }
    return std::move(sums_);
  }

 private:
  using Terms = SummedTerms;
  // Terms, and the space in which they lie where it is wider than that of the elements.
  struct Made {
    Terms terms;
    std::optional<WiderSpace> wider;
  };

  const Type& type(Var v) const { return program_.type(v); }
  const Eqn* maker(Var v) const { return maker_[v] == nowhere ? nullptr : &program_.eqns()[maker_[v]]; }
  void wait(Var v) {
    waits_.insert(v);
    open_.insert(readers_[v].begin(), readers_[v].end());
  }

  void note_sum(std::size_t e) {
    const Eqn& eqn = program_.eqns()[e];
    const auto form = reduction_of(eqn, program_);
    if (!form || form->combine != kernel::Combine::add) return;
    const auto made = made_.find(eqn.in[0]);
    if (made == made_.end() || !is_real(type(eqn.out[0]).dtype)) return;
    const auto& [terms, wider] = made->second;
    const std::vector<std::int64_t>& axes = wider ? wider->axes : first_.axes;
    if (form->axes != axes && !(wider_ && std::ranges::includes(form->axes, axes))) return;
    WaitingSum sum{e, terms, wider};
    for (const std::int64_t axis : form->axes)
      if (!std::ranges::binary_search(axes, axis)) sum.then.push_back(axis_left(axes, axis));
    sums_.push_back(std::move(sum));
  }
  // A product with what waits for nothing, that sums over the same axes.
  void note_product(std::size_t e) {
    const Eqn& eqn = program_.eqns()[e];
    if (!wider_ || !is_product(*eqn.op) || !is_real(type(eqn.out[0]).dtype)) return;
    const ProductAxes product(program_, eqn);
    for (const std::size_t k : {0, 1}) {
      const Var x = eqn.in[k], other = eqn.in[1 - k];
      // A transpose of terms is as good as they.
      const Eqn* moved = maker(x);
      const bool is_moved = moved != nullptr && moved->op == &transpose_op();
      const auto made = made_.find(is_moved ? moved->in[0] : x);
      if (made == made_.end() || made->second.wider || waits_.contains(other)) continue;
      std::vector<std::int64_t> dims = product.of[k];
      if (is_moved) dims = permuted(dims, inverse_permutation(permutation_of(moved->params)));
      std::vector<std::int64_t> axes;  // of the elements, that are summed
      for (std::size_t i = 0; i < dims.size(); ++i)
        if (at(dims[i]) >= product.summed) axes.push_back(static_cast<std::int64_t>(i));
      if (axes != first_.axes) continue;
      sums_.push_back({e, made->second.terms,
                       WiderSpace{Shape(product.sizes), dims, product.summed_axes(), other, product.of[1 - k]}});
      return;
    }
  }

  bool is_x(Var v) const { return v == first_.x || v == narrow_; }
  // Whether a variable is the same along all axes that are reduced, by a broadcast.
  bool is_of_rows(Var v, const WiderSpace& space) const {
    return type(v).shape == space.shape && repeats_along(program_, maker(v), space.axes);
  }
  std::optional<double> number(Var v) const {
    const Eqn* literal = filling_literal(program_, maker_, v);
    if (literal == nullptr || !is_real(type(v).dtype)) return {};
    return literal_value(literal->params).as_double();
  }
  // What an operand is: nothing where it waits and is no sum of terms.
  std::optional<Terms> operand(Var v, const WiderSpace& space) const {
    if (type(v).shape != space.shape || !is_real(type(v).dtype)) return {};
    if (const auto found = made_.find(v); found != made_.end()) return found->second.terms;
    if (const auto value = number(v)) return Terms{{.coefficient = *value}};
    if (is_of_rows(v, space)) return Terms{{.rows = {{v}}}};
    if (waits_.contains(v)) return {};
    if (auto terms = of_late(v, space)) return terms;
    return Terms{{.elements = {{v}}}};
  }
  // What waits for another reduction, by what it is made of.
  std::optional<Terms> of_late(Var v, const WiderSpace& space) const {
    constexpr int deepest = 4;
    const Eqn* eqn = maker(v);
    if (depth_ == deepest || !is_late_(v) || eqn == nullptr || !is_elementwise(*eqn) || eqn->in.empty() ||
        !is_like(*eqn, program_.eqns()[first_.eqn]))
      return {};
    ++depth_;
    auto terms = elementwise(*eqn, space);
    --depth_;
    return terms;
  }

  std::optional<Made> made(const Eqn& eqn) const {
    const Type& out = type(eqn.out[0]);
    if (!out.is_array() || !is_real(out.dtype)) return {};
    if (eqn.op == &broadcast_op()) return repeated(eqn);
    if (!is_elementwise(eqn) || effect_of(eqn) != Effect::none) return {};
    const auto in_wider = std::ranges::find_if(eqn.in, [&](Var v) {
      const auto found = made_.find(v);
      return found != made_.end() && found->second.wider;
    });
    const auto wider = in_wider == eqn.in.end() ? std::nullopt : made_.at(*in_wider).wider;
    const WiderSpace& space = wider ? *wider : whole_;
    if (out.shape != space.shape) return {};
    auto terms = elementwise(eqn, space);
    return terms ? std::optional(Made{std::move(*terms), wider}) : std::nullopt;
  }
  std::optional<Made> repeated(const Eqn& eqn) const {
    const Var v = eqn.out[0];
    if (is_of_rows(v, whole_)) {
      auto terms = operand(v, whole_);
      return terms ? std::optional(Made{std::move(*terms), {}}) : std::nullopt;
    }
    const auto of = made_.find(eqn.in[0]);
    if (!wider_ || of == made_.end() || of->second.wider) return {};
    WiderSpace wider{type(v).shape, broadcast_form(eqn.params).dims, {}};
    for (std::size_t k = 0; k < wider.of_elements.size(); ++k)
      if (type(eqn.in[0]).shape[k] != wider.shape[at(wider.of_elements[k])]) return {};
    for (const std::int64_t axis : first_.axes) wider.axes.push_back(wider.of_elements[at(axis)]);
    std::ranges::sort(wider.axes);
    return Made{of->second.terms, std::move(wider)};
  }
  std::optional<Terms> elementwise(const Eqn& eqn, const WiderSpace& space) const {
    if (eqn.op == &select_op()) return chosen(eqn, space);
    if (eqn.op == &convert_op()) return operand(eqn.in[0], space);
    const ElementForm form = element_form(program_, eqn);
    if (form.of_one) return of_one(*form.of_one, operand(eqn.in[0], space));
    if (form.of_two && eqn.in.size() == 2) return of_two(*form.of_two, eqn, space);
    return {};
  }

  std::optional<Terms> of_one(kernel::Unary op, std::optional<Terms> x) const {
    if (!x) return {};
    if (op == kernel::Unary::neg) {
      for (SummedTerm& term : *x) term.coefficient = -term.coefficient;
      return x;
    }
    // exp(x - r), where a part knows a maximum of its own.
    if (op != kernel::Unary::exp || !first_.largest || x->size() != 1) return {};
    SummedTerm& term = x->front();
    if (term.coefficient != 1 || term.distances.size() != 1 || !term.exponents.empty() || !term.elements.empty() ||
        !term.rows.empty() || !term.choices.empty())
      return {};
    std::swap(term.exponents, term.distances);
    return x;
  }
  std::optional<Terms> of_two(kernel::Binary op, const Eqn& eqn, const WiderSpace& space) const {
    const Var a = eqn.in[0], b = eqn.in[1];
    using enum kernel::Binary;
    if (op == sub && is_x(a) && waits_.contains(b) && is_of_rows(b, whole_)) return Terms{{.distances = {b}}};
    if (op != add && op != sub && op != mul && op != div) return {};
    const auto x = operand(a, space), y = operand(b, space);
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
  std::optional<Terms> chosen(const Eqn& eqn, const WiderSpace& space) const {
    const Var condition = eqn.in[0];
    if (waits_.contains(condition) || type(condition).shape != space.shape) return {};
    Terms all;
    for (const bool met : {true, false}) {
      auto branch = operand(eqn.in[met ? 1 : 2], space);
      if (!branch) return {};
      for (SummedTerm& term : *branch) {
        if (term.coefficient == 0) continue;
        term.choices.push_back({condition, met});
        add_to(all, std::move(term));
      }
    }
    return bounded(std::move(all));
  }

  static bool is_alike(SummedTerm a, const SummedTerm& b) {
    a.coefficient = b.coefficient;
    return a == b;
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
  const FirstReduction& first_;
  const std::optional<Var> narrow_ = narrow_x(program_, maker_, first_);
  const bool wider_;
  const FunctionRef<bool(Var)> is_late_;
  mutable int depth_ = 0;       // of what is late
  const WiderSpace whole_;      // that of the elements
  std::set<Var> waits_;         // all that the reduction's result decides
  std::set<std::size_t> open_;  // eqns that read some of it
  std::map<Var, Made> made_;
  std::vector<WaitingSum> sums_;
};

}  // namespace

std::optional<FirstReduction> first_reduction(const Program& program, std::size_t e) {
  const Eqn& eqn = program.eqns()[e];
  const auto form = eqn.numerics == Numerics::relaxed ? reduction_of(eqn, program) : std::nullopt;
  if (!form || form->axes.empty() || !is_real(program.type(eqn.in[0]).dtype)) return {};
  const bool largest = form->combine == kernel::Combine::max;
  if (!largest && form->combine != kernel::Combine::add) return {};
  return FirstReduction{e, largest, eqn.in[0], form->axes};
}

std::vector<WaitingSum> sums_that_wait(const Program& program, std::span<const std::size_t> maker,
                                       const EqnReaders& readers, const FirstReduction& first, bool wider,
                                       FunctionRef<bool(Var)> is_late) {
  return WaitFollower(program, maker, readers, first, wider, is_late).run();
}

std::set<std::size_t> terms_eqns(const Program& program, std::span<const std::size_t> maker, const WaitingSum& sum,
                                 const FirstReduction& first) {
  std::set<Var> ends{first.x};
  if (const auto narrow = narrow_x(program, maker, first)) ends.insert(*narrow);
  for (const SummedTerm& term : sum.terms) {
    for (const auto* factors : {&term.elements, &term.rows})
      for (const auto& factor : *factors) ends.insert(factor.of);
    for (const auto& choice : term.choices) ends.insert(choice.condition);
    for (const auto* references : {&term.exponents, &term.distances})
      ends.insert(references->begin(), references->end());
  }
  std::set<std::size_t> found;
  std::vector<Var> open;
  const auto read = [&](const Eqn& eqn) {
    for (const Var v : eqn.in)
      if (v != sum.wider.value_or(WiderSpace()).other) open.push_back(v);
  };
  read(program.eqns()[sum.eqn]);
  while (!open.empty()) {
    const Var v = open.back();
    open.pop_back();
    const std::size_t e = maker[v];
    if (ends.contains(v) || e == nowhere || filling_literal(program, maker, v) || !found.insert(e).second) continue;
    read(program.eqns()[e]);
  }
  return found;
}

std::vector<Var> elements_read(const WaitingSum& sum) {
  std::set<Var> read;
  for (const SummedTerm& term : sum.terms) {
    for (const auto& factor : term.elements) read.insert(factor.of);
    for (const auto& choice : term.choices) read.insert(choice.condition);
  }
  return {read.begin(), read.end()};
}

Array of_rows(const Array& x, std::span<const std::int64_t> dims, const std::vector<std::int64_t>& axes,
              const Shape& rows) {
  std::vector<Dim> sizes;
  std::vector<std::int64_t> left;
  for (std::size_t k = 0; k < dims.size(); ++k) {
    if (std::ranges::binary_search(axes, dims[k])) continue;
    sizes.push_back(x.shape()[k]);
    left.push_back(axis_left(axes, dims[k]));
  }
  return broadcast_in_dim(reshape(x, Shape(sizes)), rows, std::move(left));
}

Arrays polynomial(std::span<const Array> d) {
  Arrays c;
  for (const Array& each : d) {
    Arrays next{c.empty() ? each : c[0] * each};
    for (std::size_t j = 1; j < c.size(); ++j) next.push_back(c[j] * each + c[j - 1]);
    if (!c.empty()) next.push_back(each + c.back());
    c = std::move(next);
  }
  return c;
}

}  // namespace tenon
