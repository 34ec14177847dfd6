// Recipe: a program of updates, reads, branches and loops as data, drawn from a sequence of choices. It says what is to
// be done and with which kinds of arrays, and nothing of how: a Performance does it in a world, that of traced arrays
// or that of plain numbers (plain.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tenon/base/dtype.h"
#include "tenon/ops/control/region.h"
#include "tenon/ops/indexing/gather.h"
#include "tests/programs/choices.h"

namespace tenon::sample {

struct Kind {
  DType dtype = DType::f64;
  std::vector<std::int64_t> dims;
  bool operator==(const Kind&) const = default;
  bool scalar() const { return dims.empty(); }
  std::int64_t elements() const {
    std::int64_t n = 1;
    for (const std::int64_t d : dims) n *= d;
    return n;
  }
};

using Id = std::size_t;  // of a value: the environment that a body starts with, its inputs, then what each step makes

// Elements of an array, by index values.
struct Place {
  enum class Form : std::uint8_t {
    row,      // x(i)
    element,  // x(i, j)
    column,   // x(all, j)
    rows,     // x(i) by an array of indices
    points,   // x(i, j) by two of them
    part,     // x(slice(start, stop))
    block,    // dynamic_slice of these sizes
  };
  Form form = Form::row;
  std::vector<Id> indices;
  std::int64_t start = 0, stop = 0;
  std::vector<std::int64_t> sizes;
  std::optional<IndexMode> mode;
  bool unique = false;  // no element twice
};
// What an array has there. Indices by array have `count` elements.
Kind kind_at(const Kind& x, const Place& place, std::int64_t count);

enum class Do : std::uint8_t {
  number,  // of a dtype
  iota,    // 0, 1, …
  fill,    // a number spread to a shape
  total,   // sum of all elements
  sine,
  tanh,
  negate,
  add,
  subtract,
  multiply,
  least,  // elementwise
  greatest,
  less,
  both,  // of bools
  opposite,
  select,  // by a bool, or by one an element
  convert,
  read,      // x
  update,    // x, value
  new_ref,   // x: a mutable reference from here on
  read_ref,  // the whole, or at a place
  write_ref,
  scan,    // carries…, xs…; body: carries…, elements… -> carries…, ys…
  repeat,  // carries…; condition; body
  count,   // upper bound where `length` is absent, carries…; body: i, carries…
  branch,  // bool or number, operands…; branches
  call,    // operands…
  again,   // the same, computed again in reverse mode
};

struct Step;
struct Body {
  std::vector<Kind> inputs;
  std::vector<Step> steps;
  std::vector<Id> results;
};
struct Step {
  Do what = Do::number;
  std::vector<Id> in;
  std::vector<Kind> out;
  double value = 0;
  Place place;
  std::size_t ref = 0;
  bool whole = false;  // of a reference
  ScatterKind update = ScatterKind::set;
  std::vector<Body> bodies;
  std::size_t carries = 0;
  std::int64_t lower = 0;
  std::optional<std::int64_t> length;
  bool reverse = false;
  std::int64_t unroll = 1;
  std::optional<Checkpoints> checkpoints;
};

// The first result is an array of floating-point numbers; all of these have one dtype.
struct RecipeOptions {
  DType real = DType::f64;
};
Body random_recipe(Choices& choices, const RecipeOptions& options);

// Does the steps in a world: World::Value, World::Ref, and a function for each thing to do. Regions get a function of
// their inputs for each of their bodies.
template <class World>
class Performance {
 public:
  using Value = typename World::Value;
  using Values = std::vector<Value>;

  explicit Performance(World& world) : world_(world) {}

  Values operator()(const Body& body, const Values& inputs) { return perform(body, {}, {}, inputs); }

 private:
  using Refs = std::vector<typename World::Ref>;

  Values perform(const Body& body, Values values, Refs refs, const Values& inputs) {
    values.insert(values.end(), inputs.begin(), inputs.end());
    for (const Step& step : body.steps) {
      const Values made = once(step, values, refs);
      values.insert(values.end(), made.begin(), made.end());
    }
    return at(values, body.results);
  }

  static Values at(const Values& values, const std::vector<Id>& ids) {
    Values some;
    for (const Id id : ids) some.push_back(values[id]);
    return some;
  }

  Values once(const Step& step, const Values& values, Refs& refs) {
    const Values in = at(values, step.in), indices = at(values, step.place.indices);
    switch (step.what) {
      case Do::read:
        return {world_.read(in[0], step.place, indices)};
      case Do::update:
        return {world_.update(in[0], step.update, step.place, indices, in[1])};
      case Do::new_ref:
        refs.push_back(world_.new_ref(in[0]));
        return {};
      case Do::read_ref:
        return {step.whole ? world_.value_of(refs[step.ref]) : world_.read(refs[step.ref], step.place, indices)};
      case Do::write_ref:
        world_.write(refs[step.ref], step.update, step.place, indices, in[0]);
        return {};
      case Do::scan:
      case Do::repeat:
      case Do::count:
      case Do::branch:
      case Do::call:
      case Do::again: {
        std::vector<std::function<Values(const Values&)>> bodies;
        for (const Body& body : step.bodies)
          bodies.push_back([&, refs](const Values& inputs) { return perform(body, values, refs, inputs); });
        return world_.region(step, in, bodies);
      }
      default:
        return {world_.simple(step, in)};
    }
  }

  World& world_;
};

}  // namespace tenon::sample
