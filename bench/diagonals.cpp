// Rounds on the columns and then the diagonals of 4 x 4 matrices, ten double rounds of ChaCha, in ten spellings of how
// diagonals become columns: one function, which should cost the same in all. Beside limits/diagonals.cpp, with the same
// input.
#include <functional>

#include "bench/measure.h"
#include "tenon/tenon.h"

namespace tn = tenon;
using tn::Array;

namespace {

using Index = std::vector<std::int64_t>;

Array rotated(const Array& x, std::uint32_t bits) {
  return tn::shift_left(x, Array(bits)) | tn::shift_right(x, Array(32 - bits));
}

Array quarter(const Array& column) {
  Array a = column(0), b = column(1), c = column(2), d = column(3);
  a = a + b, d = rotated(d ^ a, 16), c = c + d, b = rotated(b ^ c, 12);
  a = a + b, d = rotated(d ^ a, 8), c = c + d, b = rotated(b ^ c, 7);
  return tn::stack({a, b, c, d});
}

template <class T = std::int64_t>
Array numbers(const std::vector<T>& values, const tn::Shape& shape) {
  return tn::array<T>(values, shape.sizes());
}

// Which element of the matrix each one of the result is: row i moves by i to the left, or to the right.
Index turned(int direction) {
  Index from;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) from.push_back(4 * i + (j + 4 + direction * i) % 4);
  return from;
}
Array flat(const Array& m) { return tn::reshape(m, {16}); }
Array square(const Array& x) { return tn::reshape(x, {4, 4}); }

Array by_gather(const Array& m, int direction) {
  Index index;
  for (const std::int64_t at : turned(direction)) index.push_back(at / 4), index.push_back(at % 4);
  tn::GatherOptions options;
  options.hints.unique = true;
  return square(tn::gather(m, numbers(index, {16, 2}), {{}, {0, 1}, {0, 1}, {}, {}}, {1, 1}, options));
}
Array by_take(const Array& m, int direction) { return tn::take(flat(m), numbers(turned(direction), {4, 4})); }
Array by_flat_index(const Array& m, int direction) { return square(flat(m)(numbers(turned(direction), {16}))); }
Array mask_of(int direction) {
  std::vector<std::uint32_t> mask(256, 0);
  const Index from = turned(direction);
  for (std::size_t i = 0; i < 16; ++i) mask[16 * i + static_cast<std::size_t>(from[i])] = 1;
  return numbers(mask, {16, 16});
}
Array by_mask(const Array& m, int direction) {
  return square(tn::sum(mask_of(direction) * tn::reshape(m, {1, 16}), 1));
}
Array by_product(const Array& m, int direction) { return square(tn::matmul(mask_of(direction), flat(m))); }
// One row, moved by so many places to the left.
Array rolled(const Array& row, int places) {
  places = (places + 4) % 4;
  return places == 0 ? row : tn::concatenate({row(tn::slice(places, 4)), row(tn::slice(0, places))}, 0);
}
Array by_rolls(const Array& m, int direction) {
  return tn::stack({m(0), rolled(m(1), direction), rolled(m(2), 2), rolled(m(3), -direction)});
}
Array by_elements(const Array& m, int direction) {
  std::vector<Array> elements;
  for (const std::int64_t at : turned(direction)) elements.push_back(m(at / 4, at % 4));
  return square(tn::stack(elements));
}
Array by_columns(const Array& m, int direction) {
  Index columns = turned(direction);
  for (std::int64_t& at : columns) at %= 4;
  return tn::take_along_axis(m, numbers(columns, {4, 4}), 1);
}
Array by_update(const Array& m, int direction) {
  Index rows, columns;
  for (const std::int64_t at : turned(-direction)) rows.push_back(at / 4), columns.push_back(at % 4);
  return tn::zeros_like(m).at(numbers(rows, {4, 4}), numbers(columns, {4, 4})).set(m);
}
Array by_choice(const Array& m, int direction) {
  const Array row = tn::iota(tn::DType::i32, {4, 4}, 0);
  Array result = m;
  for (int i = 1; i < 4; ++i) {
    const Array columns = tn::transpose(m);  // a row of these is one place
    result = tn::where(row == i, tn::transpose(rolled(columns, i == 2 ? 2 : i == 1 ? direction : -direction)), result);
  }
  return result;
}

struct Spelling {
  const char* name;
  Array (*turn)(const Array& m, int direction);
};
constexpr Spelling spellings[]{
    {"gather", by_gather},   {"take", by_take},   {"flat index", by_flat_index}, {"mask and sum", by_mask},
    {"product", by_product}, {"rolls", by_rolls}, {"elements", by_elements},     {"take along axis", by_columns},
    {"update", by_update},   {"where", by_choice}};

Array rounds(const Spelling& spelling, Array m) {
  const Array input = m;
  const auto columns = [](const Array& x) { return tn::vmap(quarter, {.in_axes = {1}, .out_axes = 1})(x); };
  for (int i = 0; i < 10; ++i) {
    m = spelling.turn(columns(m), 1);
    m = spelling.turn(columns(m), -1);
  }
  return m + input;
}

// Of what explain() tells.
int kernels(const std::string& text) {
  const std::string before = "native code: ";
  const std::size_t at = text.find(before);
  return at == std::string::npos ? 0 : std::stoi(text.substr(at + before.size()));
}

// As the limit does: the words of the result as digits.
double hashed(const Array& words) {
  std::uint32_t sum = 0;
  for (const std::uint32_t word : tn::reshape(words, {-1}).span<std::uint32_t>()) sum = sum * 31 + word;
  return sum;
}

void measure(std::int64_t states) {
  std::vector<std::uint32_t> words(static_cast<std::size_t>(16 * states));
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<std::uint32_t>(i) * 2654435761U + 12345U;
  const bool one = states == 1;
  const Array m = numbers(words, one ? tn::Shape{4, 4} : tn::Shape{states, 4, 4});
  const std::string name = "ChaCha, " + std::to_string(states) + (one ? " state" : " states");
  double least = 0, most = 0, slowest_compile = 0;
  int most_kernels = 0;
  for (const Spelling& spelling : spellings) {
    const auto f = [&](const Array& x) { return rounds(spelling, x); };
    const auto all = [&](const Array& x) { return one ? f(x) : tn::vmap(f)(x); };
    const double start = bench::now();
    const auto compiled = tn::jit(all).prepare(m);
    const double compile = bench::now() - start;
    const Array result = compiled(m);
    const double time = bench::median_seconds(compiled, m);
    const int count = kernels(tn::explain(all)(m));
    bench::emit(name, spelling.name, time * 1e6, "us");
    bench::emit(name, std::string(spelling.name) + ", compile", compile * 1e3, "ms");
    bench::emit(name, std::string(spelling.name) + ", kernels", count, "count");
    bench::emit("P3 chacha B" + std::to_string(states), "checksum polynomial hash (base 31)", hashed(result), "");
    least = least == 0 ? time : std::min(least, time), most = std::max(most, time);
    slowest_compile = std::max(slowest_compile, compile), most_kernels = std::max(most_kernels, count);
  }
  bench::emit(name, "fastest", least * 1e6, "us");
  bench::emit(name, "slowest", most * 1e6, "us");
  bench::emit(name, "slowest compile", slowest_compile * 1e3, "ms");
  bench::emit(name, "kernels", most_kernels, "count");
}

}  // namespace

int main() {
  for (const std::int64_t states : {1, 1000, 100000}) measure(states);
}
