#include "tenon/rewrite/compose_views.h"

#include <algorithm>
#include <map>
#include <set>

#include "tenon/ir/literal.h"
#include "tenon/ir/replay.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/rewrite/eqn_numbers.h"
#include "tenon/rewrite/steps_in.h"
#include "tenon/transform/memo.h"

namespace tenon {
namespace {

bool is_view(const Eqn& eqn) {
  return eqn.op == &transpose_op() || eqn.op == &reshape_op() || eqn.op == &slice_op() || eqn.op == &broadcast_op();
}

// Directly, or behind elementwise ops.
bool has_views_of_views(const Program& program) {
  std::vector<bool> viewed(program.vars(), false);
  for (const Eqn& eqn : program.eqns()) {
    const auto reads = [&] { return std::ranges::any_of(eqn.in, [&](Var v) { return viewed[v]; }); };
    if ((is_view(eqn) || reduction_of(eqn, program)) && reads()) return true;
    if (is_view(eqn) || concatenated_axis(eqn) || is_update(*eqn.op) || (is_elementwise(eqn) && reads()))
      viewed[eqn.out[0]] = true;
    bool nested = false;
    eqn.params.visit_programs([&](const ProgramRef& p) { nested = nested || (p && has_views_of_views(*p)); });
    if (nested) return true;
  }
  return false;
}

using Permutation = std::vector<std::int64_t>;

// Elements start, start + stride, … of each axis, `size` of them.
struct Range {
  std::int64_t start, size, stride;
};
using Ranges = std::vector<Range>;

// The elements of the ranges `outer` of what `inner` are the ranges of.
Ranges composed(const Ranges& inner, const Ranges& outer) {
  Ranges both;
  for (std::size_t i = 0; i < inner.size(); ++i)
    both.push_back(
        {inner[i].start + outer[i].start * inner[i].stride, outer[i].size, inner[i].stride * outer[i].stride});
  return both;
}

// The axes of `to` in the order of `from`, where both have the same axes but for those of one element.
std::optional<Ranges> moved(const Ranges& ranges, const Shape& from, const Shape& to) {
  for (std::size_t i = 0; i < from.rank(); ++i)
    if (from[i] == Dim(1) && ranges[i].size == 0) return {};
  const auto next = [](const Shape& s, std::size_t i) {
    while (i < s.rank() && s[i] == Dim(1)) ++i;
    return i;
  };
  Ranges result(to.rank(), Range{0, 1, 1});
  std::size_t i = next(from, 0), j = next(to, 0);
  for (; i < from.rank() && j < to.rank() && from[i] == to[j]; i = next(from, i + 1), j = next(to, j + 1))
    result[j] = ranges[i];
  if (i < from.rank() || j < to.rank()) return {};
  return result;
}

// Axes of two shapes that hold the same elements, from the first to before the last.
struct AxisGroup {
  std::pair<std::size_t, std::size_t> from, to;
};
// The smallest such groups of a reshape, all of which have axes of both; nothing where sizes do not tell.
std::optional<std::vector<AxisGroup>> axis_groups(const Shape& from, const Shape& to) {
  std::vector<AxisGroup> groups;
  std::size_t i = 0, j = 0;
  while (i < from.rank() && j < to.rank()) {
    AxisGroup group{{i, i + 1}, {j, j + 1}};
    Dim left = from[i++], right = to[j++];
    while (left != right) {
      if (!left.known() || !right.known() || left.value() == 0 || right.value() == 0) return {};
      if (left.value() < right.value() ? i == from.rank() : j == to.rank()) return {};
      left.value() < right.value() ? void(left = left * from[i++]) : void(right = right * to[j++]);
      if (!left.known() || !right.known()) return {};
    }
    group.from.second = i, group.to.second = j;
    groups.push_back(group);
  }
  return i == from.rank() && j == to.rank() ? std::optional(std::move(groups)) : std::nullopt;
}

Shape shape_of(const Ranges& ranges) {
  Shape shape;
  for (const Range& r : ranges) shape.push_back(r.size);
  return shape;
}

// Values by how they view others. Each maker gives the value with as few views as it takes.
class Views {
 public:
  using Id = std::size_t;

  Id value(Array array) { return add({.array = std::move(array)}); }
  Id concatenation(Array array, std::vector<Id> parts, std::int64_t axis) {
    Node n{.array = std::move(array), .parts = std::move(parts), .axis = static_cast<std::size_t>(axis)};
    std::int64_t end = 0;
    for (const Id part : n.parts) {
      const Dim size = this->array(part).shape()[n.axis];
      if (!size.known()) return value(std::move(n.array));
      n.ends.push_back(end += size.value());
    }
    return add(std::move(n));
  }
  const Array& array(Id x) const { return nodes_[x].array; }
  const Permutation& permutation(Id x) const { return nodes_[x].permutation; }  // of a transpose; else empty

  Id broadcast(Id x, const Shape& shape, const std::vector<std::int64_t>& dims) {
    const Node& n = nodes_[x];
    if (n.broadcast) return broadcast(n.source, shape, permuted(dims, *n.broadcast));
    // Axes of one element that grow are left out, so that a broadcast only repeats.
    Shape kept;
    std::vector<std::int64_t> kept_dims;
    for (std::size_t i = 0; i < dims.size(); ++i)
      if (n.array.shape()[i] != Dim(1) || shape[static_cast<std::size_t>(dims[i])] == Dim(1))
        kept.push_back(n.array.shape()[i]), kept_dims.push_back(dims[i]);
    if (kept_dims.size() < dims.size()) return broadcast(reshaped(x, kept), shape, kept_dims);
    return add({.array = broadcast_in_dim(array(x), shape, dims), .source = x, .broadcast = dims});
  }

  Id transposed(Id x, const Permutation& permutation) {
    if (std::ranges::is_sorted(permutation)) return x;
    const Node& n = nodes_[x];
    if (!n.permutation.empty()) return transposed(n.source, permuted(n.permutation, permutation));
    if (n.broadcast) {  // repeats a transpose of what it repeated
      Shape shape;
      for (const std::int64_t axis : permutation) shape.push_back(n.array.shape()[static_cast<std::size_t>(axis)]);
      std::vector<std::int64_t> dims = dims_after(*n.broadcast, permutation);
      const Id source = transposed(n.source, ascending(dims));
      std::ranges::sort(dims);
      return broadcast(source, shape, dims);
    }
    if (!n.ranges.empty() && is_transposed_freely(n.source, permutation)) {
      const Ranges ranges = permuted(n.ranges, permutation);
      return sliced(transposed(n.source, permutation), ranges);
    }
    return add({.array = transpose(array(x), permutation), .source = x, .permutation = permutation});
  }

  // Whether its transpose is a value that is there, or as cheap as it is.
  bool is_transposed_freely(Id x, const Permutation& permutation) const {
    if (std::ranges::is_sorted(permutation)) return true;
    const Node& n = nodes_[x];
    if (!n.permutation.empty()) return std::ranges::is_sorted(permuted(n.permutation, permutation));
    if (!n.ranges.empty()) return is_transposed_freely(n.source, permutation);
    return n.broadcast && is_transposed_freely(n.source, ascending(dims_after(*n.broadcast, permutation)));
  }

  Id reshaped(Id x, const Shape& shape) {
    if (array(x).shape() == shape) return x;
    if (nodes_[x].reshaped) return reshaped(nodes_[x].source, shape);
    if (const auto before = reshaped_before(nodes_[x], shape)) {
      const Id source = nodes_[x].source;
      return transposed(reshaped(source, before->first), before->second);
    }
    return add({.array = reshape(array(x), shape), .source = x, .reshaped = true});
  }

  Id sliced(Id x, const Ranges& ranges) {
    if (shape_of(ranges) == array(x).shape()) return x;
    const Node& n = nodes_[x];
    if (!n.ranges.empty()) return sliced(n.source, composed(n.ranges, ranges));
    if (const auto part = part_of(n, ranges)) return sliced(part->first, part->second);
    if (const auto inside = before(n, ranges); inside && reads_a_part(n.source, *inside)) {
      const Id source = n.source;
      if (n.reshaped) return reshaped(sliced(source, *inside), shape_of(ranges));
      const Permutation permutation = n.permutation;
      return transposed(sliced(source, *inside), permutation);
    }
    std::vector<Dim> start;
    std::vector<std::int64_t> stride;
    for (const Range& r : ranges) start.emplace_back(r.size == 0 ? 0 : r.start), stride.push_back(r.stride);
    return add({.array = slice_of_shape(array(x), std::move(start), shape_of(ranges), std::move(stride)),
                .source = x,
                .ranges = ranges});
  }

 private:
  struct Node {
    Array array;
    Id source = 0;  // of what it is a view, if one of these says how
    Permutation permutation{};
    std::optional<std::vector<std::int64_t>> broadcast{};
    bool reshaped = false;
    Ranges ranges{};
    std::vector<Id> parts{};  // of a concatenation along axis
    std::size_t axis = 0;
    std::vector<std::int64_t> ends{};  // of each part, on axis
  };

  Id add(Node node) {
    nodes_.push_back(std::move(node));
    return nodes_.size() - 1;
  }

  // Which axes of a broadcast's transpose its operand's are.
  static std::vector<std::int64_t> dims_after(const std::vector<std::int64_t>& dims, const Permutation& permutation) {
    std::vector<std::int64_t> after;
    for (const std::int64_t axis : dims) after.push_back(place_of(permutation, axis));
    return after;
  }
  // Of a transpose that is reshaped: the shape that its source may have instead, and how that is transposed then. There
  // is one where axes that are joined or divided lie behind each other in the source too.
  static std::optional<std::pair<Shape, Permutation>> reshaped_before(const Node& n, const Shape& shape) {
    if (n.permutation.empty()) return {};
    const auto groups = axis_groups(n.array.shape(), shape);
    if (!groups) return {};
    std::vector<std::size_t> order(groups->size()), first(groups->size());
    for (std::size_t g = 0; g < groups->size(); ++g) {
      const auto [from, to] = (*groups)[g].from;
      for (std::size_t i = from + 1; i < to; ++i)
        if (n.permutation[i] != n.permutation[i - 1] + 1) return {};
      order[g] = g, first[g] = static_cast<std::size_t>(n.permutation[from]);
    }
    std::ranges::sort(order, {}, [&](std::size_t g) { return first[g]; });
    Shape source;
    Permutation permutation(shape.rank());
    for (const std::size_t g : order)
      for (std::size_t axis = (*groups)[g].to.first; axis < (*groups)[g].to.second; ++axis) {
        permutation[axis] = static_cast<std::int64_t>(source.rank());
        source.push_back(shape[axis]);
      }
    return std::pair(std::move(source), std::move(permutation));
  }

  // The part of a concatenation in which the ranges lie, and their place in it.
  std::optional<std::pair<Id, Ranges>> part_of(const Node& n, const Ranges& ranges) const {
    if (n.parts.empty() || ranges[n.axis].size == 0) return {};
    const Range& along = ranges[n.axis];
    const auto end = std::ranges::upper_bound(n.ends, along.start);
    if (along.start + (along.size - 1) * along.stride >= *end) return {};
    Ranges in_part = ranges;
    if (end != n.ends.begin()) in_part[n.axis].start -= *std::prev(end);
    return std::pair(n.parts[static_cast<std::size_t>(end - n.ends.begin())], std::move(in_part));
  }

  // Of a transpose, or a reshape that makes or drops axes of one element: which elements of its source they are.
  std::optional<Ranges> before(const Node& n, const Ranges& ranges) const {
    if (n.reshaped) return moved(ranges, n.array.shape(), array(n.source).shape());
    if (n.permutation.empty()) return {};
    Ranges result(ranges.size());
    for (std::size_t i = 0; i < ranges.size(); ++i) result[static_cast<std::size_t>(n.permutation[i])] = ranges[i];
    return result;
  }

  bool reads_a_part(Id x, const Ranges& ranges) const {
    const Node& n = nodes_[x];
    if (!n.ranges.empty()) return reads_a_part(n.source, composed(n.ranges, ranges));
    if (part_of(n, ranges)) return true;
    const auto inside = before(n, ranges);
    return inside && reads_a_part(n.source, *inside);
  }

  std::vector<Node> nodes_;
};

// Of a slice whose sizes are known numbers.
std::optional<Ranges> ranges_of(const Eqn& eqn, const Type& result) {
  const SliceForm form = slice_form(eqn.params);
  Ranges ranges;
  for (std::size_t i = 0; i < form.start.size(); ++i) {
    if (!form.start[i].known() || !result.shape[i].known()) return {};
    ranges.push_back({form.start[i].value(), result.shape[i].value(), form.stride[i]});
  }
  return ranges;
}

class Composer {
 public:
  explicit Composer(Replay& replay)
      : replay_(replay),
        maker_(makers_of(replay.program())),
        readers_(replay.program()),
        is_output_(replay.program().vars(), false) {
    for (const Var v : replay.program().outputs()) is_output_[v] = true;
  }

  void bind(const Eqn& eqn) {
    const EqnScope place(eqn);
    auto id = transposed_before(eqn);
    if (!id) id = composed_view(eqn);
    if (!id) id = transposed_behind(eqn);
    if (!id) id = reduced_before(eqn);
    if (id) {
      replay_.set(eqn.out[0], views_.array(*id));
      ids_[eqn.out[0]] = *id;
      return;
    }
    replay_.bind_eqn(eqn, compose_views);
    if (const auto axis = concatenated_axis(eqn)) {
      std::vector<Views::Id> parts;
      for (const Var v : eqn.in) parts.push_back(id_of(v));
      ids_[eqn.out[0]] = views_.concatenation(replay_.get(eqn.out[0]), std::move(parts), *axis);
    } else if (auto parts = parts_of_update(eqn)) {
      ids_[eqn.out[0]] = views_.concatenation(replay_.get(eqn.out[0]), std::move(parts->first), parts->second);
    }
  }

 private:
  std::optional<Views::Id> composed_view(const Eqn& eqn) {
    if (!is_view(eqn)) return {};
    const Views::Id x = id_of(eqn.in[0]);
    const Type type = replay_.type(eqn.out[0]);
    if (eqn.op == &transpose_op()) return views_.transposed(x, permutation_of(eqn.params));
    if (eqn.op == &reshape_op()) return views_.reshaped(x, type.shape);
    if (eqn.op == &broadcast_op()) return views_.broadcast(x, type.shape, broadcast_form(eqn.params).dims);
    const auto ranges = ranges_of(eqn, type);
    return ranges ? std::optional(views_.sliced(x, *ranges)) : std::nullopt;
  }

  // An elementwise op of transposed operands is the transpose of the op, and so is a concatenation.
  std::optional<Views::Id> transposed_behind(const Eqn& eqn) {
    const auto axis = concatenated_axis(eqn);
    if (!is_elementwise(eqn) && !axis) return {};
    Permutation permutation;
    for (const Var v : eqn.in)
      if (permutation.empty()) permutation = views_.permutation(id_of(v));
    if (permutation.empty()) return {};
    const Permutation back = inverse_permutation(permutation);
    if (!std::ranges::all_of(eqn.in, [&](Var v) { return views_.is_transposed_freely(id_of(v), back); })) return {};
    Arrays operands;
    std::vector<Views::Id> parts;
    for (const Var v : eqn.in) {
      parts.push_back(views_.transposed(id_of(v), back));
      operands.push_back(views_.array(parts.back()));
    }
    if (axis) {
      const std::int64_t along = permutation[static_cast<std::size_t>(*axis)];
      return views_.transposed(views_.concatenation(concatenate(operands, along), std::move(parts), along),
                               permutation);
    }
    const Views::Id result = views_.value(bind_op(*eqn.op, replay_.params(eqn), operands)[0]);
    return views_.transposed(result, permutation);
  }

  // The transpose of an elementwise op is the op of transposes, where these are there and nothing else reads it.
  std::optional<Views::Id> transposed_before(const Eqn& eqn) {
    const Eqn* made = eqn.op == &transpose_op() ? maker_[eqn.in[0]] : nullptr;
    if (made == nullptr || made->in.empty() || !is_elementwise(*made) || readers_[eqn.in[0]].size() != 1 ||
        is_output_[eqn.in[0]])
      return {};
    const Permutation permutation = permutation_of(eqn.params);
    const auto is_free = [&](Var v) { return views_.is_transposed_freely(id_of(v), permutation); };
    if (!std::ranges::all_of(made->in, is_free)) return {};
    const EqnScope place(*made);
    Arrays operands;
    for (const Var v : made->in) operands.push_back(views_.array(views_.transposed(id_of(v), permutation)));
    return views_.value(bind_op(*made->op, replay_.params(*made), operands)[0]);
  }

  // An array that is filled with a number, with rows set at a known place, is put together of what lies before them,
  // these, and what lies behind. Others are updated in place, which what read them later would prevent.
  std::optional<std::pair<std::vector<Views::Id>, std::int64_t>> parts_of_update(const Eqn& eqn) {
    const Program& program = replay_.program();
    const auto is_filled = [&](Var v) {
      return filled_.contains(v) || (maker_[v] != nullptr && maker_[v]->op == &broadcast_op());
    };
    const auto set = is_update(*eqn.op) && is_filled(eqn.in[0]) ? rows_set(eqn, program) : std::nullopt;
    const Eqn* number = set ? maker_[eqn.in[set->number]] : nullptr;
    while (number != nullptr && number->op == &reshape_op()) number = maker_[number->in[0]];
    if (number == nullptr || number->op != &literal_op()) return {};
    const Shape& shape = program.type(eqn.out[0]).shape;
    const auto count = set->count.try_value(), rows = shape[set->axis].try_value();
    const std::int64_t first = literal_value(number->params).convert(DType::i64).as<std::int64_t>();
    if (!shape.known() || !count || *count < 1 || first < 0 || first + *count > *rows) return {};
    const auto some = [&](std::int64_t begin, std::int64_t end) {
      Ranges ranges;
      for (std::size_t i = 0; i < shape.rank(); ++i)
        ranges.push_back(i == set->axis ? Range{begin, end - begin, 1} : Range{0, shape[i].value(), 1});
      return views_.sliced(id_of(eqn.in[0]), ranges);
    };
    filled_.insert(eqn.out[0]);
    std::vector<Views::Id> parts;
    if (first > 0) parts.push_back(some(0, first));
    parts.push_back(
        views_.reshaped(id_of(eqn.in[set->rows]), shape.without_axis(set->axis).with_axis(set->axis, *count)));
    if (first + *count < *rows) parts.push_back(some(first + *count, *rows));
    return std::pair(std::move(parts), static_cast<std::int64_t>(set->axis));
  }

  // A reduction of a transpose is one of what is transposed, where that takes the elements in the same order and leaves
  // the axes in it.
  std::optional<Views::Id> reduced_before(const Eqn& eqn) {
    const auto form = reduction_of(eqn, replay_.program());
    const Permutation permutation = form ? views_.permutation(id_of(eqn.in[0])) : Permutation();
    if (permutation.empty()) return {};
    std::vector<std::int64_t> axes;
    Permutation left;
    for (std::size_t i = 0; i < permutation.size(); ++i)
      (std::ranges::binary_search(form->axes, static_cast<std::int64_t>(i)) ? axes : left).push_back(permutation[i]);
    if (!std::ranges::is_sorted(axes) || !std::ranges::is_sorted(left)) return {};
    const Array whole = views_.array(views_.transposed(id_of(eqn.in[0]), inverse_permutation(permutation)));
    return views_.value(bind1(*eqn.op, reduction_params(axes), {whole}));
  }

  Views::Id id_of(Var v) {
    if (const auto found = ids_.find(v); found != ids_.end()) return found->second;
    return ids_[v] = views_.value(replay_.get(v));
  }

  Replay& replay_;
  const std::vector<const Eqn*> maker_;
  const EqnReaders readers_;
  std::vector<bool> is_output_;
  Views views_;
  std::map<Var, Views::Id> ids_;
  std::set<Var> filled_;  // with a number, and then rows of it set
};

}  // namespace

ProgramRef compose_views(const ProgramRef& program) {
  if (!has_views_of_views(*program)) return program;
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("compose_views")(program->hash()).finish(), [&] {
    return rewritten(*program, [&](Replay& replay) {
      Composer composer(replay);
      for (const Eqn& eqn : program->eqns()) composer.bind(eqn);
    });
  });
}

}  // namespace tenon
