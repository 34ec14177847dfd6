#include "tenon/compile/pipeline.h"

#include <algorithm>
#include <map>

#include "tenon/base/fork.h"
#include "tenon/kernel/passes/arena.h"
#include "tenon/kernel/passes/compute_updates.h"
#include "tenon/kernel/passes/divide_axes.h"
#include "tenon/kernel/passes/divide_prefixes.h"
#include "tenon/kernel/passes/divide_updates.h"
#include "tenon/kernel/passes/forward_copies.h"
#include "tenon/kernel/passes/induction_variables.h"
#include "tenon/kernel/passes/join_steps.h"
#include "tenon/kernel/passes/mask_stores.h"
#include "tenon/kernel/passes/merge_reductions.h"
#include "tenon/kernel/passes/pack_scalars.h"
#include "tenon/kernel/passes/read_numbers.h"
#include "tenon/kernel/passes/row_blocks.h"
#include "tenon/kernel/passes/rows_in_registers.h"
#include "tenon/kernel/passes/split_complex.h"
#include "tenon/kernel/passes/split_nests.h"
#include "tenon/kernel/passes/view_products.h"
#include "tenon/rewrite/choose_gathered.h"
#include "tenon/rewrite/choose_scattered.h"
#include "tenon/rewrite/collapse_loops.h"
#include "tenon/rewrite/collapse_turns.h"
#include "tenon/rewrite/compose_views.h"
#include "tenon/rewrite/delay_splits.h"
#include "tenon/rewrite/delay_sums.h"
#include "tenon/rewrite/delta_stacks.h"
#include "tenon/rewrite/divide_concatenations.h"
#include "tenon/rewrite/divide_steps.h"
#include "tenon/rewrite/fold_tables.h"
#include "tenon/rewrite/fuse_loops.h"
#include "tenon/rewrite/hoist_invariants.h"
#include "tenon/rewrite/hoist_reductions.h"
#include "tenon/rewrite/join_branches.h"
#include "tenon/rewrite/mask_reductions.h"
#include "tenon/rewrite/merge_carries.h"
#include "tenon/rewrite/narrow_products.h"
#include "tenon/rewrite/one_pass.h"
#include "tenon/rewrite/reduce_at_points.h"
#include "tenon/rewrite/roll_calls.h"
#include "tenon/rewrite/rules/rules.h"
#include "tenon/rewrite/share_calls.h"
#include "tenon/rewrite/share_factors.h"
#include "tenon/rewrite/simplify.h"
#include "tenon/rewrite/sink_operands.h"
#include "tenon/rewrite/small_products.h"
#include "tenon/rewrite/stack_updates.h"
#include "tenon/rewrite/stream_pairs.h"
#include "tenon/rewrite/unify_sizes.h"

namespace tenon {

std::span<const ProgramPass> compile_passes() {
  static constinit Lasting<const std::vector<ProgramPass>> passes;
  return passes.get([] {
    return std::vector<ProgramPass>{
        {"collapse_turns", "elementwise steps that a loop takes several a turn, one a turn",
         collapse_elementwise_turns},
        // Before the functions around them are inlined eqn by eqn, and again for what these had apart.
        {"roll_calls", "calls of functions that are units, where they repeat, as loops", roll_shared_calls},
        {"share_calls", "calls replaced by what they call, but for long functions that are called several times",
         share_calls, "a call that stays is of a function that is compiled by itself"},
        {"roll_calls", "calls of one function that repeat, with what lies between them, as loops", roll_calls},
        {"unify_sizes", "sizes that must be equal, as one", unify_sizes},
        {"join_branches", "what reads what branches give, as part of the branches", join_branches},
        {"fold_tables", "what follows from arrays whose numbers are known, as such arrays", fold_tables},
        {"hoist_matrices", "products of constants that many steps of a loop multiply with, computed before it",
         hoist_matrices},
        {"simplify", "what rules say: what costs less in place of what is equal to it", simplify},
        {"collapse_loops", "loops of which each step is a loop, as one", collapse_loops},
        {"compose_views", "transposes, reshapes and slices of each other as one, slices of stacks as what was stacked",
         compose_views},
        {"delay_splits", "reshapes that divide the steps of a loop, behind what reads them", delay_splits},
        {"divide_steps", "loops whose outputs are reduced over windows of their steps, as loops of loops",
         divide_steps},
        {"stack_updates", "rows that a loop writes one after the other as a stack of what its steps give",
         stack_updates},
        {"divide_concatenations", "reductions of what a loop stacks beside other arrays, as reductions of each",
         divide_concatenations},
        {"compose_views", "views of what these passes have put together, as those of its parts", compose_views},
        {"mask_reductions", "reductions of what a mask chooses as reductions under the mask", mask_reductions},
        {"narrow_products", "products of less, where operands repeat or results are summed", narrow_products},
        {"share_factors", "factors of matrices that are solved with more than once, made once", share_factors},
        {"hoist_invariants", "what each step of a loop would compute alike, computed before it", hoist_invariants},
        {"hoist_maps", "products that the steps of a loop make of what they read, as one product of all steps",
         hoist_maps},
        {"reduce_at_points", "reductions of what is zero but at a few points, of these points alone", reduce_at_points},
        {"choose_gathered", "one step of a stack for each row, as a sum of choices among all steps", choose_gathered},
        {"choose_scattered", "one element of each row that is added to zeros, as a choice in what reads it",
         choose_scattered},
        {"stream_pairs", "reductions of what pairs of rows give, as loops over one of them", stream_pairs},
        {"hoist_reductions", "reductions of stacked outputs moved into their loops", hoist_reductions},
        {"merge_carries", "carries of a loop that are equal at every step, as one", merge_carries},
        {"one_pass", "reductions that wait for each other, in one pass over rows that fit no cache", one_pass},
        {"delta_stacks", "stacks of an array that a loop updates in places kept as what each step changes",
         delta_stacks},
        {"delay_maps", "products that the steps of a loop only stack, as one product of the stack", delay_maps},
        {"delay_sums", "sums of products within loops taken once, behind them", delay_sums},
        {"sink_operands", "what a loop reads step by step computed in the step that reads it", sink_operands},
        {"fuse_loops", "loops over the same steps as one, where one reads what the other stacks or both read the same",
         fuse_loops},
        {"small_products", "products of small matrices, as sums that what reads them computes", small_products},
    };
  });
}

namespace {

kernel::Pass needed(std::string why, kernel::Pass pass) {
  pass.needed = std::move(why);
  return pass;
}
kernel::Pass reassociating(kernel::Pass pass) {
  pass.reassociates = true;
  return pass;
}

}  // namespace

std::vector<kernel::Pass> kernel_passes(const kernel::Target& target, const kernel::Donated& donated,
                                        std::vector<std::optional<std::uint32_t>>* shared) {
  using kernel::Function;
  using kernel::pass;
  const auto share = [=](Function& f) {
    auto found = share_donated(f, donated);
    if (shared != nullptr) *shared = std::move(found);
  };
  const auto split = pass("split_nests", "nests over axes whose parts come from different places, as one for each part",
                          kernel::split_nests);
  return {
      split,
      pass("forward_copies", "what is computed beside its place and copied there, computed in its place",
           kernel::forward_copies),
      pass("induction_variables", "integers that follow from the counts of loops, computed from those",
           kernel::recompute_induction_variables),
      split,  // what is now known of indices folds and divides further
      pass("divide_axes", "axes whose indices are divided by a number, as two axes", kernel::divide_axes),
      reassociating(pass("view_products", "matrices read, written and added to where they lie, not in copies",
                         kernel::view_products)),
      pass("mask_stores", "stores of a choice between a new value and the old, as stores where the new one is chosen",
           kernel::mask_stores),
      pass("pack_scalars", "scalars that a loop computes alike, as lanes of one array",
           [=](Function& f) { pack_scalars(f, target); }),
      // Before statements are divided into rows together, so that a copy of a whole argument is still seen as one.
      pass("share_donated", "results computed in the memory of donated arguments", share),
      needed("what is behind it knows no complex numbers",
             pass("split_complex", "complex numbers as pairs of real ones",
                  [=](Function& f) { split_complex(f, target); })),
      reassociating(pass("rows_in_registers", "rows of few elements in registers, one nest over the rows",
                         kernel::keep_rows_in_registers)),
      reassociating(pass("divide_updates", "updates at places that data choose, on all cores",
                         [=](Function& f) { divide_updates(f, target); })),
      reassociating(pass("row_blocks", "statements that agree row by row, a block of rows at a time and on all cores",
                         [=](Function& f) { divide_into_blocks(f, target); })),
      reassociating(pass("divide_prefixes", "long loops whose carries are sums and the like, on all cores",
                         [=](Function& f) { divide_prefixes(f, target); })),
      pass("compute_updates", "costly updates that go one by one, computed by vectors before",
           [=](Function& f) { compute_updates(f, target); }),
      pass("merge_reductions", "reductions of what the nest before stores, or of what another one reads, with these",
           [=](Function& f) { merge_reductions(f, target); }),
      pass("join_steps", "steps of a loop that is one nest, or one reduction, several in one",
           [=](Function& f) { join_steps(f, target); }),
      pass("read_numbers", "constants in which statements differ that are otherwise equal, as data",
           kernel::read_numbers),
      needed("code finds temporaries where it puts them", pass("arena", "temporaries laid out in the memory of a call",
                                                               [=](Function& f) { lay_out_arena(f, target); })),
  };
}

void check_passes_left_out() {
  static constinit Lasting<const bool> checked;
  checked.get([] {
    std::vector<std::string> names;
    std::map<std::string, std::string> needed;
    const auto add = [&](const auto& passes) {
      for (const auto& pass : passes)
        if (needed.emplace(pass.name, pass.needed).second) names.push_back(pass.name);
    };
    add(compile_passes()), add(kernel_passes({}));
    for (const RuleRef& rule : default_rules().rules()) needed.emplace(rule->name, "");
    check_left_out(names, [&](const std::string& name) {
      const auto found = needed.find(name);
      return found == needed.end() ? nullptr : &found->second;
    });
    return true;
  });
}

}  // namespace tenon
