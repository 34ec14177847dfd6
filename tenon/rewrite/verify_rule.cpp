#include "tenon/rewrite/verify_rule.h"

#include <fmt/format.h>

#include <cmath>
#include <random>

#include "tenon/eval/evaluate.h"
#include "tenon/rewrite/engine.h"
#include "tenon/transform/transforms.h"

namespace tenon {
namespace {

using Random = std::mt19937_64;

double unit(Random& random) { return std::uniform_real_distribution<double>(0, 1)(random); }

Buffer filled_at_random(const Type& type, bool specials, Random& random) {
  std::vector<std::int64_t> dims;
  for (const Dim& d : type.shape) dims.push_back(d.value());
  Buffer buffer = Buffer::allocate(type.dtype, dims);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double special[]{0.0, -0.0, 1, -1, infinity, -infinity, std::nan(""), 1e-40, 3e38};
  const std::size_t size = size_of(type.dtype);
  const auto draw = [&] {
    if (is_inexact(type.dtype) && specials && unit(random) < 0.3) return special[random() % std::size(special)];
    if (!is_inexact(type.dtype)) return std::floor(unit(random) * 256) - (is_unsigned_integer(type.dtype) ? 0 : 128);
    return unit(random) * 4 - 2;
  };
  for (std::int64_t i = 0; i < buffer.elements(); ++i) {
    const Scalar number = type.dtype == DType::bool_ ? Scalar(random() % 2 == 0)
                          : is_complex(type.dtype)   ? Scalar(std::complex<double>(draw(), draw())).convert(type.dtype)
                                                     : Scalar(draw()).convert(type.dtype);
    std::memcpy(buffer.data() + static_cast<std::size_t>(i) * size, number.data(), size);
  }
  return buffer;
}

double epsilon(DType dtype) {
  switch (computed_in(dtype) == dtype ? dtype : DType::f16) {
    case DType::f64:
    case DType::c128:
      return 1e-9;
    case DType::f16:
      return 0.05;
    default:
      return 2e-3;
  }
}

bool equal(std::complex<double> x, std::complex<double> y) {
  const auto part = [](double a, double b) {
    return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
  };
  return part(x.real(), y.real()) && part(x.imag(), y.imag());
}
bool finite(std::complex<double> x) { return std::isfinite(x.real()) && std::isfinite(x.imag()); }

class Verifier {
 public:
  Verifier(const RuleRef& rule, const VerifyOptions& options)
      : rule_(*rule), options_(options), rules_({rule}), random_(options.seed) {}

  Verified run() {
    const std::vector<Rule::Example> examples = this->examples();
    for (int tried = 0; verified_.cases < options_.cases && tried < 20 * options_.cases; ++tried) {
      // Each one at least once, then any.
      const std::size_t at = static_cast<std::size_t>(tried) < examples.size() ? static_cast<std::size_t>(tried)
                                                                               : random_() % examples.size();
      one(examples[at]);
    }
    if (verified_.cases == 0)
      throw RewriteError(
          fmt::format("verify: rule \"{}\" was applied to none of {} programs.", rule_.name, examples.size()),
          "Its guard may refuse what was drawn: say types of its parameters by Rule::examples.", rule_.where);
    return verified_;
  }

 private:
  std::vector<Rule::Example> examples() const {
    if (rule_.applies_to != nullptr) return rule_.applies_to();
    std::vector<Rule::Example> all;
    for (const std::vector<Type>& types : types_to_try(rule_)) {
      std::vector<DType> swapped{types.empty() ? DType::f32 : types[0].dtype};
      for (const Type& type : types)
        if (type.dtype == DType::f32) swapped = {DType::f32, DType::f64, DType::f16, DType::i32, DType::u8, DType::c64};
      for (const DType dtype : swapped) {
        std::vector<Type> changed = types;
        for (Type& type : changed)
          if (type.dtype == DType::f32) type.dtype = dtype;
        const auto pattern = trace_pattern(rule_, changed);
        if (pattern != nullptr && pattern->node(pattern->root) != nullptr)
          all.push_back({std::move(changed), rule_.pattern});
      }
    }
    return all;
  }

  void one(const Rule::Example& example) {
    std::vector<Type> types = example.types;
    if (rule_.pattern != nullptr) resize(types);
    const ProgramRef before = program_of(example, types);
    if (before == nullptr) return;
    const ProgramRef after = rewrite(before, rules_, phase());
    if (after == before) return;
    ++verified_.cases;
    const bool specials = rule_.exactness == Exactness::exact && unit(random_) < 0.7;
    compare("", before, after, specials);
    if (!options_.derivatives || specials) return;
    const Mask in = inexact(types);
    const std::vector<Type> out = before->output_types();
    if (std::ranges::find(in, true) != in.end() && has_tangent(out[0]))
      compare("jvp of ", jvp(before, in, Mask(1, true)), jvp(after, in, Mask(1, true)), false);
    const Mask all(types.size(), true);
    compare("vmap of ", vmap(before, all, Mask(1, true), Dim(2)), vmap(after, all, Mask(1, true), Dim(2)), false);
  }
  Phase phase() const { return rule_.phase == Phase::both ? Phase::after_differentiation : rule_.phase; }
  static Mask inexact(const std::vector<Type>& types) {
    Mask mask;
    for (const Type& type : types) mask.push_back(has_tangent(type));
    return mask;
  }

  // All axes of one size become another one, so that what has to agree does.
  void resize(std::vector<Type>& types) {
    constexpr std::int64_t sizes[]{1, 2, 3, 5};
    std::map<std::int64_t, std::int64_t> chosen;
    for (Type& type : types)
      type = type.map_dims([&](const Dim& d) {
        const auto [at, added] = chosen.try_emplace(d.value(), 0);
        if (added) at->second = sizes[random_() % std::size(sizes)];
        return Dim(at->second);
      });
  }

  static ProgramRef program_of(const Rule::Example& example, const std::vector<Type>& types) {
    Scope scope;
    Arrays inputs;
    for (const Type& type : types) inputs.push_back(scope.input(type));
    try {
      return scope.finish(Arrays{example.function(inputs)}).program;
    } catch (const Error&) {
      return nullptr;
    }
  }

  void compare(std::string_view what, const ProgramRef& before, const ProgramRef& after, bool specials) {
    std::vector<Value> in;
    for (const Type& type : before->input_types()) in.emplace_back(filled_at_random(type, specials, random_));
    const std::vector<Value> want = evaluate(*before, {}, in), got = evaluate(*after, {}, in);
    for (std::size_t i = 0; i < want.size(); ++i) {
      const auto &x = std::get<Buffer>(want[i]), &y = std::get<Buffer>(got[i]);
      const bool exact = rule_.exactness == Exactness::exact && what.empty();
      if (!agree(Array(x), Array(y), exact)) fail(what, before, in, Array(x), Array(y));
    }
  }

  bool agree(const Array& want, const Array& got, bool exact) const {
    double scale = 1;
    std::vector<std::pair<std::complex<double>, std::complex<double>>> all;
    const Buffer x = want.to_buffer(), y = got.to_buffer();
    dispatch(x.dtype(), [&]<class T>(std::type_identity<T>) {
      for (std::int64_t i = 0; i < x.elements(); ++i)
        all.emplace_back(Scalar(x.template as<T>()[i]).as_complex(), Scalar(y.template as<T>()[i]).as_complex());
    });
    for (const auto& [a, b] : all)
      if (finite(a)) scale = std::max(scale, std::abs(a));
    for (const auto& [a, b] : all) {
      if (equal(a, b)) continue;
      if (exact) return false;
      if (!finite(a)) {
        if (rule_.exactness == Exactness::avoids_overflow || rule_.exactness == Exactness::assumes_finite) continue;
        return false;
      }
      if (!finite(b) || std::abs(a - b) > epsilon(want.dtype()) * scale) return false;
    }
    return true;
  }

  [[noreturn]] void fail(std::string_view what, const ProgramRef& before, const std::vector<Value>& in,
                         const Array& want, const Array& got) const {
    std::string operands;
    for (std::size_t i = 0; i < in.size(); ++i)
      operands += fmt::format("{}{} {}", operands.empty() ? "" : ", ", before->type(before->inputs()[i]).text(),
                              text_of(Array(std::get<Buffer>(in[i]))));
    throw RewriteError(fmt::format("verify: rule \"{}\" does not hold ({}): {}the pattern at {} is {}, and its "
                                   "replacement {}.",
                                   rule_.name, name(rule_.exactness), what, operands, text_of(want), text_of(got)),
                       "Narrow it by a guard, or say by its exactness what it assumes.", rule_.where);
  }
  static std::string text_of(const Array& x) {
    std::string text;
    const Buffer b = x.to_buffer();
    constexpr std::int64_t most = 12;
    dispatch(b.dtype(), [&]<class T>(std::type_identity<T>) {
      for (std::int64_t i = 0; i < std::min(b.elements(), most); ++i)
        text += fmt::format("{}{}", i == 0 ? "" : " ", Scalar(b.template as<T>()[i]).text());
    });
    return fmt::format("[{}{}]", text, b.elements() > most ? " …" : "");
  }

  const Rule& rule_;
  VerifyOptions options_;
  RuleSet rules_;
  Random random_;
  Verified verified_;
};

}  // namespace

Verified verify(const RuleRef& rule, const VerifyOptions& options) {
  require_rule("verify", rule);
  const CompileTime outside;
  return Verifier(rule, options).run();
}

}  // namespace tenon
