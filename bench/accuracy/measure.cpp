// Every argument is looked at by a quick reference. Only where its error is within `margin` of the largest so far is
// the value taken exactly, by MPFR. So the largest error is the true one as long as the quick reference itself is off
// by less than the margin, which Result::reference watches at those arguments and at one drawn from each block.
#include "bench/accuracy/measure.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "bench/accuracy/arguments.h"

namespace accuracy {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// V: double for f32, long double for f64, Exact for both.
template <class T, class V>
double error_of(T got, V value) {
  using std::abs, std::isnan, std::isinf, std::ilogb, std::ldexp;
  using L = std::numeric_limits<T>;
  if (isnan(value) || std::isnan(got)) return isnan(value) && std::isnan(got) ? 0 : infinity;
  const V limit = ldexp(V(1), L::max_exponent);
  if (value > limit) value = limit;
  if (value < -limit) value = -limit;
  const V given = std::isinf(got) ? (got > 0 ? limit : V(-limit)) : V(got), size = abs(value),
          off = abs(V(given - value));
  if (size < V(L::min())) return off <= V(L::min()) ? 0 : infinity;
  const int exponent = std::min<int>(static_cast<int>(ilogb(size)), L::max_exponent - 1);
  const double made = static_cast<double>(V(ldexp(off, L::digits - 1 - exponent)));
  return std::isinf(got) && size < limit / 2 ? infinity : made;
}

// The same for most numbers in few instructions.
double quick_error(float got, double value) {
  const double size = std::abs(value);
  if (!(size >= 0x1p-126 && size < 0x1.fffffep127) || !std::isfinite(got)) return error_of<float, double>(got, value);
  const std::uint64_t exponent = std::bit_cast<std::uint64_t>(size) & 0x7ff0000000000000u;
  return std::abs(got - value) * std::bit_cast<double>((std::uint64_t{2 * 1023 + 23} << 52) - exponent);
}

template <class T>
using Columns = std::vector<std::vector<T>>;

// The library's function as compiled code, of a column an argument.
template <class T>
class Compiled {
 public:
  explicit Compiled(const Function& function)
      : run_(tn::jit([of = function.ours](const Arrays& x) { return of(x); })) {}
  void operator()(const Columns<T>& x, std::vector<T>& y) const {
    Arrays operands;
    for (const std::vector<T>& each : x)
      operands.push_back(tn::borrow(each.data(), {static_cast<std::int64_t>(each.size())}));
    const Array made = run_(operands);
    std::ranges::copy(made.span<T>(), y.begin());
  }

 private:
  std::function<Array(const Arrays&)> run_;
};

// What finds the arguments worth the exact value: their values in f64, or in long double.
class Quick {
 public:
  explicit Quick(const Function& function) : function_(function), own_(function) {}

  void operator()(const Columns<float>& x, std::vector<double>& y) {
    Columns<double> wide;
    for (const std::vector<float>& each : x) wide.emplace_back(each.begin(), each.end());
    if (function_.lanes != nullptr) {
      for (std::size_t i = 0; i < y.size(); i += 4) {
        Lanes four;
        std::copy_n(&wide[0][i], 4, &four[0]);
        four = function_.lanes(four);
        std::copy_n(&four[0], 4, &y[i]);
      }
    } else if (function_.quick != nullptr) {
      each_by_one(function_.quick, wide, y);
    } else {
      own_(wide, y);
    }
  }
  void operator()(const Columns<double>& x, std::vector<long double>& y) {
    Columns<long double> wide;
    for (const std::vector<double>& each : x) wide.emplace_back(each.begin(), each.end());
    each_by_one(function_.wide, wide, y);
  }

 private:
  template <class V>
  static void each_by_one(V (*of)(const V*), const Columns<V>& x, std::vector<V>& y) {
    V given[4];
    for (std::size_t i = 0; i < y.size(); ++i) {
      for (std::size_t k = 0; k < x.size(); ++k) given[k] = x[k][i];
      y[i] = of(given);
    }
  }
  const Function& function_;
  Compiled<double> own_;
};

template <class T>
class Measured {
 public:
  using V = std::conditional_t<sizeof(T) == 4, double, long double>;
  // A reference of double has 29 digits more than f32, one of long double 11 more than f64.
  static constexpr double margin = sizeof(T) == 4 ? 1e-4 : 0.05;

  static constexpr double least = 0.1;

  explicit Measured(const Function& function) : function_(function), ours_(function), quick_(function) {}

  void block(const Columns<T>& x) {
    const std::size_t n = x[0].size();
    got_.resize(n);
    ours_(x, got_);
    result_.arguments += n;
    if (sizeof(T) == 8 && function_.wide == nullptr) {
      for (std::size_t i = 0; i < n; ++i) take(x, i, exact(x, i));
      return;
    }
    values_.resize(n), errors_.resize(n);
    quick_(x, values_);
    for (std::size_t i = 0; i < n; ++i) errors_[i] = quick_error_of(got_[i], values_[i]);
    flush(x);
    const auto worst = static_cast<std::size_t>(std::ranges::max_element(errors_) - errors_.begin());
    look(x, worst);
    look(x, static_cast<std::size_t>(result_.arguments * 0x9e3779b97f4a7c15u % n));
    // Of less than the least error of interest none is looked at, or all were where a function is its argument.
    // Nor more than some of a block, whose errors are alike where a function is a constant: the largest is among them,
    // by the reference.
    int looks = 0;
    for (std::size_t i = 0; i < n && looks < 64; ++i)
      if (i != worst && errors_[i] > std::clamp(result_.ulp - margin, least, 1e300)) look(x, i), ++looks;
  }
  Result result() const { return result_; }

 private:
  static double quick_error_of(T got, V value) {
    if constexpr (sizeof(T) == 4)
      return quick_error(got, value);
    else
      return error_of<T, V>(got, value);
  }
  // Programs take subnormal arguments for zeros: what the function is there is right too.
  static bool subnormal(T x) { return x != 0 && std::abs(x) < std::numeric_limits<T>::min(); }
  void flush(const Columns<T>& x) {
    Columns<T> flushed(x.size());
    std::vector<std::size_t> which;
    for (std::size_t i = 0; i < x[0].size(); ++i) {
      if (!std::ranges::any_of(x, [&](const auto& each) { return subnormal(each[i]); })) continue;
      which.push_back(i);
      for (std::size_t k = 0; k < x.size(); ++k)
        flushed[k].push_back(subnormal(x[k][i]) ? std::copysign(T(0), x[k][i]) : x[k][i]);
    }
    if (which.empty()) return;
    for (auto& each : flushed) each.resize((which.size() + 3) / 4 * 4, T(1));
    std::vector<V> values(flushed[0].size());
    quick_(flushed, values);
    for (std::size_t j = 0; j < which.size(); ++j) {
      const std::size_t i = which[j];
      if (const double error = quick_error_of(got_[i], values[j]); error < errors_[i])
        errors_[i] = error, values_[i] = values[j];
    }
  }

  // The exact value that is nearest to what was computed: of the arguments, or of what they are when flushed.
  Exact exact(const Columns<T>& x, std::size_t i) const {
    Exact given[4], flushed[4];
    bool any = false;
    for (std::size_t k = 0; k < x.size(); ++k) {
      given[k] = x[k][i], flushed[k] = subnormal(x[k][i]) ? std::copysign(T(0), x[k][i]) : x[k][i];
      any |= subnormal(x[k][i]);
    }
    const Exact value = function_.exact(given);
    if (!any) return value;
    const Exact other = function_.exact(flushed);
    return error_of<T, Exact>(got_[i], other) < error_of<T, Exact>(got_[i], value) ? other : value;
  }
  void look(const Columns<T>& x, std::size_t i) {
    if (std::isinf(errors_[i]) && ++looked_at_wrong_ > 2000) {  // as wrong as those before
      ++result_.wrong;
      return;
    }
    const Exact value = exact(x, i);
    const double off = error_of<T, Exact>(got_[i], value) - errors_[i];
    if (!std::isnan(off)) result_.reference = std::max(result_.reference, std::abs(off));
    take(x, i, value);
  }
  void take(const Columns<T>& x, std::size_t i, const Exact& value) {
    const double error = error_of<T, Exact>(got_[i], value);
    if (std::isinf(error)) ++result_.wrong;
    if (!(error > result_.ulp)) return;
    result_.ulp = error, result_.got = got_[i], result_.exact = static_cast<double>(value);
    result_.at.clear();
    for (const std::vector<T>& each : x) result_.at.push_back(each[i]);
  }

  const Function& function_;
  Compiled<T> ours_;
  Quick quick_;
  std::vector<T> got_;
  std::vector<V> values_;
  std::vector<double> errors_;
  std::uint64_t looked_at_wrong_ = 0;
  Result result_;
};

}  // namespace

template <class T>
double error_in_ulp(T got, const Exact& value) {
  return error_of<T, Exact>(got, value);
}

template <class T>
bool takes_all(const Function& function) {
  return sizeof(T) == 4 && function.homes.size() == 1 && function.everywhere;
}

template <class T>
Result measure(const Function& function, const Options& options) {
  Measured<T> measured(function);
  Columns<T> x(function.homes.size());
  if (takes_all<T>(function)) {
    const std::uint64_t all = (std::uint64_t{1} << 32) / options.step, block = std::min<std::uint64_t>(all, 1 << 18);
    x[0].resize(block);
    for (std::uint64_t from = 0; from < all; from += block) {
      for (std::uint64_t i = 0; i < block; ++i)
        x[0][i] = std::bit_cast<float>(static_cast<std::uint32_t>((from + i) * options.step));
      measured.block(x);
    }
    if (options.step == 1) return measured.result();
  }
  const bool exactly = sizeof(T) == 8 && function.wide == nullptr;
  const auto count = static_cast<std::uint64_t>((exactly ? options.exact_draws : options.draws) * function.draws);
  const std::uint64_t block = std::min<std::uint64_t>(1 << 14, count / 4 * 4 + 4);
  for (auto& each : x) each.resize(block);
  Draws<T> draws(function);
  for (std::uint64_t done = 0; done < count; done += block) {
    draws.fill(x);
    measured.block(x);
  }
  return measured.result();
}

template bool takes_all<float>(const Function&);
template bool takes_all<double>(const Function&);
template Result measure<float>(const Function&, const Options&);
template Result measure<double>(const Function&, const Options&);
template double error_in_ulp<float>(float, const Exact&);
template double error_in_ulp<double>(double, const Exact&);

}  // namespace accuracy
