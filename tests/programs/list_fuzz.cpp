// Random programs of lists, compiled and evaluated, alone and under every transformation, against plain vectors whose
// numbers carry their derivatives.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tenon/tenon.h"
#include "tests/by_oracle.h"
#include "tests/fuzzing.h"
#include "tests/programs/list_recipe.h"

namespace tenon::sample {
namespace {

using Step = ListRecipe::Step;
using Block = ListRecipe::Block;
constexpr std::size_t width = 3;
constexpr std::array<double, 3> along_values{0.3, -0.2, 0.1};

// --- plain numbers ---
// A number and its derivative along one direction; of such numbers again, for second derivatives.
template <class T>
struct Dual {
  T value{}, slope{};
  Dual() = default;
  Dual(double number) : value(number) {}
  Dual(T v, T s) : value(v), slope(s) {}
  friend Dual operator+(const Dual& a, const Dual& b) { return {a.value + b.value, a.slope + b.slope}; }
  friend Dual operator-(const Dual& a, const Dual& b) { return {a.value - b.value, a.slope - b.slope}; }
  friend Dual operator*(const Dual& a, const Dual& b) {
    return {a.value * b.value, a.slope * b.value + a.value * b.slope};
  }
  friend Dual sin(const Dual& a) {
    using std::cos, std::sin;
    return {sin(a.value), a.slope * cos(a.value)};
  }
  friend Dual cos(const Dual& a) {
    using std::cos, std::sin;
    return {cos(a.value), T(0.0) - a.slope * sin(a.value)};
  }
  friend Dual tanh(const Dual& a) {
    using std::tanh;
    const T y = tanh(a.value);
    return {y, a.slope * (T(1.0) - y * y)};
  }
};
double plain(double x) { return x; }
template <class T>
double plain(const Dual<T>& x) {
  return plain(x.value);
}

template <class T>
class Plain {
 public:
  using Row = std::array<T, width>;

  explicit Plain(const Row& x) : r_(x) {}

  void follow(const Block& block) {
    for (const Step& s : block) {
      if (s.blocks.empty()) {
        simple(s);
        continue;
      }
      ++within_;
      compound(s);
      --within_;
    }
  }

  // Whether an element is asked for that is not there, at a place where sizes may be known.
  bool outside() const { return outside_; }

  std::vector<T> results() const {
    std::vector<T> all(r_.begin(), r_.end());
    const auto rows = [&](const std::vector<Row>& list, std::size_t n) {
      for (std::size_t k = 0; k < n; ++k)
        for (std::size_t i = 0; i < width; ++i) all.push_back(k < list.size() ? list[k][i] : T(0.0));
    };
    rows(list_, 6), rows(aside_, 4);
    for (std::size_t k = 0; k < 4; ++k)
      for (std::size_t i = 0; i < width; ++i) all.push_back(k < tagged_.size() ? tagged_[k].row[i] : T(0.0));
    for (std::size_t k = 0; k < 4; ++k) all.push_back(k < tagged_.size() ? T(double(tagged_[k].tag)) : T(0.0));
    for (const std::size_t n : {list_.size(), aside_.size(), tagged_.size(), whole_.size()})
      all.push_back(T(double(n)));
    rows(whole_.empty() ? std::vector<Row>() : whole_.back(), 3);
    return all;
  }

 private:
  struct Tagged {
    Row row{};
    std::int64_t tag = 0;
  };

  static std::int64_t data(const Row& r) {
    return static_cast<std::int64_t>(std::floor(std::abs(plain(r[0])) * 5)) - 1;
  }

  std::int64_t number(const ListIndex& at) const {
    return at.of(counters_.empty() ? std::int64_t(0) : counters_.back(), [&] { return data(r_); });
  }
  // From the front.
  template <class Element>
  std::int64_t place(const std::vector<Element>& list, const ListIndex& index) {
    const auto n = static_cast<std::int64_t>(list.size());
    std::int64_t at = number(index);
    if (at < 0) at += n;
    outside_ = outside_ || (within_ == 0 && (at < 0 || at >= n));
    return at;
  }
  template <class Element>
  Element element(const std::vector<Element>& list, const ListIndex& index) {
    const auto n = static_cast<std::int64_t>(list.size());
    std::int64_t at = place(list, index);
    at = std::min(std::max<std::int64_t>(at, 0), n - 1);
    return at < 0 ? Element() : list[static_cast<std::size_t>(at)];
  }
  template <class Element>
  void put(std::vector<Element>& list, const ListIndex& index, const Element& next) {
    const std::int64_t at = place(list, index);
    if (at >= 0 && at < static_cast<std::int64_t>(list.size())) list[static_cast<std::size_t>(at)] = next;
  }
  template <class Element>
  Element take_last(std::vector<Element>& list) {
    outside_ = outside_ || (within_ == 0 && list.empty());
    if (list.empty()) return {};
    const Element last = list.back();
    list.pop_back();
    return last;
  }
  template <class F>
  static Row each(F f) {
    Row row;
    for (std::size_t i = 0; i < width; ++i) row[i] = f(i);
    return row;
  }

  void simple(const Step& s) {
    using enum ListStep;
    const T by(s.by);
    const Row r = r_;
    switch (s.what) {
      case push:
        return list_.push_back(each([&](auto i) { return by * r[i]; }));
      case read: {
        const Row e = element(list_, s.at);
        const T size(0.1 * double(list_.size()));
        r_ = each([&](auto i) { return sin(T(0.8) * r[i] + by * e[i] + size); });
        return;
      }
      case set:
        return put(list_, s.at, each([&](auto i) { return cos(by * r[i]); }));
      case pop: {
        const Row e = take_last(list_);
        r_ = each([&](auto i) { return tanh(r[i] - by * e[i]); });
        return;
      }
      case put_aside:
        aside_ = list_;
        return;
      case exchange:
        return std::swap(list_, aside_);
      case clear:
        return list_.clear();
      default:
        return tagged_or_whole(s);
    }
  }

  void tagged_or_whole(const Step& s) {
    using enum ListStep;
    const T by(s.by);
    const Row r = r_;
    switch (s.what) {
      case push_tagged:
        return tagged_.push_back(
            {each([&](auto i) { return sin(by * r[i]); }), static_cast<std::int64_t>(list_.size() % 5)});
      case read_tagged: {
        const Tagged t = element(tagged_, s.at);
        r_ = each([&](auto i) { return tanh(r[i] + by * t.row[i] * T(1 + 0.1 * double(t.tag))); });
        return;
      }
      case set_tagged:
        return put(tagged_, s.at, {each([&](auto i) { return by * r[i]; }), 7});
      case pop_tagged: {
        const Tagged t = take_last(tagged_);
        r_ = each([&](auto i) { return sin(r[i] + by * t.row[i] + T(0.05 * double(t.tag))); });
        return;
      }
      case push_whole:
        return whole_.push_back(list_);
      default:
        list_ = element(whole_, s.at);
    }
  }

  void compound(const Step& s) {
    using enum ListStep;
    switch (s.what) {
      case branch:
        return follow(s.blocks[plain(r_[1]) > s.by ? 0 : 1]);
      case choose:
        return follow(
            s.blocks[static_cast<std::size_t>(std::min<std::int64_t>(std::max<std::int64_t>(data(r_), 0), 2))]);
      case repeat:
        for (int k = 0; k < s.count; ++k) step(s.blocks[0], k);
        return;
      case repeat_while:
        for (int k = 0; k < s.count && plain(r_[0]) + plain(r_[1]) > s.by; ++k) step(s.blocks[0], k);
        return;
      case along: {
        T sum(0.0);
        for (std::size_t k = 0; k < along_values.size(); ++k) {
          const std::size_t at = s.count % 2 == 0 ? k : along_values.size() - 1 - k;
          const T x(along_values[at]);
          r_ = each([&](auto i) { return r_[i] * (T(1.0) + x); });
          step(s.blocks[0], static_cast<std::int64_t>(at));
          sum = sum + r_[0] * T(double(at) + 1);
        }
        r_ = each([&](auto i) { return tanh(r_[i] + T(0.1) * sum); });
        return;
      }
      default:
        return follow(s.blocks[0]);
    }
  }
  void step(const Block& block, std::int64_t counter) {
    counters_.push_back(counter);
    follow(block);
    counters_.pop_back();
  }

  Row r_;
  std::vector<Row> list_, aside_;
  std::vector<Tagged> tagged_;
  std::vector<std::vector<Row>> whole_;
  std::vector<std::int64_t> counters_;
  int within_ = 0;  // steps around
  bool outside_ = false;
};

// --- lists ---
struct Tagged {
  Array row, tag;
};
struct State {
  Array r;
  List<Array> list, aside;
  List<Tagged> tagged;
  List<List<Array>> whole;
};

class Traced {
 public:
  // `sizes_known`: while tracing; else only the run can tell.
  Traced(const ListRecipe& recipe, bool sizes_known) : recipe_(recipe), sizes_known_(sizes_known) {}

  Array operator()(const Array& x) const {
    const auto none = List<Array>::like(x);
    State s{x, none, none, List<Tagged>::like({x, zeros({}, DType::i64)}), List<List<Array>>::like(none)};
    if (!sizes_known_) {
      const auto emptied = [](State s) {
        s.list.clear(), s.aside.clear(), s.tagged.clear(), s.whole.clear();
        return s;
      };
      s = cond(x(0) < 100.0, [](const State& s) { return s; }, emptied, s);
    }
    s = follow(recipe_.block, s, {});
    const auto rows = [](const Array& a) { return reshape(a, {a.size(0) * 3}); };
    const auto count = [](const Array& n) { return reshape(convert(n, DType::f64), {1}); };
    const Tagged tagged = s.tagged.stack(Dim(4));
    return concatenate(
        {s.r, rows(s.list.stack(Dim(6))), rows(s.aside.stack(Dim(4))), rows(tagged.row),
         convert(tagged.tag, DType::f64), count(s.list.size()), count(s.aside.size()), count(s.tagged.size()),
         count(s.whole.size()), rows(recipe_.of_lists ? last_of(s.whole) : zeros({3, 3}, DType::f64))},
        0);
  }

 private:
  using Counters = std::vector<Array>;

  // Outside of a trace it is an error to ask an empty list.
  static Array last_of(const List<List<Array>>& whole) {
    return cond(
        whole.size() > 0, [](const List<List<Array>>& w) { return w.at(-1).stack(Dim(3)); },
        [](const List<List<Array>>&) { return zeros({3, 3}, DType::f64); }, whole);
  }
  static Array data(const Array& r) { return convert(floor(abs(r(0)) * 5.0), DType::i64) - 1; }

  static Array number(const ListIndex& at, const State& s, const Counters& counters) {
    return at.of(counters.empty() ? Array(std::int64_t(0)) : counters.back(), [&] { return data(s.r); });
  }

  State follow(const Block& block, State s, const Counters& counters) const {
    for (const Step& step : block) {
      if (step.blocks.empty())
        simple(step, s, number(step.at, s, counters));
      else
        s = compound(step, std::move(s), counters);
    }
    return s;
  }

  // In a way that tells the trace no size, else what reads it is an error even where it never runs.
  static List<Array> cleared(const State& s) {
    const auto clear = [](List<Array> l) {
      l.clear();
      return l;
    };
    return cond(s.r(0) < 100.0, clear, [](const List<Array>& l) { return l; }, s.list);
  }

  static void simple(const Step& step, State& s, const Array& at) {
    using enum ListStep;
    const double by = step.by;
    switch (step.what) {
      case push:
        return s.list.push(by * s.r);
      case read:
        s.r = sin(0.8 * s.r + by * s.list.at(at) + 0.1 * convert(s.list.size(), DType::f64));
        return;
      case set:
        return s.list.set(at, cos(by * s.r));
      case pop:
        s.r = tanh(s.r - by * s.list.pop());
        return;
      case put_aside:
        s.aside = s.list;
        return;
      case exchange:
        return std::swap(s.list, s.aside);
      case clear:
        s.list = cleared(s);
        return;
      case push_tagged:
        return s.tagged.push({sin(by * s.r), s.list.size() % 5});
      case read_tagged: {
        const Tagged t = s.tagged.at(at);
        s.r = tanh(s.r + by * t.row * (1 + 0.1 * convert(t.tag, DType::f64)));
        return;
      }
      case set_tagged:
        return s.tagged.set(at, {by * s.r, Array(std::int64_t(7))});
      case pop_tagged: {
        const Tagged t = s.tagged.pop();
        s.r = sin(s.r + by * t.row + 0.05 * convert(t.tag, DType::f64));
        return;
      }
      case push_whole:
        return s.whole.push(s.list);
      default:
        s.list = s.whole.at(at);
    }
  }

  State compound(const Step& step, State s, const Counters& counters) const {
    using enum ListStep;
    const auto block = [&](std::size_t b) {
      return [&, b](const State& now) { return follow(step.blocks[b], now, counters); };
    };
    const auto turn = [&](const Array& i, const State& now) {
      Counters inside = counters;
      inside.push_back(convert(i, DType::i64));
      return follow(step.blocks[0], now, inside);
    };
    switch (step.what) {
      case branch:
        return cond(s.r(1) > step.by, block(0), block(1), s);
      case choose:
        return switch_case(data(s.r), std::tuple(block(0), block(1), block(2)), s);
      case repeat:
        return fori_loop(0, step.count, turn, s);
      case repeat_while:
        return while_loop(
                   [&](const std::pair<State, Array>& c) {
                     return (c.second < step.count) & (c.first.r(0) + c.first.r(1) > step.by);
                   },
                   [&](const std::pair<State, Array>& c) { return std::pair(turn(c.second, c.first), c.second + 1); },
                   std::pair(s, Array(0)))
            .first;
      case along: {
        const auto [end, sums] = scan(
            [&](State now, const std::pair<Array, Array>& x) {
              now.r = now.r * (1.0 + x.first);
              now = turn(x.second, now);
              return std::pair(now, now.r(0) * (convert(x.second, DType::f64) + 1.0));
            },
            s, std::pair(array<double>({along_values.begin(), along_values.end()}, {3}), arange(3)),
            {.reverse = step.count % 2 != 0});
        State last = end;
        last.r = tanh(last.r + 0.1 * sum(sums));
        return last;
      }
      case jit:
        return tenon::jit(block(0))(s);
      default:
        return tenon::checkpoint(block(0))(s);
    }
  }

  const ListRecipe& recipe_;
  bool sizes_known_;
};

// --- comparisons ---
constexpr std::array<double, width> at{0.7, -0.4, 0.9}, direction{0.3, -0.2, 0.5};
const std::vector<double> scales{1.0, -0.6, 1.7, 0.2};

using First = Dual<double>;
using Second = Dual<First>;

struct Expected {
  std::vector<double> value, tangent;
  double slope, curvature;  // of the sum of the results' sines, along the direction
  bool outside;
};
Expected expected(const ListRecipe& recipe, double scale) {
  std::array<Second, width> x;
  for (std::size_t i = 0; i < width; ++i) x[i] = {First(scale * at[i], direction[i]), First(direction[i], 0)};
  Plain<Second> plain(x);
  plain.follow(recipe.block);
  Expected e{.outside = plain.outside()};
  Second sum;
  for (const Second& y : plain.results()) {
    e.value.push_back(y.value.value), e.tangent.push_back(y.value.slope);
    sum = sum + sin(y);
  }
  e.slope = sum.value.slope, e.curvature = sum.slope.slope;
  return e;
}

void expect_near(const Array& got, const std::vector<double>& want, const char* what) {
  const Buffer b = got.to_buffer().contiguous_copy();
  ASSERT_EQ(static_cast<std::size_t>(b.elements()), want.size()) << what;
  double scale = 1;
  for (const double w : want) scale = std::max(scale, std::abs(w));
  for (std::size_t i = 0; i < want.size(); ++i)
    ASSERT_NEAR(b.as<double>()[i], want[i], 1e-9 * scale) << what << ", number " << i;
}

void check(const ListRecipe& recipe) {
  const Expected want = expected(recipe, 1);
  bool outside = false;
  for (const double scale : scales) outside = outside || expected(recipe, scale).outside;
  const Traced f(recipe, !outside);
  const auto total = [&](const Array& x) { return sum(sin(f(x))); };
  const Array x = array<double>({at.begin(), at.end()}, {3}),
              d = array<double>({direction.begin(), direction.end()}, {3});
  const auto slope = [&](const Array& x) { return sum(grad(total)(x) * d); };
  const auto second = [&](const Array& x) { return sum(hvp(total, x, d) * d); };
  const auto tangent = [&](const Array& x) { return jvp(f, std::tuple(x), std::tuple(d)).second; };
  expect_near(jit(f)(x), want.value, "jit");
  {
    const ByOracle oracle;
    expect_near(jit(f)(x), want.value, "the evaluator");
    expect_near(jit(slope)(x), {want.slope}, "grad, by the evaluator");
  }
  expect_near(jit(tangent)(x), want.tangent, "jvp");
  expect_near(jit(slope)(x), {want.slope}, "grad");
  expect_near(jit(second)(x), {want.curvature}, "hvp");
  if (recipe.of_lists) return;  // elements that are lists have one number for all lanes
  std::vector<Expected> each;
  std::vector<double> values, slopes, curvatures;
  Arrays batch;
  for (const double scale : scales) {
    const Expected e = expected(recipe, scale);
    values.insert(values.end(), e.value.begin(), e.value.end());
    slopes.push_back(e.slope), curvatures.push_back(e.curvature);
    batch.push_back(scale * x);
  }
  expect_near(jit(vmap(f))(stack(batch)), values, "vmap");
  expect_near(jit(vmap(slope))(stack(batch)), slopes, "vmap of grad");
  expect_near(jit(vmap(second))(stack(batch)), curvatures, "vmap of hvp");
  const auto of_all = [&](const Array& xs) { return sum(sin(vmap(f)(xs))); };
  const Array rows = grad(of_all)(stack(batch));
  expect_near(sum(rows * d, -1), slopes, "grad of vmap");
}

void expect_lists(std::int64_t count, bool of_lists) {
  SCOPED_TRACE(fuzzing::repeat_with());
  std::mt19937_64 seeds(fuzzing::seed());
  for (std::int64_t i = 0; i < count && !testing::Test::HasFatalFailure(); ++i) {
    std::mt19937_64 random(seeds());
    const ListRecipe recipe = random_list_recipe(random, of_lists);
    SCOPED_TRACE("case " + std::to_string(i) + ":\n" + text(recipe));
    try {
      check(recipe);
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
      return;
    }
  }
}

// A case is a dozen compilations.
TEST(ListFuzz, OfRows) { expect_lists(fuzzing::cases(100) / 10, false); }
TEST(ListFuzz, OfLists) { expect_lists(fuzzing::cases(100) / 10, true); }

}  // namespace
}  // namespace tenon::sample
