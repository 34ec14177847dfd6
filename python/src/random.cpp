// Random numbers that are functions of a key, bit for bit as JAX's threefry.
#include "tenon/ops/random.h"

#include <nanobind/stl/optional.h>

#include "call.h"
#include "dtypes.h"
#include "op.h"
#include "operands.h"
#include "rooms.h"
#include "shapes.h"

namespace tenon::python {
void add_random(nb::module_& parent) {
  nb::module_ module = parent.def_submodule("random");
  module.def("key",
             [](std::int64_t seed) { return call_op("random.key", [&] { return random::key(seed, Source()); }); });
  module.def("split", [](ArrayLike key, SizeLike n) {
    const Array k = key.array("random.split");
    return call_op("random.split", [&] { return random::split(op(k), n.size); });
  });
  module.def("fold_in", [](ArrayLike key, ArrayLike data) {
    const Array k = key.array("random.fold_in"), d = data.array("random.fold_in");
    return call_op("random.fold_in", [&] { return random::fold_in(op(k), op(d)); });
  });
  module.def("bits", [](ArrayLike key, ShapeLike shape, DTypeArgument dtype) {
    const Array k = key.array("random.bits");
    return call_op("random.bits", [&] { return random::bits(op(k), shape.shape, dtype); });
  });
  module.def("uniform", [](ArrayLike key, ShapeLike shape, DTypeArgument dtype, ArrayLike low, ArrayLike high) {
    const Array k = key.array("random.uniform"), l = low.array("random.uniform"), h = high.array("random.uniform");
    return call_op("random.uniform", [&] { return random::uniform(op(k), shape.shape, dtype, op(l), op(h)); });
  });
  module.def("normal", [](ArrayLike key, ShapeLike shape, DTypeArgument dtype) {
    const Array k = key.array("random.normal");
    return call_op("random.normal", [&] { return random::normal(op(k), shape.shape, dtype); });
  });
  module.def("randint", [](ArrayLike key, ShapeLike shape, ArrayLike low, ArrayLike high, DTypeArgument dtype) {
    const Array k = key.array("random.randint"), l = low.array("random.randint"), h = high.array("random.randint");
    return call_op("random.randint", [&] { return random::randint(op(k), shape.shape, op(l), op(h), dtype); });
  });
  module.def("exponential", [](ArrayLike key, ShapeLike shape, DTypeArgument dtype) {
    const Array k = key.array("random.exponential");
    return call_op("random.exponential", [&] { return random::exponential(op(k), shape.shape, dtype); });
  });
  module.def("gumbel", [](ArrayLike key, ShapeLike shape, DTypeArgument dtype) {
    const Array k = key.array("random.gumbel");
    return call_op("random.gumbel", [&] { return random::gumbel(op(k), shape.shape, dtype); });
  });
}

}  // namespace tenon::python
