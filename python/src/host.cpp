// Functions of Python's that programs call while they run: pure_callback and its kin.
#include "tenon/ops/control/host.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <memory>

#include "call.h"
#include "dtypes.h"
#include "operands.h"
#include "rooms.h"
#include "shapes.h"
#include "tenon/base/stack.h"
#include "tenon/ir/type.h"
#include "text.h"

namespace tenon::python {
namespace {

// A function as Python holds it: what takes arrays one by one and returns a sequence of them.
struct Callback {
  HostFunctionRef function;
};

// Let go of with the interpreter held, whichever thread is the last to use it.
std::shared_ptr<PyObject> shared_object(nb::object object) {
  return {object.release().ptr(), [](PyObject* held) {
            if (Py_IsInitialized() == 0) return;
            const nb::gil_scoped_acquire interpreter;
            Py_DECREF(held);
          }};
}

Callback callback(const std::string& name, nb::object f) {
  return {host_function(name, [f = shared_object(std::move(f)), name](std::span<const Array> in) {
    const nb::gil_scoped_acquire interpreter;
    require_stack();
    const nb::object args = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(in.size())));
    for (std::size_t i = 0; i < in.size(); ++i)
      PyTuple_SET_ITEM(args.ptr(), static_cast<Py_ssize_t>(i), new_array(in[i]));
    PyObject* made = PyObject_CallObject(f.get(), args.ptr());
    if (made == nullptr) throw nb::python_error();
    Arrays results;
    for (nb::handle each : nb::iter(nb::steal(made))) results.push_back(operand(name, each));
    return results;
  })};
}

HostBatch batch_from(std::string_view name) {
  if (name == "sequential") return HostBatch::sequential;
  if (name == "expand_dims") return HostBatch::expand_dims;
  if (name == "broadcast_all") return HostBatch::broadcast_all;
  if (name == "as_it_is") return HostBatch::as_it_is;
  return HostBatch::refuse;
}

// `types`: (dtype, shape) of each result.
nb::object call_back(const Callback& callback, nb::handle types, nb::handle operands, const std::string& batch,
                     bool effect) {
  std::vector<Type> results;
  for (nb::handle each : nb::iter(types)) {
    const auto type = nb::borrow<nb::tuple>(each);
    results.push_back(Type::array(canonical(dtype_from(type[0])), shape_from(type[1])));
  }
  Arrays given;
  for (nb::handle each : nb::iter(operands)) given.push_back(operand("host_call", each));
  return call_transformation("host_call", [&] {
    nb::list all;
    for (const Array& a : host_call(callback.function, results, given, {.batch = batch_from(batch), .effect = effect}))
      all.append(array_object(a));
    return nb::object(all);
  });
}

nb::object sizes_by(const Callback& sizes, std::int64_t count, nb::handle operands) {
  Arrays given;
  for (nb::handle each : nb::iter(operands)) given.push_back(operand("host_call", each));
  return call_transformation("host_call", [&] {
    nb::list all;
    for (const Dim& size : host_sizes(sizes.function, count, given)) all.append(dim_object(size));
    return nb::object(all);
  });
}

}  // namespace

void add_host(nb::module_& module) {
  const nb::class_<Callback> type(module, "Callback", "A function that programs call while they run.");
  module.def("callback", callback);
  module.def("call_back", call_back);
  module.def("sizes_by", sizes_by);
}

}  // namespace tenon::python
