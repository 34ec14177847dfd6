// Batching of flat functions: axes for leaves, lanes to the front, results back to where their axis is asked for.
#include "tenon/api/vmap.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/api/prefix.h"
#include "tenon/ops/control/region.h"
#include "tenon/ops/structure/collectives.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/with_shape.h"
#include "tenon/transform/transforms.h"

namespace tenon::api_detail {
namespace {

struct Lanes {
  Arrays operands;  // lanes in front
  Mask batched;
  Dim size;
};

Lanes lanes_first(const FlatVmap& call, const VmapOptions& options) {
  const std::vector<Axis> axes =
      axes_of_leaves({"vmap", "in_axes", "an axis, or tn::none", true}, options.in_axes, call.places);
  Lanes lanes{call.arguments, Mask(axes.size(), false), Dim()};
  std::optional<Dim> size = options.size;
  std::string said = "the option `size`";
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!axes[i]) continue;
    const Type type = call.arguments[i].type();
    const std::string name = name_of_place(call.places[i], true);
    const auto rank = static_cast<std::int64_t>(leaf_type(type).rank());
    const bool of_elements = !type.is_array() && rank > 0 && *axes[i] == 0;
    if (!of_elements && (!type.is_array() || *axes[i] >= rank || *axes[i] < -rank))
      throw ShapeError(fmt::format("vmap: {} is {}, which has no axis {}.", name, type.text(), *axes[i]),
                       "Name an axis of it in in_axes, or tn::none where it is the same for all lanes.");
    lanes.batched[i] = true;
    if (!of_elements) lanes.operands[i] = move_axis(call.arguments[i], *axes[i], 0).with_weak(call.arguments[i].weak());
    const Dim here = leaf_type(lanes.operands[i].type()).shape[0];
    if (size && (size->known() || !here.known())) continue;  // a number stands for what only running tells
    said = name;
    size = here;
  }
  if (!size)
    throw ShapeError("vmap: no argument is mapped.",
                     "Name an axis in in_axes, or say how many lanes there are with `size`.");
  lanes.size = *size;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!lanes.batched[i]) continue;
    Array& operand = lanes.operands[i];
    const Shape shape = leaf_type(operand.type()).shape;
    const auto error = [&] {
      return ShapeError(fmt::format("vmap: {} has {} lanes along axis {}, {} says {}.",
                                    name_of_place(call.places[i], true), shape[0].text(), *axes[i], said, size->text()),
                        "All mapped axes have one size.");
    };
    if (operand.type().is_array())
      operand = with_shape(operand, shape.without_axis(0).with_axis(0, *size), error);
    else if (shape[0] != *size)
      throw error();
  }
  if (!options.axis_name.empty()) {
    lanes.operands.push_back(arange(lanes.size));
    lanes.batched.push_back(true);
  }
  return lanes;
}

TracedFunction trace_lane(FlatFunction f, const Lanes& lanes) {
  std::vector<Type> types;
  std::vector<bool> weak;
  for (std::size_t i = 0; i < lanes.operands.size(); ++i) {
    Type t = lanes.operands[i].type();
    if (lanes.batched[i]) t = type_of_one(t);
    types.push_back(t);
    weak.push_back(lanes.operands[i].weak());
  }
  return trace_types(f, types, weak, writes_refs, TracedFor::lanes(lanes.operands, lanes.batched, lanes.size));
}

}  // namespace

Arrays vmap_flat(const FlatVmap& call, const VmapOptions& options) {
  const Lanes lanes = lanes_first(call, options);
  const auto named = [&](std::span<const Array> in) {
    const NamedAxis axis(options.axis_name, in.back(), lanes.size);
    return call.f(in.first(in.size() - 1));
  };
  const TracedFunction f = trace_lane(options.axis_name.empty() ? call.f : FlatFunction(named), lanes);
  const std::vector<tree::Place> places = call.out_places();
  const std::vector<Axis> axes =
      axes_of_leaves({"vmap", "out_axes", "an axis, or tn::none", false}, options.out_axes, places);
  Mask in = lanes.batched, out;
  in.resize(f.program->inputs().size(), false);
  const Mask differs = recurse_of_lanes().reach(f.program, in);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    out.push_back(axes[i].has_value());
    const Type& type = f.program->type(f.program->outputs()[i]);
    const auto rank = type.is_array() ? static_cast<std::int64_t>(type.rank()) + 1 : 1;  // lists: of their elements
    if (!axes[i] && differs[i])
      throw ShapeError(
          fmt::format("vmap: {} differs from lane to lane, but its out axis is none.", name_of_place(places[i], false)),
          "Give it an axis in out_axes.");
    if (axes[i] && (*axes[i] >= rank || *axes[i] < (type.is_array() ? -rank : 0)))
      throw ShapeError(fmt::format("vmap: {} has {} axes with that of the lanes; there is no axis {}.",
                                   name_of_place(places[i], false), rank, *axes[i]),
                       "Name another axis in out_axes.");
  }
  const std::vector<CellRef> written = f.written();
  for (std::size_t i = 0; i < written.size(); ++i)
    if (differs[axes.size() + i])
      throw RuntimeError(fmt::format("vmap: what is written to a reference from outside{} differs from lane to lane.",
                                     written[i]->made.at_text()),
                         "Pass a reference with an axis of lanes as an argument, or return what is to be written.");
  out.resize(f.program->outputs().size(), false);
  std::vector<Dim> sizes = f.sizes;
  if (!lanes.size.known()) sizes.push_back(lanes.size);
  Arrays operands = lanes.operands;
  operands.insert(operands.end(), f.captures.begin(), f.captures.end());
  Arrays results = run_or_call(vmap(f.program, in, out, lanes.size), sizes, operands);
  for (std::size_t i = 0; i < written.size(); ++i) write_cell(written[i], results[axes.size() + i].with_weak(false));
  results.resize(axes.size());
  for (std::size_t i = 0; i < results.size(); ++i)
    if (axes[i] && *axes[i] != 0) results[i] = move_axis(results[i], 0, *axes[i]);
  return weakly_typed(std::move(results), f.weak);
}

}  // namespace tenon::api_detail
