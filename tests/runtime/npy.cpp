// Files of NumPy: what is written reads back, what others wrote is read, and no bytes crash the reader.
#include "tenon/runtime/files/npy.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <complex>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>

namespace tenon {
namespace {

using Bytes = std::vector<std::byte>;

class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / fmt::format("tenon_npy_{}", ::getpid())) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::filesystem::path operator/(const char* name) const { return path_ / name; }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::filesystem::path path_;
};

Bytes contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

Bytes npy(const std::string& header, const Bytes& elements, char version = 1) {
  std::string text = "\x93NUMPY";
  text += {version, '\0', static_cast<char>(header.size()), static_cast<char>(header.size() >> 8)};
  if (version > 1) text += std::string(2, '\0');
  text += header;
  const auto bytes = std::as_bytes(std::span(text));
  Bytes all(bytes.begin(), bytes.end());
  all.insert(all.end(), elements.begin(), elements.end());
  return all;
}

Bytes bytes_of(std::initializer_list<int> values) {
  Bytes bytes;
  for (const int v : values) bytes.push_back(std::byte(v));
  return bytes;
}

template <class T>
std::vector<T> values(const Buffer& b) {
  return {b.as<T>(), b.as<T>() + b.elements()};
}

Buffer random_buffer(DType dtype, std::initializer_list<std::int64_t> dims, unsigned seed) {
  Buffer b = Buffer::allocate(dtype, dims);
  std::mt19937 random(seed);
  for (std::size_t i = 0; i < b.bytes(); ++i) b.data()[i] = std::byte(dtype == DType::bool_ ? random() % 2 : random());
  return b;
}

TEST(Npy, EveryDTypeAndRankReadsBack) {
  const Folder folder;
  const auto path = folder / "a.npy";
  for (int i = 0; i < dtype_count; ++i)
    for (const auto& dims :
         {std::initializer_list<std::int64_t>{}, {7}, {2, 3}, {0}, {3, 0, 2}, {2, 1, 3, 1, 2, 1, 2}}) {
      const Buffer b = random_buffer(static_cast<DType>(i), dims, 1);
      if (is_float8(b.dtype())) {  // of which NumPy's files do not tell one from another
        EXPECT_THROW(write_npy(path, b), DTypeError);
        continue;
      }
      write_npy(path, b);
      EXPECT_TRUE(same_bits(read_npy(path), b)) << name(b.dtype());
      EXPECT_TRUE(same_bits(read_npy(contents(path)), b));
      EXPECT_EQ((contents(path).size() - b.bytes()) % 64, 0u);
    }
  EXPECT_EQ(folder.files(), 1u);
}

TEST(Npy, StridedArraysAreWrittenRowMajor) {
  const Folder folder;
  const Buffer b = random_buffer(DType::i32, {3, 4}, 2);
  const std::vector<std::int64_t> dims{4, 3}, strides{4, 16};
  const Buffer transposed = b.view(DType::i32, dims, strides, 0);
  write_npy(folder / "t.npy", transposed);
  EXPECT_TRUE(same_bits(read_npy(folder / "t.npy"), transposed));
}

TEST(Npy, TheBytesAreThoseOfNumPy) {
  const Folder folder;
  const Buffer b = Buffer::zeros(DType::f32, std::vector<std::int64_t>{2, 3});
  write_npy(folder / "z.npy", b);
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  EXPECT_EQ(contents(folder / "z.npy"), npy(header + std::string(117 - header.size(), ' ') + "\n", Bytes(24)));
}

TEST(Npy, OrdersVersionsAndSpellingsOfOthers) {
  const Bytes six = bytes_of({0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6});
  EXPECT_EQ(values<std::int16_t>(read_npy(npy("{'descr': '>i2', 'fortran_order': False, 'shape': (2, 3), }", six))),
            (std::vector<std::int16_t>{1, 2, 3, 4, 5, 6}));
  const Buffer f = read_npy(npy("{'shape':(2L,3L),\"fortran_order\":True,'descr':'>i2'}\n", six, 2));
  EXPECT_EQ(values<std::int16_t>(f), (std::vector<std::int16_t>{1, 3, 5, 2, 4, 6}));
  EXPECT_TRUE(f.contiguous());
  EXPECT_EQ(read_npy(npy("{'descr': '=u1', 'fortran_order': True, 'shape': (12,), }", six, 3)).dims()[0], 12);
  const Buffer truths =
      read_npy(npy("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", bytes_of({0, 1, 77})));
  EXPECT_TRUE(truths.data()[2] == std::byte(1));
  const Buffer z =
      read_npy(npy("{'descr': '>c8', 'fortran_order': False, 'shape': (), }", bytes_of({63, 128, 0, 0, 64, 0, 0, 0})));
  EXPECT_EQ(*z.as<std::complex<float>>(), std::complex<float>(1, 2));
}

TEST(Npy, WhatIsNotOneIsAParseError) {
  const auto refused = [](const std::string& header, std::size_t elements = 0) {
    EXPECT_THROW(read_npy(npy(header, Bytes(elements))), ParseError) << header;
  };
  EXPECT_THROW(read_npy(Bytes{}), ParseError);
  EXPECT_THROW(read_npy(Bytes(200)), ParseError);
  EXPECT_THROW(read_npy(npy("{}", {}, 4)), ParseError);
  refused("");
  refused("{}");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 7);  // a byte is missing
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", 4);
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4611686018427387904), }", 4);
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", 4);
  refused("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (), }", 4);
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (), } x", 4);
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (), 'more': 1}", 4);
  refused("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}", 4);
  refused("{'descr': '<O', 'fortran_order': False, 'shape': (), }", 8);
  refused("{'descr': '|O', 'fortran_order': False, 'shape': (), }", 8);
  refused("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (), }", 4);
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (1", 4);
  refused("{'descr': '<f4", 4);
  std::string axes;
  for (int i = 0; i < 65; ++i) axes += "1, ";
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (" + axes + "), }", 4);
  EXPECT_THROW(read_npy(std::filesystem::path("/nonexistent/a.npy")), RuntimeError);
  EXPECT_THROW(read_npy(std::filesystem::temp_directory_path()), RuntimeError);
  EXPECT_THROW(write_npy("/nonexistent/a.npy", Buffer::allocate(DType::f32, {1})), RuntimeError);
}

TEST(Npz, NamesAndArraysReadBack) {
  const Folder folder;
  const auto path = folder / "a.npz";
  const NamedBuffers arrays{{"weights", random_buffer(DType::f64, {20, 30}, 3)},
                            {"layer/bias", random_buffer(DType::bf16, {0}, 4)},
                            {"", random_buffer(DType::bool_, {}, 5)}};
  write_npz(path, arrays);
  for (const NamedBuffers& back : {read_npz(path), read_npz(contents(path))}) {
    ASSERT_EQ(back.size(), arrays.size());
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      EXPECT_EQ(back[i].first, arrays[i].first);
      EXPECT_TRUE(same_bits(back[i].second, arrays[i].second));
    }
  }
  const Bytes before = contents(path);
  EXPECT_THROW(write_npz(path, {{"x", Buffer()}}), RuntimeError);
  EXPECT_EQ(contents(path), before);  // a failed call changes nothing
  write_npz(path, {});
  EXPECT_TRUE(read_npz(path).empty());
  EXPECT_EQ(folder.files(), 1u);
}

const std::filesystem::path deflated = std::filesystem::path(TENON_TESTS_DIR) / "runtime/data/deflated.npz";

// Written by Python's zipfile: 64-bit local sizes, deflated, with a member that is no array.
TEST(Npz, DeflatedArchivesOfOthers) {
  const NamedBuffers arrays = read_npz(deflated);
  ASSERT_EQ(arrays.size(), 2u);
  EXPECT_EQ(arrays[0].first, "ramp");
  EXPECT_EQ(arrays[0].second.as<double>()[99], 24.75);
  EXPECT_EQ(arrays[1].first, "folder/zeros");
  EXPECT_TRUE(same_bits(arrays[1].second, Buffer::zeros(DType::i32, std::vector<std::int64_t>{50, 2000})));
}

TEST(Npz, DamageIsFound) {
  const Folder folder;
  write_npz(folder / "a.npz", {{"x", random_buffer(DType::f32, {100}, 6)}});
  Bytes file = contents(folder / "a.npz");
  file[300] ^= std::byte(1);  // an element: only the checksum can tell
  EXPECT_THROW(read_npz(file), ParseError);
  EXPECT_THROW(read_npz(Bytes{}), ParseError);
  EXPECT_THROW(read_npz(Bytes(1000)), ParseError);
}

// Bytes changed, cut, doubled and filled in: an array or a ParseError, never anything else.
TEST(Npz, HostileFilesNeverCrash) {
  const Folder folder;
  write_npy(folder / "a.npy", random_buffer(DType::i16, {3, 5}, 7));
  write_npz(folder / "a.npz", {{"x", random_buffer(DType::f32, {5}, 8)}, {"y", random_buffer(DType::u8, {2, 2}, 9)}});
  const std::vector<Bytes> seeds{contents(folder / "a.npy"), contents(folder / "a.npz"), contents(deflated)};
  const char* given = std::getenv("TENON_FUZZ_SEED");
  const std::uint64_t seed = given ? std::strtoull(given, nullptr, 10) : 4711;
  const char* cases = std::getenv("TENON_FUZZ_CASES");
  const int count = cases ? 100 * std::atoi(cases) : 20000;
  int read = 0, refused = 0;
  for (int i = 0; i < count; ++i) {
    SCOPED_TRACE(testing::Message() << "TENON_FUZZ_SEED=" << seed << " case " << i);
    std::mt19937_64 random(seed + static_cast<std::uint64_t>(i));
    Bytes file = seeds[random() % seeds.size()];
    for (auto changes = random() % 4 + 1; changes > 0 && !file.empty(); --changes) {
      const auto at = static_cast<std::ptrdiff_t>(random() % file.size());
      switch (random() % 6) {
        case 0:
          file.resize(static_cast<std::size_t>(at));
          break;
        case 1:
          file.erase(file.begin() + at);
          break;
        case 2:
          file.insert(file.begin() + at, std::byte(random()));
          break;
        case 3:
          for (auto j = at; j < std::min<std::ptrdiff_t>(at + 8, std::ssize(file)); ++j)
            file[static_cast<std::size_t>(j)] = std::byte(random() % 2 ? 0xff : 0);
          break;
        default:
          file[static_cast<std::size_t>(at)] = std::byte(random());
      }
    }
    try {
      read_npy(file);
      ++read;
    } catch (const ParseError&) {
      ++refused;
    }
    try {
      read_npz(file);
      ++read;
    } catch (const ParseError&) {
      ++refused;
    }
  }
  EXPECT_GT(read, 0);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace tenon
