// Lists for generated code, hence the C names: elements in chunks that double, counted references, one pool a call.
//
// A list is written by one loop, or by whoever has the only reference to it, so it may be shared. A handle is its
// address; 0 is the empty list. Chunks do not move: generated code stores and loads elements by itself, and calls only
// where a chunk begins. What a call of generated code has made and not given up is freed with its pool, also after a
// failure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <vector>

extern "C" {

// Element i is at chunks[k] + (first + i)·stride, where first·2^k <= first + i < first·2^(k+1) and first is the power
// of two given by tenon::first_chunk of the element's bytes.
struct TenonList {
  std::int64_t stride;  // in bytes; 0: every element is one zero
  std::byte** chunks;
};

// All give their result, or minus tenon::list_failed; the pool has the error then.

// An empty list whose references are 1, with chunks for `count` elements, of whole arrays or (`nested`) of handles.
std::int64_t tenon_list_make(std::int64_t element_bytes, std::int64_t nested, std::int64_t count);
// Another chunk.
std::int64_t tenon_list_grow(std::int64_t list);
// The list is complete: so many elements were written; of lane l the first lengths[l] (of all, where there are no
// lanes).
std::int64_t tenon_list_finish(std::int64_t list, std::int64_t length, std::int64_t lanes, const void* lengths);

// The TenonList that a loop of so many steps reads from: the list itself, or zeros without end where it is empty.
std::int64_t tenon_list_open(std::int64_t list, std::int64_t element_bytes, std::int64_t steps);
// The number of steps of a loop along this list, where those so far agreed on `steps` (-1: none was asked). An empty
// list is in step with all others; `fixed`: so many steps are made whatever the lists say.
std::int64_t tenon_list_steps(std::int64_t list, std::int64_t steps, std::int64_t fixed);

// Nobody reads elements above this one any more: their chunks are freed, where this is the only reference.
std::int64_t tenon_list_trim(std::int64_t list, std::int64_t last);

std::int64_t tenon_list_retain(std::int64_t list);
std::int64_t tenon_list_release(std::int64_t list);

// New lists: which of `flags` lanes have an element, along a list (or lists of lists, `depth` deep), or are set in
// `also`, which is released; lane by lane one or the other; the sum, element by element, of numbers of a tenon::DType.
std::int64_t tenon_list_active(std::int64_t list, std::int64_t flags, std::int64_t also, std::int64_t depth);
std::int64_t tenon_list_select(const void* predicate, std::int64_t lanes, std::int64_t yes, std::int64_t no);
std::int64_t tenon_list_sum(std::int64_t a, std::int64_t b, std::int64_t dtype);

// Elements by number: of lane l of `lanes` by at[l]; negative ones are nowhere. Writing makes a list open: zero behind
// its end, in every lane. Where the reference is given up (`owned`) and is the only one, the list is changed in place.
// x is an element, or the address of the handle of a list. Of an empty list the element's bytes, and whether it is a
// handle, tell what is in it.
std::int64_t tenon_list_put(std::int64_t list, std::int64_t owned, std::int64_t element_bytes, std::int64_t nested,
                            const void* at, std::int64_t lanes, const void* x);
std::int64_t tenon_list_add(std::int64_t list, std::int64_t owned, std::int64_t element_bytes, std::int64_t nested,
                            const void* at, std::int64_t lanes, const void* x, std::int64_t dtype);
std::int64_t tenon_list_get(std::int64_t list, std::int64_t element_bytes, const void* at, std::int64_t lanes,
                            void* to);
std::int64_t tenon_list_get_list(std::int64_t list, const void* at);
// The first n elements one behind the other, and back.
std::int64_t tenon_list_stack(std::int64_t list, std::int64_t element_bytes, std::int64_t n, void* to);
std::int64_t tenon_list_unstack(std::int64_t element_bytes, std::int64_t n, const void* rows);
// Every array of a list, `depth` deep, as `before` parts that are each repeated.
std::int64_t tenon_list_spread(std::int64_t list, std::int64_t before, std::int64_t times, std::int64_t depth);
// The sum of these parts, where they have an element; its arrays have so many bytes, of a tenon::DType.
std::int64_t tenon_list_collapse(std::int64_t list, std::int64_t before, std::int64_t times, std::int64_t depth,
                                 std::int64_t array_bytes, std::int64_t dtype);
// Of the lanes of a mask what stands in the list where both lists of flags have an element, in lists as long as `to`.
std::int64_t tenon_list_fit(const void* predicate, std::int64_t lanes, std::int64_t list, std::int64_t from,
                            std::int64_t to, std::int64_t depth, std::int64_t array_bytes);
}

namespace tenon {

// A power of two of elements: as many as fit in a few lines of a cache, at least one.
constexpr std::int64_t first_chunk(std::int64_t element_bytes) {
  std::int64_t first = 1;
  while (element_bytes > 0 && 2 * first * element_bytes <= 256) first *= 2;
  return first;
}

inline constexpr std::int32_t list_failed = 4;

struct PooledList;

// The lists that one call of generated code makes, on this thread; frees those that are left. Pools nest.
class ListPool {
 public:
  ListPool();
  ~ListPool();
  ListPool(const ListPool&) = delete;
  ListPool& operator=(const ListPool&) = delete;

  static ListPool& current();
  PooledList* make(std::int64_t element_bytes, bool nested);
  void destroy(PooledList* list) noexcept;
  const TenonList* zeros(std::int64_t element_bytes);

  std::exception_ptr failure;  // why code failed

 private:
  struct Zeros {
    std::byte* block;
    std::size_t bytes;
  };
  ListPool* outer_;
  PooledList* lists_ = nullptr;
  std::vector<Zeros> zeros_;  // the last is the largest: all empty lists are read from it
  std::vector<std::byte*> zero_chunks_;
  TenonList zero_list_{0, nullptr};
};

// What stands in a list, to move it out of generated code and into it.
std::int64_t list_length(std::int64_t list);
std::byte* list_element(std::int64_t list, std::int64_t i);
bool list_is_open(std::int64_t list);
void open_list(std::int64_t list);
std::vector<std::int64_t> list_lengths(std::int64_t list);  // of its lanes; empty: it has none

// Elements of lists that this thread has copied to other lists since it began: as somebody else had the list too, as
// lanes parted, as lists were added up, on the way into native code and out of it. What a push costs, tests tell by it.
std::size_t copied_list_elements();
void count_copied_list_elements(std::int64_t elements);

}  // namespace tenon
