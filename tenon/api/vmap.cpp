// Batching of flat functions: axes for leaves, lanes to the front, results back to where their axis is asked for.
#include "tenon/api/vmap.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/ops/control/region.h"
#include "tenon/ops/structure/collectives.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/with_shape.h"
#include "tenon/transform/transforms.h"

namespace tenon::api_detail {
namespace {

using Axis = std::optional<std::int64_t>;

// "argument 1, leaf .0.2"; of results "result, leaf .0".
std::string name_of(const tree::Place& place, bool argument) {
  std::string path;
  for (std::size_t i = argument ? 1 : 0; i < place.size(); ++i) path += fmt::format(".{}", place[i]);
  const std::string root = argument ? fmt::format("argument {}", place[0]) : "the result";
  return path.empty() ? root : root + ", leaf " + path;
}

// Axes of leaves by a prefix of their tree.
class Prefix {
 public:
  Prefix(std::string_view option, std::span<const tree::Place> places, bool arguments)
      : option_(option), places_(places), arguments_(arguments), axes_(places.size()) {}
  std::vector<Axis> resolve(const AxisTree& axes) {
    fill(axes, 0, 0, places_.size());
    return std::move(axes_);
  }

 private:
  // Leaves [from, to) agree in their first `depth` steps.
  void fill(const AxisTree& axes, std::size_t depth, std::size_t from, std::size_t to) {
    if (!axes.is_list()) {
      std::fill(axes_.begin() + static_cast<std::ptrdiff_t>(from), axes_.begin() + static_cast<std::ptrdiff_t>(to),
                axes.axis());
      return;
    }
    const std::size_t entries = axes.entries().size();
    std::size_t used = 0;
    while (from < to) {
      if (places_[from].size() <= depth)
        throw ShapeError(fmt::format("vmap: {} has a list where {} is one array.", option_, name_at(from, depth)),
                         "Give one axis, or tn::none, there.");
      const std::size_t entry = places_[from][depth];
      std::size_t end = from;
      while (end < to && places_[end].size() > depth && places_[end][depth] == entry) ++end;
      if (entry >= entries) {
        const bool top = arguments_ && depth == 0;
        throw ShapeError(
            fmt::format("vmap: {} has {} {}, but {} has more {}.", option_, entries, entries == 1 ? "entry" : "entries",
                        top ? "the function" : name_at(from, depth), top ? "arguments" : "fields or elements"),
            "Give an axis, or tn::none, for each of them; or one for all.");
      }
      used = std::max(used, entry + 1);
      fill(axes.entries()[entry], depth + 1, from, end);
      from = end;
    }
    for (std::size_t i = used; i < entries; ++i)
      if (axes.entries()[i].is_list() || axes.entries()[i].axis())
        throw ShapeError(fmt::format("vmap: {} has {} entries where there are arrays for {}.", option_, entries, used),
                         "Give an entry for each argument, field or element.");
  }
  std::string name_at(std::size_t leaf, std::size_t depth) const {
    const tree::Place prefix(places_[leaf].begin(), places_[leaf].begin() + static_cast<std::ptrdiff_t>(depth));
    return arguments_ && prefix.empty() ? "the function" : name_of(prefix, arguments_);
  }

  std::string_view option_;
  std::span<const tree::Place> places_;
  bool arguments_;
  std::vector<Axis> axes_;
};

struct Lanes {
  Arrays operands;  // lanes in front
  Mask batched;
  Dim size;
};

Lanes lanes_first(const FlatVmap& call, const VmapOptions& options) {
  const std::vector<Axis> axes = Prefix("in_axes", call.places, true).resolve(options.in_axes);
  Lanes lanes{call.arguments, Mask(axes.size(), false), Dim()};
  std::optional<Dim> size = options.size;
  std::string said = "the option `size`";
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!axes[i]) continue;
    const Type type = call.arguments[i].type();
    const std::string name = name_of(call.places[i], true);
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
      return ShapeError(fmt::format("vmap: {} has {} lanes along axis {}, {} says {}.", name_of(call.places[i], true),
                                    shape[0].text(), *axes[i], said, size->text()),
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
  const std::vector<Axis> axes = Prefix("out_axes", places, false).resolve(options.out_axes);
  Mask in = lanes.batched, out;
  in.resize(f.program->inputs().size(), false);
  const Mask differs = recurse_of_lanes().reach(f.program, in);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    out.push_back(axes[i].has_value());
    const Type& type = f.program->type(f.program->outputs()[i]);
    const auto rank = type.is_array() ? static_cast<std::int64_t>(type.rank()) + 1 : 1;  // lists: of their elements
    if (!axes[i] && differs[i])
      throw ShapeError(
          fmt::format("vmap: {} differs from lane to lane, but its out axis is none.", name_of(places[i], false)),
          "Give it an axis in out_axes.");
    if (axes[i] && (*axes[i] >= rank || *axes[i] < (type.is_array() ? -rank : 0)))
      throw ShapeError(fmt::format("vmap: {} has {} axes with that of the lanes; there is no axis {}.",
                                   name_of(places[i], false), rank, *axes[i]),
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
