// saved_residuals: what reverse mode keeps of a function between its forward and its backward pass.
#pragma once

#include <iosfwd>

#include "tenon/api/arguments.h"

namespace tenon {

struct SavedResidual {
  enum class From : std::uint8_t { argument, capture, result, stored };
  From from;
  Type type;           // with the steps of loops as axes; a list where data decide their number
  std::int64_t bytes;  // of a list, those of one element
  bool changes;        // of an array that a loop updates in places, what each step changes is kept, not the array
  std::string name;    // of an argument ("argument 0, leaf .w"), else the op that made it
  Source where;        // the user's line of that op
};

struct SavedResiduals {
  std::vector<SavedResidual> all;
  // Of what is stored: arguments, captures and results are there anyway.
  std::int64_t bytes() const;
  std::string text() const;
};
std::ostream& operator<<(std::ostream& out, const SavedResiduals& residuals);

namespace api_detail {
SavedResiduals saved_residuals_flat(const FlatFunction& f, const Arguments& arguments);
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
          return api_detail::saved_residuals_flat(flat.function,
                                                  api_detail::Arguments::of<Argnums...>(flat.arguments, args...));
        },
        given...);
  };
}

}  // namespace tenon
