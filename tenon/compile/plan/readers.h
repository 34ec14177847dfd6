// Where a value is read from while it is not stored: the nests, and in each the index maps.
#pragma once

#include <array>

#include "tenon/base/hash.h"
#include "tenon/ops/element_form.h"

namespace tenon {

class Readers {
 public:
  // A nest of so many elements that reads it at its own index. One that is `cut` where its own index decides what is
  // read computes each part where the part is.
  void add(std::size_t nest, double elements, bool cut) { add(Read{nest, Hash128(), elements, 1, cut ? guards : 0}); }
  // What reads the result of an eqn whose operand it is: at the result's own index, or as the eqn does.
  void add(const Readers& more);
  void add(const Readers& more, const ElementForm::Read& how, double elements);

  bool several_nests() const { return several_nests_; }
  // How many elements all of them compute.
  double evaluations() const;
  // How often one nest computes each of so many elements again, where several maps compute their own.
  double again(double elements) const;
  // f(nest) of each map that is told apart.
  template <class F>
  void each(F f) const {
    for (std::size_t i = 0; i < count_; ++i) f(reads_[i].nest);
  }

 private:
  static constexpr int guards = 2;  // one within another that cuts see through: nests are cut twice
  struct Read {
    std::size_t nest;
    Hash128 map;
    double elements;  // that the nest computes
    double times;     // how many of these are one of the value's, at most
    int guards_left;
  };
  static constexpr std::size_t most = 8;  // maps that are told apart
  void add(const Read& read);

  std::array<Read, most> reads_{};
  std::size_t count_ = 0;
  double others_ = 0;  // elements that are computed for maps beyond
  bool several_nests_ = false;
};

}  // namespace tenon
