// Updates at places that data choose, one by one: what is costly of them is computed by vectors first.
#pragma once

#include "tenon/kernel/analysis/updates.h"
#include "tenon/kernel/function.h"
#include "tenon/kernel/target.h"

namespace tenon::kernel {

// Rewrites nests that combine updates with what is there: columns that lie beside each other become the innermost loop,
// and where there are none, costly updates are computed a chunk at a time before they are combined. Linear in the
// expressions.
void compute_updates(Function& function, const Target& target = {});

// The loops of a nest in an order that is as good as its own: free ones last, the shortest steps last among them.
std::vector<Updates::Loop> loops_of(const Updates& u);
std::vector<Updates::Loop> by_stride(std::vector<Updates::Loop> loops);
// A nest over these loops, with expressions for some variables.
Nest nest_over(const Nest& n, const std::vector<Updates::Loop>& loops, const std::map<std::uint32_t, Expr>& vars,
               bool independent);

// Whether columns lie beside each other, so that vectors go along them; else updates go one by one.
bool go_by_vectors(const Updates& u);
// Whether updates go one by one and are so costly that they are computed by vectors first.
bool are_computed_first(const Nest& n, const Updates& u);

// Of places among so many: i32 where that holds them, of which twice as many fit a register, else i64.
DType index_dtype(const Dim& places);
// A place that an i32 holds, as one: computed so where each part of it can be. Linear in the nodes.
Expr narrow_index(const Expr& index);
Expr narrow_truth(const Expr& condition);  // the same of comparisons of such places, where they can be

// A nest over these loops, its costly updates computed first. `spare`: a place that nobody reads, for updates that are
// not to be made: nothing is asked of each then.
Block combined_updates(Function& function, const Target& target, const Nest& n, const Updates& u,
                       const std::vector<Updates::Loop>& loops, const Expr& spare = {});

// How many updates are looked at before they are combined.
inline std::int64_t chunk_of(const Target& target) { return 16 * target.vector_bytes; }

// What a store combines with what is there.
inline Expr update_of(const Store& s) { return s.value.operand(1); }

}  // namespace tenon::kernel
