// vmap: a function over a new axis of its arguments.
#pragma once

#include <initializer_list>

#include "tenon/api/flatten.h"

namespace tenon {

// Not along any axis.
inline constexpr std::optional<std::int64_t> none = std::nullopt;

// Axes for the leaves of a tree, as a prefix of it: one axis (or none) for all leaves below, or a list with an entry a
// field or element, in order. Of the arguments: a list has an entry an argument.
//   tn::AxisTree{tn::none, 1, {0, tn::none}}   // the third argument is a struct of two fields
class AxisTree {
 public:
  AxisTree(std::optional<std::int64_t> axis) : axis_(axis) {}
  template <std::integral T>
  AxisTree(T axis) : axis_(static_cast<std::int64_t>(axis)) {}
  AxisTree(std::initializer_list<AxisTree> entries) : entries_(entries), is_list_(true) {}
  explicit AxisTree(std::vector<AxisTree> entries) : entries_(std::move(entries)), is_list_(true) {}

  bool is_list() const { return is_list_; }
  const std::optional<std::int64_t>& axis() const { return axis_; }
  const std::vector<AxisTree>& entries() const { return entries_; }

 private:
  std::optional<std::int64_t> axis_;
  std::vector<AxisTree> entries_;
  bool is_list_ = false;
};

struct VmapOptions {
  AxisTree in_axes = 0;                    // negative axes count from the end of what is given
  AxisTree out_axes = 0;                   // negative ones from the end of the result; none: the same for all lanes
  std::optional<Dim> size = std::nullopt;  // how many lanes, where no argument says so
  std::string axis_name = {};              // by which collectives know the lanes: psum(x, "i")
};

namespace api_detail {

struct FlatVmap {
  FlatFunction f;
  Arrays arguments;
  std::vector<tree::Place> places;  // of the arguments' leaves; the first step is the argument's number
  FunctionRef<std::vector<tree::Place>()> out_places;  // of the result's leaves, when f has been traced
};
Arrays vmap_flat(const FlatVmap& call, const VmapOptions& options);

}  // namespace api_detail

// f for every lane: arguments have one axis more than f takes, where in_axes says, and results one more than f gives,
// where out_axes says. f is traced once, with one lane; what it captures is the same for all lanes.
//   auto dots = tn::vmap([](Array x, Array y) { return tn::sum(x * y); });             // f32[n,3], f32[n,3] -> f32[n]
//   auto scores = tn::vmap(loss, {.in_axes = {tn::none, 1, 1}});                        // shared parameters
//   auto moved = tn::vmap(step, {.in_axes = {{0, tn::none}}, .out_axes = {0, tn::none}});  // by field
//   auto shares = tn::vmap([](Array x) { return x / tn::psum(x, "i"); }, {.axis_name = "i"});
// Throws ShapeError naming argument and leaf: an axis that it does not have, numbers of lanes that differ, a list of
// axes that does not fit the tree; and where a result of out axis none differs from lane to lane.
template <class F>
auto vmap(F f, VmapOptions options = {}, const Source& where = std::source_location::current()) {
  return [f = api_detail::Held{std::move(f)}, options = std::move(options), where]<class... Args>(const Args&... args) {
    const SourceScope place(where);
    api_detail::Flattened<F, Args...> flat(f.f, args...);
    return flat.rebuild(api_detail::vmap_flat(
        {flat, flat.arguments(), tree::places(std::tie(args...)), [&] { return tree::places(flat.result()); }},
        options));
  };
}

}  // namespace tenon
