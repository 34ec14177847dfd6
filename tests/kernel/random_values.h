// What random kernels compute with: slots, and expressions of what has been written so far.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

#include "tenon/ir/scalar.h"
#include "tests/kernel/generator.h"

namespace tenon::kernel {

// A slot as an array: the product of its sizes is its number of elements.
struct Array {
  SlotId slot;
  DType dtype;
  Sizes shape;
};

class RandomValues {
 public:
  RandomValues(std::uint64_t seed, const Mixture& mixture) : random_(seed), mixture_(mixture) {}

 protected:
  std::int64_t below(std::int64_t n) {
    return n <= 0 ? 0 : static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(below(static_cast<std::int64_t>(from.size())))];
  }

  // --- slots ---
  DType any_dtype() {
    static const std::vector<DType> real{DType::f32, DType::f32, DType::f32,   DType::f64, DType::i32,
                                         DType::i64, DType::u8,  DType::bool_, DType::bf16};
    if (mixture_.complex && chance(20)) return chance(50) ? DType::c64 : DType::c128;
    return chance(12) ? any_float8() : pick(real);
  }
  DType any_float8() {
    static const std::vector<DType> all = [] {
      std::vector<DType> found;
      for (int i = 0; i < dtype_count; ++i)
        if (const auto d = static_cast<DType>(i); is_float8(d) && !is_powers(d)) found.push_back(d);
      return found;
    }();
    return pick(all);
  }
  // Whether nothing that is rounded in one way or another takes part in numbers of a dtype: they are the same however
  // a kernel is computed, and may decide something. A difference of the last place would be a large one of 8 bits.
  static bool is_exact(DType d) { return !is_inexact(d) || is_float8(d); }
  Dim any_size() {
    if (!found_.empty() && chance(30)) return chance(70) ? pick(found_) : pick(found_) + (1 + below(3));
    if (f_.sizes > 0 && chance(40)) return chance(80) ? Dim::variable(0) : Dim::variable(0) + 2;
    return chance(10) ? Dim(17 + below(60)) : Dim(1 + below(7));
  }
  Sizes any_shape() {
    Sizes shape;
    constexpr std::int64_t most = 200;  // elements
    for (std::int64_t rank = below(4); rank > 0; --rank) {
      shape.push_back(any_size());
      if (number(product_of(shape)) > most) shape.pop_back();
    }
    return shape;
  }
  // Or the most that it may be, of what is found.
  std::int64_t number(const Dim& d) const {
    return d.evaluate([&](SizeVar v) { return is_found_size(v) ? most_.at(slot_of_size(v)) : kernel_.sizes.at(v); });
  }
  // A slot for a size that is at most this; kernels do not always know that.
  SlotId size_slot(std::int64_t most) {
    f_.slots.push_back({DType::i64, 1, Slot::Place::size});
    if (chance(50)) f_.slots.back().most = most;
    const auto slot = static_cast<SlotId>(f_.slots.size() - 1);
    most_[slot] = most;
    return slot;
  }
  Bytes random_bytes(DType dtype, std::int64_t elements) {
    Bytes bytes(static_cast<std::size_t>(elements) * size_of(dtype));
    for (std::int64_t i = 0; i < elements; ++i) {
      const Scalar s = is_inexact(dtype) ? Scalar(static_cast<double>(below(4001) - 2000) / 1000.).convert(dtype)
                                         : Scalar(below(dtype == DType::bool_ ? 2 : 12)).convert(dtype);
      std::memcpy(bytes.data() + static_cast<std::size_t>(i) * size_of(dtype), s.data(), size_of(dtype));
    }
    return bytes;
  }
  void argument(bool output) {
    const bool again = mixture_.results && output && chance(70);  // of the type of an input
    const Array like = again ? pick(written_) : Array{0, any_dtype(), any_shape()};
    const Sizes& shape = like.shape;
    const DType dtype = like.dtype;
    f_.slots.push_back({dtype, product_of(shape), Slot::Place::argument, f_.arguments++});
    const Array a{static_cast<SlotId>(f_.slots.size() - 1), dtype, shape};
    (output ? outputs_ : written_).push_back(a);
    if (output && !mixture_.results) written_.push_back(a);
    kernel_.arguments.push_back(random_bytes(dtype, number(product_of(shape))));
  }
  Slot table() {
    Slot s{DType::i64, 4, Slot::Place::constant};
    s.values = random_bytes(DType::i64, 4);
    written_.push_back({static_cast<SlotId>(f_.slots.size()), DType::i64, {4}});
    return s;
  }
  Array temporary(DType dtype, const Sizes& shape) {
    const Dim elements = product_of(shape);
    const bool local = at_most(elements, 64) && !(elements != Dim(1) && chance(50));
    f_.slots.push_back({dtype, elements, local ? Slot::Place::local : Slot::Place::arena});
    return {static_cast<SlotId>(f_.slots.size() - 1), dtype, shape};
  }
  bool is_written(const Array& a) const {
    return std::ranges::any_of(written_, [&](const Array& w) { return w.slot == a.slot; });
  }
  // Of an array that may be written: an argument, or a temporary that is there, or a new one.
  Array target() {
    if (chance(50)) return temporary(any_dtype(), any_shape());
    std::vector<Array> open;
    for (const Array& a : outputs_)
      if (nesting_ == 0 || is_written(a)) open.push_back(a);  // what is written within is there within
    for (const Array& a : written_)
      if (f_.slots[a.slot].temporary()) open.push_back(a);
    return open.empty() ? temporary(any_dtype(), any_shape()) : pick(open);
  }

  // --- expressions ---
  struct Loop {
    std::uint32_t var;
    Dim size;
  };
  struct Place {
    SlotId slot;
    Expr offset;
  };
  Expr literal(DType dtype) {
    const Bytes bytes = random_bytes(dtype, 1);
    return constant(dtype, bytes.data());
  }
  Expr at_most_last(const Expr& x, const Dim& size) { return binary(Binary::min, x, kernel::size(size - 1)); }
  // An index of an axis of a size.
  Expr index_below(const Dim& size) {
    if (size == Dim(1)) return Expr(0);
    std::vector<Loop> fit, all = loops_;
    all.insert(all.end(), outer_.begin(), outer_.end());
    for (const Loop& l : all)
      if (l.size == size || (at_most(l.size, 1 << 20) && size.known() && l.size.value() <= size.value()))
        fit.push_back(l);
    const std::int64_t way = below(12);
    if (!fit.empty() && way < 7) return variable(pick(fit).var);
    if (!fit.empty() && way == 7) return kernel::size(size - 1) - variable(pick(fit).var);
    if (!all.empty() && way == 8) return at_most_last(variable(pick(all).var), size);
    if (!all.empty() && way == 9 && size.known()) return variable(pick(all).var) % Expr(size.value());
    if (way == 10 && depth_ < 3)
      if (const auto e = loaded(chance(50) ? DType::i64 : DType::i32)) {
        const Expr i = convert(DType::i64, *e);
        return at_most_last(binary(Binary::max, i, Expr(0)), size);
      }
    return size.known() ? Expr(below(size.value())) : Expr(0);
  }
  static Expr row_major(const std::vector<Expr>& indices, const Sizes& shape) {
    Expr offset(0);
    for (std::size_t i = 0; i < shape.size(); ++i) offset = offset * kernel::size(shape[i]) + indices[i];
    return offset;
  }
  // Whether an axis has an index here: those that are found may have none, but where a loop goes along them.
  bool has_index(const Dim& size) const {
    const auto along = [&](const Loop& l) { return l.size == size; };
    return !has_found_size(size) || at_least(size, 1) || std::ranges::any_of(loops_, along) ||
           std::ranges::any_of(outer_, along);
  }
  // A read of an array of a dtype, if there is one that may be read.
  std::optional<Expr> loaded(DType dtype) {
    std::vector<Array> of;
    for (const Array& a : written_)
      if (a.dtype == dtype && std::ranges::find(forbidden_, a.slot) == forbidden_.end() &&
          std::ranges::all_of(a.shape, [&](const Dim& d) { return has_index(d); }))
        of.push_back(a);
    if (own_ && f_.slots[own_->slot].dtype == dtype && chance(40)) return load(own_->slot, dtype, own_->offset);
    if (of.empty()) return {};
    ++depth_;
    const Array& a = pick(of);
    std::vector<Expr> indices;
    for (const Dim& d : a.shape) indices.push_back(index_below(d));
    --depth_;
    return load(a.slot, dtype, row_major(indices, a.shape));
  }
  Expr leaf(DType dtype) {
    if (chance(75))
      if (const auto e = loaded(dtype)) return *e;
    if (dtype == DType::i64 && !loops_.empty() && chance(50)) return variable(pick(loops_).var);
    return literal(dtype);
  }
  Expr condition(int depth) {
    const Dim last = loops_.empty() ? Dim(1) : loops_.back().size;
    if (!loops_.empty() && chance(40))
      return binary(chance(50) ? Binary::lt : Binary::ge, variable(pick(loops_).var),
                    Expr(below(last.known() ? last.value() + 1 : 5)));
    if (chance(20)) return leaf(DType::bool_);
    if (depth > 0 && chance(20))
      return binary(chance(50) ? Binary::and_ : Binary::or_, condition(depth - 1), condition(depth - 1));
    const DType d = chance(20) ? any_float8() : chance(50) ? DType::i32 : DType::i64;
    return binary(chance(50) ? Binary::lt : Binary::eq, leaf(d), leaf(d));
  }
  Expr value(DType dtype, int depth) {
    if (depth <= 0 || chance(15)) return leaf(dtype);
    const auto operand = [&] { return value(dtype, depth - 1); };
    if (chance(10)) return kernel::select(condition(1), operand(), operand());
    if (dtype == DType::bool_) return condition(1);
    if (is_complex(dtype)) return complex_value(dtype, depth);
    if (chance(10)) return converted(dtype, depth);
    if (is_integer(dtype)) return integer_value(dtype, depth);
    if (is_float8(dtype)) return float8_value(dtype, depth);
    if (chance(25)) {
      static const std::vector<Unary> smooth{Unary::sin, Unary::cos, Unary::tanh, Unary::atan};
      if (mixture_.functions && !is_narrow(dtype) && chance(50)) return kernel::unary(pick(smooth), operand());
      return kernel::unary(chance(50) ? Unary::neg : Unary::abs, operand());
    }
    if (chance(15)) return quotient(dtype, depth);
    static const std::vector<Binary> of_reals{Binary::add, Binary::sub, Binary::mul, Binary::max, Binary::min};
    return kernel::binary(pick(of_reals), operand(), operand());
  }
  Expr integer_value(DType dtype, int depth) {
    const auto operand = [&] { return value(dtype, depth - 1); };
    if (chance(15)) return kernel::unary(chance(50) ? Unary::neg : Unary::abs, operand());
    static const std::vector<Binary> all{Binary::add, Binary::sub, Binary::mul,  Binary::max, Binary::min,
                                         Binary::div, Binary::rem, Binary::and_, Binary::xor_};
    const Binary op = pick(all);
    if ((op == Binary::div || op == Binary::rem) && chance(30)) {  // by 0 and by -1, of the least number, too
      const Expr one = constant_like(literal(dtype), 1), none = constant_like(one, 0), minus_one = none - one;
      const Expr bits = constant_like(one, static_cast<double>(8 * size_of(dtype) - 1));
      const Expr least = kernel::binary(Binary::shift_left, one, bits);
      return kernel::binary(op, chance(30) ? least : operand(), chance(50) ? minus_one : none);
    }
    return kernel::binary(op, operand(), operand());
  }
  // Of numbers of its own dtype and of any codes.
  Expr float8_value(DType dtype, int depth) {
    const auto operand = [&] { return value(dtype, depth - 1); };
    if (chance(10)) return kernel::bitcast(dtype, value(DType::u8, depth - 1));
    if (chance(5)) return convert(dtype, convert(DType::f8e8m0fnu, operand()));
    static const std::vector<Unary> unary{Unary::neg, Unary::abs, Unary::sign, Unary::floor, Unary::ceil, Unary::round};
    if (chance(25)) return kernel::unary(pick(unary), operand());
    static const std::vector<Binary> binary{Binary::add, Binary::sub, Binary::mul, Binary::max,
                                            Binary::min, Binary::div, Binary::rem};
    return kernel::binary(pick(binary), operand(), operand());
  }
  // No larger than loops can bear.
  static Expr bounded(const Expr& e) {
    const Expr most = constant_like(e, 8);
    return binary(Binary::max, binary(Binary::min, e, most), -most);
  }
  // A conversion without a jump that rounding decides: no floats of many places to integers.
  Expr converted(DType to, int depth) {
    static const std::vector<DType> integers{DType::i32, DType::i64, DType::u8, DType::bool_};
    static const std::vector<DType> all{DType::i32, DType::f32, DType::f64, DType::u8, DType::bool_};
    const DType from = chance(15) ? any_float8() : pick(is_exact(to) ? integers : all);
    const Expr e = convert(to, value(from, depth - 1));
    return is_float8(from) && !is_exact(to) ? bounded(e) : e;  // infinity times about 0 is anything
  }
  // A quotient or remainder of real numbers: by 0 of numbers that are not rounded, otherwise by none near 0.
  Expr quotient(DType dtype, int depth) {
    const auto exact = [&] {
      static const std::vector<DType> from{DType::i32, DType::i64, DType::u8};
      return chance(40) ? literal(dtype) : convert(dtype, value(pick(from), depth - 1));
    };
    if (chance(50)) {
      const Expr x = exact(), y = exact();
      return bounded(kernel::binary(chance(50) ? Binary::div : Binary::rem, x, y));
    }
    const Expr x = value(dtype, depth - 1), y = kernel::unary(Unary::abs, value(dtype, depth - 1));
    return x / (y + constant_like(y, 0.5));
  }
  Expr complex_value(DType dtype, int depth) {
    const auto operand = [&] { return value(dtype, depth - 1); };
    const auto part = [&] { return value(real_part_of(dtype), depth - 1); };
    switch (below(7)) {
      case 0:
        return kernel::binary(Binary::complex, part(), part());
      case 1:
        return kernel::unary(Unary::neg, operand());
      case 6: {  // by none near 0
        const Expr real = kernel::unary(Unary::abs, part());
        return operand() / kernel::binary(Binary::complex, real + constant_like(real, 0.5), part());
      }
      case 2:
        return operand() * operand();
      case 3:
        return operand() - operand();
      default:
        return operand() + operand();
    }
  }
  // A value for a place, bounded.
  Expr stored(DType dtype) {
    const Expr e = value(dtype, 1 + static_cast<int>(below(4)));
    if (is_real(dtype) && !is_narrow(dtype) && mixture_.functions && chance(30)) return kernel::unary(Unary::tanh, e);
    return is_real(dtype) ? bounded(e) : e;
  }

  std::mt19937_64 random_;
  Mixture mixture_;
  Function f_;
  RandomKernel kernel_;
  std::vector<Dim> found_;                // sizes that statements before have found
  std::map<SlotId, std::int64_t> most_;   // of each, as the generator knows
  std::vector<Array> written_, outputs_;  // arrays that may be read; arguments that may be written
  std::vector<Loop> loops_, outer_;       // of the statement at hand, and of those around it
  std::vector<SlotId> forbidden_;         // slots that the statement writes
  std::optional<Place> own_;              // what it writes, at its index
  int depth_ = 0, nesting_ = 0;
};

}  // namespace tenon::kernel
