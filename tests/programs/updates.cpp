#include "tests/programs/updates.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <random>

#include "tenon/compile/executable.h"
#include "tenon/ir/print.h"
#include "tenon/transform/gradient.h"
#include "tests/ops/transformed.h"
#include "tests/programs/plain.h"

namespace tenon::sample {
namespace {

using Values = std::vector<Value>;
using Numbers = std::vector<double>;

bool differentiated(const Kind& kind) { return is_inexact(kind.dtype); }

Numbers numbers_of(const Value& value) {
  Numbers all;
  for (std::int64_t i = 0; i < std::get<Buffer>(value).elements(); ++i) all.push_back(element(value, i).real());
  return all;
}

// What a result should be, and how far it may be from that: rounding is relative to the terms that were added, and
// grows as a rounding of the inputs does.
struct Wanted {
  Numbers values, sizes, moved;
  explicit Wanted(std::size_t n = 0) : values(n), sizes(n), moved(n) {}
  void add(std::size_t i, double value, double movement) {
    values[i] += value;
    sizes[i] += std::abs(value);
    moved[i] += movement;
  }
};

// Results for one set of inputs, with all derivatives, and how far they move with roundings of the inputs.
class Truth {
 public:
  Truth(const Body& recipe, const Values& inputs, double rounding) : recipe_(recipe) {
    directions_ = 0;
    for (const Kind& kind : recipe.inputs) {
      first_.push_back(directions_);
      if (differentiated(kind)) directions_ += static_cast<std::size_t>(kind.elements());
    }
    outputs_ = at(inputs, 0);
    moved_ = at(inputs, rounding);
    const std::vector<Plain> again = at(inputs, -rounding);
    for (std::size_t k = 0; k < outputs_.size(); ++k) {
      distance(outputs_[k].v, moved_[k].v, again[k].v);
      distance(outputs_[k].d, moved_[k].d, again[k].d);
    }
  }

  std::size_t outputs() const { return outputs_.size(); }
  const Kind& kind(std::size_t k) const { return outputs_[k].kind; }
  Wanted value(std::size_t k) const {
    const Plain& out = outputs_[k];
    Wanted w(out.v.size());
    for (std::size_t e = 0; e < out.v.size(); ++e) w.add(e, out.v[e], moved_[k].v[e]);
    return w;
  }
  // tangents: of the inputs that are differentiated, one behind the other
  Wanted pushed(std::size_t k, const Numbers& tangents) const {
    Wanted w(outputs_[k].v.size());
    for (std::size_t e = 0; e < w.values.size(); ++e)
      for (std::size_t j = 0; j < directions_; ++j)
        w.add(e, slope(k, e, j) * tangents[j], moved(k, e, j) * std::abs(tangents[j]));
    return w;
  }
  // cotangents: of the outputs that are differentiated, each
  void pull(std::size_t input, const std::vector<Numbers>& cotangents, Wanted& w) const {
    for (std::size_t k = 0, c = 0; k < outputs_.size(); ++k) {
      if (!differentiated(kind(k))) continue;
      for (std::size_t e = 0; e < outputs_[k].v.size(); ++e)
        for (std::size_t j = 0; j < w.values.size(); ++j)
          w.add(j, slope(k, e, first_[input] + j) * cotangents[c][e],
                moved(k, e, first_[input] + j) * std::abs(cotangents[c][e]));
      ++c;
    }
  }
  // Of the first output: its axes, then the input's.
  Wanted jacobian(std::size_t input) const {
    const std::size_t rows = outputs_[0].v.size(), columns = elements(input);
    Wanted w(rows * columns);
    for (std::size_t e = 0; e < rows; ++e)
      for (std::size_t j = 0; j < columns; ++j)
        w.add(e * columns + j, slope(0, e, first_[input] + j), moved(0, e, first_[input] + j));
    return w;
  }
  std::size_t elements(std::size_t input) const { return static_cast<std::size_t>(recipe_.inputs[input].elements()); }

 private:
  double slope(std::size_t k, std::size_t e, std::size_t j) const { return outputs_[k].d[e * directions_ + j]; }
  double moved(std::size_t k, std::size_t e, std::size_t j) const { return moved_[k].d[e * directions_ + j]; }
  static void distance(const Numbers& here, Numbers& there, const Numbers& other) {
    for (std::size_t i = 0; i < here.size(); ++i) {
      const double a = std::abs(there[i] - here[i]), b = std::abs(other[i] - here[i]);
      there[i] = a < b ? b : a;
    }
  }
  std::vector<Plain> at(const Values& inputs, double moved) const {
    PlainWorld world(directions_);
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> uniform(0.5, 1);
    std::vector<Plain> in;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      in.push_back(world.zeros(recipe_.inputs[i]));
      in[i].v = numbers_of(inputs[i]);
      if (!differentiated(recipe_.inputs[i])) continue;
      for (std::size_t e = 0; e < in[i].v.size(); ++e) {
        const double sign = random() % 2 == 0 ? 1 : -1;
        in[i].v[e] += moved * sign * uniform(random) * (1 + std::abs(in[i].v[e]));
        in[i].d[e * directions_ + first_[i] + e] = 1;
      }
    }
    return Performance(world)(recipe_, in);
  }

  const Body& recipe_;
  std::vector<std::size_t> first_;  // direction of each input's first element
  std::size_t directions_ = 0;
  std::vector<Plain> outputs_, moved_;
};

std::string text_of(const Value& value) {
  const bool logical = type_of(value).dtype == DType::bool_;
  std::vector<std::string> all;
  for (const double x : numbers_of(value))
    all.push_back(logical ? fmt::format("{}", x != 0) : fmt::format("{:.17g}", x));
  return all.empty() ? " " : fmt::format("{}", fmt::join(all, " "));
}
// What a command runs.
std::string told(const ProgramRef& p, const Values& in) {
  std::vector<std::string> all;
  for (const Value& value : in) all.push_back(text_of(value));
  return fmt::format("// tenon run --inputs \"{}\" -\n{}", fmt::join(all, ", "), print(*p));
}

class Trials {
 public:
  explicit Trials(const UpdateTrial& trial)
      : trial_(trial), random_(trial.seed), in_(active_in(*trial.program)), out_(active_out(*trial.program)) {}

  std::string wrong() {
    x_ = drawn();
    const Truth truth = truth_of(x_);
    for (std::size_t k = 0; k < truth.outputs(); ++k)
      if (const Type got = trial_.program->output_types()[k]; !agrees(got, truth.kind(k)))
        return fmt::format("output {} is {}\n{}", k, got.text(), print(*trial_.program));
    for (const auto check : {&Trials::forward, &Trials::jvp, &Trials::vjp, &Trials::jacrev, &Trials::batch,
                             &Trials::batch_of_vjp, &Trials::vjp_of_batch})
      if (std::string what = (this->*check)(truth); !what.empty()) return what;
    return {};
  }

 private:
  static bool agrees(const Type& type, const Kind& kind) {
    return type.dtype == kind.dtype && type.shape.sizes() == kind.dims;
  }
  Truth truth_of(const Values& x) const { return {trial_.recipe, x, trial_.real == DType::f32 ? 1e-6 : 1e-12}; }

  // --- inputs ---
  Value random_value(const Type& type, double low, double high) {
    generator.seed(random_());
    return random_buffer(type, {low, high});
  }
  Values drawn() {
    Values x;
    for (const Kind& kind : trial_.recipe.inputs) {
      const Type type = Type::array(kind.dtype, Shape(std::span<const std::int64_t>(kind.dims)));
      x.push_back(is_integer(kind.dtype)       ? random_value(type, -4, 7)
                  : kind.dtype == DType::bool_ ? random_value(type, 0, 1)
                                               : random_value(type, -1.5, 1.5));
    }
    return x;
  }
  Mask some(std::size_t n, std::uint64_t one_in) {
    Mask mask;
    for (std::size_t i = 0; i < n; ++i) mask.push_back(random_() % one_in == 0);
    return mask;
  }
  // Of the inputs, or of the outputs, that are differentiated.
  Values directions(std::vector<Type> types, const Mask& of) {
    Values all;
    for (std::size_t i = 0; i < types.size(); ++i)
      if (of[i]) all.push_back(random_value(types[i], -1, 1));
    return all;
  }
  static std::vector<Numbers> all_numbers(const Values& values) {
    std::vector<Numbers> all;
    for (const Value& v : values) all.push_back(numbers_of(v));
    return all;
  }
  static Values joined(const Values& a, const Values& b) {
    Values all = a;
    all.insert(all.end(), b.begin(), b.end());
    return all;
  }

  // --- comparing ---
  std::string differs(const Numbers& got, const Wanted& want) const {
    const double tolerance = trial_.real == DType::f32 ? 1e-4 : 1e-9;
    double scale = 1;
    for (const double s : want.sizes) scale = std::isfinite(s) ? std::max(scale, s) : scale;
    if (got.size() != want.values.size()) return fmt::format("{} elements for {}", got.size(), want.values.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double slack = tolerance * scale + 10 * want.moved[i];
      ++compared().elements;
      compared().decided += slack < 1e-3 * scale;
      if (std::isfinite(want.values[i]) && std::isfinite(slack) && !(std::abs(got[i] - want.values[i]) <= slack))
        return fmt::format("element {}: {:.12g}, by plain numbers {:.12g} up to {:.3g}", i, got[i], want.values[i],
                           slack);
    }
    return {};
  }
  // Runs compiled, as what nothing may be lost of but what is donated; whose fault it is where results are wrong.
  std::string compare(const std::string& what, const ProgramRef& p, const Values& in, const std::vector<Wanted>& want,
                      const Mask& donated = {}) const {
    Values before;
    for (const Value& v : in) before.emplace_back(std::get<Buffer>(v).contiguous_copy());
    const Values got = compile(p, donated)->run(in);
    for (std::size_t i = 0; i < in.size(); ++i)
      if (!same_bits(std::get<Buffer>(before[i]), std::get<Buffer>(in[i])))
        return fmt::format("{} writes to its input {}\n{}", what, i, told(p, in));
    if (got.size() != want.size()) return fmt::format("{}: {} results for {}", what, got.size(), want.size());
    const std::string wrong = differing(got, want);
    if (wrong.empty()) return {};
    const bool evaluated = differing(run(p, in), want).empty();
    return fmt::format("{}, {}: {}{}\n{}\nof\n{}", what, evaluated ? "compiled" : "compiled and evaluated", wrong,
                       donated.empty() ? "" : fmt::format(", donated {}", donated), told(p, in),
                       told(trial_.program, x_));
  }
  std::string differing(const Values& got, const std::vector<Wanted>& want) const {
    for (std::size_t k = 0; k < got.size(); ++k)
      if (const std::string wrong = differs(numbers_of(std::get<Buffer>(got[k]).contiguous_copy()), want[k]);
          !wrong.empty())
        return fmt::format("result {} {}", k, wrong);
    return {};
  }
  static std::vector<Wanted> values_of(const Truth& truth) {
    std::vector<Wanted> want;
    for (std::size_t k = 0; k < truth.outputs(); ++k) want.push_back(truth.value(k));
    return want;
  }

  // --- transformations ---
  std::string forward(const Truth& truth) {
    return compare("the program", trial_.program, x_, values_of(truth), some(x_.size(), 2));
  }
  std::string jvp(const Truth& truth) {
    const Values dx = directions(trial_.program->input_types(), in_);
    Numbers tangents;
    for (const Numbers& one : all_numbers(dx)) tangents.insert(tangents.end(), one.begin(), one.end());
    std::vector<Wanted> want = values_of(truth);
    for (std::size_t k = 0; k < out_.size(); ++k)
      if (out_[k]) want.push_back(truth.pushed(k, tangents));
    return compare("the jvp", tenon::jvp(trial_.program, in_, out_), joined(x_, dx), want);
  }
  void add_pulled(const Truth& truth, const Values& ct, std::vector<Wanted>& want) const {
    for (std::size_t i = 0; i < in_.size(); ++i)
      if (in_[i]) {
        want.emplace_back(truth.elements(i));
        truth.pull(i, all_numbers(ct), want.back());
      }
  }
  std::string vjp(const Truth& truth) {
    const Values ct = directions(trial_.program->output_types(), out_);
    std::vector<Wanted> want = values_of(truth);
    add_pulled(truth, ct, want);
    return compare("the gradient", pullback(trial_.program, in_, out_), joined(x_, ct), want);
  }
  std::string jacrev(const Truth& truth) {
    std::vector<Wanted> want;
    for (std::size_t i = 0; i < in_.size(); ++i)
      if (in_[i]) want.push_back(truth.jacobian(i));
    return compare("the Jacobian by rows", jacobian_by_rows(trial_.program, in_), x_, want);
  }

  // --- lanes ---
  struct Lanes {
    Mask batched;
    std::vector<Values> x;  // of each lane
    Values all;
  };
  Values stacked_lanes(const std::vector<Values>& lanes, const Mask& batched) const {
    Values all;
    for (std::size_t i = 0; i < batched.size(); ++i) {
      std::vector<Buffer> one;
      for (const Values& lane : lanes) one.push_back(std::get<Buffer>(lane[i]));
      all.emplace_back(batched[i] ? stacked(one) : one[0]);
    }
    return all;
  }
  Lanes lanes() {
    Lanes l{.batched = some(in_.size(), 3)};
    for (std::size_t i = 0; i < l.batched.size(); ++i) l.batched[i] = !l.batched[i];
    const std::size_t count = 1 + random_() % 3;
    for (std::size_t n = 0; n < count; ++n) {
      l.x.push_back(drawn());
      for (std::size_t i = 0; i < in_.size(); ++i)
        if (!l.batched[i]) l.x[n][i] = l.x[0][i];
    }
    l.all = stacked_lanes(l.x, l.batched);
    return l;
  }
  static void append(Wanted& all, const Wanted& lane) {
    all.values.insert(all.values.end(), lane.values.begin(), lane.values.end());
    all.sizes.insert(all.sizes.end(), lane.sizes.begin(), lane.sizes.end());
    all.moved.insert(all.moved.end(), lane.moved.begin(), lane.moved.end());
  }
  static std::vector<Wanted> appended(const std::vector<std::vector<Wanted>>& lanes) {
    std::vector<Wanted> all(lanes[0].size());
    for (const auto& lane : lanes)
      for (std::size_t k = 0; k < all.size(); ++k) append(all[k], lane[k]);
    return all;
  }
  ProgramRef vmapped(const ProgramRef& p, const Mask& batched, std::size_t count) const {
    return vmap(p, batched, Mask(p->outputs().size(), true), Dim(static_cast<std::int64_t>(count)));
  }

  std::string batch(const Truth&) {
    const Lanes l = lanes();
    std::vector<std::vector<Wanted>> want;
    for (const Values& x : l.x) want.push_back(values_of(truth_of(x)));
    return compare("the batch", vmapped(trial_.program, l.batched, l.x.size()), l.all, appended(want));
  }
  std::string batch_of_vjp(const Truth&) {
    const Lanes l = lanes();
    Mask batched = l.batched;
    std::vector<std::vector<Wanted>> want;
    std::vector<Values> all;
    for (const Values& x : l.x) {
      const Truth truth = truth_of(x);
      const Values ct = directions(trial_.program->output_types(), out_);
      want.push_back(values_of(truth));
      add_pulled(truth, ct, want.back());
      all.push_back(joined(x, ct));
    }
    batched.resize(all[0].size(), true);
    return compare("the batch of the gradient", vmapped(pullback(trial_.program, in_, out_), batched, l.x.size()),
                   stacked_lanes(all, batched), appended(want));
  }
  std::string vjp_of_batch(const Truth&) {
    const Lanes l = lanes();
    const ProgramRef p = vmapped(trial_.program, l.batched, l.x.size());
    std::vector<std::vector<Wanted>> values;
    std::vector<Wanted> pulled;
    std::vector<Values> cotangents;
    for (std::size_t n = 0; n < l.x.size(); ++n) {
      const Truth truth = truth_of(l.x[n]);
      values.push_back(values_of(truth));
      cotangents.push_back(directions(trial_.program->output_types(), out_));
      std::vector<Wanted> mine;
      add_pulled(truth, cotangents.back(), mine);
      for (std::size_t i = 0, k = 0; i < in_.size(); ++i) {
        if (!in_[i]) continue;
        if (n == 0)
          pulled.push_back(mine[k]);
        else if (l.batched[i])
          append(pulled[k], mine[k]);
        else
          for (std::size_t j = 0; j < mine[k].values.size(); ++j) {
            pulled[k].values[j] += mine[k].values[j];
            pulled[k].sizes[j] += mine[k].sizes[j];
            pulled[k].moved[j] += mine[k].moved[j];
          }
        ++k;
      }
    }
    std::vector<Wanted> want = appended(values);
    want.insert(want.end(), pulled.begin(), pulled.end());
    const Values ct = stacked_lanes(cotangents, Mask(cotangents[0].size(), true));
    return compare("the gradient of the batch", pullback(p, in_, out_), joined(l.all, ct), want);
  }

  const UpdateTrial& trial_;
  std::mt19937_64 random_;
  Mask in_, out_;
  Values x_;
};

}  // namespace

std::string check_updates(const UpdateTrial& trial) {
  try {
    return Trials(trial).wrong();
  } catch (const std::exception& e) {
    return fmt::format("throws {}\n{}", e.what(), print(*trial.program));
  }
}

Compared& compared() {
  static Compared counts;
  return counts;
}

}  // namespace tenon::sample
