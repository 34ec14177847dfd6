// Data in and out: memory shared and copied, its lifetime, files, DLPack, Eigen, printing and comparing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "tenon/eigen.h"
#include "tenon/runtime/files/npy.h"
#include "tenon/tenon.h"
#include "tests/error_message.h"

namespace tn = tenon;
using testing::HasSubstr;
using tn::Array;
using tn::message_of;

namespace {

template <class T>
std::string shown(const T& x) {
  std::ostringstream out;
  out << x;
  return out.str();
}

TEST(Borrow, StridesNegativeOnesAndNone) {
  std::vector<float> memory{0, 1, 2, 3, 4, 5, 6, 7};
  const Array every = tn::borrow(memory.data(), {2, 3}, {.strides = {16, 4}});
  EXPECT_EQ(shown(every), "[[0, 1, 2], [4, 5, 6]] f32[2,3]");
  EXPECT_EQ(shown(tn::borrow(memory.data() + 7, {4}, {.strides = {-8}})), "[7, 5, 3, 1] f32[4]");
  EXPECT_EQ(shown(tn::borrow(memory.data() + 3, {2, 2}, {.strides = {0, 4}})), "[[3, 4], [3, 4]] f32[2,2]");
  EXPECT_EQ(shown(tn::borrow(memory.data(), {2, 4}, {.strides = {4, 8}}) * 2.f),
            "[[0, 4, 8, 12], [2, 6, 10, 14]] f32[2,4]");
  EXPECT_EQ(shown(tn::borrow(memory.data() + 5, {})), "5 f32[]");
  EXPECT_EQ(tn::borrow(static_cast<const double*>(nullptr), {3, 0}).shape(), (tn::Shape{3, 0}));
  memory[4] = 40;
  EXPECT_EQ(every(1, 0).item<float>(), 40) << "borrowed memory is seen as it is";
  // Under jit, and as a matrix with gaps.
  EXPECT_EQ(tn::jit([](Array x) { return tn::sum(tn::matmul(x, tn::transpose(x))); })(every).item<float>(),
            (3 + 51) * 1.f * 0 + tn::sum(tn::matmul(every, tn::transpose(every))).item<float>());
}

TEST(Borrow, ReadOnlyMemoryIsNeverWritten) {
  const std::vector<float> memory{1, 2, 3};
  Array x = tn::borrow(memory.data(), {3});
  EXPECT_FALSE(x.buffer()->writable());
  x = tn::jit([](Array x) { return x.at(0).set(9.f); })(x);
  x = x.at(1).set(8.f);
  EXPECT_EQ(shown(x), "[9, 8, 3] f32[3]");
  EXPECT_EQ(memory, (std::vector<float>{1, 2, 3}));
}

TEST(Borrow, KeepLivesAsLongAsAnyArrayNeedsIt) {
  auto owner = std::make_shared<std::vector<double>>(std::vector<double>{1, 2, 3, 4});
  const std::weak_ptr<std::vector<double>> watch = owner;
  {
    Array rows = tn::borrow(owner->data(), {2, 2}, {.keep = owner});
    owner.reset();
    EXPECT_FALSE(watch.expired());
    const auto e = tn::elements<double>(rows);
    rows = Array();
    EXPECT_EQ(e(-1, 0), 3);
    EXPECT_FALSE(watch.expired());
  }
  EXPECT_TRUE(watch.expired());
}

TEST(Borrow, UnalignedMemoryIsCopied) {
  alignas(8) std::array<std::byte, 20> bytes{};
  const float values[] = {1.5f, 2.5f};
  std::memcpy(bytes.data() + 1, values, sizeof values);
  const Array x = tn::borrow(static_cast<void*>(bytes.data() + 1), tn::DType::f32, {2});
  EXPECT_EQ(shown(x + 1.f), "[2.5, 3.5] f32[2]");
}

TEST(Copies, SpansVectorsAndNumbers) {
  const std::vector<std::int32_t> v{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(shown(tn::array<std::int32_t>(v, {2, 3})), "[[1, 2, 3], [4, 5, 6]] i32[2,3]");
  EXPECT_EQ(shown(tn::from(v)), "[1, 2, 3, 4, 5, 6] i32[6]");
  EXPECT_EQ(shown(tn::from(std::array<double, 2>{0.5, 1.5})), "[0.5, 1.5] f64[2]");
  EXPECT_EQ(shown(tn::from(std::vector<float>())), "[] f32[0]");
  const std::vector<std::vector<double>> rows{{1, 2}, {3, 4}};
  EXPECT_EQ(shown(tn::from(rows)), "[[1, 2], [3, 4]] f64[2,2]");
  EXPECT_EQ(shown(tn::from(std::vector<std::vector<std::vector<bool>>>{{{true}, {false}}})),
            "[[[true], [false]]] bool[1,2,1]");
  EXPECT_EQ(shown(tn::from(std::array<std::array<float, 2>, 1>{{{0.5f, 1}}})), "[[0.5, 1]] f32[1,2]");
  EXPECT_EQ(shown(tn::from(std::vector<bool>{true, false})), "[true, false] bool[2]");
  EXPECT_EQ(tn::from(std::vector<std::vector<int>>()).shape(), (tn::Shape{0, 0}));
  const std::vector<std::vector<double>> ragged{{1}, {2, 3}};
  EXPECT_THAT(message_of<tn::ShapeError>([&] { tn::from(ragged); }), HasSubstr("have 1 and 2 elements"));
  EXPECT_EQ(tn::array<std::int32_t>(std::span(v).first(1), std::vector<std::int64_t>{}).rank(), 0U);
  const std::span<const std::int32_t> back = tn::from(v).span<std::int32_t>();
  static_cast<void>(back.size());
}

TEST(Elements, TypedAccess) {
  const Array x = tn::transpose(tn::reshape(tn::arange(6), {2, 3}));
  const auto e = tn::elements<std::int32_t>(x);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 2; ++j) EXPECT_EQ(e(i, j), j * 3 + i);
  EXPECT_EQ(tn::elements<float>(Array(2.5f))(), 2.5f);
  EXPECT_THAT(message_of([&] { e(3, 0); }), HasSubstr("3 lies outside of axis 0 of size 3"));
  EXPECT_THAT(message_of([&] { e(0); }), HasSubstr("1 indices for an array of rank 2"));
  EXPECT_THROW(tn::elements<float>(x), tn::DTypeError);
  // Each names the line where the view was made.
  EXPECT_THAT(message_of([&] { tn::elements<float>(x); }), HasSubstr("data.cpp:"));
  EXPECT_THAT(message_of([&] { e(0, 2); }), HasSubstr("data.cpp:"));
  EXPECT_THAT(message_of([&] { e(0); }), HasSubstr("data.cpp:"));
}

TEST(Span, WhereThereIsNone) {
  EXPECT_THAT(message_of<tn::ConcretizationError>([] {
                tn::jit([](Array x) {
                  x.span<float>();
                  return x;
                })(tn::ones({2}));
              }),
              testing::AllOf(HasSubstr("span: f32[2] has no elements in memory while tracing; it is an argument"),
                             HasSubstr("data.cpp:")));
  EXPECT_THAT(message_of<tn::RuntimeError>([] { Array(2.f).span<float>(); }), HasSubstr("a number is no array"));
  const Array columns = tn::transpose(tn::reshape(tn::arange(6), {2, 3}));
  EXPECT_EQ(columns.to_buffer().contiguous(), true);
  std::vector<float> memory(8);
  EXPECT_THAT(message_of<tn::RuntimeError>([&] { tn::borrow(memory.data(), {4}, {.strides = {8}}).span<float>(); }),
              HasSubstr("span: f32[4] is not contiguous"));
  EXPECT_THAT(message_of<tn::TreeError>([] { Array().span<float>(); }), HasSubstr("holds nothing"));
}

TEST(Literals, OfEveryKindOfNumber) {
  EXPECT_EQ(shown(Array{true, false}), "[true, false] bool[2]");
  const Array masks = {{true, false, true}, {false, false, true}};
  EXPECT_EQ(shown(masks), "[[true, false, true], [false, false, true]] bool[2,3]");
  const Array planes = {{{true, false}}, {{false, true}}};
  EXPECT_EQ(shown(planes), "[[[true, false]], [[false, true]]] bool[2,1,2]");
  EXPECT_THROW((Array{{true, false}, {true}}), tn::ShapeError);
}

TEST(Print, EveryDType) {
  const Array x{0, 1, 2};
  for (int i = 0; i < tn::dtype_count; ++i) {
    const auto dtype = static_cast<tn::DType>(i);
    const std::string wanted = dtype == tn::DType::bool_       ? "[false, true, true]"
                               : dtype == tn::DType::f8e8m0fnu ? "[nan, 1, 2]"
                               : tn::is_complex(dtype)         ? "[0+0i, 1+0i, 2+0i]"
                                                               : "[0, 1, 2]";
    EXPECT_EQ(shown(tn::convert(x, dtype)), wanted + " " + std::string(tn::name(dtype)) + "[3]");
  }
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  EXPECT_EQ(shown(Array{inf, -inf, nan, -0.0, 1e-300, 3.14159265}), "[inf, -inf, nan, -0, 1e-300, 3.14159265] f64[6]");
  EXPECT_EQ(shown(tn::convert(Array{inf, nan}, tn::DType::bf16)), "[inf, nan] bf16[2]");
  EXPECT_EQ(shown(Array(7)), "7 i32[]");
  EXPECT_EQ(shown(tn::zeros({0})), "[] f32[0]");
  EXPECT_EQ(shown(tn::zeros({2, 0, 3})), "[[], []] f32[2,0,3]");
  EXPECT_EQ(shown(tn::arange(1000)), "[0, 1, 2, …, 997, 998, 999] i32[1000]");
  // A trillion elements, no memory: printing looks at the edges alone.
  static const float one = 1;
  const std::string huge = shown(tn::borrow(&one, {1 << 20, 1 << 20}, {.strides = {0, 0}}));
  EXPECT_THAT(huge, HasSubstr("[[1, 1, 1, …, 1, 1, 1], [1, 1, 1, …, 1, 1, 1], [1, 1, 1, …, 1, 1, 1], …, [1"));
  EXPECT_LT(huge.size(), 400U);
  EXPECT_EQ(shown(Array()), "(no array)");
}

// The digits that NumPy shows of each.
TEST(Print, DigitsAsNumPy) {
  EXPECT_EQ(shown(Array{0.1 + 0.2, 16777217.0, 1.0 / 3, 2.0 / 3, 1e-5, 0.0001, 123456.123456789}),
            "[0.3, 16777217, 0.33333333, 0.66666667, 1e-05, 0.0001, 123456.12345679] f64[7]");
  EXPECT_EQ(shown(Array{123456789.0, 99999999.0, -1.0 / 3e10, 1.7976931348623157e308, 5e-324}),
            "[1.23456789e+08, 99999999, -3.33333333e-11, 1.79769313e+308, 5e-324] f64[5]");
  EXPECT_EQ(shown(Array{0.1f, 1.f / 3, 16777216.f, 3.4028235e38f, 1e-45f, 0.7f + 0.1f}),
            "[0.1, 0.33333334, 16777216, 3.4028235e+38, 1e-45, 0.8] f32[6]");
  EXPECT_EQ(shown(tn::convert(Array{0.1, 65504.0, 1.0 / 3, 6e-8, -2.5}, tn::DType::f16)),
            "[0.1, 65500, 0.3333, 6e-08, -2.5] f16[5]");
  EXPECT_EQ(shown(tn::convert(Array{0.1, 1.0 / 3}, tn::DType::bf16)), "[0.1, 0.334] bf16[2]");
  EXPECT_EQ(shown(Array(-std::nan(""))), "nan f64[]");
  EXPECT_EQ(shown(Array{std::complex<double>(1.0 / 3, -0.1), std::complex<double>(0, -std::nan(""))}),
            "[0.33333333-0.1i, 0+nani] c128[2]");
}

// Printing is how one looks for errors.
TEST(Print, NeverThrows) {
  Array kept;
  tn::jit([&](Array x) {
    kept = x + 1.f;
    EXPECT_EQ(shown(kept), "<f32[2]>");
    return x;
  })(tn::ones({2}));
  EXPECT_EQ(shown(kept), "<leaked array>");
  Array given = tn::ones({4}) + 1.f;
  tn::jit([](Array x) { return x * 2.f; }, {.donate = {0}})(given);
  EXPECT_EQ(shown(given), "<donated array>");
}

TEST(Compare, ElementwiseAndWhole) {
  const Array a{1.f, 2.f, 3.f}, b{1.f, 5.f, 3.f};
  EXPECT_EQ(shown(a == b), "[true, false, true] bool[3]");
  EXPECT_EQ(shown(a != 2.f), "[true, false, true] bool[3]");
  EXPECT_TRUE(tn::array_equal(a, a));
  EXPECT_FALSE(tn::array_equal(a, b));
  EXPECT_FALSE(tn::array_equal(a, tn::convert(a, tn::DType::f64))) << "another dtype";
  EXPECT_FALSE(tn::array_equal(a, a(tn::newaxis))) << "another shape";
  EXPECT_TRUE(tn::array_equal(tn::zeros({0, 3}), tn::ones({0, 3}))) << "no elements";
  const Array nan(std::nan(""));
  EXPECT_FALSE(tn::array_equal(nan, nan));
  EXPECT_TRUE(tn::allclose(a, a + 1e-6f));
  EXPECT_FALSE(tn::allclose(a, b));
}

TEST(DLPackOfArrays, SharesAndReleases) {
  const Array x = tn::transpose(tn::reshape(tn::arange(6, tn::DType::f32), {2, 3})) + 0.f;
  const Array back = tn::from_dlpack(tn::to_dlpack(x));
  EXPECT_EQ(back.buffer()->data(), x.buffer()->data());
  EXPECT_TRUE(tn::array_equal(back, x));
  EXPECT_EQ(shown(tn::from_dlpack(tn::to_dlpack(Array(2.f)))), "2 f32[]");
  tn::dlpack::ManagedTensorVersioned* left = tn::to_dlpack(x);
  left->deleter(left);
}

TEST(EigenArrays, BothWays) {
  Eigen::MatrixXf m(2, 3);
  m << 1, 2, 3, 4, 5, 6;
  EXPECT_EQ(shown(tn::from(m)), "[[1, 2, 3], [4, 5, 6]] f32[2,3]");  // column-major there
  const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> r = m.cast<double>();
  EXPECT_EQ(shown(tn::from(r)), "[[1, 2, 3], [4, 5, 6]] f64[2,3]");
  EXPECT_EQ(shown(tn::from(Eigen::VectorXf(m.col(1)))), "[2, 5] f32[2]");
  EXPECT_EQ(shown(tn::from(m.block(0, 1, 2, 2))), "[[2, 3], [5, 6]] f32[2,2]");
  const Array shared = tn::borrow(m);
  m(1, 2) = 60;
  EXPECT_EQ(shared(1, 2).item<float>(), 60);
  const Array x = tn::reshape(tn::arange(6, tn::DType::f32), {2, 3});
  EXPECT_EQ(tn::eigen_map<Eigen::MatrixXf>(x), (Eigen::MatrixXf(2, 3) << 0, 1, 2, 3, 4, 5).finished());
  EXPECT_EQ((tn::eigen_map<Eigen::Matrix<float, 2, 3, Eigen::RowMajor>>(x).sum()), 15);
  const Array column = x(tn::all, 1) + 0.f;
  EXPECT_EQ(tn::eigen_map<Eigen::VectorXf>(column), Eigen::Vector2f(1, 4));
  EXPECT_THAT(message_of([&] { tn::eigen_map<Eigen::VectorXf>(x); }), HasSubstr("f32[2,3] is no array of rank 1"));
  EXPECT_THROW(tn::eigen_map<Eigen::MatrixXd>(x), tn::DTypeError);
  EXPECT_THROW(tn::eigen_map<Eigen::Matrix2f>(x), tn::ShapeError);
}

struct Layer {
  Array w, b;
};
struct Model {
  std::vector<Layer> layers;
  std::map<std::string, Array> tables;
  std::optional<Array> scale;
  std::tuple<Array, Array> pair;
  double rate = 0.5;
};
struct Named {
  Array weights;
  std::vector<Array> biases;
  TENON_TREE(Named, weights, biases)
};

class Files : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string file(const char* name) const { return (folder_ / name).string(); }

 private:
  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() /
      (std::string("tenon_files_") + testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(Files, AnyTreeComesBack) {
  Model m{{{Array{1.f, 2.f}, Array(3.f)}, {tn::zeros({0, 2}), Array{true, false}}},
          {{"a", Array{1, 2}}, {"b c", Array(4.0)}},
          Array(5.f),
          {Array{6.0}, tn::complex(Array{7.0}, Array{8.0})},
          0.25};
  tn::save(file("m.npz"), m);
  const auto back = tn::load<Model>(file("m.npz"));
  EXPECT_EQ(tn::tree::paths(back), tn::tree::paths(m));
  const auto a = tn::tree::leaves(m), b = tn::tree::leaves(back);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(tn::array_equal(a[i], b[i])) << i;
  EXPECT_EQ(back.rate, 0.5) << "static fields are those of the type";
  EXPECT_EQ(tn::load<Model>(file("m.npz"), m).rate, 0.25) << "or of the tree to compare with";
  tn::save(file("x.npy"), Array{1.5, 2.5});
  EXPECT_EQ(shown(tn::load<Array>(file("x.npy"))), "[1.5, 2.5] f64[2]");
  tn::save(file("x.npz"), Array{1.5, 2.5});
  EXPECT_EQ(shown(tn::load<Array>(file("x.npz"))), "[1.5, 2.5] f64[2]");
  tn::save(file("none.npz"), std::tuple<>());
  tn::load<std::tuple<>>(file("none.npz"));
  tn::save(file("named.npz"), Named{Array{1.f}, {Array{2.f}, Array{3.f}}});
  EXPECT_EQ(shown(tn::load<Named>(file("named.npz")).biases[1]), "[3] f32[1]");
}

TEST_F(Files, ErrorsNameTheLeaf) {
  const Named named{Array{1.f}, {Array{2.f}, Array{3.f}}};
  tn::save(file("n.npz"), named);
  EXPECT_THAT(message_of([&] { tn::load<Layer>(file("n.npz")); }),
              testing::AllOf(HasSubstr("TreeError: load:"), HasSubstr("has no array 0, a leaf of the tree"),
                             HasSubstr("It has weights, biases[0], biases[1]"), HasSubstr("data.cpp:")));
  EXPECT_THAT(message_of([&] { tn::load(file("n.npz"), Named{Array{1.f}, {Array{2.f}}}); }),
              HasSubstr("has an array biases[1], which is no leaf of the tree"));
  EXPECT_THAT(message_of([&] { tn::load(file("n.npz"), Named{Array{1.f}, {Array{2.f}, Array{3.f, 4.f}}}); }),
              testing::AllOf(HasSubstr("ShapeError: load: biases[1] is f32[1] in"), HasSubstr("f32[2] in the tree")));
  EXPECT_THAT(message_of([&] { tn::load(file("n.npz"), Named{Array{1}, {Array{2.f}, Array{3.f}}}); }),
              HasSubstr("DTypeError: load: weights is f32[1] in"));
  EXPECT_THAT(message_of([&] { tn::load<Named>(file("absent.npz")); }),
              testing::AllOf(HasSubstr("RuntimeError: load"), HasSubstr("absent.npz")));
  std::ofstream(file("bad.npz")) << "this is no archive, though it is long enough to be looked at";
  EXPECT_THAT(message_of([&] { tn::load<Named>(file("bad.npz")); }),
              testing::AllOf(HasSubstr("ParseError: load"), HasSubstr("not an archive")));
  std::ofstream(file("cut.npy")) << "\x93NUMPY";
  EXPECT_THAT(message_of([&] { tn::load<Array>(file("cut.npy")); }),
              HasSubstr("ParseError: load: " + file("cut.npy") + ": 2 bytes are missing"));
  std::ofstream(file("none.npy")) << "this is none of NumPy's files";
  EXPECT_THAT(message_of([&] { tn::load<Array>(file("none.npy")); }),
              HasSubstr("ParseError: load: " + file("none.npy") + ": not an .npy file."));
  EXPECT_THAT(message_of([&] { tn::save(file("n.txt"), named); }), HasSubstr("is neither .npz nor .npy"));
  EXPECT_THAT(message_of([&] { tn::save(file("n.npy"), named); }), HasSubstr("a tree of 3 arrays does not go into"));
  EXPECT_THAT(message_of([&] { tn::save("/nowhere/at/all.npz", named); }), HasSubstr("RuntimeError: save"));
  EXPECT_THAT(message_of([&] { tn::save(file("n.npz"), Named{}); }), HasSubstr("the leaf weights holds no array"));
}

TEST_F(Files, KeysThatAreNone) {
  const auto numbers = [&](const char* name) {
    tn::write_npz(file("k.npz"), {{name, Array(1.f).to_buffer()}});
    return message_of<tn::TreeError>([&] { tn::load<std::map<int, Array>>(file("k.npz")); });
  };
  for (const char* name : {"[\"a\"]", "[7abc]", "[99999999999999999999]", "[4294967303]", "[ 7]", "[]", "[7.5]", "a"})
    EXPECT_THAT(numbers(name), testing::AllOf(HasSubstr(std::string("has an array ") + name +
                                                        ", where the keys of a map are a whole "
                                                        "number that fits their type"),
                                              HasSubstr(std::string("It has ") + name), HasSubstr("data.cpp:")));
  EXPECT_THAT(numbers("[\"b"), HasSubstr("has an array [\"b, which is no leaf of the tree"));
  EXPECT_EQ(numbers("[-7]"), "no error");
  EXPECT_EQ((tn::load<std::map<int, Array>>(file("k.npz")).begin()->first), -7);
  EXPECT_THAT(message_of<tn::TreeError>([&] { tn::load<std::map<unsigned, Array>>(file("k.npz")); }),
              HasSubstr("has an array [-7]"));
  EXPECT_THAT(message_of<tn::TreeError>([&] { tn::load<std::map<std::string, Array>>(file("k.npz")); }),
              HasSubstr("has an array [-7], where the keys of a map are text in quotes"));
  std::map<bool, std::vector<Array>> choices{{false, {}}, {true, {Array(1.f), Array(2.f)}}};
  tn::save(file("k.npz"), choices);
  EXPECT_EQ(tn::load<decltype(choices)>(file("k.npz")).at(true).size(), 2U);
}

// Files that numpy.savez wrote: named.npz with weights=…, **{"layer.bias": …}; positional.npz with two arrays.
TEST_F(Files, OfNumPy) {
  const std::string folder = TENON_TESTS_DIR "/api/data/";
  const auto named = tn::load<std::map<std::string, Array>>(folder + "named.npz");
  ASSERT_EQ(named.size(), 2U);
  EXPECT_EQ(shown(named.at("weights")), "[0, 1, 2] f32[3]");
  EXPECT_EQ(shown(named.at("layer.bias")), "[[1.5, 2.5]] f64[1,2]");
  tn::save(file("again.npz"), named);
  EXPECT_EQ((tn::load<std::map<std::string, Array>>(file("again.npz")).size()), 2U);

  const auto check = [](const Array& first, const Array& second) {
    EXPECT_EQ(shown(first), "[0, 1] i32[2]");
    EXPECT_EQ(shown(second), "2.5 f64[]");
  };
  const std::string positional = folder + "positional.npz";
  const auto vector = tn::load<std::vector<Array>>(positional);
  ASSERT_EQ(vector.size(), 2U);
  check(vector[0], vector[1]);
  const auto array = tn::load<std::array<Array, 2>>(positional);
  check(array[0], array[1]);
  const auto [x, y] = tn::load<std::tuple<Array, Array>>(positional);
  check(x, y);
  const auto pair = tn::load<std::pair<Array, Array>>(positional);
  check(pair.first, pair.second);
  const auto layer = tn::load<Layer>(positional);
  check(layer.w, layer.b);
  EXPECT_EQ((tn::load<std::map<std::string, Array>>(positional).count("arr_1")), 1U);

  const auto refused = [](auto tree, const std::string& file) {
    return message_of<tn::TreeError>([&] { tn::load<decltype(tree)>(file); });
  };
  EXPECT_THAT(refused(std::array<Array, 3>(), positional),
              testing::AllOf(HasSubstr("has no array [2], a leaf of the tree"), HasSubstr("It has arr_0, arr_1.")));
  EXPECT_THAT(refused(Array(), positional), HasSubstr("has an array arr_1, which is no leaf of the tree"));
  EXPECT_THAT(refused(std::vector<Array>(), folder + "named.npz"),
              testing::AllOf(HasSubstr("has an array weights, which is no leaf"),
                             HasSubstr("It has weights, layer.bias."), HasSubstr("std::map<std::string, Array>")));
  EXPECT_THAT(refused(std::map<int, Array>(), folder + "named.npz"), HasSubstr("has an array weights, where the keys"));
}

TEST_F(Files, TablesAsText) {
  std::ofstream(file("t.csv")) << "week,ppm\n20200101, 410.5\r\n20200108,\n\n20200115,+4e2\n";
  const Array t = tn::load_table(file("t.csv"), {.header_lines = 1});
  EXPECT_EQ(shown(t(tn::all, 1)), "[410.5, nan, 400] f64[3]");
  EXPECT_TRUE(tn::array_equal(t(tn::all, 0), Array{20200101.0, 20200108.0, 20200115.0}));
  std::ofstream(file("t.txt")) << "  1 \t-inf\n2\t 3.5  \n";
  EXPECT_EQ(shown(tn::load_table(file("t.txt"), {.separator = ' '})), "[[1, -inf], [2, 3.5]] f64[2,2]");
  std::ofstream(file("none.csv")) << "";
  EXPECT_EQ(tn::load_table(file("none.csv")).type().text(), "f64[0,0]");

  const Array numbers = Array{{0.1, double(NAN), 1e300}, {-0.0, 1.0 / 3, 5e-324}};
  tn::save_table(file("n.csv"), numbers);
  std::stringstream text;
  text << std::ifstream(file("n.csv")).rdbuf();
  EXPECT_EQ(text.str(), "0.1,nan,1e+300\n-0,0.3333333333333333,5e-324\n");
  EXPECT_EQ(shown(tn::load_table(file("n.csv"))), shown(numbers));
  tn::save_table(file("n.csv"), Array{0.1f, 2.f}, {.separator = ';'});
  EXPECT_EQ(shown(tn::load_table(file("n.csv"), {.separator = ';'})), "[[0.1], [2]] f64[2,1]");
  tn::save_table(file("n.csv"), tn::convert(Array{0.5, 2.0}, tn::DType::bf16));
  EXPECT_EQ(shown(tn::load_table(file("n.csv"))), "[[0.5], [2]] f64[2,1]");
  tn::save_table(file("n.csv"), Array{true, false});
  EXPECT_EQ(shown(tn::load_table(file("n.csv"))), "[[1], [0]] f64[2,1]");
}

TEST_F(Files, TablesThatAreNone) {
  const auto told = [&](std::string_view text) {
    std::ofstream(file("bad.csv")) << text;
    return message_of([&] { tn::load_table(file("bad.csv")); });
  };
  EXPECT_THAT(told("a,b\n1,2\n"),
              testing::AllOf(HasSubstr("ParseError: load_table: "), HasSubstr("bad.csv:1:1: 'a' is"),
                             HasSubstr(".header_lines = 1"), HasSubstr("data.cpp:")));
  EXPECT_THAT(told("1,2\n1, x2\n"), HasSubstr("bad.csv:2:4: 'x2' is not a number"));
  EXPECT_THAT(told("1,2\n1,1e999\n"), HasSubstr("bad.csv:2:3: 1e999 lies beyond f64"));
  EXPECT_THAT(told("1,2\n1,2,3\n"), HasSubstr("bad.csv:2:5: 3 fields, where the first row has 2"));
  EXPECT_THAT(message_of([&] { tn::load_table(file("absent.csv")); }),
              testing::AllOf(HasSubstr("RuntimeError: load_table"), HasSubstr("absent.csv cannot be read")));
  EXPECT_THAT(message_of([&] { tn::save_table("/nowhere/at/all.csv", Array{1.f}); }),
              HasSubstr("RuntimeError: save_table: /nowhere/at/all.csv cannot be written"));
  EXPECT_THAT(message_of([&] { tn::save_table(file("n.csv"), tn::zeros({2, 2, 2})); }),
              HasSubstr("ShapeError: save_table: f32[2,2,2] is no table"));
  EXPECT_THAT(message_of([&] { tn::save_table(file("n.csv"), tn::complex(Array{1.0}, Array{1.0})); }),
              HasSubstr("DTypeError: save_table: c128[1] has complex numbers"));
}

}  // namespace
