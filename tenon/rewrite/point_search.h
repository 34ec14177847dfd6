// Reductions of what is zero but at known points (reduce_at_points.h): where the points lie, and of what each is made.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <set>

#include "tenon/ir/program.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/rewrite/pair_search.h"

namespace tenon {

using PointLabels = std::vector<std::int64_t>;  // of each axis, along which axis of a source it goes, or no_axis

// An array that is zero (or false) but at points: elements that are the extremum of all along an axis, or those that a
// scatter has added to zeros. Or a gather, which reads elements at points.
struct PointSource {
  enum class Kind : std::uint8_t { extremum, added, read };
  Kind kind;
  std::size_t eqn;
  Var v;
  double pairs;               // elements of the array that has the points
  ElementPoints points = {};  // of a scatter or a gather
  // Of what it is an extremum, which one, along which axis.
  Var elements = 0, best = 0;
  bool smallest = false;
  std::int64_t axis = no_axis;
  bool is_extremum() const { return kind == Kind::extremum; }
};

// At one point, or in one row of all along the source's axis. `linear`: of a sum of what sources give, and of what else
// there is, the part that is zero with the source.
struct PointPart {
  Var v;
  PointLabels labels;
  bool linear = false;
  friend auto operator<=>(const PointPart&, const PointPart&) = default;
};

struct PointBody {
  std::set<PointPart> parts, leaves;  // what is computed, and what is read
};
// What a reduction, or a product that sums some of the axes, is of some source; or what a gather reads.
struct PointEnd {
  std::size_t eqn;
  std::vector<std::size_t> besides = {};  // eqns that make what it has besides, of terms of no source
  struct Of {
    std::vector<PointPart> operands;
    PointLabels labels;        // of the axes of the reduction's operand, or of the product (ProductAxes)
    PointBody at_points = {};  // of an extremum also, where it lies at several points:
    PointBody in_rows = {};
  };
  std::map<std::size_t, Of> of = {};  // by the source
};
// Ends that are computed together: of the same sources, none of what another one gives.
struct PointGroup {
  std::set<std::size_t> sources;
  std::vector<PointEnd> ends;
};

// How the parts of a source are made of each other.
class PointParts {
 public:
  // `rows`: of a whole row along the source's axis, not at one point of it.
  PointParts(const Program& program, std::span<const std::size_t> maker, const std::vector<PointSource>& sources,
             const std::vector<std::map<std::size_t, PointLabels>>& zero_with, std::size_t source, bool rows)
      : program_(program), maker_(maker), sources_(sources), zero_with_(zero_with), source_(source), rows_(rows) {}

  bool is_fixed(std::int64_t label) const { return label != no_axis && !(rows_ && label == sources_[source_].axis); }
  // The axes that a part has.
  std::vector<std::int64_t> kept(const PointLabels& labels) const;
  bool is_of_others(const PointPart& part) const;  // a zero
  bool is_the_point(const PointPart& part) const { return !rows_ && part.v == sources_[source_].v; }
  // Nothing where it cannot be computed.
  std::optional<std::vector<PointPart>> operands(const PointPart& part) const;
  // Labels of all axes of a product, those that it sums too, of which a part of the result is there.
  PointLabels labels_of_product(const Eqn& eqn, const PointPart& part) const;
  std::vector<PointPart> operands_of_product(const Eqn& eqn, const PointLabels& labels, bool linear) const;
  // Adds what these parts need; false where something has to be read that is as large as all pairs.
  bool collect(std::vector<PointPart> open, PointBody& body) const;

 private:
  const Eqn* maker(Var v) const { return maker_[v] == nowhere ? nullptr : &program_.eqns()[maker_[v]]; }
  bool is_leaf(const PointPart& part) const;

  const Program& program_;
  std::span<const std::size_t> maker_;
  const std::vector<PointSource>& sources_;
  const std::vector<std::map<std::size_t, PointLabels>>& zero_with_;
  std::size_t source_;
  bool rows_;
};

struct PointPlan {
  std::vector<PointSource> sources;
  // Of each variable, sources of which it is the sum; and whether it has terms besides that are of none.
  std::vector<std::map<std::size_t, PointLabels>> zero_with;
  std::vector<bool> has_others;
  std::vector<PointGroup> groups;  // none needs a later one
};
PointPlan find_points(const Program& program);

}  // namespace tenon
