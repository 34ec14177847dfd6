#include "tests/kernel/generator.h"

#include "tests/kernel/random_values.h"

namespace tenon::kernel {
namespace {

class Generator : RandomValues {
 public:
  using RandomValues::RandomValues;

  RandomKernel run() {
    f_.name = "random";
    if (mixture_.symbolic && chance(30)) f_.sizes = 1, kernel_.sizes = {1 + below(20)};
    const std::int64_t inputs = 2 + below(3), outputs = 1 + below(3);
    for (std::int64_t i = 0; i < inputs + outputs; ++i) argument(i >= inputs);
    kernel_.inputs = static_cast<std::uint32_t>(inputs);
    if (chance(50)) f_.slots.push_back(table());
    f_.body = block(2 + below(5));
    if (chance(15)) recurrence(f_.body);
    if (chance(15)) rows_alike(f_.body);
    // What was computed is seen in the results.
    if (!found_.empty()) shown(f_.body);
    for (const Array& out : outputs_)
      if (chance(60) || !is_written(out)) f_.body.push_back(nest_into(out));
    kernel_.function = std::move(f_);
    return std::move(kernel_);
  }

 private:
  // --- statements ---
  std::vector<Loop> loops_over(const Sizes& shape) {
    std::vector<Loop> loops;
    for (const Dim& d : shape) loops.push_back({f_.vars++, d});
    return loops;
  }
  static Expr offset_of(const std::vector<Loop>& loops, const std::vector<bool>& turned, const Sizes& shape) {
    std::vector<Expr> indices;
    for (std::size_t i = 0; i < loops.size(); ++i)
      indices.push_back(turned[i] ? kernel::size(shape[i] - 1) - variable(loops[i].var) : variable(loops[i].var));
    return row_major(indices, shape);
  }
  Nest nest_into(const Array& to) {
    const bool there = is_written(to);
    std::vector<Loop> loops = loops_over(to.shape);
    std::vector<bool> turned;
    for (std::size_t i = 0; i < loops.size(); ++i) turned.push_back(chance(10));
    const Expr offset = offset_of(loops, turned, to.shape);
    Nest n;
    n.independent = !there || chance(85);
    loops_ = loops;
    if (n.independent) forbidden_.push_back(to.slot);
    if (there) own_ = {to.slot, offset};
    Store s{to.slot, offset, stored(to.dtype), {}};
    if (there && chance(15)) s.value = kernel::select(condition(1), s.value, load(to.slot, to.dtype, offset));
    if (there && chance(15)) s.condition = condition(1);
    if (chance(30) && !s.condition) parts(s, to.dtype);
    n.stores.push_back(s);
    own_ = {};
    // Another array of that shape, at the same indices.
    if (n.independent && chance(25)) {
      forbidden_.push_back(to.slot);
      const Array beside = temporary(any_dtype(), to.shape);
      n.stores.push_back({beside.slot, offset, stored(beside.dtype), chance(50) ? Expr() : s.condition});
      if (!n.stores.back().condition) written_.push_back(beside);
    }
    if (chance(20)) std::ranges::reverse(loops);  // columns first
    for (const Loop& l : loops) n.vars.push_back(l.var), n.sizes.push_back(l.size);
    loops_.clear(), forbidden_.clear();
    if (!there) written_.push_back(to);
    return n;
  }
  // A concatenation along an axis: one value below an index, another from there on.
  void parts(Store& s, DType dtype) {
    if (loops_.empty()) return;
    const Loop& l = pick(loops_);
    const Expr at = l.size.known() ? Expr(below(l.size.value() + 1)) : Expr(1);
    s.value = kernel::select(binary(Binary::lt, variable(l.var), at), s.value, value(dtype, 1));
  }
  Reduce reduction() {
    static const std::vector<DType> dtypes{DType::f32, DType::f32, DType::f64, DType::i32, DType::i64, DType::bool_};
    const DType dtype = mixture_.complex && chance(15) ? DType::c64 : chance(10) ? any_float8() : pick(dtypes);
    const Sizes outer = chance(30) ? Sizes{} : any_shape();
    const bool half = dtype == DType::f32 && chance(20);  // sums of halves are floats
    const Array to = temporary(half ? DType::bf16 : dtype, outer);
    Reduce r;
    r.outer_sizes = outer;
    Sizes inner = chance(70) ? Sizes{any_size()} : any_shape();
    constexpr std::int64_t most = 2000;  // values that an interpreter sums each time
    if (number(product_of(outer) * product_of(inner)) > most) inner = {Dim(1 + below(7))};
    const std::vector<Loop> around = loops_over(outer), inside = loops_over(inner);
    for (const Loop& l : around) r.outer_vars.push_back(l.var);
    for (const Loop& l : inside) r.inner_vars.push_back(l.var), r.inner_sizes.push_back(l.size);
    r.combine = combine_of(dtype);
    r.slot = to.slot;
    r.offset = offset_of(around, std::vector<bool>(around.size(), false), outer);
    loops_ = around;
    r.initial = beginning(r.combine, dtype);
    loops_.insert(loops_.end(), inside.begin(), inside.end());
    r.value = reduced_value(r.combine, dtype);
    std::vector<Array> all{to};
    while (!is_complex(dtype) && chance(15)) {
      const DType another = chance(50) && dtype != DType::f32 ? dtype : DType::f32;
      const Array beside = temporary(another, outer);
      const Combine combine = combine_of(another);
      r.others.push_back(
          {combine, beginning(combine, another), reduced_value(combine, another), beside.slot, r.offset});
      all.push_back(beside);
    }
    loops_.clear();
    written_.insert(written_.end(), all.begin(), all.end());
    return r;
  }
  Expr beginning(Combine combine, DType dtype) {
    const Expr any = literal(dtype);
    return combine == Combine::add ? constant_like(any, 0) : combine == Combine::mul ? constant_like(any, 1) : any;
  }
  Expr reduced_value(Combine combine, DType dtype) {
    const Expr x = value(dtype, 2);
    return combine == Combine::mul ? kernel::select(condition(1), x, constant_like(x, 1)) : x;
  }
  // Rows of one array combined with what data say, at places that data choose.
  void combined(Block& to) {
    static const std::vector<DType> dtypes{DType::f32, DType::f32, DType::f64, DType::i32, DType::i64, DType::bf16};
    const std::int64_t rows = 1 + below(30), columns = chance(50) ? 1 : 1 + below(20);
    const Array all = temporary(pick(dtypes), {rows, columns});
    to.push_back(nest_into(all));
    for (std::int64_t left = 1 + below(2); left > 0; --left) {
      loops_ = loops_over(chance(70) ? Sizes{Dim(1 + below(60))} : Sizes{1 + below(8), 1 + below(8)});
      Expr row = binary(Binary::max, binary(Binary::min, value(DType::i64, 2), Expr(rows - 1)), Expr(0));
      const Expr condition = chance(50) ? this->condition(1) : Expr();
      Nest n;
      n.independent = false, n.combines = chance(70);
      Expr offset = row * Expr(columns);
      loops_.push_back({f_.vars++, columns});
      offset = offset + variable(loops_.back().var);
      forbidden_.push_back(all.slot);
      static const std::vector<Binary> ways{Binary::add, Binary::max, Binary::min};
      const Expr old = load(all.slot, all.dtype, offset);
      n.stores.push_back({all.slot, offset, binary(pick(ways), old, value(all.dtype, 2)), condition});
      if (chance(30)) std::ranges::rotate(loops_, loops_.end() - 1);
      for (const Loop& l : loops_) n.vars.push_back(l.var), n.sizes.push_back(l.size);
      loops_.clear(), forbidden_.clear();
      to.push_back(std::move(n));
    }
  }
  // A nest, and a reduction of what it stores.
  void reduced(Block& to) {
    static const std::vector<DType> dtypes{DType::f32, DType::f64, DType::i32};
    const bool rows = chance(40);
    const Array of = temporary(pick(dtypes), rows ? Sizes{2 + below(3), 64 + below(9)} : any_shape());
    to.push_back(nest_into(of));
    const Array result = temporary(of.dtype, rows ? Sizes{of.shape[0]} : Sizes{});
    Reduce r;
    std::vector<Loop> loops = loops_over(of.shape);
    const Expr at = offset_of(loops, std::vector<bool>(loops.size(), false), of.shape);
    Expr each = load(of.slot, of.dtype, at);
    if (rows)
      r.outer_vars.push_back(loops[0].var), r.outer_sizes.push_back(loops[0].size), loops.erase(loops.begin());
    else if (chance(30))
      loops = {{f_.vars++, product_of(of.shape)}}, each = load(of.slot, of.dtype, variable(loops[0].var));
    for (const Loop& l : loops) r.inner_vars.push_back(l.var), r.inner_sizes.push_back(l.size);
    r.combine = combine_of(of.dtype);
    r.initial = constant_like(each, 0);
    r.value = chance(50) ? each : each * each;
    r.slot = result.slot;
    r.offset = rows ? variable(r.outer_vars[0]) : Expr(0);
    to.push_back(r);
    written_.push_back(result);
  }
  // A nest that stores several rows side by side, and a reduction of each of them, or of its parts.
  void reduced_planes(Block& to) {
    static const std::vector<DType> dtypes{DType::f32, DType::f64, DType::i32};
    const std::int64_t planes = 2 + below(3), parts = 1 + below(2), each = 64 + below(9), row = parts * each;
    const Array of = temporary(pick(dtypes), {planes, row}), result = temporary(of.dtype, {parts, planes});
    loops_ = loops_over({row});
    forbidden_.push_back(of.slot);
    Nest n{{loops_[0].var}, {row}, {}};
    for (std::int64_t k = 0; k < planes; ++k)
      n.stores.push_back({of.slot, variable(n.vars[0]) + Expr(k * row), stored(of.dtype), {}});
    loops_.clear(), forbidden_.clear();
    to.push_back(std::move(n));
    const std::uint32_t part = f_.vars++, plane = f_.vars++, at = f_.vars++;
    Reduce r{.outer_vars = {part, plane}, .inner_vars = {at}, .outer_sizes = {parts, planes}, .inner_sizes = {each}};
    const Expr x = load(of.slot, of.dtype, variable(plane) * Expr(row) + variable(part) * Expr(each) + variable(at));
    r.combine = combine_of(of.dtype);
    r.initial = beginning(r.combine, of.dtype);
    r.value = r.combine == Combine::mul ? constant_like(x, 1) : chance(50) ? x : x * x;
    r.slot = result.slot;
    r.offset = variable(part) * Expr(planes) + variable(plane);
    to.push_back(std::move(r));
    written_.push_back(result);
    if (chance(50)) written_.push_back(of);
  }
  // Rows of which each reads the same two rows of others.
  void rows_alike(Block& to) {
    const Dim rows = 48 + 4 * below(4), columns = 128;
    const Array y = temporary(DType::f32, {rows, columns}), same = temporary(DType::f32, {2 * columns});
    for (const Array& a : {y, same}) f_.slots[a.slot].place = Slot::Place::arena;
    to.push_back(nest_into(same));
    const std::vector<Loop> loops = loops_over(y.shape);
    const Expr at = offset_of(loops, {false, false}, y.shape), column = variable(loops[1].var);
    const auto of_column = [&](const Expr& offset) { return load(same.slot, same.dtype, offset); };
    Nest n{{}, y.shape, {}};
    for (const Loop& l : loops) n.vars.push_back(l.var);
    const Expr scaled = convert(DType::f32, variable(loops[0].var)) * of_column(column);
    n.stores.push_back({y.slot, at, scaled + of_column(column + kernel::size(columns)), {}});
    to.push_back(n);
    written_.push_back(y);
  }
  // Statements that are equal but for their numbers.
  void steps(Block& to) {
    const Array a = temporary(DType::f32, {9});
    to.push_back(nest_into(a));
    for (int i = 0; i < 70; ++i) {
      const std::uint32_t var = f_.vars++;
      const Expr x = load(a.slot, a.dtype, variable(var));
      to.push_back(Nest{{var}, {9}, {{a.slot, variable(var), x * literal(DType::f32) - literal(DType::f32), {}}}});
    }
  }
  Combine combine_of(DType dtype) {
    if (dtype == DType::bool_) return chance(50) ? Combine::and_ : Combine::or_;
    if (is_complex(dtype)) return chance(80) ? Combine::add : Combine::mul;
    if (is_exact(dtype) && is_inexact(dtype)) return chance(50) ? Combine::max : Combine::min;
    static const std::vector<Combine> of_numbers{Combine::add, Combine::add, Combine::add, Combine::max, Combine::min};
    return pick(of_numbers);
  }
  // A copy of a whole array into a new one, or of some of its elements into another.
  std::optional<Statement> copy() {
    const Array from = pick(written_);
    const Dim elements = product_of(from.shape);
    if (has_found_size(elements) || chance(50)) {
      const Array to = temporary(from.dtype, from.shape);
      written_.push_back(to);
      return Copy{to.slot, from.slot, Expr(0), Expr(0), elements, from.shape.empty() ? Dim(1) : from.shape.back()};
    }
    std::vector<Array> open;
    for (const Array& a : written_)
      if (a.slot != from.slot && a.dtype == from.dtype && f_.slots[a.slot].place != Slot::Place::constant &&
          product_of(a.shape).known() && is_open(a))
        open.push_back(a);
    if (open.empty() || !elements.known()) return {};
    const Array to = pick(open);
    const std::int64_t room = product_of(to.shape).value(), count = 1 + below(std::min(room, elements.value()));
    return Copy{to.slot, from.slot, Expr(below(room - count + 1)), Expr(below(elements.value() - count + 1)), count, 1};
  }
  bool is_open(const Array& a) const {
    return f_.slots[a.slot].temporary() ||
           std::ranges::any_of(outputs_, [&](const Array& o) { return o.slot == a.slot; });
  }
  // Of matrices that nests have put there, into a new one that another nest moves on.
  void product(Block& to) {
    static const std::vector<DType> dtypes{DType::f32, DType::f32, DType::f64};
    const DType dtype = mixture_.complex && chance(20) ? DType::c64 : pick(dtypes);
    const std::int64_t batch = chance(70) ? 1 : 2, m = 1 + below(9), k = 1 + below(9), n = 1 + below(9);
    const bool turned = chance(50);
    const Array a = temporary(dtype, {batch, turned ? k : m, turned ? m : k}), b = temporary(dtype, {batch, k, n}),
                c = temporary(dtype, {batch, m, n});
    chance(50) ? to.push_back(nest_into(a)) : turned_copy(a, to);
    chance(50) ? to.push_back(nest_into(b)) : turned_copy(b, to);
    const bool adds = chance(30);
    if (adds) to.push_back(nest_into(c));
    Product p{.dtype = dtype, .a = a.slot, .b = b.slot, .c = c.slot};
    p.a_offset = p.b_offset = p.c_offset = Expr(0);
    p.batch = batch, p.m = m, p.n = n, p.k = k;
    p.a_batch = m * k, p.a_m = turned ? 1 : k, p.a_k = turned ? m : 1;
    p.b_batch = k * n, p.b_k = n, p.b_n = 1, p.c_batch = m * n, p.c_m = n, p.c_n = 1;
    p.accumulate = adds;
    to.push_back(p);
    if (!adds) written_.push_back(c);
    if (chance(60)) moved_on(c, to);
  }
  // What another matrix holds, its last two axes exchanged, as an operand of a product that need not be there.
  void turned_copy(const Array& a, Block& to) {
    const Sizes shape{a.shape[0], a.shape[2], a.shape[1]};
    Array from = temporary(a.dtype, shape);
    f_.slots[from.slot].place = f_.slots[a.slot].place = Slot::Place::arena;
    to.push_back(nest_into(from));
    const std::vector<Loop> loops = loops_over(a.shape);
    const Expr i = variable(loops[0].var), j = variable(loops[1].var), k = variable(loops[2].var);
    Nest n{{},
           a.shape,
           {{a.slot, row_major({i, j, k}, a.shape), load(from.slot, a.dtype, row_major({i, k, j}, shape)), {}}}};
    for (const Loop& l : loops) n.vars.push_back(l.var);
    to.push_back(n);
    written_.push_back(a);
  }
  // A product's result, added to or put where it is wanted.
  void moved_on(const Array& c, Block& to) {
    f_.slots[c.slot].place = Slot::Place::arena;
    const Array result = temporary(c.dtype, c.shape);
    const bool adds = chance(50);
    if (adds) to.push_back(nest_into(result));
    const std::vector<Loop> loops = loops_over(c.shape);
    const Expr at = offset_of(loops, {false, false, false}, c.shape), sum = load(c.slot, c.dtype, at);
    Nest n{{}, c.shape, {{result.slot, at, adds ? load(result.slot, c.dtype, at) + sum : sum, {}}}};
    for (const Loop& l : loops) n.vars.push_back(l.var);
    to.push_back(n);
    if (!adds) written_.push_back(result);
    std::erase_if(written_, [&](const Array& w) { return w.slot == c.slot; });
  }
  void call(Block& to) {
    std::vector<Array> from;
    for (const Array& a : written_)
      if (a.dtype == DType::i32) from.push_back(a);
    if (from.empty()) return;
    const Array x = pick(from), y = temporary(DType::i32, x.shape);
    const Dim elements = product_of(x.shape);
    Call c{.function = "kernel_test_mix",
           .arguments = {{kernel::size(elements), {}}, {Expr(0), x.slot}, {Expr(0), y.slot, true}}};
    if (mixture_.found && number(elements) < 20 && chance(50))
      c.result = size_slot(number(elements)), c.result_offset = Expr(0);
    to.push_back(c);
    if (c.result) found_.push_back(size_in(*c.result));
    written_.push_back(y);
  }

  // --- sizes that the kernel finds ---
  // How many of some there are of which something holds, or a number that data say.
  void find(Block& to) {
    const std::int64_t most = 1 + below(9);
    const SlotId slot = size_slot(most);
    if (chance(50)) {
      Reduce r{.combine = Combine::add, .initial = Expr(0), .slot = slot, .offset = Expr(0)};
      loops_ = loops_over({most});
      r.inner_vars = {loops_[0].var}, r.inner_sizes = {most};
      r.value = convert(DType::i64, condition(1));
      to.push_back(r);
    } else {
      const Expr number = binary(Binary::max, binary(Binary::min, value(DType::i64, 2), Expr(most)), Expr(0));
      to.push_back(Nest{{}, {}, {{slot, Expr(0), number, {}}}});
    }
    loops_.clear();
    found_.push_back(size_in(slot));
  }
  // An array that goes on as long as is found, whose beginning is computed beside it, or could be in front of that.
  void beside(Block& to) {
    const std::int64_t first = 1 + below(8);
    const DType dtype = any_dtype();
    const Array start = temporary(dtype, {first});
    to.push_back(nest_into(start));
    find(to);
    const Dim more = found_.back();
    const Array all = temporary(dtype, {first + more});
    if (chance(50)) {
      to.push_back(Copy{all.slot, start.slot, Expr(0), Expr(0), first, 1});
    } else {
      loops_ = loops_over({first});
      to.push_back(Nest{{loops_[0].var}, {first}, {{all.slot, variable(loops_[0].var), stored(dtype), {}}}});
    }
    loops_ = loops_over({more});
    const Expr at = variable(loops_[0].var) + Expr(first);
    to.push_back(Nest{{loops_[0].var}, {more}, {{all.slot, at, stored(dtype), {}}}});
    loops_.clear();
    written_.push_back(all);
  }
  // As many elements of a result as were found.
  void shown(Block& to) {
    const Dim size = pick(found_);
    std::vector<Array> open;
    for (const Array& o : outputs_)
      if (is_written(o) && number(product_of(o.shape)) >= number(size)) open.push_back(o);
    if (open.empty()) return;
    const Array a = pick(open);
    loops_ = loops_over({size});
    forbidden_.push_back(a.slot);
    to.push_back(Nest{{loops_[0].var}, {size}, {{a.slot, variable(loops_[0].var), stored(a.dtype), {}}}});
    loops_.clear(), forbidden_.clear();
  }
  // What is written within is there within.
  Block inner(std::int64_t statements) {
    const auto outside = written_;
    const auto found = found_;
    ++nesting_;
    Block b = block(statements);
    --nesting_;
    written_ = outside, found_ = found;
    return b;
  }
  void loop(Block& to) {
    const std::int64_t count = 1 + below(4);
    For f{f_.vars++, chance(15) && f_.sizes > 0 ? Dim::variable(0) : Dim(count), {}};
    if (!found_.empty() && chance(15)) f.count = pick(found_);
    // A carry that each step computes beside itself.
    std::optional<Array> carry;
    if (chance(60)) {
      carry = temporary(chance(70) ? DType::f32 : any_dtype(), any_shape());
      to.push_back(nest_into(*carry));
    }
    std::optional<Array> counter;
    if (chance(30)) {
      counter = temporary(chance(50) ? DType::i32 : DType::i64, {});
      to.push_back(Nest{{}, {}, {{counter->slot, Expr(0), constant_of(counter->dtype, below(3)), {}}}});
      written_.push_back(*counter);
    }
    outer_.push_back({f.var, f.count});
    const auto outside = written_;
    f.body = inner(1 + below(3));
    if (chance(35)) scalars(to, f.body);
    if (carry) {
      const Array next = temporary(carry->dtype, carry->shape);
      f.body.push_back(nest_into(next));
      if (chance(30)) f.body.push_back(nest_into(target()));  // which may read the old carry
      if (chance(30)) f.body.push_back(again(next, *carry));
      f.body.push_back(Copy{carry->slot, next.slot, Expr(0), Expr(0), product_of(carry->shape),
                            carry->shape.empty() ? Dim(1) : carry->shape.back()});
    }
    if (counter)
      f.body.push_back(Nest{{},
                            {},
                            {{counter->slot,
                              Expr(0),
                              load(counter->slot, counter->dtype, Expr(0)) + constant_of(counter->dtype, 1 + below(2)),
                              {}}}});
    written_ = outside;
    outer_.pop_back();
    to.push_back(std::move(f));
  }
  // A loop that is one nest over many elements: each combines what its own place held steps ago with what data say, in
  // carries, in rows of a stack, or both; rows are copied, too.
  void recurrence(Block& to) {
    static const std::vector<DType> dtypes{DType::f32, DType::f32, DType::f64, DType::i32, DType::bf16};
    const DType dtype = pick(dtypes);
    const Sizes shape = chance(60) ? Sizes{65 + below(20)} : Sizes{5 + below(3), 13 + below(3)};
    const Dim row = product_of(shape);
    const std::int64_t count = 7 + below(20), lag = 1 + below(3);
    const Array carry = temporary(dtype, shape), stack = temporary(dtype, {lag + count, row}),
                rows = temporary(dtype, {count, row});
    for (const Array& a : {carry, stack, rows}) f_.slots[a.slot].place = Slot::Place::arena;
    to.push_back(nest_into(carry)), to.push_back(nest_into(stack));
    forbidden_ = {carry.slot, stack.slot, rows.slot};
    For f{f_.vars++, count, {}};
    outer_.push_back({f.var, count});
    const auto loops = loops_over(shape);
    loops_ = loops;
    const bool backwards = chance(40), stacks = chance(60), carries = !stacks || chance(50);
    const Expr t = variable(f.var), step = backwards ? Expr(count - 1) - t : t;
    const Expr at = offset_of(loops, std::vector<bool>(loops.size(), false), shape);
    const auto in_row = [&](const Expr& number) { return number * kernel::size(row) + at; };
    static const std::vector<Binary> ways{Binary::add, Binary::sub, Binary::max};
    const auto next_of = [&](const Expr& old) { return binary(pick(ways), old, value(dtype, 2)); };
    const Expr held = load(carry.slot, dtype, at);
    Nest n{{}, shape, {}};
    for (const Loop& l : loops) n.vars.push_back(l.var);
    if (carries) n.stores.push_back({carry.slot, at, next_of(held), {}});
    if (stacks) {
      const Expr old = load(stack.slot, dtype, in_row(backwards ? step + Expr(lag) : step));
      const Expr place = in_row(backwards ? step : step + Expr(lag));
      n.stores.push_back({stack.slot, place, carries && chance(50) ? old - held : next_of(old), {}});
    }
    if (chance(40)) n.stores.push_back({rows.slot, in_row(step), next_of(held), {}});
    loops_.clear(), forbidden_.clear();
    const bool numbered = chance(30);
    if (numbered) number_beside(to, f, n);
    f.body.insert(f.body.begin(), n);
    const bool copies = n.stores.back().slot != rows.slot && carries && chance(50);
    if (copies) f.body.push_back(Copy{rows.slot, carry.slot, step * kernel::size(row), Expr(0), row, shape.back()});
    outer_.pop_back();
    to.push_back(std::move(f));
    if (copies || n.stores.back().slot == rows.slot) written_.push_back(rows);
    written_.push_back(carry), written_.push_back(stack);
  }
  // A number that the steps carry beside the rows, which read it, and stack.
  void number_beside(Block& to, For& f, Nest& rows) {
    const DType dtype = rows.stores[0].value.dtype();
    const Array number = temporary(dtype, {}), stack = temporary(dtype, {f.count});
    to.push_back(Nest{{}, {}, {{number.slot, Expr(0), constant_of(dtype, 1 + below(2)), {}}}});
    const Expr held = load(number.slot, dtype, Expr(0));
    rows.stores[0].value = rows.stores[0].value - held;
    f.body.push_back(Nest{{}, {}, {{stack.slot, variable(f.var), held, {}}}});
    f.body.push_back(Nest{{}, {}, {{number.slot, Expr(0), held + constant_of(dtype, 1), {}}}});
    written_.push_back(number), written_.push_back(stack);
  }
  // Element by element, of what another array of that shape and the array itself hold.
  Nest again(const Array& to, const Array& of) {
    const std::vector<Loop> loops = loops_over(to.shape);
    const Expr at = offset_of(loops, std::vector<bool>(loops.size(), false), to.shape);
    const Expr x = load(of.slot, of.dtype, at), y = load(to.slot, to.dtype, at);
    Nest n{{}, to.shape, {{to.slot, at, to.dtype == DType::bool_ ? binary(Binary::xor_, x, y) : x - y, {}}}};
    for (const Loop& l : loops) n.vars.push_back(l.var);
    return n;
  }
  // Arrays of which each is the one before turned round, and nothing else reads it; the last goes to a result.
  void chain(Block& to) {
    std::vector<Array> open;
    for (const Array& o : outputs_)
      if (is_written(o)) open.push_back(o);
    if (open.empty()) return;
    const Array result = pick(open);
    const Dim elements = product_of(result.shape);
    Array last = temporary(result.dtype, {elements});
    f_.slots[last.slot].place = Slot::Place::arena;
    to.push_back(nest_into(last));
    std::erase_if(written_, [&](const Array& w) { return w.slot == last.slot; });
    for (std::int64_t left = 1 + below(3); left >= 0; --left) {
      const Array next = left == 0 ? result : temporary(result.dtype, {elements});
      if (left > 0) f_.slots[next.slot].place = Slot::Place::arena;
      const std::uint32_t var = f_.vars++;
      const Expr turned = kernel::size(elements - 1) - variable(var);
      to.push_back(Nest{{var}, {elements}, {{next.slot, variable(var), load(last.slot, last.dtype, turned), {}}}});
      last = next;
    }
  }
  Expr constant_of(DType dtype, std::int64_t n) {
    const Scalar s = Scalar(n).convert(dtype);
    return constant(dtype, s.data());
  }
  // Scalars that a loop computes alike from each other.
  void scalars(Block& before, Block& body) {
    const std::int64_t count = 4 + below(5);
    std::vector<Array> now;
    for (std::int64_t i = 0; i < count; ++i) {
      now.push_back(temporary(DType::f32, {}));
      before.push_back(Nest{{}, {}, {{now.back().slot, Expr(0), literal(DType::f32), {}}}});
    }
    const std::int64_t x = 1 + below(count), y = below(count);
    Nest n;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = [&](std::int64_t k) {
        return load(now[static_cast<std::size_t>(k % count)].slot, DType::f32, Expr(0));
      };
      const Expr half = constant_like(at(0), 0.5);
      n.stores.push_back({now[static_cast<std::size_t>(i)].slot, Expr(0), at(i + x) * half - at(i + y) * half, {}});
    }
    body.push_back(n);
    written_.insert(written_.end(), now.begin(), now.end());
  }
  void while_loop(Block& to) {
    const Array steps = temporary(DType::i32, {}), goes_on = temporary(DType::bool_, {});
    to.push_back(Nest{{}, {}, {{steps.slot, Expr(0), constant_of(DType::i32, 0), {}}}});
    const Expr done = load(steps.slot, DType::i32, Expr(0));
    While w;
    w.before.push_back(
        Nest{{}, {}, {{goes_on.slot, Expr(0), binary(Binary::lt, done, constant_of(DType::i32, below(5))), {}}}});
    w.condition = load(goes_on.slot, DType::bool_, Expr(0));
    w.body = inner(1 + below(3));
    w.body.push_back(Nest{{}, {}, {{steps.slot, Expr(0), done + constant_of(DType::i32, 1), {}}}});
    to.push_back(std::move(w));
  }
  void choice(Block& to) {
    const std::int64_t branches = 2 + below(2);
    Switch s;
    s.index = index_below(branches);
    for (std::int64_t i = 0; i < branches; ++i) s.branches.push_back(inner(1 + below(2)));
    to.push_back(std::move(s));
  }

  Block block(std::int64_t statements) {
    Block to;
    for (std::int64_t i = 0; i < statements; ++i) {
      if (mixture_.found && chance(10)) chance(50) ? find(to) : beside(to);
      if (!found_.empty() && chance(20)) shown(to);
      const std::int64_t way = below(20);
      if (way < 6) {
        to.push_back(nest_into(target()));
      } else if (way < 8) {
        combined(to);
      } else if (way < 12) {
        to.push_back(reduction());
      } else if (way < 14) {
        if (auto c = copy()) to.push_back(std::move(*c));
      } else if (way == 14) {
        product(to);
      } else if (way == 15) {
        const std::int64_t which = below(4);
        which == 0 ? call(to) : which == 1 ? reduced(to) : which == 2 ? reduced_planes(to) : chain(to);
      } else if (nesting_ == 0 && chance(10)) {
        steps(to);
      } else if (nesting_ < 2 && way < 18) {
        loop(to);
      } else if (nesting_ < 2 && way == 18) {
        while_loop(to);
      } else if (nesting_ < 2) {
        choice(to);
      }
    }
    return to;
  }
};

}  // namespace

RandomKernel random_kernel(std::uint64_t seed, const Mixture& mixture) { return Generator(seed, mixture).run(); }

}  // namespace tenon::kernel
