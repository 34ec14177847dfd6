// Rows of windows: what is done for one place of all of them, whose elements stand `stride` apart.
#pragma once

#include <cstdint>
#include <type_traits>

namespace tenon {

// A number of a place, as wide as the elements, so that vectors of both have one length.
template <class T>
using WindowPlaceOf = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;

// made[i · stride] += y[i]
template <class T>
void add_row(const T* y, T* made, std::int64_t stride, std::int64_t count);
// Where x[i · stride] comes before best[i], or there is no best yet (which[i] < 0): that, and `number`.
template <class T>
void select_row(bool largest, const T* x, std::int64_t stride, WindowPlaceOf<T> number, T* best,
                WindowPlaceOf<T>* which, std::int64_t count);
// made[i · stride] += y[i] where which[i] is `number`.
template <class T>
void add_selected_row(const T* y, const WindowPlaceOf<T>* which, WindowPlaceOf<T> number, T* made, std::int64_t stride,
                      std::int64_t count);

}  // namespace tenon
