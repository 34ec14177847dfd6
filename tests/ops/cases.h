// The cases that ops' sample slots give, and what tests of them share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <set>

#include "tenon/eval/evaluate.h"
#include "tenon/transform/transforms.h"
#include "tests/fuzzing.h"

namespace tenon::sample {

inline std::mt19937_64 generator(7);

inline Buffer random_buffer(const Type& type, std::pair<double, double> domain) {
  Buffer b = Buffer::allocate(type.dtype, type.shape.sizes());
  std::uniform_real_distribution<double> uniform(domain.first, domain.second);
  for (std::int64_t i = 0; i < b.elements(); ++i) {
    const double re = uniform(generator), im = uniform(generator);
    const Scalar value = type.dtype == DType::bool_ ? Scalar(re > (domain.first + domain.second) / 2)
                         : is_complex(type.dtype)   ? Scalar(std::complex<double>(re, im)).convert(type.dtype)
                         : is_integer(type.dtype)   ? Scalar(std::round(re)).convert(type.dtype)
                                                    : Scalar(re).convert(type.dtype);
    std::memcpy(b.data() + static_cast<std::size_t>(i) * size_of(type.dtype), value.data(), size_of(type.dtype));
  }
  return b;
}

inline bool made_by_lapack(const OpInfo& op) {
  static const std::set<std::string_view> names{"lu",  "qr",         "reflections", "eigh",         "eig",
                                                "svd", "hessenberg", "tridiagonal", "least_squares"};
  return names.contains(op.name);
}
// Ops whose first operands are matrices: what is drawn is far from singular ones.
inline bool of_matrices(const OpInfo& op) {
  return op.name == "cholesky" || op.name == "triangular_solve" || op.name == "solve" || made_by_lapack(op);
}
// Those of which it does not matter how near they are, and whose elements a large diagonal would make less exact.
inline bool of_any_matrices(const OpInfo& op) { return op.name == "hessenberg" || op.name == "tridiagonal"; }
// 4, 8, … more on the diagonals of matrices: eigenvalues and singular values differ, and none is near 0.
inline Buffer far_from_singular(Buffer a) {
  const std::int64_t n = a.dims().back(), m = a.dims()[a.rank() - 2];
  dispatch(a.dtype(), [&]<class T>(std::type_identity<T>) {
    for (std::int64_t i = 0; i < a.elements(); ++i)
      if (i / n % m == i % n)
        a.as<T>()[i] = Scalar(Scalar(a.as<T>()[i]).as_complex() + 4. * static_cast<double>(1 + i % n))
                           .convert(a.dtype())
                           .template as<T>();
  });
  return a;
}

inline std::complex<double> element(const Value& value, std::int64_t i) {
  const auto& b = std::get<Buffer>(value);
  return dispatch(b.dtype(), [&]<class T>(std::type_identity<T>) { return Scalar(b.as<T>()[i]).as_complex(); });
}

inline std::vector<Type> types_of(std::span<const Value> values) {
  std::vector<Type> types;
  for (const Value& v : values) types.push_back(type_of(v));
  return types;
}
// The sizes of a Program at these inputs; the first are given where the inputs' types do not show them.
inline std::vector<std::int64_t> sizes_for(const ProgramRef& p, std::span<const Value> in,
                                           const std::vector<Dim>& given = {}) {
  std::vector<std::int64_t> sizes;
  for (const Dim& d : infer_sizes(*p, types_of(in), given)) sizes.push_back(d.value());
  return sizes;
}
inline std::vector<Value> run(const ProgramRef& p, const std::vector<Value>& in, const std::vector<Dim>& given = {}) {
  return evaluate(*p, sizes_for(p, in, given), in);
}

inline Buffer shifted(const Value& x, const Value& dx, double h) {
  Buffer out = std::get<Buffer>(x).contiguous_copy();
  dispatch(out.dtype(), [&]<class T>(std::type_identity<T>) {
    for (std::int64_t i = 0; i < out.elements(); ++i)
      out.as<T>()[i] = Scalar(element(x, i) + h * element(dx, i)).convert(out.dtype()).template as<T>();
  });
  return out;
}

// Smallest step that a dtype tells apart from 1, for tolerances of results that were rounded to it.
inline double rounding(DType d) {
  switch (real_part_of(d)) {
    case DType::f64:
      return 1e-16;
    case DType::f32:
      return 6e-8;
    default:
      return std::ldexp(0.5, format_of(real_part_of(d)).epsilon());
  }
}

struct Case {
  const OpInfo* op;
  DType dtype;
  SampleCase sample;
  std::size_t index;
  bool of_part = false;  // of the cases of which each sample has some dtype, and each dtype some sample
};

// The samples of all ops in the wanted dtypes for which all of `having` hold: a test is neither run nor counted on a
// case that it says nothing of. Floats of 8 bits differ in their codes alone: all samples are of one of them, and of
// each other one some. A repetition takes a part of them.
inline std::vector<Case> cases(bool (*wanted)(DType), std::initializer_list<bool (*)(const Case&)> having = {}) {
  std::vector<Case> all;
  for (const OpInfo* op : all_ops()) {
    if (!op->sample) continue;
    std::vector<std::vector<Case>> by_dtype;
    for (int d = 0; d < dtype_count; ++d) {
      const auto dtype = static_cast<DType>(d);
      if (!wanted(dtype)) continue;
      std::vector<Case> of_dtype;
      for (SampleCase& s : (*op->sample)(dtype)) of_dtype.push_back({op, dtype, std::move(s), of_dtype.size()});
      if (is_float8(dtype) && dtype != DType::f8e4m3fn)
        std::erase_if(of_dtype, [&](const Case& c) { return c.index % 7 != static_cast<std::size_t>(d) % 7; });
      std::erase_if(of_dtype,
                    [&](const Case& c) { return !std::ranges::all_of(having, [&](auto holds) { return holds(c); }); });
      if (!of_dtype.empty()) by_dtype.push_back(std::move(of_dtype));
    }
    for (std::size_t d = 0; d < by_dtype.size(); ++d) {
      const std::size_t period = std::min(by_dtype.size(), by_dtype[d].size());
      for (std::size_t i = 0; i < by_dtype[d].size(); ++i) {
        Case& c = by_dtype[d][i];
        c.of_part = i % period == d % period;
        if (c.of_part || !fuzzing::is_repetition()) all.push_back(std::move(c));
      }
    }
  }
  return all;
}
inline void PrintTo(const Case& c, std::ostream* out) {
  *out << c.op->name;
  for (const Type& t : c.sample.types) *out << " " << t.text();
}
inline std::string name_of(const testing::TestParamInfo<Case>& info) {
  return std::string(info.param.op->name) + "_" + std::string(name(info.param.dtype)) + "_" +
         std::to_string(info.param.index);
}

class OpCase : public testing::TestWithParam<Case> {
 protected:
  const Case& c() const { return GetParam(); }
  ProgramRef program() const { return program_of(*c().op, c().sample.params, c().sample.types); }
  std::vector<Value> inputs() const {
    std::vector<Value> in;
    for (std::size_t i = 0; i < c().sample.types.size(); ++i)
      in.push_back(random_buffer(c().sample.types[i], c().sample.domains[i]));
    if (of_matrices(*c().op) && !of_any_matrices(*c().op)) in[0] = far_from_singular(std::get<Buffer>(in[0]));
    // What all lanes have in common is drawn once.
    const Mask same = common();
    for (std::size_t i = 0; i < same.size(); ++i)
      if (same[i]) in[i] = common_.emplace(i, in[i]).first->second;
    return in;
  }
  // Operands whose data decide a size: lanes that differ in them would be arrays of different sizes.
  Mask common() const {
    const ProgramRef p = program();
    Mask m;
    for (Var v : p->inputs())
      m.push_back(std::ranges::any_of(p->size_facts(), [&](const SizeFact& fact) { return fact.of == v; }));
    return m;
  }
  Mask active(const ProgramRef& p) const {
    Mask m;
    for (Var v : p->inputs()) m.push_back(has_tangent(p->type(v)));
    return m;
  }
  Mask active_out(const ProgramRef& p) const {
    Mask m;
    for (Var v : p->outputs()) m.push_back(has_tangent(p->type(v)));
    return m;
  }

 private:
  mutable std::map<std::size_t, Value> common_;
};

}  // namespace tenon::sample
