// noinline, inline_: whether calls of a function are compiled by themselves, where the compiler is not to decide it.
#pragma once

#include "tenon/api/flatten.h"

namespace tenon {

namespace api_detail {

// One call of what the function is at these arguments. Where it is nothing but a call of another, of that one.
Arrays placed_flat(FlatFunction f, std::span<const Array> arguments, Placement placement, std::string_view name = {});

template <Placement placement, class F>
auto placed(F f, const Source& where) {
  return [f = Held{std::move(f)}, where]<class... Args>(const Args&... args) {
    if (!tracing()) return ResultOf<F, Args...>(f.f(args...));
    const SourceScope place(where);
    Flattened<F, Args...> flat(f.f, args...);
    return flat.rebuild(placed_flat(flat, flat.arguments(), placement));
  };
}

}  // namespace api_detail

// f, of which every call in a traced function is one of a unit: code that is compiled once, for all its calls and
// callers, and fuses with nothing around it. So are its derivatives, batches and what checkpoints compute again. It
// overrides what the compiler makes of sizes and numbers of calls. A function that has lists, sizes that its data
// decide or that are symbolic, or no native form, is inlined nevertheless; explain() says why.
//   auto layer = tn::noinline([](Array w, Array h) { return tn::tanh(tn::matmul(h, w)); });
template <class F>
auto noinline(F f, const Source& where = std::source_location::current()) {
  return api_detail::placed<Placement::unit>(std::move(f), where);
}

// f, of which every call in a traced function becomes part of the caller's code, however large it is and however often
// it is called.
//   auto small = tn::inline_([](Array x) { return x * x + 1.f; });
template <class F>
auto inline_(F f, const Source& where = std::source_location::current()) {
  return api_detail::placed<Placement::inlined>(std::move(f), where);
}

}  // namespace tenon
