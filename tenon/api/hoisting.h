// hoist_reductions: a function whose loops take in the reductions of what they stack.
#pragma once

#include "tenon/api/flatten.h"

namespace tenon {

namespace api_detail {

Arrays hoisted_flat(FlatFunction f, std::span<const Array> arguments);

}  // namespace api_detail

// f, with reductions of what its loops stack as parts of these loops, and reductions of what it computes of pairs of
// rows as loops over one of them: neither a stack nor an array of all pairs is made. jit() does so with all that it
// compiles; here it is done before f is differentiated, batched or printed, in whatever is around. Sums are rounded
// otherwise than f's; those under Numerics::strict stay. explain() says what moved, and what prevented it elsewhere.
//   auto loss = tn::hoist_reductions([](Array c, Array xs) { return tn::mean(tn::scan(step, c, xs).second); });
//   std::cout << tn::trace(loss)(c, xs);   // a loop without a stack
template <class F>
auto hoist_reductions(F f, const Source& where = std::source_location::current()) {
  return [f = api_detail::Held{std::move(f)}, where]<class... Args>(const Args&... args) {
    const SourceScope place(where);
    api_detail::Flattened<F, Args...> flat(f.f, args...);
    return flat.rebuild(api_detail::hoisted_flat(flat, flat.arguments()));
  };
}

}  // namespace tenon
