// What points, or rows, of a source give of sums (reduce_at_points.h).
#pragma once

#include "tenon/ops/structure/shape.h"
#include "tenon/rewrite/point_search.h"

namespace tenon {

// Points of a source, or its rows: along each of its axes they go in step with one of their own, or lie where an array
// of their shape says.
struct SourcePoints {
  struct Place {
    std::optional<std::int64_t> axis;
    Array number = {};
  };
  std::vector<Dim> shape;
  std::vector<Place> along;
  Array added = {};  // what a scatter has added, of their shape
  // Of a gather that puts a number where it reads outside: whether each reads inside.
  Array inside = {};
  std::optional<Scalar> fill = {};

  Dim count() const { return Shape(shape).elements(); }
  Array number(std::int64_t label) const;  // where they lie along an axis of the source, one for each
};

// What a source gives of each of these ends, which have it: whole. `rows`: of an extremum that is attained several
// times. `whole`: the arrays that are read.
Arrays sums_at_points(const Program& program, std::span<const std::size_t> maker, const PointPlan& plan,
                      std::size_t source, bool rows, const std::map<Var, Array>& whole, SourcePoints points,
                      const std::vector<const PointEnd*>& ends);

}  // namespace tenon
