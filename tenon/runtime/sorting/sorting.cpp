// Elements become unsigned integers of the same order, which Highway's vector sort takes; where places are asked for,
// the integer with the place below it, so that equal elements keep their order.
#include "tenon/runtime/sorting/sorting.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>

#include "tenon/base/dtype.h"
#include "tenon/base/error.h"
#include "tenon/base/library.h"
#include "tenon/runtime/linear_algebra/product_kernels.h"
#include "tenon/runtime/memory/workspace.h"
#include "tenon/runtime/sorting/in_parts.h"
#include "tenon/runtime/sorting/integers.h"
#include "tenon/runtime/symbols.h"
#include "tenon/runtime/threads/parallel_for.h"

namespace tenon {
namespace {

constexpr std::int64_t worth_a_fork = 1 << 15;  // elements

template <std::size_t Bytes>
struct UnsignedOf;
template <>
struct UnsignedOf<1> : std::type_identity<std::uint8_t> {};
template <>
struct UnsignedOf<2> : std::type_identity<std::uint16_t> {};
template <>
struct UnsignedOf<4> : std::type_identity<std::uint32_t> {};
template <>
struct UnsignedOf<8> : std::type_identity<std::uint64_t> {};

template <class T>
inline constexpr bool is_complex_number = false;
template <class T>
inline constexpr bool is_complex_number<std::complex<T>> = true;

// Elements as integers of the same order. Of real numbers all bits turn where the sign is set; the others follow, zeros
// as one integer, and NaNs are the greatest, which is no number's.
template <class T>
struct Order {
  using Key = typename UnsignedOf<sizeof(T)>::type;
  static constexpr FloatFormat format = format_of(dtype_of<T>.value_or(DType::f32));
  // Without a sign, codes are in order, too.
  static constexpr bool real = (std::is_floating_point_v<T> || NarrowFloat<T>) && format.has_sign();
  static constexpr Key sign = Key(1) << (8 * sizeof(T) - 1);
  static constexpr Key nan = std::numeric_limits<Key>::max();
  // In as many bits as keys have, so that loops over keys go by vectors.
  static constexpr bool is_nan(Key bits) {
    constexpr Key largest = static_cast<Key>(format.has_infinity() ? format.exponents() : format.largest());
    return format.has_negative_zero() ? static_cast<Key>(bits & (sign - 1)) > largest : bits == Key(format.nan());
  }
  static Key of(T value) {
    const Key bits = std::bit_cast<Key>(value);
    if constexpr (real) {
      const auto ordered = static_cast<Key>((bits & sign) != 0 ? ~bits : bits + (sign - 1));
      return is_nan(bits) ? nan : ordered;
    } else if constexpr (std::is_signed_v<T>) {
      return static_cast<Key>(bits ^ sign);
    } else {
      return bits;
    }
  }
  static T value(Key key) {
    Key bits = key;
    if constexpr (real) {
      bits = key == nan ? static_cast<Key>(format.nan()) : static_cast<Key>(key >= sign - 1 ? key - (sign - 1) : ~key);
    } else if constexpr (std::is_signed_v<T>) {
      bits = static_cast<Key>(key ^ sign);
    }
    return std::bit_cast<T>(bits);
  }
  static bool negative_zero(T value) { return real && format.has_negative_zero() && std::bit_cast<Key>(value) == sign; }
};

template <class T>
using KeyOf = typename Order<T>::Key;

template <class T>
KeyOf<T> key_of(T value, bool descending) {
  const KeyOf<T> key = Order<T>::of(value);
  return descending ? static_cast<KeyOf<T>>(~key) : key;
}

// A key with a place, which is below 2³¹: in one word where both fit.
template <class Key>
using Entry = std::conditional_t<sizeof(Key) == 8, WideEntry, std::uint64_t>;
template <class Key>
Entry<Key> entry(Key key, std::int64_t place) {
  if constexpr (sizeof(Key) == 8)
    return {static_cast<std::uint64_t>(place), key};
  else
    return (static_cast<std::uint64_t>(key) << 32) | static_cast<std::uint64_t>(place);
}
std::int32_t place_of(std::uint64_t e) { return static_cast<std::int32_t>(e & 0xffffffffu); }
std::int32_t place_of(const WideEntry& e) { return static_cast<std::int32_t>(e.place); }

constinit LibraryFunction<SortLibrary> library("libtenon_sort.so", sort_library_symbol, "the library of sorts");

// Whether the integers are in order by the library's sort, which an incomplete installation has not.
bool sorted_by_library(void* integers, std::int64_t n, SortedWidth width) {
  try {
    library.get()(integers, n, width);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Highway's sort begins with a few microseconds of its own.
template <class Integer>
void sort_integers(Integer* x, std::int64_t n) {
  constexpr std::int64_t few = 200;
  constexpr SortedWidth width = sizeof(Integer) == 2   ? SortedWidth::bits16
                                : sizeof(Integer) == 4 ? SortedWidth::bits32
                                : sizeof(Integer) == 8 ? SortedWidth::bits64
                                                       : SortedWidth::bits128;
  if (n <= few || vector_unit() < VectorUnit::avx2 || !sorted_by_library(x, n, width)) std::sort(x, x + n);
}

// Bytes: how often each occurs decides everything.
template <class T>
void count_bytes(const T* x, std::int64_t n, bool descending, std::int64_t (&begin)[257]) {
  std::fill(std::begin(begin), std::end(begin), 0);
  for (std::int64_t i = 0; i < n; ++i) ++begin[key_of(x[i], descending) + 1];
  for (int k = 0; k < 256; ++k) begin[k + 1] += begin[k];
}

// Whether words of 32 bits are sorted faster than they are as words of 64. AMD's processors with AVX-512 take several
// times as long for the former: of these vpcompressd to memory, by which Highway partitions, is microcode.
bool sorts_narrow_words() { return !(__builtin_cpu_is("amd") && __builtin_cpu_supports("avx512f")); }

// `in_parts`: the workspace has room for the integers once more, where they are merged.
template <class T>
void sort_row(const T* x, T* sorted, std::int64_t n, bool descending, bool in_parts, std::byte* workspace) {
  using Key = KeyOf<T>;
  const auto value_of = [&](auto key) { return Order<T>::value(static_cast<Key>(descending ? ~key : key)); };
  bool negative_zeros = false;
  for (std::int64_t i = 0; i < n; ++i) negative_zeros |= Order<T>::negative_zero(x[i]);
  if constexpr (sizeof(T) == 1) {
    std::int64_t begin[257];
    count_bytes(x, n, descending, begin);
    for (int k = 0; k < 256; ++k)
      if (begin[k] < begin[k + 1]) std::fill(sorted + begin[k], sorted + begin[k + 1], value_of(Key(k)));
  } else {
    const auto sort_as = [&]<class Word>(Word* words, Word* other) {
      each_range(n, worth_a_fork, [&](std::int64_t i, std::int64_t end) {
        for (; i < end; ++i) words[i] = key_of(x[i], descending);
      });
      const Word* const made = sorted_in_parts(words, other, n, sort_integers<Word>);
      each_range(n, worth_a_fork, [&](std::int64_t i, std::int64_t end) {
        for (; i < end; ++i) sorted[i] = value_of(static_cast<Key>(made[i]));
      });
    };
    auto* const wide = reinterpret_cast<std::uint64_t*>(workspace);
    if (sizeof(T) != 4 || sorts_narrow_words())
      sort_as(reinterpret_cast<Key*>(sorted), in_parts ? reinterpret_cast<Key*>(workspace) : nullptr);
    else
      sort_as(wide, in_parts ? wide + n : nullptr);
  }
  if (!negative_zeros) return;
  const Key zero = key_of(T(), descending);
  T* to = sorted + std::count_if(x, x + n, [&](T value) { return key_of(value, descending) < zero; });
  for (std::int64_t i = 0; i < n; ++i)
    if (key_of(x[i], descending) == zero) *to++ = x[i];
}

template <class T>
void argsort_row(const T* x, std::int32_t* order, std::int64_t n, bool descending, bool in_parts,
                 std::byte* workspace) {
  if constexpr (sizeof(T) == 1) {
    std::int64_t begin[257];
    count_bytes(x, n, descending, begin);
    for (std::int64_t i = 0; i < n; ++i) order[begin[key_of(x[i], descending)]++] = static_cast<std::int32_t>(i);
  } else {
    auto* const entries = reinterpret_cast<Entry<KeyOf<T>>*>(workspace);
    each_range(n, worth_a_fork, [&](std::int64_t i, std::int64_t end) {
      for (; i < end; ++i) entries[i] = entry(key_of(x[i], descending), i);
    });
    const auto* const made =
        sorted_in_parts(entries, in_parts ? entries + n : nullptr, n, sort_integers<Entry<KeyOf<T>>>);
    each_range(n, worth_a_fork, [&](std::int64_t i, std::int64_t end) {
      for (; i < end; ++i) order[i] = place_of(made[i]);
    });
  }
}

// The entries that a selection of the first k holds before it drops all but k.
std::int64_t candidates(std::int64_t n, std::int64_t k) { return std::min(n, 2 * k + 128); }

// Entries below the k-th of those seen so far are collected; when there is no room, the first k of them stay.
template <class T>
void top_row(const T* x, T* values, std::int32_t* order, std::int64_t n, const TenonSort& sort, std::byte* workspace) {
  const std::int64_t k = sort.first, room = candidates(n, k);
  if (k == 0) return;
  const bool descending = sort.descending != 0;
  auto* const entries = reinterpret_cast<Entry<KeyOf<T>>*>(workspace);
  std::int64_t held = 0;
  KeyOf<T> limit = std::numeric_limits<KeyOf<T>>::max();
  bool limited = false;
  for (std::int64_t i = 0; i < n; ++i) {
    const KeyOf<T> key = key_of(x[i], descending);
    if (limited && key >= limit) continue;  // an equal one further on comes later
    if (held == room) {
      sort_integers(entries, held);
      held = k;
      limit = key_of(x[place_of(entries[k - 1])], descending);
      limited = true;
      if (key >= limit) continue;
    }
    entries[held++] = entry(key, i);
  }
  sort_integers(entries, held);
  for (std::int64_t i = 0; i < k; ++i) {
    order[i] = place_of(entries[i]);
    values[i] = x[order[i]];
  }
}

std::int64_t line(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

// What the parts of a call work in, one behind the other.
struct Rows {
  std::byte* workspace;
  std::int64_t bytes;  // of each
};

// run(sort, its workspace): a sort whose sizes were not known when the code was made gets parts and memory here.
template <class Run>
std::int64_t with_workspace(TenonSort sort, void* given, std::int64_t (*bytes_of)(const TenonSort&), Run run) {
  try {
    if (sort.parts == TenonSort::any_parts) sort.parts = sort_parts(sort.rows, sort.size);
    const std::int64_t bytes = bytes_of(sort);
    const Workspace workspace(given, static_cast<std::size_t>(bytes));
    run(sort, Rows{static_cast<std::byte*>(workspace.memory()), bytes / std::max<std::int64_t>(sort.parts, 1)});
    return 0;
  } catch (const MemoryError&) {
    return no_memory;
  }
}

// row(number, the memory of its part) for every row, in parts of equal size.
template <class Row>
void each_row(const TenonSort& sort, const Rows& rows, Row row) {
  each_range(sort.parts, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = begin; part < end; ++part)
      for (std::int64_t r = part * sort.rows / sort.parts; r < (part + 1) * sort.rows / sort.parts; ++r)
        row(r, rows.workspace + part * rows.bytes);
  });
}

// Of complex numbers those without NaN come first, then with one in the imaginary part, in the real, in both; each by
// real part, then by imaginary part.
template <class T>
bool before(std::complex<T> x, std::complex<T> y) {
  const auto nans = [](std::complex<T> z) { return 2 * std::isnan(z.real()) + std::isnan(z.imag()); };
  if (nans(x) != nans(y)) return nans(x) < nans(y);
  if (x.real() < y.real() || y.real() < x.real()) return x.real() < y.real();
  return x.imag() < y.imag();
}
template <class T>
void argsort_row(const std::complex<T>* x, std::int32_t* order, std::int64_t n, bool descending, bool, std::byte*) {
  std::iota(order, order + n, 0);
  std::sort(order, order + n, [&](std::int32_t i, std::int32_t j) {
    const bool first = descending ? before(x[j], x[i]) : before(x[i], x[j]);
    return first || (i < j && !(descending ? before(x[i], x[j]) : before(x[j], x[i])));
  });
}
template <class T>
void sort_row(const std::complex<T>* x, std::complex<T>* sorted, std::int64_t n, bool descending, bool,
              std::byte* workspace) {
  auto* const order = reinterpret_cast<std::int32_t*>(workspace);
  argsort_row(x, order, n, descending, false, nullptr);
  for (std::int64_t i = 0; i < n; ++i) sorted[i] = x[order[i]];
}

template <class F>
void of_dtype(const TenonSort& sort, F f) {
  dispatch(static_cast<DType>(sort.dtype), f);
}
bool of_complex(const TenonSort& sort) { return is_complex(static_cast<DType>(sort.dtype)); }

std::int64_t element_bytes(const TenonSort& sort) {
  return static_cast<std::int64_t>(size_of(static_cast<DType>(sort.dtype)));
}
// A row by itself, of so many elements that threads may share it.
bool is_in_parts(const TenonSort& sort) { return sort.parts == 1 && sort.size >= 2 * worth_a_part; }
std::int64_t entry_bytes(const TenonSort& sort) { return element_bytes(sort) == 8 ? 16 : 8; }

}  // namespace

std::int64_t sort_parts(std::int64_t rows, std::int64_t size) {
  constexpr std::int64_t most = 16;
  if (rows == 0 || size == 0) return 0;
  return rows * size < worth_a_fork ? 1 : std::min(rows, most);
}
std::int64_t sort_workspace(const TenonSort& sort) {
  if (of_complex(sort)) return sort.parts * line(static_cast<std::int64_t>(sizeof(std::int32_t)) * sort.size);
  const bool wider = element_bytes(sort) == 4 && !sorts_narrow_words();
  const std::int64_t rows = (wider ? 1 : 0) + (is_in_parts(sort) ? 1 : 0);  // of words
  return element_bytes(sort) == 1 ? 0 : sort.parts * line(rows * (wider ? 8 : element_bytes(sort)) * sort.size);
}
std::int64_t argsort_workspace(const TenonSort& sort) {
  const std::int64_t rows = is_in_parts(sort) ? 2 : 1;
  return element_bytes(sort) == 1 || of_complex(sort) ? 0 : sort.parts * line(rows * entry_bytes(sort) * sort.size);
}
std::int64_t top_k_workspace(const TenonSort& sort) {
  return sort.parts * line(entry_bytes(sort) * candidates(sort.size, sort.first));
}

}  // namespace tenon

std::int64_t tenon_sort(const TenonSort* of, const void* x, void* sorted, void* workspace) {
  using namespace tenon;
  return with_workspace(*of, workspace, sort_workspace, [&](const TenonSort& sort, const Rows& rows) {
    of_dtype(sort, [&]<class T>(std::type_identity<T>) {
      each_row(sort, rows, [&](std::int64_t r, std::byte* memory) {
        sort_row(static_cast<const T*>(x) + r * sort.size, static_cast<T*>(sorted) + r * sort.size, sort.size,
                 sort.descending != 0, is_in_parts(sort), memory);
      });
    });
  });
}

std::int64_t tenon_argsort(const TenonSort* of, const void* x, std::int32_t* order, void* workspace) {
  using namespace tenon;
  return with_workspace(*of, workspace, argsort_workspace, [&](const TenonSort& sort, const Rows& rows) {
    of_dtype(sort, [&]<class T>(std::type_identity<T>) {
      each_row(sort, rows, [&](std::int64_t r, std::byte* memory) {
        argsort_row(static_cast<const T*>(x) + r * sort.size, order + r * sort.size, sort.size, sort.descending != 0,
                    is_in_parts(sort), memory);
      });
    });
  });
}

std::int64_t tenon_top_k(const TenonSort* of, const void* x, void* values, std::int32_t* order, void* workspace) {
  using namespace tenon;
  return with_workspace(*of, workspace, top_k_workspace, [&](const TenonSort& sort, const Rows& rows) {
    of_dtype(sort, [&]<class T>(std::type_identity<T>) {
      if constexpr (!is_complex_number<T>)
        each_row(sort, rows, [&](std::int64_t r, std::byte* memory) {
          top_row(static_cast<const T*>(x) + r * sort.size, static_cast<T*>(values) + r * sort.first,
                  order + r * sort.first, sort.size, sort, memory);
        });
    });
  });
}

namespace tenon {
namespace {

const RuntimeSymbol symbols_of_sorting[] = {
    {"tenon_sort", &tenon_sort},
    {"tenon_argsort", &tenon_argsort},
    {"tenon_top_k", &tenon_top_k},
};

}  // namespace
}  // namespace tenon
