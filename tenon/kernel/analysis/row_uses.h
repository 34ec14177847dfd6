// How a group of statements that blocks of rows join touches each slot.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>

#include "tenon/kernel/analysis/rows.h"

namespace tenon::kernel {

// By rows of one stride, or otherwise.
struct Use {
  Dim stride = 0;
  bool written = false, by_rows = true, high = false;
  bool own = false;   // each block has its own in place of it
  bool same = false;  // each block computes all of it, for itself where it reads it too
  bool read = false;
  bool left_out() const { return same && !read; }  // no block writes it
  std::optional<Affine> around;                    // where its rows begin, by loops around the group
  // Runs of a row that each step of a loop reads: where, and how many elements.
  std::set<std::pair<std::int64_t, double>> again = {};
  double elements_again() const {
    double elements = 0;
    for (const auto& [at, length] : again) elements += length;
    return elements;
  }
};
using Uses = std::map<SlotId, Use>;

// Whether all that is written is by rows.
bool agrees(const Uses& uses);
// Adds what a statement accesses, of `rows` rows; `of_loop`: it is a loop.
void merge(Uses& uses, std::span<const RowAccess> accesses, const Dim& rows, bool of_loop);

}  // namespace tenon::kernel
