// Rows: a statement divided along its outermost axis. What each row reads and writes, and the statement for some rows.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "tenon/base/function_ref.h"
#include "tenon/kernel/analysis/affine.h"
#include "tenon/kernel/function.h"

namespace tenon::kernel {

// How many numbers without rows a statement computes in a step, and a slot holds, that every block of rows has.
inline constexpr std::int64_t few_numbers = 64;

// An access by row r: constant + row·r + Σ coefficient·i, for each term 0 <= i < size.
struct RowAccess {
  struct Term {
    Dim coefficient;
    Dim size;                                  // 0: not known, the variable of a loop around the statement
    std::optional<std::uint32_t> around = {};  // this variable
    bool steps = false;                        // it moves with the steps of a loop that is divided
  };
  SlotId slot;
  bool write;
  bool known;         // else it may be anywhere in the slot
  bool own = false;   // each block of rows has its own in place of the slot: whether any of the block's rows goes on
  bool same = false;  // what is written has no rows, as a time and a rate: every block computes all of it
  Dim constant = 0, row = 0;
  std::vector<Term> terms;
};

// Elements of a slot that belong to one row, where row r touches none but x with (x / stride) mod rows = r; else 0.
// `high`: the access moves over several runs of rows, as steps of a stacked output.
struct RowStride {
  Dim stride = 0;
  bool high = false;
  Affine around = {};  // where the rows begin, by loops around the statement
};
RowStride row_stride(const RowAccess& access, const Dim& rows);

// Whether a reduction's rows are parts of its sum: it is divided along what it sums over.
bool divides_sum(const Reduce& r, const Dim& rows);
// How a product is divided: into rows of its result, or into parts of its sum, which are added up.
enum class ProductParts : std::uint8_t { none, rows, terms };
// Appends what a statement accesses, divided into `rows` rows. False: it cannot be divided so. A sum is divided only
// where `sums` allows it.
bool row_accesses(const Statement& s, const Dim& rows, bool sums, ProductParts products, std::vector<RowAccess>& to);
// What says whether any row of a loop goes on whose rows end apart, the last before its condition; nullptr where it is
// no reduction of so many rows.
const Reduce* any_goes_on(const While& w, const Dim& rows);
// Numbers of rows that a statement itself suggests, most first.
std::vector<Dim> row_counts(const Statement& s);
// How many indices of an axis each of so many rows has, where each has as many and at least one.
std::optional<Dim> each_row_of(const Dim& size, const Dim& rows);

// A statement for the rows [base, base + count) of `rows`.
struct RowBlock {
  Affine base;
  Dim count, rows;
};
class RestrictToRows : private Rewrite {
 public:
  // Slots that a block has for itself: only its own rows of them, from `begin`; where the stride is 0, all elements.
  // `same`: every block computes all of them.
  struct Own {
    SlotId slot;
    Dim stride;
    Affine begin = {};
    bool same = false;
  };
  // Sums that are divided: where the block's part goes, row-major over the outer indices from `offset`.
  struct Part {
    SlotId slot;
    Affine offset;
  };
  // The results of products that are divided into terms: where the block's terms are added to, row-major; nothing: to
  // the result itself.
  using Added = std::map<SlotId, std::optional<Part>>;
  // `once`: slots that no block writes, and none reads: who writes their elements is left out.
  RestrictToRows(RowBlock block, std::map<SlotId, Own> own, std::map<SlotId, Part> parts, Added added,
                 std::set<SlotId> once)
      : block_(std::move(block)),
        own_(std::move(own)),
        parts_(std::move(parts)),
        added_(std::move(added)),
        once_(std::move(once)) {}
  Statement operator()(const Statement& s);

 private:
  Expr load(const Expr& old, const Expr& offset) override;
  Expr rewritten(const Expr& e) { return static_cast<Rewrite&>(*this)(e); }
  void divide(std::vector<std::uint32_t>& vars, kernel::Sizes& sizes);
  void place(SlotId& slot, Expr& offset);
  bool is_same(SlotId slot) const;
  Expr moved(const Expr& offset, const Dim& stride) { return rewritten(offset) + from_base(stride); }
  Nest part_of(Nest n);
  Reduce part_of(Reduce r);
  Copy part_of(Copy c);
  Product part_of(Product p);
  Block each(const Block& statements);
  Expr from_base(const Dim& stride) const;

  RowBlock block_;
  std::map<SlotId, Own> own_;
  std::map<SlotId, Part> parts_;
  Added added_;
  std::set<SlotId> once_;
  std::vector<std::pair<Affine, Expr>> placed_;  // offsets in own slots, without their constants
};

// Every load of an expression, once.
void visit_loads(const Expr& e, FunctionRef<void(const Expr& load)> visit);
// The slots that a statement touches, all it contains included.
void visit_slots(const Statement& s, FunctionRef<void(SlotId, bool write)> visit);
// And those in which the addresses of these lie.
void visit_slots(const Function& function, const Statement& s, FunctionRef<void(SlotId, bool write)> visit);
// And those that say how large these are: memory of a size that the code finds is asked for once it is found, so what
// touches it stays behind that.
void visit_slots_and_sizes(const Function& function, const Statement& s, FunctionRef<void(SlotId, bool write)> visit);
// The slots that blocks of rows have each for itself.
std::set<SlotId> own_slots(const Block& statements);
bool touches(const Statement& s, SlotId slot);
// Whether it is a nest, a reduction or a copy that writes such slots alone.
bool writes_only(const Statement& s, FunctionRef<bool(SlotId)> is_such);
bool writes(const Statement& s, SlotId slot);
// Whether a statement in [first, last) of a block writes what an expression reads.
bool changes(const Block& block, std::size_t first, std::size_t last, const Expr& e);
// How many statements of a function touch each slot, and how many write it: once for each access.
struct SlotUses {
  explicit SlotUses(const Function& function);
  std::vector<int> references, writers;
};

}  // namespace tenon::kernel
