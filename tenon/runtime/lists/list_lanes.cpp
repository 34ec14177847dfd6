// Lists of lanes as wholes: which lanes have an element, lane by lane one list or another, sums, repeated parts.
#include <fmt/format.h>

#include <type_traits>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/runtime/lists/pooled_list.h"
#include "tenon/runtime/symbols.h"

namespace tenon {

using namespace pooled;

namespace {

std::int64_t length_in_lane(std::int64_t handle, std::size_t lane, std::size_t lanes) {
  if (handle == 0) return 0;
  const PooledList& list = *of(handle);
  return list.lanes == 0 ? list.length : list.lengths[lane * list.lanes / lanes];
}

std::int64_t element_or_none(std::int64_t handle, std::int64_t t) {
  return t < length_of(handle) ? of(handle)->handle_at(t) : 0;
}

// Of lists that are zero behind their ends.
std::int64_t select_open(const bool* predicate, std::size_t lanes, std::int64_t yes, std::int64_t no) {
  const bool* end = predicate + lanes;
  if (std::find(predicate, end, true) == end) yes = 0;  // nobody takes it
  if (std::find(predicate, end, false) == end) no = 0;
  const std::int64_t of_yes = length_of(yes), of_no = length_of(no), count = std::max(of_yes, of_no);
  if (count == 0) return 0;
  const PooledList& model = *of(of_yes > 0 ? yes : no);
  PooledList& result = *ListPool::current().make(model.stride, model.nested);
  result.open = true;
  reserve(result, count);
  count_copied_list_elements(count);
  const auto each = static_cast<std::size_t>(model.stride) / lanes;
  for (std::int64_t t = 0; t < count; ++t) {
    std::byte* to = result.element(t);
    if (model.nested) {
      const std::int64_t inner = select_open(predicate, lanes, element_or_none(yes, t), element_or_none(no, t));
      std::memcpy(to, &inner, sizeof inner);
    }
    for (std::size_t l = 0; l < lanes && !model.nested; ++l) {
      if (t < (predicate[l] ? of_yes : of_no))
        std::memcpy(to + l * each, of(predicate[l] ? yes : no)->element(t) + l * each, each);
      else
        std::memset(to + l * each, 0, each);
    }
    result.length = t + 1;
  }
  return handle_of(&result);
}

std::int64_t select(const bool* predicate, std::size_t lanes, std::int64_t yes, std::int64_t no) {
  if (is_open(yes) || is_open(no)) return select_open(predicate, lanes, yes, no);
  if (length_of(yes) == 0 && length_of(no) == 0) return 0;
  ListPool& pool = ListPool::current();
  const PooledList& model = *of(length_of(yes) > 0 ? yes : no);
  const std::int64_t of_yes = length_of(yes), of_no = length_of(no), count = std::max(of_yes, of_no);
  PooledList& result = *pool.make(model.stride, model.nested);
  reserve(result, count);
  count_copied_list_elements(count);
  const auto each = static_cast<std::size_t>(model.stride) / std::max<std::size_t>(lanes, 1);
  for (std::int64_t t = 0; t < count; ++t) {
    std::byte* to = result.element(t);
    if (model.nested) {
      const std::int64_t chosen = t >= of_yes  ? retained(of(no)->handle_at(t))
                                  : t >= of_no ? retained(of(yes)->handle_at(t))
                                               : select(predicate, lanes, of(yes)->handle_at(t), of(no)->handle_at(t));
      std::memcpy(to, &chosen, sizeof chosen);
      result.length = t + 1;
      continue;
    }
    std::memcpy(to, of(t >= of_no ? yes : no)->element(t), static_cast<std::size_t>(model.stride));
    for (std::size_t l = 0; t < of_yes && t < of_no && l < lanes; ++l)
      if (predicate[l]) std::memcpy(to + l * each, of(yes)->element(t) + l * each, each);
  }
  result.length = count;
  const std::size_t all = std::max({lanes, yes == 0 ? 0 : of(yes)->lanes, no == 0 ? std::size_t(0) : of(no)->lanes});
  std::vector<std::int64_t> lengths;
  for (std::size_t l = 0; l < all; ++l)
    lengths.push_back(length_in_lane(predicate[l * lanes / all] ? yes : no, l, all));
  set_lengths(result, lengths.data(), lengths.size());
  return handle_of(&result);
}

// Whether a lane of `lanes` has an element t. Lanes are counted from the outermost axis in both: of more lengths than
// lanes several stand behind one lane, of fewer one stands for several.
bool has_element(const PooledList& list, std::int64_t t, std::size_t lane, std::size_t lanes) {
  if (t >= list.length) return false;
  if (list.lanes == 0) return true;
  const std::size_t begin = lane * list.lanes / lanes, end = std::max((lane + 1) * list.lanes / lanes, begin + 1);
  return std::any_of(list.lengths + begin, list.lengths + end, [&](std::int64_t length) { return t < length; });
}

// Which of the lanes `within` have an element in the list, or are set in `also`: lists of flags, `depth` deep.
std::int64_t active(std::int64_t list, std::int64_t also, const std::vector<bool>& within, std::int64_t depth) {
  const std::int64_t count = std::max(length_of(list), length_of(also));
  if (count == 0) return 0;
  const bool nested = depth > 1;
  const std::size_t flags = within.size();
  const auto bytes = static_cast<std::int64_t>(nested ? sizeof(std::int64_t) : flags);
  PooledList& result = *ListPool::current().make(bytes, nested);
  reserve(result, count);
  std::vector<std::int64_t> lengths(flags, 0);
  for (std::int64_t t = 0; t < count; ++t) {
    std::vector<bool> here(flags, false);
    for (std::size_t l = 0; l < flags; ++l) {
      const bool set =
          also != 0 && has_element(*of(also), t, l, flags) && (nested || of(also)->element(t)[l] != std::byte(0));
      here[l] = within[l] && (set || (list != 0 && has_element(*of(list), t, l, flags)));
      lengths[l] += here[l];
      if (!nested) result.element(t)[l] = std::byte(here[l] ? 1 : 0);
    }
    if (!nested) continue;
    const std::int64_t inner = active(element_or_none(list, t), element_or_none(also, t), here, depth - 1);
    std::memcpy(result.element(t), &inner, sizeof inner);
  }
  result.length = count;
  set_lengths(result, lengths.data(), lengths.size());
  return handle_of(&result);
}

template <class T>
inline constexpr bool is_real_type = std::is_floating_point_v<T> || NarrowFloat<T>;

template <class T>
void add_as(const std::byte* a, const std::byte* b, std::byte* to, std::int64_t bytes) {
  const T *x = reinterpret_cast<const T*>(a), *y = reinterpret_cast<const T*>(b);
  T* z = reinterpret_cast<T*>(to);
  for (std::size_t i = 0; i < static_cast<std::size_t>(bytes) / sizeof(T); ++i)
    if constexpr (std::is_arithmetic_v<T>)
      z[i] = x[i] + y[i];
    else
      z[i] = T(static_cast<float>(x[i]) + static_cast<float>(y[i]));
}

// Two lists of one length that have different lanes: where a lane has no element nothing is added.
std::vector<std::int64_t> longest(const PooledList& x, const PooledList& y) {
  const std::size_t lanes = x.lanes == 0 || y.lanes == 0 ? 0 : std::max(x.lanes, y.lanes);
  std::vector<std::int64_t> lengths;
  for (std::size_t l = 0; l < lanes; ++l)
    lengths.push_back(std::max(x.lengths[l * x.lanes / lanes], y.lengths[l * y.lanes / lanes]));
  return lengths;
}
bool same_lanes(const PooledList& x, const PooledList& y) {
  return x.lanes == 0 || y.lanes == 0 || std::equal(x.lengths, x.lengths + x.lanes, y.lengths, y.lengths + y.lanes);
}
void add_lanes(DType dtype, const PooledList& x, const PooledList& y, PooledList& result, std::int64_t t) {
  const std::size_t lanes = std::max(x.lanes, y.lanes);
  const std::int64_t each = x.stride / static_cast<std::int64_t>(lanes);
  for (std::size_t l = 0; l < lanes; ++l) {
    const std::int64_t at = static_cast<std::int64_t>(l) * each;
    const bool in_x = t < x.lengths[l * x.lanes / lanes], in_y = t < y.lengths[l * y.lanes / lanes];
    std::byte* to = result.element(t) + at;
    if (in_x && in_y)
      add(dtype, x.element(t) + at, y.element(t) + at, to, each);
    else if (in_x || in_y)
      std::memcpy(to, (in_x ? x : y).element(t) + at, static_cast<std::size_t>(each));
    else
      std::memset(to, 0, static_cast<std::size_t>(each));
  }
}

std::int64_t spread(std::int64_t handle, std::size_t before, std::size_t times, std::int64_t depth) {
  if (length_of(handle) == 0) return 0;
  const PooledList& list = *of(handle);
  const bool nested = depth > 1;
  PooledList& result =
      *ListPool::current().make(nested ? list.stride : list.stride * static_cast<std::int64_t>(times), nested);
  result.open = list.open;
  reserve(result, list.length);
  count_copied_list_elements(list.length);
  const std::size_t part = nested ? 0 : static_cast<std::size_t>(list.stride) / before;
  for (std::int64_t t = 0; t < list.length; ++t) {
    std::byte* to = result.element(t);
    if (nested) {
      const std::int64_t inner = spread(list.handle_at(t), before, times, depth - 1);
      std::memcpy(to, &inner, sizeof inner);
    }
    for (std::size_t b = 0; !nested && b < before; ++b)
      for (std::size_t k = 0; k < times; ++k, to += part) std::memcpy(to, list.element(t) + b * part, part);
    result.length = t + 1;
  }
  if (list.lanes > before) {
    const std::size_t behind = list.lanes / before;
    std::vector<std::int64_t> lengths;
    for (std::size_t b = 0; b < before; ++b)
      for (std::size_t k = 0; k < times; ++k)
        lengths.insert(lengths.end(), list.lengths + b * behind, list.lengths + (b + 1) * behind);
    set_lengths(result, lengths.data(), lengths.size());
  } else {
    set_lengths(result, list.lengths, list.lanes);
  }
  return handle_of(&result);
}

// Bytes of an element `depth` lists deep, whose arrays have so many.
std::int64_t bytes_of_element(std::int64_t depth, std::int64_t array_bytes) {
  return depth > 1 ? static_cast<std::int64_t>(sizeof(std::int64_t)) : array_bytes;
}

// Of `finest` lanes those of `size` along the middle are one: [before, size, behind] -> [before, behind].
struct Middle {
  std::size_t before, size, finest;
  std::size_t behind() const { return finest / (before * size); }
  std::size_t target(std::size_t lane) const { return lane / (size * behind()) * behind() + lane % behind(); }
};

// Sums of narrow floats are of single precision until they are stored.
template <class T>
void sum_parts(const PooledList& list, std::int64_t t, const Middle& lanes, std::byte* to, std::size_t bytes) {
  using Sum = std::conditional_t<std::is_arithmetic_v<T>, T, float>;
  std::vector<Sum> sums(bytes / sizeof(T), Sum(0));
  const std::size_t each = static_cast<std::size_t>(list.stride) / lanes.finest / sizeof(T);
  const T* from = reinterpret_cast<const T*>(list.element(t));
  for (std::size_t l = 0; l < lanes.finest; ++l, from += each) {
    if (!has_element(list, t, l, lanes.finest)) continue;
    for (std::size_t i = 0; i < each; ++i) sums[lanes.target(l) * each + i] += static_cast<Sum>(from[i]);
  }
  for (std::size_t i = 0; i < sums.size(); ++i) reinterpret_cast<T*>(to)[i] = T(sums[i]);
}
void sum_parts(DType dtype, const PooledList& list, std::int64_t t, const Middle& lanes, std::byte* to,
               std::size_t bytes) {
  dispatch(dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (is_real_type<T>) sum_parts<T>(list, t, lanes, to, bytes);
  });
}

std::int64_t collapse(std::int64_t handle, std::size_t before, std::size_t size, std::int64_t depth,
                      std::int64_t array_bytes, DType dtype) {
  if (length_of(handle) == 0) return 0;
  const PooledList& list = *of(handle);
  PooledList& result = *ListPool::current().make(bytes_of_element(depth, array_bytes), depth > 1);
  result.open = list.open;
  reserve(result, list.length);
  count_copied_list_elements(list.length);
  const Middle lanes{before, size, std::max(list.lanes, before * size)};
  for (std::int64_t t = 0; t < list.length; ++t) {
    if (depth > 1) {
      const std::int64_t inner = collapse(list.handle_at(t), before, size, depth - 1, array_bytes, dtype);
      std::memcpy(result.element(t), &inner, sizeof inner);
      result.length = t + 1;
      continue;
    }
    if (lanes.finest == 0)
      std::memset(result.element(t), 0, static_cast<std::size_t>(array_bytes));
    else
      sum_parts(dtype, list, t, lanes, result.element(t), static_cast<std::size_t>(array_bytes));
    result.length = t + 1;
  }
  if (list.lanes == 0 || lanes.finest == 0) return handle_of(&result);
  std::vector<std::int64_t> lengths(before * lanes.behind(), 0);
  for (std::size_t l = 0; l < lanes.finest; ++l) {
    std::int64_t& longest = lengths[lanes.target(l)];
    longest = std::max(longest, length_in_lane(handle, l, lanes.finest));
  }
  set_lengths(result, lengths.data(), lengths.size());
  return handle_of(&result);
}

std::int64_t fit(const std::vector<std::int64_t>& of_lane, std::int64_t from, std::int64_t to, std::int64_t depth,
                 std::int64_t array_bytes, bool open) {
  if (std::ranges::all_of(of_lane, [](std::int64_t handle) { return length_of(handle) == 0; })) return 0;
  const std::int64_t count = length_of(to);
  PooledList& result = *ListPool::current().make(bytes_of_element(depth, array_bytes), depth > 1);
  result.open = open;
  reserve(result, count);
  count_copied_list_elements(count);
  const std::size_t lanes = of_lane.size(), each = static_cast<std::size_t>(array_bytes) / lanes;
  for (std::int64_t t = 0; t < count; ++t) {
    const bool marked = t < length_of(from);
    if (depth > 1) {
      std::vector<std::int64_t> elements;
      for (const std::int64_t handle : of_lane) elements.push_back(marked ? element_or_none(handle, t) : 0);
      const std::int64_t wanted = of(to)->handle_at(t), inner = fit(elements, marked ? of(from)->handle_at(t) : wanted,
                                                                    wanted, depth - 1, array_bytes, open);
      std::memcpy(result.element(t), &inner, sizeof inner);
      result.length = t + 1;
      continue;
    }
    std::memset(result.element(t), 0, static_cast<std::size_t>(array_bytes));
    for (std::size_t l = 0; l < lanes; ++l) {
      const auto is_set = [&](std::int64_t flags) { return of(flags)->element(t)[l] != std::byte(0); };
      if (marked && t < length_of(of_lane[l]) && is_set(from) && is_set(to))
        std::memcpy(result.element(t) + l * each, of(of_lane[l])->element(t) + l * each, each);
    }
    result.length = t + 1;
  }
  if (!open && to != 0) set_lengths(result, of(to)->lengths, of(to)->lanes);
  return handle_of(&result);
}

}  // namespace

namespace pooled {

void add(DType dtype, const std::byte* a, const std::byte* b, std::byte* to, std::int64_t bytes) {
  dispatch(dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (is_real_type<T>) add_as<T>(a, b, to, bytes);
  });
}

std::int64_t sum(std::int64_t a, std::int64_t b, DType dtype) {
  if (length_of(a) == 0) return retained(b);
  if (length_of(b) == 0) return retained(a);
  const PooledList &x = *of(a), &y = *of(b);
  if (x.length != y.length && !x.open && !y.open)
    throw ShapeError(fmt::format("list_sum: lists of {} and {} elements.", x.length, y.length));
  if (x.length > y.length) return sum(b, a, dtype);
  PooledList& result = *ListPool::current().make(x.stride, x.nested);
  result.open = x.open || y.open;
  reserve(result, y.length);
  count_copied_list_elements(y.length);
  for (std::int64_t t = 0; t < y.length; ++t) {
    if (t >= x.length) {  // zero there
      std::memcpy(result.element(t), y.element(t), static_cast<std::size_t>(y.stride));
      if (y.nested) retained(y.handle_at(t));
      result.length = t + 1;
      continue;
    }
    if (x.nested) {
      const std::int64_t inner = sum(x.handle_at(t), y.handle_at(t), dtype);
      std::memcpy(result.element(t), &inner, sizeof inner);
    } else if (same_lanes(x, y)) {
      add(dtype, x.element(t), y.element(t), result.element(t), x.stride);
    } else {
      add_lanes(dtype, x, y, result, t);
    }
    result.length = t + 1;
  }
  const std::vector<std::int64_t> lengths = longest(x, y);
  set_lengths(result, lengths.data(), lengths.size());
  return handle_of(&result);
}

}  // namespace pooled

}  // namespace tenon

using namespace tenon;

std::int64_t tenon_list_active(std::int64_t list, std::int64_t flags, std::int64_t also, std::int64_t depth) {
  if (list == 0) return also;
  return guarded([&] {
    const std::int64_t result = active(list, also, std::vector<bool>(static_cast<std::size_t>(flags), true), depth);
    release(also);
    return result;
  });
}

std::int64_t tenon_list_select(const void* predicate, std::int64_t lanes, std::int64_t yes, std::int64_t no) {
  return guarded([&] { return select(static_cast<const bool*>(predicate), static_cast<std::size_t>(lanes), yes, no); });
}

std::int64_t tenon_list_sum(std::int64_t a, std::int64_t b, std::int64_t dtype) {
  return guarded([&] { return sum(a, b, static_cast<DType>(dtype)); });
}

std::int64_t tenon_list_spread(std::int64_t list, std::int64_t before, std::int64_t times, std::int64_t depth) {
  return guarded(
      [&] { return spread(list, static_cast<std::size_t>(before), static_cast<std::size_t>(times), depth); });
}

std::int64_t tenon_list_collapse(std::int64_t list, std::int64_t before, std::int64_t times, std::int64_t depth,
                                 std::int64_t array_bytes, std::int64_t dtype) {
  return guarded([&] {
    return collapse(list, static_cast<std::size_t>(before), static_cast<std::size_t>(times), depth, array_bytes,
                    static_cast<DType>(dtype));
  });
}

std::int64_t tenon_list_fit(const void* predicate, std::int64_t lanes, std::int64_t list, std::int64_t from,
                            std::int64_t to, std::int64_t depth, std::int64_t array_bytes) {
  return guarded([&] {
    std::vector<std::int64_t> of_lane;
    for (std::int64_t l = 0; l < lanes; ++l) of_lane.push_back(static_cast<const bool*>(predicate)[l] ? list : 0);
    return fit(of_lane, from, to, depth, array_bytes, is_open(list));
  });
}

namespace tenon {
namespace {

const RuntimeSymbol symbols_of_list_lanes[] = {
    {"tenon_list_active", &tenon_list_active},     {"tenon_list_select", &tenon_list_select},
    {"tenon_list_sum", &tenon_list_sum},           {"tenon_list_spread", &tenon_list_spread},
    {"tenon_list_collapse", &tenon_list_collapse}, {"tenon_list_fit", &tenon_list_fit},
};

}  // namespace
}  // namespace tenon
