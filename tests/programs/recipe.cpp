#include "tests/programs/recipe.h"

#include <algorithm>

namespace tenon::sample {

Kind kind_at(const Kind& x, const Place& place, std::int64_t count) {
  const std::vector<std::int64_t> rest(x.dims.begin() + 1, x.dims.end());
  const auto before_rest = [&](std::int64_t n) {
    std::vector<std::int64_t> dims{n};
    dims.insert(dims.end(), rest.begin(), rest.end());
    return Kind{x.dtype, dims};
  };
  switch (place.form) {
    case Place::Form::row:
      return {x.dtype, rest};
    case Place::Form::element:
      return {x.dtype, {}};
    case Place::Form::column:
      return {x.dtype, {x.dims[0]}};
    case Place::Form::rows:
      return before_rest(count);
    case Place::Form::points:
      return {x.dtype, {count}};
    case Place::Form::part:
      return before_rest(place.stop - place.start);
    default:
      return {x.dtype, place.sizes};
  }
}

namespace {

constexpr std::int64_t most_elements = 600;
constexpr int outermost = 3;  // regions in regions

const Kind counter{DType::i32, {}}, flag{DType::bool_, {}};

// Statements over slots, the arrays that regions carry and updates change, and over all values so far. Regions hold
// Writers of their own, which know the values around them.
class Writer {
 public:
  Writer(Choices& choices, DType real, std::vector<Kind> values, std::vector<Kind> refs, int depth)
      : c_(choices), real_(real), values_(std::move(values)), refs_(std::move(refs)), depth_(depth) {}

  Id input(const Kind& kind) {
    body_.inputs.push_back(kind);
    values_.push_back(kind);
    return values_.size() - 1;
  }
  Id carry(const Kind& kind) {
    slots_.push_back(input(kind));
    return slots_.back();
  }
  const std::vector<Id>& slots() const { return slots_; }
  void own_slot(const Kind& kind) { slots_.push_back(fit(number(kind.dtype, 0), kind)); }
  Kind kind(Id id) const { return values_[id]; }  // more values move the others

  void statements(std::int64_t count) {
    for (; count > 0; --count) statement();
  }
  void new_ref() {
    const Id x = slot();
    push(Step{.what = Do::new_ref, .in = {x}});
    refs_.push_back(kind(x));
  }
  // The last word of references that loops wrote to.
  void read_refs() {
    for (std::size_t r = 0; r < refs_.size(); ++r)
      push(Step{.what = Do::read_ref, .out = {refs_[r]}, .ref = r, .whole = true});
  }
  void loop() { c_.below(5) == 4 ? repeated() : c_.below(3) == 2 ? counted() : scanned(); }
  Id condition(Id step, std::int64_t most) {
    Id limit = number(DType::i32, static_cast<double>(c_.between(0, most)));
    if (c_.chance(30)) limit = within(fit(some_integer(), counter), 0, static_cast<double>(most));
    Id more = push(Do::less, {step, limit}, flag);
    if (c_.chance(30)) more = push(Do::both, {more, push(Do::less, {real_number(), number(real_, 0.7)}, flag)}, flag);
    return more;
  }
  Id any() {
    return latest([](const Kind&) { return true; });
  }

  // What the body gives, which ends here.
  Body finish(std::vector<Id> results) {
    body_.results = std::move(results);
    return std::move(body_);
  }

 private:
  Id push(Step step) {
    for (const Kind& k : step.out) values_.push_back(k);
    body_.steps.push_back(std::move(step));
    return values_.size() - 1;
  }
  Id push(Do what, std::vector<Id> in, const Kind& kind) {
    return push(Step{.what = what, .in = std::move(in), .out = {kind}});
  }

  // --- values ---
  // The latest first.
  template <class F>
  Id latest(F wanted) {
    std::vector<Id> fitting;
    for (Id id = values_.size(); id-- > 0;)
      if (wanted(values_[id])) fitting.push_back(id);
    return fitting.empty() ? number(real_, 0.25) : c_.of(fitting);
  }
  Id number(DType dtype, double value) { return push(Step{.what = Do::number, .out = {{dtype, {}}}, .value = value}); }
  bool real(Id id) const { return is_inexact(kind(id).dtype); }
  bool boolean(Id id) const { return kind(id).dtype == DType::bool_; }
  Id some_real() {
    return latest([](const Kind& k) { return is_inexact(k.dtype); });
  }
  Id real_number() {
    const Id id = some_real();
    return fit(c_.chance(50) && !kind(id).scalar() ? read(id) : id, {real_, {}});
  }
  Id some_integer() {
    const auto wanted = [](const Kind& k) { return is_integer(k.dtype); };
    if (std::ranges::none_of(values_, wanted)) return number(DType::i32, static_cast<double>(c_.between(0, 4)));
    return latest(wanted);
  }
  Id within(Id x, double low, double high) {
    const Kind k = kind(x);
    const auto bound = [&](double v) { return fit(number(k.dtype, v), k); };
    x = push(Do::greatest, {x, bound(low)}, k);
    return push(Do::least, {x, bound(high)}, k);
  }
  // Large numbers make small differences meaningless, and integers that overflow none.
  Id bounded(Id x) {
    if (boolean(x)) return x;
    if (!real(x)) return within(x, -9, 9);
    return push(c_.below(3) == 2 ? Do::tanh : Do::sine, {x}, kind(x));
  }
  // As another dtype.
  Id converted(Id x, DType dtype) {
    const Kind from = kind(x), to{dtype, from.dims};
    if (from.dtype == dtype) return x;
    const auto less = [&](double than) { return push(Do::less, {x, fit(number(from.dtype, than), from)}, to); };
    if (dtype == DType::bool_) return less(is_inexact(from.dtype) ? 0.1379 : 2);
    if (is_integer(dtype) && is_inexact(from.dtype)) {
      x = push(Do::multiply, {x, fit(number(from.dtype, 3.0173), from)}, from);
      x = within(x, -6.43, 6.43);
    }
    x = push(Do::convert, {x}, to);
    if (!is_inexact(dtype) || is_inexact(from.dtype)) return x;
    return push(Do::multiply, {x, fit(number(dtype, 0.1931), to)}, to);
  }
  // As another kind.
  Id fit(Id x, const Kind& wanted) {
    if (kind(x).dims != wanted.dims && !kind(x).scalar()) {
      if (boolean(x)) x = converted(x, DType::i64);
      const Kind sum{kind(x).dtype, {}};
      x = push(Do::total, {x}, sum);
      x = real(x) ? x : within(x, -9, 9);
    }
    x = converted(x, wanted.dtype);
    return kind(x) == wanted ? x : push(Do::fill, {x}, wanted);
  }
  Id value(const Kind& wanted) {
    if (c_.chance(15)) return fit(number(wanted.dtype, wanted.dtype == DType::bool_ ? 1 : 2), wanted);
    const auto same = [&](const Kind& k) { return k == wanted; };
    const bool exists = std::ranges::any_of(values_, same);
    return bounded(fit(exists && c_.chance(50) ? latest(same) : any(), wanted));
  }

  // --- places ---
  Id index(std::int64_t n) {
    Id i = c_.below(4) == 0 ? number(DType::i32, static_cast<double>(c_.between(-n - 2, n + 1)))
                            : fit(some_integer(), counter);
    if (c_.chance(30))
      i = push(c_.below(2) == 0 ? Do::add : Do::subtract,
               {i, number(DType::i32, static_cast<double>(c_.between(0, 3)))}, counter);
    return c_.chance(15) ? converted(i, DType::i64) : i;
  }
  Id indices(std::int64_t count) {
    const Kind wanted{DType::i32, {count}};
    const auto fitting = [&](const Kind& k) { return is_integer(k.dtype) && k.dims == wanted.dims; };
    if (c_.chance(70) && std::ranges::any_of(values_, fitting)) return converted(latest(fitting), DType::i32);
    const Id up = push(Do::iota, {}, wanted);
    const Id from = converted(index(count), DType::i32);
    const Id turned =
        push(Do::multiply, {up, fit(number(DType::i32, static_cast<double>(c_.between(-1, 2))), wanted)}, wanted);
    return push(Do::add, {turned, fit(from, wanted)}, wanted);
  }
  struct Chosen {
    Place place;
    Kind kind;
  };
  // `single`: no element twice.
  Chosen place_in(const Kind& x, bool single, bool block) {
    using Form = Place::Form;
    static const std::vector<Form> any_rank{Form::row, Form::row, Form::part, Form::rows, Form::block},
        of_matrices{Form::row,     Form::element, Form::part,   Form::rows,
                    Form::element, Form::column,  Form::points, Form::block};
    Place p{.form = c_.of(x.dims.size() == 2 ? of_matrices : any_rank)};
    if (p.form == Form::block && (!block || x.dims.size() > 2)) p.form = Form::row;
    const std::int64_t n = x.dims[0];
    std::int64_t count = 0;
    switch (p.form) {
      case Form::row:
        p.indices = {index(n)};
        break;
      case Form::element:
        p.indices = {converted(index(n), DType::i32), converted(index(x.dims[1]), DType::i32)};
        break;
      case Form::column:
        p.indices = {index(x.dims[1])};
        break;
      case Form::rows:
      case Form::points:
        p.unique = single;
        count = single ? 1 : c_.of(std::vector<std::int64_t>{2, 1, 3, 4, 0});
        p.indices = {indices(count)};
        if (p.form == Form::points) p.indices.push_back(indices(count));
        break;
      case Form::part:
        p.start = c_.between(0, n);
        p.stop = c_.between(p.start, n);
        break;
      case Form::block:
        for (const std::int64_t size : x.dims) {
          p.indices.push_back(converted(index(size), DType::i32));
          p.sizes.push_back(c_.between(size > 0 ? 1 : 0, size));
        }
    }
    if (p.form != Form::part && p.form != Form::block && c_.chance(25))
      p.mode = c_.below(2) == 0 ? IndexMode::clip : IndexMode::fill;
    const Kind there = kind_at(x, p, count);
    return {p, there};
  }
  Id read(Id x) {
    if (kind(x).scalar() || kind(x).elements() == 0) return x;
    const Chosen at = place_in(kind(x), false, true);
    return push(Step{.what = Do::read, .in = {x}, .out = {at.kind}, .place = at.place});
  }
  ScatterKind some_update(const Kind& x) {
    if (x.dtype == DType::bool_) return ScatterKind::set;
    return c_.of(std::vector{ScatterKind::set, ScatterKind::add, ScatterKind::set, ScatterKind::mul, ScatterKind::max,
                             ScatterKind::min});
  }
  // Of products by updates that meet there is no derivative.
  Step update(const Kind& x, bool of_ref) {
    const ScatterKind how = some_update(x);
    const Chosen at = place_in(x, how == ScatterKind::mul, !of_ref && how == ScatterKind::set);
    Id with = value(at.kind);
    if (!is_inexact(x.dtype) && how == ScatterKind::mul) with = within(with, -1, 1);
    return {.what = of_ref ? Do::write_ref : Do::update, .in = {with}, .out = {}, .place = at.place, .update = how};
  }
  Id updated(Id x) {
    const Kind k = kind(x);
    Step step = update(k, false);
    step.in = {x, step.in[0]};
    step.out = {k};
    const bool added = !is_inexact(k.dtype) && step.update == ScatterKind::add;
    const Id result = push(std::move(step));
    return added && k.dtype != DType::bool_ ? within(result, -9, 9) : result;
  }

  // --- statements ---
  void statement() {
    const auto kind = c_.below(depth_ > 0 ? 30 : 24);
    if (!refs_.empty() && c_.chance(15))
      refs();
    else if (kind < 8)
      change();
    else if (kind < 11)
      read(slot());
    else if (kind < 14)
      compute();
    else if (kind < 17)
      chosen();
    else if (kind < 18)
      move();
    else if (kind < 19)
      renew();
    else if (kind < 21)
      refs();
    else if (kind < 24)
      read(read_again());
    else if (kind < 27)
      branched();
    else if (kind < 28)
      called();
    else
      loop();
  }
  Id slot() { return c_.of(slots_); }
  void change() {
    Id& x = slots_[c_.below(slots_.size())];
    x = updated(x);
  }
  // An array as it was once, perhaps before an update.
  Id read_again() {
    return latest([](const Kind& k) { return !k.scalar() && k.elements() > 0; });
  }
  void compute() {
    const Id first = any(), x = real(first) ? first : bounded(first), y = bounded(fit(any(), kind(x)));
    if (boolean(x)) {
      c_.below(2) == 0 ? push(Do::opposite, {x}, kind(x)) : push(Do::both, {x, y}, kind(x));
      return;
    }
    static const std::vector<Do> doing{Do::multiply, Do::add,    Do::subtract, Do::greatest,
                                       Do::least,    Do::negate, Do::sine};
    const Do what = c_.of(doing);
    if (what == Do::negate || what == Do::sine)
      real(x) ? push(what, {x}, kind(x)) : push(Do::negate, {x}, kind(x));
    else
      bounded(push(what, {x, y}, kind(x)));
  }
  // where(p, updated, old), or the other way round; one p, or one an element.
  void chosen() {
    Id& x = slots_[c_.below(slots_.size())];
    const Id old = x;
    Id now = updated(old);
    if (c_.chance(30)) now = updated(now);
    const Kind k = kind(old);
    const Id p = fit(any(), c_.below(3) == 2 ? Kind{DType::bool_, k.dims} : flag);
    x = c_.below(3) == 2 ? push(Do::select, {p, old, now}, k) : push(Do::select, {p, now, old}, k);
  }
  // Slots of a kind change places, or become the same.
  void move() {
    const std::size_t a = c_.below(slots_.size());
    std::vector<std::size_t> fitting;
    for (std::size_t b = 0; b < slots_.size(); ++b)
      if (b != a && kind(slots_[b]) == kind(slots_[a])) fitting.push_back(b);
    if (fitting.empty()) return;
    const std::size_t b = c_.of(fitting);
    if (c_.chance(40))
      slots_[b] = slots_[a];
    else
      std::swap(slots_[a], slots_[b]);
  }
  void renew() {
    Id& x = slots_[c_.below(slots_.size())];
    x = bounded(x);
  }
  void refs() {
    if (refs_.empty() || c_.chance(15)) return new_ref();
    const std::size_t r = c_.below(refs_.size());
    const Kind k = refs_[r];
    switch (c_.below(4)) {
      case 0: {
        push(Step{.what = Do::read_ref, .out = {k}, .ref = r, .whole = true});
        const Id now = values_.size() - 1;
        for (Id& s : slots_)
          if (kind(s) == k) return void(s = bounded(now));
        return;
      }
      case 1: {
        if (k.elements() == 0) return;
        const Chosen at = place_in(k, false, false);
        push(Step{.what = Do::read_ref, .out = {at.kind}, .place = at.place, .ref = r});
        return;
      }
      default: {
        Step step = update(k, true);
        if (!is_inexact(k.dtype) && step.update == ScatterKind::add) step.update = ScatterKind::set;
        step.ref = r;
        push(std::move(step));
      }
    }
  }

  // --- regions ---
  std::vector<std::size_t> some_slots() {
    std::vector<std::size_t> all(slots_.size()), some;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    for (auto n = c_.between(1, static_cast<std::int64_t>(std::min<std::size_t>(3, slots_.size()))); n > 0; --n) {
      const std::size_t at = c_.below(all.size());
      some.push_back(all[at]);
      if (!c_.chance(10)) all.erase(all.begin() + static_cast<std::ptrdiff_t>(at));  // else one array, carried twice
      if (all.empty()) break;
    }
    return some;
  }
  Writer inside() const { return {c_, real_, values_, refs_, depth_ - 1}; }
  void carry_into(Writer& w, const std::vector<std::size_t>& slots) {
    for (const std::size_t s : slots) w.carry(kind(slots_[s]));
  }
  std::vector<Kind> kinds_of(const std::vector<std::size_t>& slots) const {
    std::vector<Kind> kinds;
    for (const std::size_t s : slots) kinds.push_back(kind(slots_[s]));
    return kinds;
  }
  void take(const std::vector<std::size_t>& slots, Id first) {
    for (std::size_t i = 0; i < slots.size(); ++i) slots_[slots[i]] = first + i;
  }
  std::optional<Checkpoints> some_checkpoints() {
    const auto which = c_.below(6);
    if (which < 4) return std::nullopt;
    return Checkpoints{which == 4 ? CheckpointKind::every : CheckpointKind::binomial, c_.between(1, 3)};
  }
  std::int64_t steps() {
    return c_.of(depth_ == outermost ? std::vector<std::int64_t>{3, 4, 2, 1, 5, 0, 6}
                                     : std::vector<std::int64_t>{2, 3, 1, 0});
  }
  void scanned() {
    Step step{.what = Do::scan};
    const auto slots = some_slots();
    for (const std::size_t s : slots) step.in.push_back(slots_[s]);
    step.carries = slots.size();
    std::int64_t length = steps();
    if (c_.chance(50)) {
      const auto stacked = [&](const Kind& k) { return !k.scalar() && k.dims[0] <= 7; };
      const Id xs = latest(stacked);
      if (!kind(xs).scalar() && kind(xs).dims[0] <= 7) {
        length = kind(xs).dims[0];
        step.in.push_back(xs);
      }
    }
    step.in.push_back(push(Do::iota, {}, {c_.chance(20) ? DType::i64 : DType::i32, {length}}));
    const auto also = [&](const Kind& k) { return !k.scalar() && k.dims[0] == length; };
    if (c_.chance(30)) step.in.push_back(latest(also));
    if (!also(kind(step.in.back()))) step.in.pop_back();
    step.length = length;
    step.reverse = c_.below(3) == 2;
    step.unroll = c_.chance(15) ? c_.between(2, 3) : 1;
    step.checkpoints = some_checkpoints();
    step.out = kinds_of(slots);
    Writer w = inside();
    carry_into(w, slots);
    for (std::size_t i = slots.size(); i < step.in.size(); ++i) {
      const Kind xs = kind(step.in[i]);
      w.input({xs.dtype, {xs.dims.begin() + 1, xs.dims.end()}});
    }
    w.statements(c_.between(1, 5));
    std::vector<Id> results = w.slots();
    for (auto n = c_.below(3); n > 0; --n) {
      const Id y = c_.below(2) == 0 ? w.any() : c_.of(w.slots());
      if (w.kind(y).elements() * length > most_elements) continue;
      results.push_back(y);
      step.out.push_back(w.kind(y));
      step.out.back().dims.insert(step.out.back().dims.begin(), length);
    }
    step.bodies.push_back(w.finish(results));
    add(std::move(step), slots);
  }
  void add(Step step, const std::vector<std::size_t>& slots) {
    const Id first = values_.size();
    const std::size_t counters = step.what == Do::repeat ? 1 : 0;
    push(std::move(step));
    take(slots, first + counters);
  }
  void repeated() {
    Step step{.what = Do::repeat};
    const auto slots = some_slots();
    step.in.push_back(number(DType::i32, static_cast<double>(c_.between(0, 1))));
    for (const std::size_t s : slots) step.in.push_back(slots_[s]);
    if (c_.chance(25)) step.checkpoints = Checkpoints{CheckpointKind::binomial, c_.between(1, 3)};
    step.out = kinds_of(slots);
    step.out.insert(step.out.begin(), counter);
    Writer condition = inside();
    const Id before = condition.input(counter);
    carry_into(condition, slots);
    const Id more = condition.condition(before, depth_ == outermost ? 5 : 3);
    step.bodies.push_back(condition.finish({more}));
    Writer w = inside();
    const Id at = w.input(counter);
    carry_into(w, slots);
    const Id next = w.push(Do::add, {at, w.number(DType::i32, 1)}, counter);
    w.statements(c_.between(1, 5));
    std::vector<Id> results{next};
    results.insert(results.end(), w.slots().begin(), w.slots().end());
    step.bodies.push_back(w.finish(results));
    add(std::move(step), slots);
  }
  void counted() {
    Step step{.what = Do::count};
    const auto slots = some_slots();
    step.lower = c_.between(0, 2);
    if (c_.below(2) == 0)
      step.length = steps();
    else
      step.in.push_back(within(fit(some_integer(), counter), 0, 5));
    for (const std::size_t s : slots) step.in.push_back(slots_[s]);
    step.out = kinds_of(slots);
    Writer w = inside();
    w.input(counter);
    carry_into(w, slots);
    w.statements(c_.between(1, 5));
    step.bodies.push_back(w.finish(w.slots()));
    add(std::move(step), slots);
  }
  void branched() {
    Step step{.what = Do::branch};
    const auto slots = some_slots();
    const bool numbered = c_.below(3) == 2;
    step.in.push_back(numbered ? fit(some_integer(), counter) : fit(any(), flag));
    for (const std::size_t s : slots) step.in.push_back(slots_[s]);
    step.out = kinds_of(slots);
    for (int b = numbered ? 3 : 2; b > 0; --b) {
      Writer w = inside();
      carry_into(w, slots);
      w.statements(c_.between(0, 2));  // none: all is passed on
      step.bodies.push_back(w.finish(w.slots()));
    }
    add(std::move(step), slots);
  }
  void called() {
    Step step{.what = c_.below(2) == 0 ? Do::call : Do::again};
    const auto slots = some_slots();
    for (const std::size_t s : slots) step.in.push_back(slots_[s]);
    step.out = kinds_of(slots);
    Writer w = inside();
    carry_into(w, slots);
    w.statements(c_.between(1, 3));
    step.bodies.push_back(w.finish(w.slots()));
    add(std::move(step), slots);
  }

  Choices& c_;
  DType real_;
  std::vector<Kind> values_, refs_;
  std::vector<Id> slots_;
  Body body_;
  int depth_;
};

}  // namespace

Body random_recipe(Choices& c, const RecipeOptions& options) {
  Writer w(c, options.real, {}, {}, outermost);
  const auto size = [&] { return c.of(std::vector<std::int64_t>{4, 3, 5, 2, 6, 1, 7, 0, 5, 3, 4, 2, 6}); };
  const auto shape = [&] {
    if (c.chance(6)) return std::vector<std::int64_t>{c.between(60, 90)};
    std::vector<std::int64_t> dims{size()};
    if (c.below(3) == 2) dims.push_back(std::min<std::int64_t>(size(), 5));
    return dims;
  };
  w.carry({options.real, shape()});
  if (c.chance(60)) w.carry({options.real, c.chance(60) ? w.kind(w.slots()[0]).dims : shape()});
  if (c.chance(40)) w.input({options.real, c.chance(30) ? std::vector<std::int64_t>{} : shape()});
  if (c.chance(40)) w.input({c.below(2) == 0 ? DType::i32 : DType::i64, {size()}});
  if (c.chance(15)) w.carry({DType::i64, {size()}});
  if (c.chance(15)) w.carry({DType::bool_, {size()}});
  if (c.chance(20)) w.input({DType::bool_, {}});
  if (c.chance(30)) w.own_slot({options.real, shape()});
  if (c.chance(20)) w.own_slot({c.below(2) == 0 ? DType::i64 : DType::bool_, {size()}});
  if (c.chance(25)) w.new_ref();
  w.statements(c.between(0, 2));
  w.loop();
  w.statements(c.between(0, 3));
  w.read_refs();
  std::vector<Id> results = w.slots();
  for (auto n = c.below(3); n > 0; --n) results.push_back(w.any());
  return w.finish(results);
}

}  // namespace tenon::sample
