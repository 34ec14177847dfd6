// Every op × dtype × sample case × pairs of transformations: derivatives of derivatives against finite differences,
// batches of derivatives against loops, derivatives of batches, and native code of each against the reference
// evaluator.
#include "tenon/compile/executable.h"
#include "tenon/compile/plan/plan.h"
#include "tenon/ir/print.h"
#include "tests/ops/transformed.h"

namespace tenon::sample {
namespace {

class Pair : public OpCase {
 protected:
  Subject subject() const {
    return {program(), [this] { return inputs(); }, common()};
  }
};

class Pairs : public Pair {};
TEST_P(Pairs, SecondDerivatives) {
  const Subject forward = jvp_of(subject()), reverse = vjp_of(subject());
  expect_jvp_is_the_difference(forward.program, forward.inputs);
  expect_jvp_is_the_difference(reverse.program, reverse.inputs);
  expect_vjp_transposes_jvp(forward.program, forward.inputs);
  expect_vjp_transposes_jvp(reverse.program, reverse.inputs);
}
INSTANTIATE_TEST_SUITE_P(All, Pairs,
                         testing::ValuesIn(cases([](DType d) { return d == DType::f64 || d == DType::c128; },
                                                 {has_derivative})),
                         name_of);

class PairsWithBatches : public Pair {};
TEST_P(PairsWithBatches, BatchesOfDerivatives) {
  const Subject forward = jvp_of(subject()), reverse = vjp_of(subject());
  expect_vmap_is_a_loop(forward.program, forward.inputs, forward.common);
  expect_vmap_is_a_loop(reverse.program, reverse.inputs, reverse.common);
}
TEST_P(PairsWithBatches, DerivativesOfBatches) {
  for (const bool every_second : {false, true}) {
    const Subject lanes = vmap_of(subject(), 3, every_second);
    expect_jvp_is_the_difference(lanes.program, lanes.inputs);
    expect_vjp_transposes_jvp(lanes.program, lanes.inputs);
  }
}
INSTANTIATE_TEST_SUITE_P(All, PairsWithBatches,
                         testing::ValuesIn(cases([](DType d) { return d == DType::f64 || d == DType::c128; },
                                                 {has_derivative, has_batch})),
                         name_of);

class Batches : public Pair {};
TEST_P(Batches, OfBatches) {
  const Subject lanes = vmap_of(subject(), 2), some = vmap_of(subject(), 2, true);
  expect_vmap_is_a_loop(lanes.program, lanes.inputs, lanes.common);
  expect_vmap_is_a_loop(some.program, some.inputs, some.common);
}
TEST_P(Batches, OfNoLanesAndOfOne) {
  for (const std::size_t lanes : {0, 1}) {
    const Subject one = vmap_of(subject(), 1);
    std::vector<Value> in = one.inputs();
    const Mask batched = batched_inputs(subject(), false), every_out(program()->outputs().size(), true);
    for (std::size_t i = 0; lanes == 0 && i < in.size(); ++i) {
      if (!batched[i]) continue;
      const Buffer& all = std::get<Buffer>(in[i]);
      std::vector<std::int64_t> dims(all.dims().begin(), all.dims().end());
      dims[0] = 0;
      in[i] = Buffer::allocate(all.dtype(), dims);
    }
    const ProgramRef p = vmap(program(), batched, every_out, Dim(static_cast<std::int64_t>(lanes)));
    const auto got = run(p, in);
    SizeBinding decided;
    for (std::size_t k = 0; k < got.size(); ++k)
      EXPECT_TRUE(unify(p->type(p->outputs()[k]), type_of(got[k]), decided)) << type_of(got[k]).text() << "\n" << p;
    if (!why_not_native(*inline_calls(p)).empty()) continue;
    const auto native = compile(p)->run(in);
    for (std::size_t k = 0; k < got.size(); ++k) expect_close(native[k], got[k], p);
  }
}
INSTANTIATE_TEST_SUITE_P(All, Batches,
                         testing::ValuesIn(cases(
                             [](DType d) {
                               return d == DType::bool_ || d == DType::i32 || d == DType::u64 || d == DType::f32 ||
                                      d == DType::c64;
                             },
                             {has_batch})),
                         name_of);

class CompiledPairs : public Pair {
 protected:
  static void compare(const Subject& s) {
    ASSERT_EQ(why_not_native(*inline_calls(s.program)), "");
    const std::vector<Value> in = s.inputs();
    const auto got = compile(s.program)->run(in, sizes_for(s.program, in)), want = run(s.program, in);
    for (std::size_t i = 0; i < want.size(); ++i) expect_close(got[i], want[i], s.program);
  }
};
TEST_P(CompiledPairs, AreTheReference) {
  const Subject s = subject();
  if (has_batch(c())) {
    compare(vmap_of(s));
    compare(vmap_of(s, 3, true));
  }
  if (!has_derivative(c())) return;
  const Subject reverse = vjp_of(s);
  compare(reverse);
  if (!c().of_part && !fuzzing::is_full()) return;  // what takes long
  compare(jvp_of(jvp_of(s)));
  compare(jvp_of(reverse));
  if (!has_batch(c())) return;
  compare(vmap_of(reverse));
  compare(vjp_of(vmap_of(s, 3, true)));
}
INSTANTIATE_TEST_SUITE_P(All, CompiledPairs,
                         testing::ValuesIn(cases(
                             [](DType d) {
                               return d == DType::bool_ || d == DType::i32 || d == DType::f32 || d == DType::f64 ||
                                      is_complex(d);
                             },
                             {has_native_form, [](const Case& c) { return has_batch(c) || has_derivative(c); }})),
                         name_of);

// Operands in any layout: axes permuted, every second element backwards, one element repeated.
class Layouts : public Pair {
 protected:
  static Buffer permuted(const Buffer& b) {
    std::vector<std::int64_t> dims(b.dims().rbegin(), b.dims().rend()), strides;
    Buffer other = Buffer::allocate(b.dtype(), dims);
    strides.assign(other.strides().rbegin(), other.strides().rend());
    Buffer view = other.view(b.dtype(), b.dims(), strides, 0);
    copy_into(view, b);
    return view;
  }
  static Buffer backwards(const Buffer& b) {
    if (b.rank() == 0 || b.elements() == 0) return b;
    std::vector<std::int64_t> dims(b.dims().begin(), b.dims().end()), strides;
    for (std::int64_t& d : dims) d *= 2;
    Buffer wide = Buffer::zeros(b.dtype(), dims);
    std::int64_t offset = 0;
    for (std::size_t k = 0; k < dims.size(); ++k) {
      offset += (dims[k] - 1) * wide.strides()[k];
      strides.push_back(-2 * wide.strides()[k]);
    }
    Buffer view = wide.view(b.dtype(), b.dims(), strides, offset);
    copy_into(view, b);
    return view;
  }
  static Buffer repeated(const Buffer& b) {
    if (b.elements() == 0) return b;
    return b.view(b.dtype(), b.dims(), std::vector<std::int64_t>(b.rank(), 0), 0);
  }
};
TEST_P(Layouts, AreReadAlike) {
  const ProgramRef p = program();
  for (Buffer (*layout)(const Buffer&) : {permuted, backwards, repeated}) {
    if (layout == repeated && of_matrices(*c().op)) continue;  // all elements equal: singular
    std::vector<Value> plain, odd;
    for (const Value& v : inputs()) {
      odd.emplace_back(layout(std::get<Buffer>(v)));
      plain.emplace_back(std::get<Buffer>(odd.back()).contiguous_copy());
    }
    const auto want = run(p, plain), got = run(p, odd);
    const bool native = why_not_native(*inline_calls(p)).empty();
    const auto compiled = native ? compile(p)->run(odd) : got;
    for (std::size_t k = 0; k < want.size(); ++k) {
      expect_close(got[k], want[k], p);
      expect_close(compiled[k], want[k], p);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(All, Layouts, testing::ValuesIn(cases([](DType d) {
                           return d == DType::bool_ || d == DType::i64 || d == DType::f32 || d == DType::f16 ||
                                  d == DType::c128;
                         })),
                         name_of);

}  // namespace
}  // namespace tenon::sample
