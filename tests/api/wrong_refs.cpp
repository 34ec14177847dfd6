// Mutable references in wrong hands: the text of the errors, and that nothing outside is changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tenon/tenon.h"
#include "tests/error_message.h"

namespace tn = tenon;
using testing::AllOf;
using testing::HasSubstr;
using tn::Array;
using tn::message_of;
using tn::Ref;

namespace {

TEST(WrongRefs, Uses) {
  Ref r = tn::make_ref(tn::zeros({3}));
  const Array one(1.f);
  const std::string here = "wrong_refs.cpp:";
  EXPECT_THAT(message_of<tn::ShapeError>([&] { r.set(tn::zeros({2})); }),
              AllOf(HasSubstr("set: f32[2] is written to a reference to f32[3]"), HasSubstr(here)));
  EXPECT_THAT(message_of<tn::DTypeError>([&] { r.set(tn::zeros({3}, tn::DType::f64)); }),
              AllOf(HasSubstr("set: f64[3] does not go into f32[3]"), HasSubstr(here)));
  EXPECT_THAT(message_of<tn::ShapeError>([&] { r[0] = tn::zeros({2}); }), AllOf(HasSubstr("set"), HasSubstr(here)));
  EXPECT_THAT(message_of<tn::DTypeError>([&] { r[0] += tn::zeros({}, tn::DType::f64); }),
              AllOf(HasSubstr(".add: 0.0 (f64[]) does not go into f32[3]"), HasSubstr(here)));
  EXPECT_THAT(message_of<tn::ShapeError>([&] { r[5] = 1.f; }), AllOf(HasSubstr("5"), HasSubstr(here)));

  EXPECT_THAT(message_of<tn::DifferentiationError>([&] {
                tn::grad([&](Array x) {
                  r[0] = x;
                  return x;
                })(one);
              }),
              AllOf(HasSubstr("grad: what is written to a reference from outside at "),
                    HasSubstr("depends on what is differentiated"), HasSubstr(here)));
  EXPECT_THAT(message_of<tn::RuntimeError>([&] {
                tn::vmap([&](Array x) {
                  tn::scan(
                      [&](Array c, Array) {
                        r[0] += c;
                        return std::pair(c, c);
                      },
                      x, tn::zeros({2}));
                  return x;
                })(tn::zeros({4}));
              }),
              AllOf(HasSubstr("vmap: what is written to a reference from outside at "),
                    HasSubstr("differs from lane to lane")));
  EXPECT_THAT(message_of<tn::RuntimeError>([&] {
                tn::while_loop(
                    [&](Array i) {
                      r[0] += 1.f;
                      return i < 3;
                    },
                    [](Array i) { return i + 1; }, Array(0));
              }),
              HasSubstr("is written in the condition of while_loop"));
  EXPECT_THAT(message_of<tn::RuntimeError>([&] {
                tn::jit([&](Array x) {
                  r.freeze();
                  return x;
                })(one);
              }),
              HasSubstr("is frozen in a traced function"));
}

TEST(WrongRefs, NamesAndLifetimes) {
  Ref r = tn::make_ref(tn::zeros({3}));
  const Array one(1.f);
  const std::string here = "wrong_refs.cpp:";
  std::optional<Ref> leaked;
  tn::jit([&](Array x) {
    leaked = tn::make_ref(x);
    return x;
  })(one);
  EXPECT_THAT(message_of<tn::LeakError>([&] { leaked->get(); }),
              AllOf(HasSubstr("the traced function that made this reference at "), HasSubstr(here)));
  EXPECT_THAT(message_of<tn::LeakError>([&] { (*leaked)[0] = 1.f; }), HasSubstr("has ended"));

  const auto two = tn::jit([](Ref a, Ref b) {
    a[0] = 1.f;
    return b();
  });
  EXPECT_THAT(message_of<tn::TreeError>([&] { two(r, r); }), HasSubstr("jit: the reference made at "));
  two(r, tn::make_ref(tn::zeros({3})));
  EXPECT_THAT(message_of<tn::TreeError>([&] { two(r, r); }), HasSubstr("under two names"));
  const auto captures = tn::jit([&](Ref a) {
    a[0] = 1.f;
    return r();
  });
  EXPECT_THAT(message_of<tn::TreeError>([&] { captures(r); }), HasSubstr("passed and captured"));
  const Ref other = tn::make_ref(tn::zeros({3}));
  captures(other);
  EXPECT_THAT(message_of<tn::TreeError>([&] { captures(r); }), HasSubstr("passed and captured"));
  EXPECT_THAT(message_of<tn::TreeError>(
                  [&] { tn::cond(true, [](Ref a, Ref) { return a(); }, [](Ref, Ref b) { return b(); }, r, r); }),
              HasSubstr("under two names"));
  EXPECT_THAT(message_of<tn::TreeError>([&] { tn::jit([](Ref a) { return a; })(r); }),
              HasSubstr("jit: the function returns a mutable reference"));

  EXPECT_EQ(r.freeze().type().text(), "f32[3]");
  for (const auto& use : std::vector<std::function<void()>>{[&] { r.get(); }, [&] { r[0] = 1.f; }, [&] { r.set(1.f); },
                                                            [&] { r.freeze(); }, [&] { captures(other); }})
    EXPECT_THAT(message_of<tn::RuntimeError>(use), AllOf(HasSubstr("this reference was frozen at "), HasSubstr(here)));
  Ref empty;
  EXPECT_THAT(message_of<tn::RuntimeError>([&] { empty[0] = 1.f; }),
              AllOf(HasSubstr("this reference was default-constructed"), HasSubstr("make_ref(x)"), HasSubstr(here)));
  EXPECT_THAT(message_of<tn::RuntimeError>([&] { two(empty, other); }), HasSubstr("default-constructed"));
}

// A failure on the way leaves what is outside as it was.
TEST(WrongRefs, FailedTracesWriteNothing) {
  Ref r = tn::make_ref(tn::zeros({3}));
  EXPECT_THROW(tn::scan(
                   [&](Array c, Array x) {
                     r[0] = 5.f;
                     return std::pair(c + tn::zeros({7}), x);
                   },
                   tn::zeros({2}), tn::zeros({4})),
               tn::ShapeError);
  EXPECT_TRUE(tn::array_equal(r(), tn::zeros({3})));
  tn::fori_loop(
      0, 2,
      [&](Array i, Array c) {
        r[i] += 1.f;
        return c;
      },
      Array(0.f));
  EXPECT_TRUE(tn::array_equal(r(), Array{1.f, 1.f, 0.f}));
}

}  // namespace
