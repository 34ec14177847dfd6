#include "tests/programs/generator.h"

#include <algorithm>

#include "tenon/tenon.h"
#include "tests/programs/along_axes.h"
#include "tests/programs/elementwise.h"
#include "tests/programs/wrapped.h"

namespace tenon::sample {
namespace {

using Pool = std::vector<Array>;
constexpr int outermost = 2;  // regions in regions

std::int64_t elements(const Array& a) { return a.shape().elements().value(); }
bool empty_axis(const Array& a) { return elements(a) == 0; }

// Statements over a pool of values; loops and branches hold Generators of their own, which may use the pool around.
class Generator {
 public:
  Generator(Choices& choices, const GeneratorOptions& options, Pool pool, int depth)
      : c_(choices), options_(options), pool_(std::move(pool)), depth_(depth) {}

  const Pool& pool() const { return pool_; }
  void statements(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) statement();
  }
  // A value of the pool made to have this type: what carries and branches need.
  Array value_of(const Type& type) { return bounded(fit(converted(any(), type.dtype), type.shape)); }
  // Another one of the same dtype, and of its or a given shape.
  Array like(const Array& x, const Shape& shape) { return fit(converted(any(), x.dtype()), shape); }
  Array like(const Array& x) { return like(x, x.shape()); }
  Type random_type() { return Type::array(dtype(), random_shape()); }

 private:
  using Make = Array (Generator::*)();

  void statement() {
    static const std::vector<Make> simple{
        &Generator::unary,        &Generator::binary,  &Generator::reduce,    &Generator::unary,
        &Generator::select,       &Generator::move,    &Generator::part,      &Generator::binary,
        &Generator::join,         &Generator::read,    &Generator::update,    &Generator::product,
        &Generator::integers,     &Generator::compare, &Generator::composite, &Generator::scatters,
        &Generator::change_dtype, &Generator::made,    &Generator::special,   &Generator::ordered,
        &Generator::cumulative,   &Generator::windows, &Generator::segments};
    static const std::vector<Make> regions{&Generator::scanned, &Generator::repeated, &Generator::branched,
                                           &Generator::counted, &Generator::called,   &Generator::mapped};
    const bool chooses = options_.data_sizes && c_.chance(25), region = !chooses && depth_ > 0 && c_.chance(15);
    const Make make = chooses ? &Generator::chosen : region ? c_.of(regions) : c_.of(simple);
    keep((this->*make)());
  }
  void keep(const Array& a) {
    if (elements(a) <= most_elements()) pool_.push_back(a.with_weak(false));
  }

  // --- picking; the latest first ---
  Array pick(bool (*wanted)(const Array&)) {
    std::vector<std::size_t> fitting;
    for (std::size_t i = pool_.size(); i-- > 0;)
      if (wanted(pool_[i])) fitting.push_back(i);
    if (!fitting.empty()) return pool_[c_.of(fitting)];
    const Array numbers = convert(iota(DType::i32, {Dim(3)}, 0), DType::f64) * 0.5 + 0.25;
    if (wanted(convert(numbers, real_dtype()))) return convert(numbers, real_dtype());
    if (wanted(convert(numbers, DType::i32))) return convert(numbers, DType::i32);
    return numbers > 0.5;
  }
  Array any() {
    return pick([](const Array&) { return true; });
  }
  Array with_rank() {
    const Array a = any();
    return a.rank() > 0 ? a : broadcast_to(a, {Dim(c_.between(1, 4))});
  }
  DType real_dtype() {
    switch (options_.flavor) {
      case Flavor::smooth:
        return DType::f64;
      case Flavor::mixed:
        return c_.of(std::vector{DType::f32, DType::f64});
      case Flavor::complex:
        return c_.of(std::vector{DType::c128, DType::f64});
      case Flavor::storage:
        return c_.of(stored_reals());
      case Flavor::whole:
        return integer_dtype();
      default:
        return c_.of(std::vector{DType::f16, DType::bf16, DType::f32});
    }
  }
  static const std::vector<DType>& stored_reals() {
    static const std::vector<DType> all = [] {
      std::vector<DType> found;
      for (int i = 0; i < dtype_count; ++i)
        if (const auto d = static_cast<DType>(i); is_float8(d)) found.insert(found.end(), {DType::f32, d});
      return found;
    }();
    return all;
  }
  DType integer_dtype() {
    if (options_.flavor == Flavor::small || options_.flavor == Flavor::storage)
      return c_.of(std::vector{DType::i8, DType::i16, DType::u8, DType::u16, DType::i32});
    if (options_.flavor == Flavor::whole)
      return c_.of(
          std::vector{DType::i8, DType::i16, DType::u8, DType::u16, DType::i32, DType::i64, DType::u32, DType::u64});
    return c_.of(std::vector{DType::i32, DType::i64, DType::u32, DType::u64});
  }
  DType dtype() {
    const auto kind = c_.below(10);
    return kind < 7 ? real_dtype() : kind < 9 ? integer_dtype() : DType::bool_;
  }
  std::int64_t most_elements() const { return options_.large ? 100'000 : 400; }
  Dim random_size() {
    if (options_.large) return Dim(c_.of(std::vector<std::int64_t>{300, 64, 3, 1000, 33, 1, 257, 2, 40, 5000}));
    return Dim(c_.of(std::vector<std::int64_t>{2, 3, 1, 4, 5, 2, 3, 0, 9, 17}));
  }
  Shape random_shape() {
    std::vector<Dim> dims;
    for (auto rank = c_.below(4); rank > 0; --rank) dims.push_back(random_size());
    const Shape shape(dims);
    return shape.elements().value() <= most_elements() ? shape : Shape({options_.large ? Dim(2000) : Dim(3)});
  }
  std::int64_t axis_of(const Array& a) { return c_.between(0, static_cast<std::int64_t>(a.rank()) - 1); }

  // --- shapes that agree ---
  Array fit(const Array& a, const Shape& shape) {
    if (a.shape() == shape) return a;
    if (a.rank() == 0) return broadcast_to(a, shape);
    if (a.shape().elements() == shape.elements()) return reshape(a, shape);
    if (boolean(a)) return broadcast_to(c_.below(2) == 0 ? tenon::any(a) : all(a), shape);
    if (is_float8(a.dtype()))
      return broadcast_to(empty_axis(a) ? zeros(Shape(), a.dtype()) : reshape(a, {a.shape().elements()})(0), shape);
    return broadcast_to(sum(a), shape);
  }
  // Large numbers make small differences meaningless.
  Array bounded(const Array& a) { return inexact(a) && !is_float8(a.dtype()) ? sin(a) : a; }
  // Of these there is no arithmetic, and no sum, extremum or range.
  static bool is_scale(const Array& a) { return a.type().is_array() && is_powers(a.dtype()); }
  // Floats of 8 bits hold numbers: they are moved, chosen, compared and converted. What computes with them does so in
  // f32, for in their own dtype another order of roundings gives another result.
  static Array computed(const Array& a) { return is_float8(a.dtype()) ? convert(a, DType::f32) : a; }
  // Few numbers are beyond the largest of 8 bits.
  Array converted(const Array& a, DType to) {
    if (is_float8(to) && a.dtype() != to && !boolean(a) && !c_.chance(10))
      return convert(integer(a) ? min(a, Array(8)) : bounded(a), to);
    return convert(a, to);
  }

  // --- statements ---
  Array unary() { return some_unary(c_, computed(pick(is_number))); }
  Array integers() { return c_.below(2) == 0 ? some_unary(c_, pick(integer)) : with_second(pick(integer)); }
  Array binary() { return with_second(computed(pick(is_number))); }
  Array with_second(const Array& x) {
    Array y = convert(pick(integer(x) ? integer : is_number), x.dtype());
    if (!(x.rank() == 0 || y.rank() == 0) || c_.chance(20)) y = fit(y, x.shape());
    return some_binary(c_, x, y);
  }
  Array compare() {
    const Array x = any(), y = like(x);
    if (is_scale(x)) return c_.below(2) == 0 ? x < y : x >= y;
    return some_comparison(c_, x, y);
  }
  Array select() {
    const Array x = any(), y = like(x), p = pick(boolean);
    return where(c_.below(2) == 0 ? fit(p, x.shape()) : fit(p, Shape()), x, y);
  }
  // No integers of halves: which one it is, is decided by how the last of few digits was rounded.
  Array change_dtype() {
    const Array x = computed(bounded(any())) * (c_.below(2) == 0 ? 1 : 3);
    const DType to = dtype();
    if (is_float8(to) && integer(x) && c_.chance(30)) return bitcast(convert(x, DType::u8), to);  // any code
    return converted(x, is_narrow(x.dtype()) && is_integer(to) ? x.dtype() : to);
  }
  Array made() {
    switch (c_.below(5)) {
      case 0:
        return full(random_shape(), 0.75);
      case 1: {
        Shape shape = random_shape();
        if (shape.rank() == 0) shape = Shape({Dim(4)});
        DType to = c_.below(2) == 0 ? DType::i32 : real_of(real_dtype());
        if (is_powers(to)) to = DType::f32;
        return iota(to, shape, c_.between(0, static_cast<std::int64_t>(shape.rank()) - 1));
      }
      case 2:
        return zeros(random_shape(), dtype());
      case 3: {  // beside what is weakly typed
        const Array x = computed(pick(is_number));
        return some_binary(c_, x, integer(x) || c_.below(2) == 0 ? Array(3) : Array(0.625));
      }
      default: {
        const Array key = random::key(c_.between(0, 5));
        return convert(random::uniform(random::fold_in(key, fit(convert(pick(integer), DType::i32), Shape())),
                                       random_shape(), DType::f32),
                       real_of(real_dtype()));
      }
    }
  }
  static DType real_of(DType d) { return real_part_of(d); }
  Array special() {
    if (options_.flavor == Flavor::smooth) return unary();
    const Array x = any();
    switch (c_.below(3)) {
      case 0:
        return stop_gradient(x);
      case 1:
        return inexact(x) && !is_powers(x.dtype()) ? is_finite(x) : x;  // numbers without a sign are not classified
      default:
        return integer(x) ? count_nonzero(x) : x;
    }
  }

  // --- shapes ---
  Array move() {
    const Array x = any();
    if (x.rank() == 0) return broadcast_to(x, random_shape());
    switch (c_.below(8)) {
      case 0:
        return transpose(x);
      case 1:
        return reverse(x, {axis_of(x)});
      case 2:
        return reshape(x, {x.shape().elements()});
      case 3:
        return expand_dims(x, c_.between(0, static_cast<std::int64_t>(x.rank())));
      case 4:
        return move_axis(x, axis_of(x), axis_of(x));
      case 5: {
        const Dim size = random_size();
        return size.value() * elements(x) <= most_elements() ? add_batch_axis(x, size) : x;
      }
      case 6:
        return reshape(x, {Dim(1), x.shape().elements()});
      default:
        return c_.below(2) == 0 ? transpose(x) : transpose(reverse(x, {0}));
    }
  }
  Array part() {
    const Array x = with_rank();
    const std::int64_t axis = axis_of(x), n = x.size(axis), start = c_.between(0, n), stop = c_.between(start, n);
    switch (c_.below(4)) {
      case 0:
        return slice_in_dim(x, start, stop, axis, c_.between(1, 3));
      case 1:
        return n > 0 ? take(x, Array(Scalar(static_cast<std::int32_t>(c_.between(0, n - 1)))), axis) : x;
      case 2: {
        std::vector<std::int64_t> low(x.rank(), 0), high(x.rank(), 0), interior(x.rank(), 0);
        const auto k = static_cast<std::size_t>(axis);
        interior[k] = c_.between(0, 2);
        low[k] = c_.between(-std::min<std::int64_t>(n / 2, 1), 2);
        high[k] = c_.between(-std::min<std::int64_t>(n / 2, 1), 2);
        return pad(x, like(x, Shape()), low, high, interior);
      }
      default:
        return x(slice(start, stop));
    }
  }
  Array join() {
    const Array x = with_rank(), y = like(x);
    if (c_.below(2) == 0) return concatenate({x, y}, axis_of(x));
    return stack({x, y}, c_.between(0, static_cast<std::int64_t>(x.rank())));
  }
  Array reduce() {
    Array x = with_rank();
    const std::int64_t axis = axis_of(x);
    Axes axes = axis;
    if (c_.below(3) == 0) axes = Axes();
    if (c_.below(4) == 3) axes = axes.keepdims();
    if (boolean(x)) return c_.below(2) == 0 ? tenon::any(x, axes) : all(x, axes);
    if (is_complex(x.dtype())) return c_.below(2) == 0 ? sum(x, axes) : prod(x, axes);
    const auto kind = c_.below(9);
    const bool compares = kind >= 3 && kind <= 6;
    if (!compares || empty_axis(x) || is_scale(x)) x = computed(x);
    if (empty_axis(x) && kind > 2) return sum(x, axes);
    switch (kind) {
      case 0:
        return sum(x, axes);
      case 1:
        return prod(inexact(x) ? sin(x) : x, axes);
      case 2:
        return integer(x) ? sum(x, axes) : mean(x, axes);
      case 3:
        return amax(x, axes);
      case 4:
        return amin(x, axes);
      case 5:
        return argmax(x, axis);
      case 6:
        return argmin(x, axis);
      case 7:
        return integer(x) ? amax(x, axes) : logsumexp(x, axes);
      default:
        return integer(x) ? amin(x, axes) : var(x, axes);
    }
  }
  Array composite() {
    const Array x = computed(with_rank());
    if (!real(x) || empty_axis(x)) return reduce();
    return some_composite(c_, x);
  }

  // --- orders, and what elements beside each other give ---
  Array ordered() {
    const Array x = with_rank();
    return is_complex(x.dtype()) || is_scale(x) ? move() : some_order(c_, x);
  }
  Array cumulative() {
    const Array x = computed(with_rank());
    return boolean(x) ? some_order(c_, x) : some_cumulative(c_, x);
  }
  Array windows() {
    const Array x = computed(with_rank());
    return boolean(x) || empty_axis(x) ? part() : some_windows(c_, x);
  }
  Array segments() {
    const Array x = computed(with_rank());
    if (boolean(x)) return read();
    return some_segments(c_, x, fit(convert(pick(integer), DType::i32), {x.dim(0)}));
  }

  // --- indexing ---
  Array index_number() { return fit(convert(pick(integer), c_.below(4) == 3 ? DType::i64 : DType::i32), Shape()); }
  Array indices() {
    const Array i = convert(pick(integer), DType::i32);
    return i.rank() <= 2 ? i : reshape(i, {i.shape().elements()});
  }
  Array read() {
    const Array x = with_rank();
    if (empty_axis(x)) return x;
    switch (c_.below(6)) {
      case 0:
        return x(index_number());
      case 1: {
        Arrays start;
        std::vector<Dim> sizes;
        for (std::size_t k = 0; k < x.rank(); ++k) {
          start.push_back(convert(index_number(), DType::i32));
          sizes.emplace_back(c_.between(0, x.size(static_cast<std::int64_t>(k))));
        }
        return dynamic_slice(x, start, sizes);
      }
      case 2:
        return small(x, [&](const Array& i) { return take(x, i, axis_of(x), mode()); });
      case 3:
        return take_along_axis(x, fit(convert(pick(integer), DType::i32), x.shape()), axis_of(x));
      case 4:
        return small(x, [&](const Array& i) { return x(i); });
      default: {
        if (x.rank() < 2) return reverse(x, {0});
        const Array i = fit(indices(), {Dim(3)}), j = fit(indices(), {Dim(3)});
        return gather_at(x, Arrays{i, j}, {0, static_cast<std::int64_t>(x.rank()) - 1}, mode());
      }
    }
  }
  GatherOptions mode() { return {.mode = c_.below(2) == 0 ? IndexMode::clip : IndexMode::fill}; }
  template <class F>
  Array small(const Array& x, F f) {
    const Array i = indices();
    return elements(i) * elements(x) <= 2 * most_elements() ? f(i) : f(fit(i, Shape()));
  }
  Array update() {
    const Array x = with_rank();
    if (empty_axis(x)) return x;
    if (c_.below(2) == 0) {
      const Array row = like(x, x.shape().without_axis(0));
      return x.at(index_number()).set(row);
    }
    Arrays start;
    std::vector<Dim> sizes;
    for (std::size_t k = 0; k < x.rank(); ++k) {
      start.push_back(convert(index_number(), DType::i32));
      sizes.emplace_back(c_.between(1, x.size(static_cast<std::int64_t>(k))));
    }
    return dynamic_update_slice(x, like(x, Shape(sizes)), start);
  }
  Array scatters() {
    const Array x = with_rank();
    if (empty_axis(x) || boolean(x)) return update();
    const Array i = fit(indices(), {Dim(c_.between(0, 4))});
    Shape rows = x.shape().without_axis(0);
    rows = rows.with_axis(0, i.dim(0));
    Array updates = like(x, rows);
    if (is_float8(x.dtype())) {
      static const std::vector<ScatterKind> moves{ScatterKind::set, ScatterKind::max, ScatterKind::min};
      return scatter_at(is_scale(x) ? ScatterKind::set : c_.of(moves), x, Arrays{i}, {0}, updates);
    }
    const auto kinds = is_complex(x.dtype()) ? 3 : 5;
    switch (c_.below(static_cast<std::size_t>(kinds))) {
      case 0:
        return scatter_at(ScatterKind::add, x, Arrays{i}, {0}, updates);
      case 1:
        return scatter_at(ScatterKind::set, x, Arrays{i}, {0}, updates);
      case 2: {  // of products by updates that meet there is no derivative
        const Array one = fit(i, {Dim(1)});
        updates = fit(updates, x.shape().without_axis(0).with_axis(0, 1));
        return scatter_at(ScatterKind::mul, bounded(x), Arrays{one}, {0}, bounded(updates),
                          {.hints = {.unique = true}});
      }
      case 3:
        return scatter_at(ScatterKind::max, x, Arrays{i}, {0}, updates);
      default:
        return scatter_at(ScatterKind::min, x, Arrays{i}, {0}, updates, {.mode = IndexMode::clip});
    }
  }
  Array product() {
    const Array a = computed(with_rank());
    if (boolean(a)) return move();
    const Dim n = a.dim(-1), m(c_.between(1, 4));
    switch (c_.below(4)) {
      case 0:
        return matmul(a, like(a, {n, m}));
      case 1:
        return dot(a, like(a, {n}));
      case 2: {
        const Array b = like(a);
        return dot_general(a, b,
                           {.contract_a = {static_cast<std::int64_t>(a.rank()) - 1},
                            .contract_b = {static_cast<std::int64_t>(a.rank()) - 1},
                            .batch_a = a.rank() > 1 ? std::vector<std::int64_t>{0} : std::vector<std::int64_t>{},
                            .batch_b = a.rank() > 1 ? std::vector<std::int64_t>{0} : std::vector<std::int64_t>{}});
      }
      default: {
        const Array v = reshape(a, {a.shape().elements()});
        return elements(a) <= 20 ? outer(v, like(a, {m})) : sum(v * v);
      }
    }
  }

  // --- sizes that data decide ---
  // Rows that a mask chooses, computed with, and brought to a size that is known.
  Array chosen() {
    const Array x = with_rank();
    const Shape shape = x.shape();
    const auto split = shape.begin() + c_.between(1, static_cast<std::int64_t>(x.rank()));
    const Array mask = fit(pick(boolean), Shape(std::vector<Dim>(shape.begin(), split)));
    Arrays rows{compress(x, mask), compress(like(x), mask)};
    for (auto n = c_.between(0, 3); n > 0; --n) rows.push_back(among(rows));
    const Array& last = rows.back();
    switch (c_.below(5)) {
      case 0:
        return sum(last);
      case 1:
        return boolean(last) ? tenon::any(last, 0) : sum(last, 0);
      case 2:
        return sum(boolean(last) ? last & rows[0] : last * rows[0]);
      case 3:
        return convert(size_as_array(last.dim(0)), DType::i32);
      default: {  // back to where they were
        std::vector<Dim> dims{mask.shape().elements()};
        dims.insert(dims.end(), split, shape.end());
        return zeros(Shape(dims), last.dtype()).at(nonzero(reshape(mask, {dims[0]}))[0]).set(last);
      }
    }
  }
  // Of the same rows.
  Array among(const Arrays& rows) {
    const Array& a = rows[c_.below(rows.size())];
    const Array b = convert(rows[c_.below(rows.size())], a.dtype());
    switch (c_.below(4)) {
      case 0:
        return boolean(a) ? !a : some_unary(c_, a);
      case 1:
        return boolean(a) ? a & b : some_binary(c_, a, b);
      case 2:
        return where(some_comparison(c_, a, b), a, b);
      default:
        return reverse(a, {0});
    }
  }

  // --- regions ---
  // New values for these carries out of a body, and outputs of a step.
  std::pair<Arrays, Arrays> body(const Arrays& carries, const Arrays& elements, std::size_t ys) {
    Pool inner = pool_;
    inner.insert(inner.end(), elements.begin(), elements.end());
    inner.insert(inner.end(), carries.begin(), carries.end());
    Generator g(c_, options_, inner, depth_ - 1);
    g.statements(c_.between(0, 4));
    std::pair<Arrays, Arrays> result;
    for (const Array& carry : carries) result.first.push_back(g.value_of(carry.type()).with_weak(false));
    for (std::size_t i = 0; i < ys; ++i) {
      const Array y = g.any();
      result.second.push_back(tenon::sample::elements(y) <= 40 ? y : g.fit(y, Shape()));
    }
    return result;
  }
  Arrays some_carries() {
    Arrays carries;
    for (auto n = c_.between(1, 3); n > 0; --n) carries.push_back(bounded(any()).with_weak(false));
    return carries;
  }
  Array one_of(const Arrays& results) {
    for (const Array& r : results) keep(r);
    return results.empty() ? any() : results[c_.below(results.size())];
  }
  std::optional<Checkpoints> some_checkpoints() {
    const auto kind = c_.below(4);
    if (kind < 2) return std::nullopt;
    return kind == 2 ? every(c_.between(1, 3)) : binomial(c_.between(1, 3));
  }
  Array scanned() {
    const Array first = with_rank();
    Arrays xs{first};
    if (c_.below(2) == 0) {
      const Array other = any();
      xs.push_back(fit(other, Shape({first.dim(0)})));
    }
    const std::size_t ys = c_.below(3);
    const auto [end, stacked] =
        scan([&](const Arrays& carry, const Arrays& x) { return body(carry, x, ys); }, some_carries(), xs,
             {.reverse = c_.below(3) == 2, .checkpoint = some_checkpoints()});
    Arrays results = end;
    results.insert(results.end(), stacked.begin(), stacked.end());
    return one_of(results);
  }
  Array repeated() {
    struct State {
      Array step;
      Arrays carries;
    };
    const Array limit = c_.below(2) == 0 ? Array(Scalar(std::int32_t(c_.between(0, 4))))
                                         : abs(index_number_i32()) % Array(Scalar(std::int32_t(4)));
    const bool by_value = c_.below(2) == 0;
    const State end = while_loop(
        [&](const State& s) {
          const Array more = s.step < limit;
          return by_value || !real(s.carries[0]) ? more : more & (sum(computed(s.carries[0])) < 1.3);
        },
        [&](const State& s) {
          return State{s.step + Array(Scalar(std::int32_t(1))), body(s.carries, {s.step}, 0).first};
        },
        State{Array(Scalar(std::int32_t(0))), some_carries()},
        {.checkpoints = c_.below(3) == 2 ? std::optional(c_.between(1, 3)) : std::nullopt});
    keep(end.step);
    return one_of(end.carries);
  }
  Array index_number_i32() { return convert(index_number(), DType::i32); }
  Array counted() {
    const std::int64_t lower = c_.between(0, 2), upper = lower + c_.between(0, 4);
    return one_of(fori_loop(
        static_cast<std::int32_t>(lower), static_cast<std::int32_t>(upper),
        [&](const Array& i, const Arrays& carries) { return body(carries, {i}, 0).first; }, some_carries()));
  }
  Array branched() {
    const Arrays shared = some_carries();
    const auto branch = [&](const Arrays& in) { return body(in, {}, 0).first; };
    return one_of(cond(fit(pick(boolean), Shape()), branch, branch, shared));
  }
  Array called() {
    const Arrays in = some_carries();
    const auto f = jit([&](const Arrays& x) { return body(x, {}, 0).first; });
    const Arrays once = f(in);
    return one_of(c_.below(3) == 2 ? f(once) : once);
  }
  Array mapped() {
    return map([&](const Array& x) { return body({}, {x}, 1).second[0]; }, with_rank());
  }

  // A body without what is around: rules have no part in that. Its choices are made once.
  Array wrapped() {
    const Array x = computed(pick([](const Array& a) { return real(a) && elements(a) > 0 && elements(a) <= 40; }));
    std::vector<std::uint32_t> choices;
    for (auto n = c_.between(0, 30); n > 0; --n) choices.push_back(c_.below(5040));
    const GeneratorOptions options{.flavor = options_.flavor};
    const auto body = [choices, depth = depth_ - 1, options](const Array& v) {
      Choices again(choices);
      Generator g(again, options, {v}, depth);
      g.statements(again.between(1, 4));
      const Array y = g.pick(real);
      return empty_axis(y) ? sin(v) : g.bounded(convert(y, v.dtype()));
    };
    return some_wrapped(c_, body, x, options_.flavor == Flavor::smooth);
  }

  Choices& c_;
  const GeneratorOptions& options_;
  Pool pool_;
  int depth_;
};

}  // namespace

ProgramRef random_program(Choices& choices, const GeneratorOptions& options) {
  Generator types(choices, options, {}, 0);
  std::vector<Type> inputs;
  for (auto n = choices.between(1, 4); n > 0; --n) inputs.push_back(types.random_type());
  const auto f = [&](std::span<const Array> in) {
    Generator g(choices, options, Pool(in.begin(), in.end()), outermost);
    g.statements(static_cast<std::size_t>(choices.between(1, 9)));
    Arrays outputs;
    for (auto n = choices.between(1, 3); n > 0; --n) outputs.push_back(choices.of(g.pool()));
    outputs.push_back(g.pool().back());
    return outputs;
  };
  return trace_types(f, inputs, std::vector<bool>(inputs.size(), false), writes_refs).program;
}

}  // namespace tenon::sample
