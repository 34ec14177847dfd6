// saved_residuals: what reverse mode keeps of a function between its forward and its backward pass.
#pragma once

#include <iostream>
#include <optional>

#include "tenon/api/arguments.h"

namespace tenon {

struct SavedResidual {
  enum class From : std::uint8_t { argument, capture, result, stored };
  enum class Encoding : std::uint8_t {
    whole,
    changes,  // of an array that a loop updates in places: the last one, and what each step changes
    bits,     // of booleans
    list      // one element a step of a loop whose steps data count; of many booleans bits too
  };
  From from;
  Type type;           // with the steps of loops as axes; a list where data decide their number
  std::int64_t bytes;  // of a list, those of one element
  Encoding encoding = Encoding::whole;
  std::string name = {};                   // of an argument ("argument 0, leaf .w"), else the op that made it
  Source where = {};                       // the user's line of that op
  std::optional<std::int64_t> steps = {};  // of the loop that stacks it
  // The op of the derivative that reads it first, and its line; why it is kept; what would keep less, if anything.
  std::string reader = {}, why = {}, remedy = {};
};

struct SavedResiduals {
  std::vector<SavedResidual> all;
  // Of what is stored: arguments, captures and results are there anyway.
  std::int64_t bytes() const;
  std::string text() const;
  // As print_saved_residuals tells it.
  std::string details() const;
};
std::ostream& operator<<(std::ostream& out, const SavedResiduals& residuals);

namespace api_detail {
SavedResiduals saved_residuals_flat(FlatFunction f, const Arguments& arguments);
}  // namespace api_detail

// What grad(f) (grad<Argnums…>(f)), or vjp where f returns more than one number, keeps at these arguments. Nothing is
// run.
//   std::cout << tn::saved_residuals(loss)(params, xs, ys);
//     64 bytes are kept for reverse mode, in 1 array
//       f64[8]  64 bytes  tanh at model.cpp:12
//       f64[8]  argument 1
template <int... Argnums, class F>
auto saved_residuals(F f, const Source& where = std::source_location::current()) {
  return [f = api_detail::Held{std::move(f)}, where]<class... Given>(const Given&... given) {
    const SourceScope place(where);
    return api_detail::with_lifted<Argnums...>(
        [&]<class... Args>(const Args&... args) {
          api_detail::Flattened<F, Args...> flat(f.f, args...);
          return api_detail::saved_residuals_flat(flat, api_detail::Arguments::of<Argnums...>(flat, args...));
        },
        given...);
  };
}

// The same with, for each array: its bytes in all and a step, how it is encoded, what reads it, why it is kept and not
// computed again, and what would keep less, with the lines of all of these.
//   tn::print_saved_residuals(loss)(params, xs, ys);
//     800 bytes are kept for reverse mode, in 1 array
//       f64[100]  a carry of the loop at model.cpp:12
//         800 bytes, 8 a step of 100
//         for: cos at model.cpp:13
//         kept: each step is made of the one before
//         less: the option checkpoint = tn::every(10) of the loop at model.cpp:12 keeps about 160 bytes
template <int... Argnums, class F>
auto print_saved_residuals(F f, std::ostream& out = std::cout, const Source& where = std::source_location::current()) {
  return [told = saved_residuals<Argnums...>(std::move(f), where), &out]<class... Given>(const Given&... given) {
    out << told(given...).details();
  };
}

}  // namespace tenon
