// Function: the loop language. Statements over slots of memory: nests of independent stores, reductions, products,
// native loops and branches. Target-free; a whole program is one Function.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tenon/base/estimate.h"
#include "tenon/base/function_ref.h"
#include "tenon/base/source.h"
#include "tenon/kernel/expr.h"

namespace tenon::kernel {

using SlotId = std::uint32_t;

// Sizes are numbers, or of size variables: the Function's size parameters, numbered from 0, and sizes that it finds as
// it runs (`size_in`).
using Sizes = std::vector<Dim>;

// How many indices there are.
inline Dim product_of(const Sizes& sizes) {
  Dim n = 1;
  for (const Dim& s : sizes) n = n * s;
  return n;
}
using tenon::estimate;
double estimate(const Sizes& sizes);  // of the product

// A piece of memory, read and written by offset in elements.
struct Slot {
  enum class Place : std::uint8_t {
    argument,  // given by the caller
    local,     // small, of the function's frame: lives in registers once loops over it are unrolled
    arena,     // in the block that the caller hands in
    constant,  // never written: `values`
    element,   // of a list: where the last Element statement that names the slot has found it
    numbers,   // as constant, but that code reads them: other statements are equal but for them
    size,      // one i64 that the code finds: a size, or an address, in the block that has the statement
    found,     // memory that is asked for as the code runs: its address lies in the slot `argument`, of a size
  };
  DType dtype;
  Dim elements;
  Place place;
  std::uint32_t argument = 0;
  Dim arena_offset = 0;  // in bytes
  std::vector<std::byte> values = {};
  std::optional<std::uint32_t> object =
      {};                        // of a constant: the first word is the address of this one of the Function's
  std::optional<Dim> most = {};  // of a size: it is never larger, whatever is found
  bool temporary() const { return place == Place::local || place == Place::arena; }
  static constexpr std::int64_t line = 64;  // bytes of a line of the cache, on which a slot in memory begins
  Dim bytes() const { return elements * static_cast<std::int64_t>(size_of(dtype)); }
  Dim bytes_in_lines() const { return floor_div(bytes() + (line - 1), line) * line; }
};

// The size that lies in a slot, as a variable of Dims; and the slot of such a variable.
inline Dim size_in(SlotId slot) { return Dim::variable(first_found_size + slot); }
inline SlotId slot_of_size(SizeVar var) { return var - first_found_size; }

struct Statement;
using Block = std::vector<Statement>;

struct Store {
  SlotId slot;
  Expr offset;
  Expr value;
  Expr condition;  // may be empty: always
};

// For every index of `sizes`: the stores, whose values may share nodes. `independent`: in any order, or several at
// once; else in row-major order. `combines`: in that order, but what the stores combine with what is there already may
// be combined in parts first, as a sum may be taken in any order.
struct Nest {
  std::vector<std::uint32_t> vars;
  Sizes sizes;
  std::vector<Store> stores;
  bool independent = true;
  Source where;  // the user's line that asked for it; outside of everything but reports
  bool combines = false;
};

// For every outer index: slot[offset] = initial combined with `value` at every inner index, in unspecified order and in
// parts that each begin with the initial value: of a sum that is 0, of a product 1. So are `others`, whose values may
// share nodes with it; none of several results is complex. The stores happen at every index, too, behind the values
// there.
struct Reduce {
  struct Result {
    Combine combine;
    Expr initial, value;
    SlotId slot;
    Expr offset;
  };
  std::vector<std::uint32_t> outer_vars, inner_vars;
  Sizes outer_sizes, inner_sizes;
  Combine combine;
  Expr initial, value;
  SlotId slot;
  Expr offset;
  std::vector<Store> stores;
  Source where;
  std::vector<Result> others = {};
  std::vector<Result> results() const;  // all of them
  void set_results(std::vector<Result> all);
  Nest stores_everywhere() const;  // the stores alone, at all indices, the outer ones first
};

// Why there is a copy; outside of everything but reports.
struct CopyCause {
  std::string_view why = {};     // what goes before: "its old value is read behind it, by mul"
  std::string_view reader = {};  // the op, where `why` ends in "by"
  std::string_view advice = {};
  Source line = {};              // the user's, of what forces it
  std::string_view writer = {};  // the op that writes some elements of the array, where that is why it is copied
  std::string array = {};        // its type
  bool callers = false;          // it is copied since it is an input of the program
};

struct Copy {
  SlotId to, from;
  Expr to_offset, from_offset;
  Dim elements;
  Dim row = 1;  // elements of the last axis: small arrays move row by row, as nests over them do
  CopyCause cause = {};
  Source where = {};
};

// c[batch, m, n] = Σ_k a[batch, m, k]·b[batch, k, n], by strides in elements of its dtype; where it accumulates,
// c += that.
struct Product {
  DType dtype;
  SlotId a, b, c;
  Expr a_offset, b_offset, c_offset;
  Dim batch, m, n, k;
  Dim a_batch, a_m, a_k, b_batch, b_k, b_n, c_batch, c_m, c_n;
  bool accumulate = false;
  Source where = {};
};

// Finds an element of a list (tenon/runtime/lists/lists.h): `element` is that memory from here on.
struct Element {
  enum class Access : std::uint8_t { read, write, append };  // append: the list has memory below `index` only
  Expr list, index;                                          // i64: a handle, or what tenon_list_open gives of it
  Expr consumed;                                             // a handle: nothing reads above `index` any more; or empty
  SlotId element;
  Dim bytes;
  Access access;
};

// Calls a function of the runtime that takes 64-bit integers and addresses and gives a 64-bit integer; minus a code of
// a failure ends the program. `table`: it takes the first argument, and the address of a table of the others.
struct Call {
  struct Argument {
    Expr value;                     // i64
    std::optional<SlotId> address;  // of this slot, `value` elements from its beginning, instead
    bool written = false;           // what the address is of
  };
  std::string function;
  std::vector<Argument> arguments;
  std::optional<SlotId> result;
  Expr result_offset;
  double nanoseconds = 20;  // about what it takes
  bool table = false;
  CopyCause cause = {};  // why it copies a list as a whole, if it does
  Source where = {};
};

// `in_order`: what its steps combine is rounded as they come, one after another.
struct For {
  std::uint32_t var;
  Dim count;
  Block body;
  bool in_order = false;
};
// `apart`: the condition is whether any row goes on, and a row that does not keeps what it has while others do.
struct While {
  Block before;    // computes what the condition reads, before each step
  Expr condition;  // bool
  Block body;
  bool apart = false;
};
struct Switch {
  Expr index;  // i64, within the branches
  std::vector<Block> branches;
};

// `body` for block 0, 1, … of `count`, which are independent of each other; then `tail`, for the `rest` of the rows
// that fill no block, where there are some: `var` is `count` there. Blocks of long rows have no tail: each finds how
// many rows it has, and the last of them has fewer.
struct Blocks {
  std::uint32_t var;
  Dim count, rest;
  Block body, tail;
  bool parallel;            // worth a fork
  Dim grain = 1;            // blocks of a thread, at least
  std::vector<SlotId> own;  // local slots and sizes that each running block has for itself
};

struct Statement : std::variant<Nest, Reduce, Copy, Product, Element, Call, For, While, Switch, Blocks> {
  using variant::variant;
  using Held = variant;
  const Held& held() const { return *this; }
  Held& held() { return *this; }
};

struct Function {
  std::string name;
  std::vector<Slot> slots;
  std::uint32_t arguments = 0;
  std::uint32_t sizes = 0;  // size parameters
  // Sizes that are not to be negative, and those that are not to be 0: where they are, the function is not run.
  Sizes not_negative = {}, not_empty = {};
  Dim arena_bytes = 0;
  std::uint32_t vars = 0;            // loop variables are numbered below this
  std::vector<const void*> objects;  // of this process, which constants point to; they outlive the code
  bool lists = false;                // it makes or reads lists: a ListPool is there while it runs
  bool checks_sizes = false;         // it ends where sizes that it has found do not go with each other
  Block body;
};

// A size without sizes that the Function finds, never less than this one; nothing where there is none.
std::optional<Dim> largest(const Function& function, const Dim& size);
// A number that a size is never larger than, where one shows; of sizes that are not negative.
std::optional<std::int64_t> bound_of(const Function& function, const Dim& size);
// The elements of a slot that holds so many: as many as there may be, where memory of that is set aside before the code
// runs; else the same, and the memory is asked for once they are found (lay_out_arena).
Dim room_for(const Function& function, DType dtype, const Dim& elements);

// As text: of a Function all that its meaning depends on (docs/native-code.md has its grammar), in as many lines as its
// graphs are large, which parse.h reads back; of an expression as a tree.
std::string print(const Expr& expr);
std::string print(const Statement& statement);
// `apart` gives the text of constants that are to have another; of the rest, none.
std::string print(const Function& function, FunctionRef<std::string(const Expr::Node& constant)> apart = {});

}  // namespace tenon::kernel
