// What optimisers do to leaves; the package keeps their trees.
#include "tenon/api/optim.h"

#include <nanobind/stl/vector.h>

#include "call.h"
#include "op.h"
#include "operands.h"
#include "rooms.h"

namespace tenon::python {
namespace {

// f of as many operands; `called`: what the user has called.
template <std::size_t... I, class F>
void add_function(nb::module_& module, const char* name, const char* called, std::index_sequence<I...>, F f) {
  module.def(name, [called, f](std::conditional_t<I == I, ArrayLike, void>... given) {
    const std::array<Array, sizeof...(I)> arrays{given.array(called)...};
    return array_object(call_op(called, [&] { return Array(f(op(arrays[I])...)); }));
  });
}
template <std::size_t Count, class F>
void add_rule(nb::module_& module, const char* name, F f) {
  add_function(module, name, "Optimizer.update", std::make_index_sequence<Count>(), f);
}
template <std::size_t Count, class F>
void add_schedule(nb::module_& module, const char* name, F f) {
  add_function(module, name, name, std::make_index_sequence<Count>(), f);
}

void add_schedules(nb::module_& module) {
  add_schedule<4>(module, "linear_schedule",
                  [](const Array& from, const Array& to, const Array& steps, const Array& count) {
                    return optim::linear_schedule(from, to, steps)(count);
                  });
  add_schedule<4>(module, "exponential_decay",
                  [](const Array& from, const Array& steps, const Array& rate, const Array& count) {
                    return optim::exponential_decay(from, steps, rate)(count);
                  });
  add_schedule<4>(module, "cosine_decay_schedule",
                  [](const Array& from, const Array& steps, const Array& alpha, const Array& count) {
                    return optim::cosine_decay_schedule(from, steps, alpha)(count);
                  });
  add_schedule<6>(
      module, "warmup_cosine_decay_schedule",
      [](const Array& from, const Array& peak, const Array& warmup, const Array& steps, const Array& end,
         const Array& count) { return optim::warmup_cosine_decay_schedule(from, peak, warmup, steps, end)(count); });
}

}  // namespace

void add_optim(nb::module_& parent) {
  nb::module_ module = parent.def_submodule("optim");
  add_rule<3>(module, "decaying_mean", optim::decaying_mean);
  add_rule<3>(module, "decaying_mean_of_squares", optim::decaying_mean_of_squares);
  add_rule<3>(module, "decaying_sum", optim::decaying_sum);
  add_rule<3>(module, "lion_step", optim::lion_step);
  add_rule<3>(module, "over_root", optim::over_root);
  add_rule<2>(module, "clipping_factor", optim::clipping_factor);
  add_rule<2>(module, "scaled", optim::scaled);
  add_rule<7>(module, "adam_step",
              [](const Operand& mean, const Operand& squares, const Operand& count, const Array& b1, const Array& b2,
                 const Array& eps,
                 const Array& eps_root) { return optim::adam_step(mean, squares, count, {b1, b2, eps, eps_root}); });
  module.def("norm", [](const std::vector<ArrayLike>& leaves) {
    Arrays all;
    for (const ArrayLike& leaf : leaves) all.push_back(leaf.array("global_norm"));
    return array_object(call_op("global_norm", [&] { return optim::global_norm(all); }));
  });
  add_schedules(module);
}

}  // namespace tenon::python
