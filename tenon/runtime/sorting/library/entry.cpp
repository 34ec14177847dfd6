#include <hwy/contrib/sort/vqsort.h>

#include "tenon/runtime/sorting/integers.h"

namespace {

template <class Integer>
void sort(void* x, std::int64_t n) {
  hwy::Sorter()(static_cast<Integer*>(x), static_cast<std::size_t>(n), hwy::SortAscending());
}

}  // namespace

// What libtenon finds by sort_library_symbol. Highway's object holds no memory and costs nothing.
extern "C" __attribute__((visibility("default"))) void tenon_sort_library_2(void* x, std::int64_t n,
                                                                            tenon::SortedWidth width) noexcept {
  static_assert(sizeof(tenon::WideEntry) == sizeof(hwy::uint128_t));
  switch (width) {
    case tenon::SortedWidth::bits16:
      return sort<std::uint16_t>(x, n);
    case tenon::SortedWidth::bits32:
      return sort<std::uint32_t>(x, n);
    case tenon::SortedWidth::bits64:
      return sort<std::uint64_t>(x, n);
    case tenon::SortedWidth::bits128:
      return sort<hwy::uint128_t>(x, n);
  }
}
