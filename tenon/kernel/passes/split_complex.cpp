#include "tenon/kernel/passes/split_complex.h"

#include <algorithm>
#include <unordered_map>

#include "tenon/base/error.h"
#include "tenon/kernel/complex_numbers.h"
#include "tenon/kernel/expressions.h"

namespace tenon::kernel {
namespace {

Pair parts_of(const Expr& constant_number) {
  const DType dtype = real_part_of(constant_number.dtype());
  const std::byte* bits = constant_number.node().bits.data();
  return {constant(dtype, bits), constant(dtype, bits + size_of(dtype))};
}

class ComplexSplitter {
 public:
  ComplexSplitter(Function& function, const Target& target) : f_(function), target_(target) {
    for (const Slot& s : f_.slots) complex_.push_back(is_complex(s.dtype));
  }

  void run() {
    if (std::ranges::find(complex_, true) == complex_.end() && !computes(f_.body)) return;
    for (Slot& s : f_.slots) {
      if (!is_complex(s.dtype)) continue;
      s.dtype = real_part_of(s.dtype);
      s.elements = s.elements * 2;
    }
    block(f_.body);
  }

 private:
  // Whether a block computes complex numbers that no slot holds.
  static bool computes(Block& statements) {
    std::unordered_map<const void*, bool> seen;
    bool found = false;
    const auto look = [&](auto&& self, const Expr& e) -> void {
      if (!e || found || !seen.emplace(e.identity(), true).second) return;
      found = is_complex(e.dtype());
      for (const auto& operand : e.node().operands) self(self, Expr(operand));
    };
    for (Statement& s : statements) {
      for_each_expression(s, [&](const Expr& e) { look(look, e); });
      for_each_block(s, [&](Block& inside) { found = found || computes(inside); });
      if (found) return true;
    }
    return false;
  }

  void block(Block& statements) {
    Block result;
    for (Statement& s : statements) {
      for_each_block(s, [&](Block& inside) { block(inside); });
      real_.clear(), pairs_.clear();
      std::visit([&](auto& held) { split(held, s, result); }, s.held());
    }
    statements = std::move(result);
  }

  // --- statements ---
  void split(Nest& n, Statement& s, Block& to) {
    n.stores = stores(n.stores);
    to.push_back(std::move(s));
  }
  void split(Reduce& r, Statement& s, Block& to) {
    r.stores = stores(r.stores);
    if (!is_complex(r.value.dtype())) {
      r.initial = real(r.initial), r.value = real(r.value), r.offset = real(r.offset);
      for (Reduce::Result& other : r.others)
        other.initial = real(other.initial), other.value = real(other.value), other.offset = real(other.offset);
      return to.push_back(std::move(s));
    }
    if (r.combine == Combine::mul) return multiplied(r, to);
    const Pair initial = pair(r.initial), value = pair(r.value);
    Reduce imaginary = r;
    imaginary.stores.clear();
    r.initial = initial.re, r.value = value.re;
    imaginary.initial = initial.im, imaginary.value = value.im;
    const Expr offset = first_part(r.offset);
    if (product_of(r.outer_sizes) != Dim(0) && worth_apart(r)) return summed_apart(r, imaginary, offset, to);
    r.offset = offset, imaginary.offset = offset + Expr(1);
    to.push_back(std::move(s));
    to.push_back(std::move(imaginary));
  }
  // Long sums go to slots of their own, so that both of them may be divided into the same rows, and from there into
  // their place.
  static bool worth_apart(const Reduce& r) { return estimate(r.inner_sizes) >= 64; }
  void summed_apart(Reduce& re, Reduce& im, const Expr& offset, Block& to) {
    const Dim elements = product_of(re.outer_sizes);
    Expr index(std::int64_t(0));
    for (std::size_t i = 0; i < re.outer_vars.size(); ++i)
      index = index * size(re.outer_sizes[i]) + variable(re.outer_vars[i]);
    Nest both{re.outer_vars, re.outer_sizes, {}, true, re.where};
    const SlotId slot = re.slot;
    for (Reduce* r : {&re, &im}) {
      f_.slots.push_back(
          {r->value.dtype(), elements, target_.in_registers(elements) ? Slot::Place::local : Slot::Place::arena});
      r->slot = static_cast<SlotId>(f_.slots.size() - 1), r->offset = index;
      both.stores.push_back(
          {slot, r == &re ? offset : offset + Expr(1), kernel::load(r->slot, r->value.dtype(), index), {}});
    }
    to.push_back(std::move(re));
    to.push_back(std::move(im));
    to.push_back(std::move(both));
  }
  // Each product is of both parts: number by number, into the place of the result.
  void multiplied(const Reduce& r, Block& to) {
    const DType dtype = r.value.dtype();
    to.push_back(Nest{r.outer_vars, r.outer_sizes, stores({{r.slot, r.offset, r.initial, {}}}), true, r.where});
    Nest steps = r.stores_everywhere();
    steps.independent = false;
    const Expr so_far = kernel::load(r.slot, dtype, r.offset);
    for (Store& s : stores({{r.slot, r.offset, so_far * r.value, {}}})) steps.stores.push_back(std::move(s));
    to.push_back(std::move(steps));
  }
  void split(Copy& c, Statement& s, Block& to) {
    const bool twice = complex_[c.to];
    c.to_offset = twice ? first_part(c.to_offset) : real(c.to_offset);
    c.from_offset = twice ? first_part(c.from_offset) : real(c.from_offset);
    if (twice) c.elements = c.elements * 2, c.row = c.row * 2;
    to.push_back(std::move(s));
  }
  void split(Product& p, Statement& s, Block& to) {
    for (const auto& [slot, offset] :
         {std::pair(p.a, &p.a_offset), std::pair(p.b, &p.b_offset), std::pair(p.c, &p.c_offset)})
      *offset = at(slot, *offset);
    to.push_back(std::move(s));
  }
  void split(Call& c, Statement& s, Block& to) {
    for (Call::Argument& a : c.arguments) a.value = a.address ? at(*a.address, a.value) : real(a.value);
    if (c.result) c.result_offset = at(*c.result, c.result_offset);
    to.push_back(std::move(s));
  }
  template <class Other>
  void split(Other&, Statement& s, Block& to) {
    for_each_expression(s, [&](Expr& e) { e = real(e); });
    to.push_back(std::move(s));
  }

  std::vector<Store> stores(const std::vector<Store>& of) {
    std::vector<Store> result;
    for (const Store& s : of) {
      const Expr condition = s.condition ? real(s.condition) : s.condition;
      if (!is_complex(s.value.dtype())) {
        result.push_back({s.slot, real(s.offset), real(s.value), condition});
        continue;
      }
      const Pair value = pair(s.value);
      const Expr offset = first_part(s.offset);
      result.push_back({s.slot, offset, value.re, condition});
      result.push_back({s.slot, offset + Expr(1), value.im, condition});
    }
    return result;
  }

  // --- expressions ---
  Expr at(SlotId slot, const Expr& offset) { return complex_[slot] ? first_part(offset) : real(offset); }
  Expr first_part(const Expr& offset) { return real(offset) * Expr(2); }

  // An expression that is not complex, whose operands may be.
  Expr real(const Expr& e) {
    if (const auto found = real_.find(e.identity()); found != real_.end()) return found->second.second;
    const Expr result = real_anew(e);
    real_.emplace(e.identity(), std::pair(e, result));
    return result;
  }
  Expr real_anew(const Expr& e) {
    const bool of_complex = e.node().operands[0] && is_complex(e.operand(0).dtype());
    switch (e.kind()) {
      case Expr::Kind::constant:
      case Expr::Kind::variable:
        return e;
      case Expr::Kind::load:
        return kernel::load(e.node().id, e.dtype(), real(e.operand(0)));
      case Expr::Kind::unary:
        if (!of_complex) return kernel::unary(e.node().unary, real(e.operand(0)));
        return e.node().unary == Unary::real ? pair(e.operand(0)).re : pair(e.operand(0)).im;
      case Expr::Kind::binary:
        if (!of_complex) return kernel::binary(e.node().binary, real(e.operand(0)), real(e.operand(1)));
        return compared(e.node().binary, pair(e.operand(0)), pair(e.operand(1)));
      case Expr::Kind::select:
        return kernel::select(real(e.operand(0)), real(e.operand(1)), real(e.operand(2)));
      case Expr::Kind::convert:
        return of_complex ? converted(e.dtype(), pair(e.operand(0))) : kernel::convert(e.dtype(), real(e.operand(0)));
      case Expr::Kind::bitcast:
        return kernel::bitcast(e.dtype(), real(e.operand(0)));
    }
    return e;
  }
  static Expr compared(Binary op, const Pair& x, const Pair& y) {
    const bool equal = op == Binary::eq;
    return kernel::binary(equal ? Binary::and_ : Binary::or_, kernel::binary(op, x.re, y.re),
                          kernel::binary(op, x.im, y.im));
  }
  static Expr converted(DType dtype, const Pair& x) {
    if (dtype != DType::bool_) return kernel::convert(dtype, x.re);
    return kernel::binary(Binary::or_, kernel::convert(dtype, x.re), kernel::convert(dtype, x.im));
  }

  Pair pair(const Expr& e) {
    if (const auto found = pairs_.find(e.identity()); found != pairs_.end()) return found->second.second;
    const Pair result = pair_anew(e);
    pairs_.emplace(e.identity(), std::pair(e, result));
    return result;
  }
  Pair pair_anew(const Expr& e) {
    const DType part = real_part_of(e.dtype());
    switch (e.kind()) {
      case Expr::Kind::constant:
        return parts_of(e);
      case Expr::Kind::load: {
        const Expr offset = first_part(e.operand(0));
        return {kernel::load(e.node().id, part, offset), kernel::load(e.node().id, part, offset + Expr(1))};
      }
      case Expr::Kind::unary:
        return kernel::unary(e.node().unary, pair(e.operand(0)));
      case Expr::Kind::binary:
        if (e.node().binary == Binary::complex) return {real(e.operand(0)), real(e.operand(1))};
        return kernel::binary(e.node().binary, pair(e.operand(0)), pair(e.operand(1)));
      case Expr::Kind::select: {
        const Expr condition = real(e.operand(0));
        const Pair yes = pair(e.operand(1)), no = pair(e.operand(2));
        return {kernel::select(condition, yes.re, no.re), kernel::select(condition, yes.im, no.im)};
      }
      case Expr::Kind::convert: {
        const Expr from = e.operand(0);
        if (!is_complex(from.dtype())) {
          const Expr re = kernel::convert(part, real(from));
          return {re, constant_like(re, 0)};
        }
        const Pair x = pair(from);
        return {kernel::convert(part, x.re), kernel::convert(part, x.im)};
      }
      default:
        throw CompileError("kernel: a complex variable, or bits as a complex number.");
    }
  }

  Function& f_;
  Target target_;
  std::vector<bool> complex_;  // each slot
  // Of the statement at hand; the old expression is kept alive: it is the key.
  std::unordered_map<const void*, std::pair<Expr, Expr>> real_;
  std::unordered_map<const void*, std::pair<Expr, Pair>> pairs_;
};

}  // namespace

void split_complex(Function& function, const Target& target) { ComplexSplitter(function, target).run(); }

}  // namespace tenon::kernel
