// Sorting of rows for generated code, hence the C names: one description, then calls with pointers.
#pragma once

#include <cstdint>

extern "C" {

// `rows` rows of `size` elements, one behind the other. Smaller elements come first, those of a NaN last; `descending`:
// the other way round. Complex numbers are in order by real part, then by imaginary part. The rows are shared by
// `parts` workers at most.
struct TenonSort {
  std::int64_t dtype;  // the number of a tenon::DType; not a complex one for tenon_top_k
  std::int64_t rows, size, descending;
  std::int64_t first;  // elements of a row that are asked for, by tenon_top_k
  std::int64_t parts;
  // The sizes were not known when the code was made: as many as are worth it, and the workspace is null.
  static constexpr std::int64_t any_parts = -1;
};

// The elements in order. Zeros of both signs are equal and keep their order; NaNs become the one quiet NaN.
std::int64_t tenon_sort(const TenonSort* sort, const void* x, void* sorted, void* workspace);
// Where the elements in order are, i32; equal ones keep their order, NaNs are equal.
std::int64_t tenon_argsort(const TenonSort* sort, const void* x, std::int32_t* order, void* workspace);
// The first elements in order, and where they are.
std::int64_t tenon_top_k(const TenonSort* sort, const void* x, void* values, std::int32_t* order, void* workspace);
}

namespace tenon {

// How many workers are worth their start.
std::int64_t sort_parts(std::int64_t rows, std::int64_t size);
// Bytes that each of the functions above works in, beginning at a multiple of 16.
std::int64_t sort_workspace(const TenonSort& sort);
std::int64_t argsort_workspace(const TenonSort& sort);
std::int64_t top_k_workspace(const TenonSort& sort);

}  // namespace tenon
