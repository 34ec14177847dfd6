// A recipe done with plain numbers: loops over elements in double precision, each beside its derivatives in all inputs.
// Knows nothing of programs, transformations or ops: what tests expect of them.
#pragma once

#include <memory>

#include "tests/programs/recipe.h"

namespace tenon::sample {

struct Plain {
  Kind kind;
  std::vector<double> v;  // an element each; integers and bools are whole numbers
  std::vector<double> d;  // of floating-point numbers: the derivatives of each element
};

class PlainWorld {
 public:
  using Value = Plain;
  using Values = std::vector<Plain>;
  using Ref = std::shared_ptr<Plain>;
  using Region = std::function<Values(const Values&)>;

  explicit PlainWorld(std::size_t directions) : directions_(directions) {}

  Plain zeros(const Kind& kind) const;
  Plain simple(const Step& step, const Values& in) const;
  Plain read(const Plain& x, const Place& place, const Values& indices) const;
  Plain update(const Plain& x, ScatterKind how, const Place& place, const Values& indices, const Plain& value) const;
  Values region(const Step& step, const Values& in, const std::vector<Region>& bodies) const;

  Ref new_ref(const Plain& x) const { return std::make_shared<Plain>(x); }
  Plain value_of(const Ref& ref) const { return *ref; }
  Plain read(const Ref& ref, const Place& place, const Values& indices) const { return read(*ref, place, indices); }
  void write(Ref& ref, ScatterKind how, const Place& place, const Values& indices, const Plain& value) const {
    *ref = update(*ref, how, place, indices, value);
  }

 private:
  std::size_t directions_;
};

}  // namespace tenon::sample
