#include "tenon/ops/linear_algebra/einsum.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <utility>

#include "tenon/base/estimate.h"
#include "tenon/base/memo.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/linear_algebra/contraction_order.h"
#include "tenon/ops/linear_algebra/labelled_product.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"

namespace tenon {
namespace {

using Axes64 = std::vector<std::int64_t>;
using Path = std::vector<std::vector<std::int64_t>>;

// A letter, or an axis that "..." stands for, counted from the last.
using Label = int;
constexpr Label first_unnamed = 256;
using Labels = std::vector<Label>;

// 0, 1, …, count - 1
std::vector<std::int64_t> all_of(std::size_t count) {
  std::vector<std::int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}
std::string text_of(Label label) {
  return label < first_unnamed ? std::string(1, static_cast<char>(label)) : std::string("...");
}

struct Equation {
  std::vector<Labels> terms;
  Labels result;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Equation parse(const Arrays& operands) {
    std::string clean;
    for (char c : text_)
      if (c != ' ') clean += c;
    const auto arrow = clean.find("->");
    std::vector<std::string> terms(1);
    for (char c : clean.substr(0, arrow)) {
      if (c == ',')
        terms.emplace_back();
      else
        terms.back() += c;
    }
    if (terms.size() != operands.size())
      bad(fmt::format("names {} operands, and {} are given", terms.size(), operands.size()));
    Equation made;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      const std::size_t rank = operands[i].rank(), named = std::min(letters_in(terms[i]), rank);
      made.terms.push_back(labels(terms[i], rank - named));
      if (made.terms.back().size() != rank)
        throw ShapeError(fmt::format("einsum: '{}' names {} axes of {}.", text_, made.terms.back().size(),
                                     operands[i].type().text()),
                         "Write one letter for each axis.");
      unnamed_ = std::max(unnamed_, rank - named);
    }
    std::map<Label, int> counts;
    for (const Labels& term : made.terms)
      for (Label label : term) ++counts[label];
    if (arrow != std::string::npos) {
      made.result = labels(clean.substr(arrow + 2), unnamed_);
      for (Label label : made.result)
        if (!counts.contains(label) || std::ranges::count(made.result, label) != 1)
          bad("has a result letter that no operand has, or has it twice");
    } else {
      made.result = labels("...", unnamed_);
      for (const auto& [label, count] : counts)
        if (count == 1 && label < first_unnamed) made.result.push_back(label);
    }
    return made;
  }

 private:
  [[noreturn]] void bad(const std::string& why) const {
    throw ShapeError(fmt::format("einsum: '{}' {}.", text_, why), "Write letters for axes, as in \"ij,jk->ik\".");
  }
  static std::size_t letters_in(const std::string& term) {
    return static_cast<std::size_t>(std::ranges::count_if(term, [](char c) { return c != '.'; }));
  }
  // Of letters, and of so many axes where "..." is.
  Labels labels(const std::string& term, std::size_t unnamed) const {
    Labels made;
    bool told = false;
    for (std::size_t i = 0; i < term.size(); ++i) {
      if (term.compare(i, 3, "...") == 0 && !told) {
        for (std::size_t axis = unnamed; axis-- > 0;) made.push_back(first_unnamed + static_cast<Label>(axis));
        told = true;
        i += 2;
      } else if (std::isalpha(static_cast<unsigned char>(term[i]))) {
        made.push_back(static_cast<unsigned char>(term[i]));
      } else {
        bad("has something that is neither a letter nor one \"...\" a term");
      }
    }
    return made;
  }

  std::string_view text_;
  std::size_t unnamed_ = 0;
};

// Operands, the labels of their axes, and those of the result.
class Einsum {
 public:
  Einsum(std::string_view text, const Arrays& operands)
      : text_(text), equation_(Parser(text).parse(operands)), operands_(operands) {
    drop_ones();
    for (std::size_t i = 0; i < operands_.size(); ++i)
      for (std::size_t axis = 0; axis < operands_[i].rank(); ++axis) {
        const Dim size = operands_[i].shape()[axis];
        const auto [known, first] = sizes_.try_emplace(equation_.terms[i][axis], size);
        if (!first && known->second != size && known->second.known() && size.known())
          throw ShapeError(fmt::format("einsum: '{}' of {}: axes '{}' have the sizes {} and {}.", text_, types(),
                                       text_of(known->first), known->second.text(), size.text()),
                           "Axes of one letter have one size, or 1.");
        if (size.known()) known->second = size;
      }
  }

  Contraction contraction() const {
    std::map<Label, unsigned> bits;
    Contraction made;
    for (const auto& [label, size] : sizes_) {
      bits.emplace(label, static_cast<unsigned>(bits.size()));
      made.sizes.push_back(estimate(size));
    }
    const auto letters = [&](const Labels& labels) {
      std::uint64_t mask = 0;
      for (Label label : labels) mask |= std::uint64_t(1) << bits.at(label);
      return mask;
    };
    for (const Labels& term : equation_.terms) made.operands.push_back(letters(term));
    made.result = letters(equation_.result);
    return made;
  }
  std::size_t labels() const { return sizes_.size(); }

  void convert_operands(DType dtype) {
    for (Array& x : operands_) x = convert(x, dtype);
  }

  Array along(const Path& path, DType wide, std::optional<DType> preferred) {
    for (const auto& step : path) {
      const std::set<std::int64_t> places(step.begin(), step.end());
      if (places.empty() || places.size() != step.size() || *places.begin() < 0 ||
          *places.rbegin() >= static_cast<std::int64_t>(operands_.size()))
        throw ShapeError(fmt::format("einsum: the path's step {} of {} operands.", step, operands_.size()),
                         "A step names operands that are left, each once, counted from 0.");
      meet(step, places, wide, preferred);
    }
    if (operands_.size() > 1) {
      const std::vector<std::int64_t> rest = all_of(operands_.size());
      meet(rest, {rest.begin(), rest.end()}, wide, preferred);
    }
    return arrange(operands_[0], equation_.terms[0], equation_.result);
  }

 private:
  struct Labelled {
    Array x;
    Labels labels;
  };

  std::string types() const {
    std::string text;
    for (const Array& x : operands_) text += (text.empty() ? "" : ", ") + x.type().text();
    return text;
  }

  // Axes of size 1 whose letter stands for more elsewhere broadcast: the operand has the same for all of that letter. A
  // size that varies is the others'.
  void drop_ones() {
    std::set<Label> larger;
    for (std::size_t i = 0; i < operands_.size(); ++i)
      for (std::size_t axis = 0; axis < operands_[i].rank(); ++axis)
        if (operands_[i].shape()[axis] != Dim(1)) larger.insert(equation_.terms[i][axis]);
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const Labels& term = equation_.terms[i];
      const Shape shape = operands_[i].shape();
      std::set<Label> kept;  // where an axis of the letter is more than 1
      for (std::size_t axis = 0; axis < term.size(); ++axis)
        if (shape[axis] != Dim(1) || !larger.contains(term[axis])) kept.insert(term[axis]);
      Labels labels;
      std::vector<Dim> sizes;
      for (std::size_t axis = 0; axis < term.size(); ++axis)
        if (kept.contains(term[axis])) labels.push_back(term[axis]), sizes.push_back(shape[axis]);
      if (labels.size() == term.size()) continue;
      operands_[i] = reshape(operands_[i], Shape(sizes));
      equation_.terms[i] = labels;
    }
  }

  void meet(const std::vector<std::int64_t>& step, const std::set<std::int64_t>& places, DType wide,
            std::optional<DType> preferred) {
    std::vector<Labelled> taken;
    for (std::int64_t i : step)
      taken.push_back({operands_[static_cast<std::size_t>(i)], equation_.terms[static_cast<std::size_t>(i)]});
    for (auto at = places.rbegin(); at != places.rend(); ++at) {
      operands_.erase(operands_.begin() + *at);
      equation_.terms.erase(equation_.terms.begin() + *at);
    }
    std::set<Label> wanted(equation_.result.begin(), equation_.result.end());
    for (const Labels& term : equation_.terms) wanted.insert(term.begin(), term.end());
    const bool last = operands_.empty();
    Labelled made = taken[0];
    if (taken.size() == 1) made = prepared(made, wanted, wide, preferred);
    for (std::size_t k = 1; k < taken.size(); ++k) {
      std::set<Label> later = wanted;
      for (std::size_t l = k + 1; l < taken.size(); ++l) later.insert(taken[l].labels.begin(), taken[l].labels.end());
      const bool ends = last && k + 1 == taken.size();
      made = product(made, taken[k], later, wide, preferred && !ends ? wide : preferred);
    }
    operands_.push_back(made.x);
    equation_.terms.push_back(made.labels);
  }

  // Repeated letters become their diagonal; letters that nothing else has are summed, in the wider dtype.
  Labelled prepared(Labelled of, const std::set<Label>& kept, DType wide, std::optional<DType> preferred) const {
    auto& [x, labels] = of;
    for (std::size_t i = 0; i < labels.size(); ++i)
      for (std::size_t j = labels.size() - 1; j > i; --j) {
        if (labels[i] != labels[j]) continue;
        if (x.shape()[i] != x.shape()[j])
          throw ShapeError(
              fmt::format("einsum: axes {} and {} of {} carry one letter but differ in size.", i, j, x.type().text()),
              "A letter that occurs twice takes the diagonal: give the axes two letters.");
        const Shape shape = x.shape();
        const Array same = iota(DType::i32, shape, static_cast<std::int64_t>(i)) ==
                           iota(DType::i32, shape, static_cast<std::int64_t>(j));
        x = sum(where(same, x, zeros_like(Type::array(x.dtype(), {}))), Axes{static_cast<std::int64_t>(j)});
        labels.erase(labels.begin() + static_cast<std::ptrdiff_t>(j));
      }
    Axes64 summed;
    Labels left;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (kept.contains(labels[i]))
        left.push_back(labels[i]);
      else
        summed.push_back(static_cast<std::int64_t>(i));
    }
    if (summed.empty()) return of;
    return {sum(preferred ? convert(x, wide) : x, Axes(summed)), left};
  }

  Labelled product(const Labelled& a, const Labelled& b, const std::set<Label>& kept, DType wide,
                   std::optional<DType> preferred) const {
    const auto with = [&](const Labels& more) {
      std::set<Label> all = kept;
      all.insert(more.begin(), more.end());
      return all;
    };
    const auto [x, of_x] = prepared(a, with(b.labels), wide, preferred);
    const auto [y, of_y] = prepared(b, with(a.labels), wide, preferred);
    auto [axes, made] = labelled_product(of_x, of_y, [&](Label label) { return kept.contains(label); });
    return {dot_general(x, y, std::move(axes), preferred), std::move(made)};
  }

  // All of the result's labels are left: drop_ones() keeps those that are of size 1 everywhere.
  static Array arrange(const Array& x, const Labels& from, const Labels& to) {
    Axes64 permutation;
    for (Label label : to) permutation.push_back(std::ranges::find(from, label) - from.begin());
    return transpose(x, permutation);
  }

  std::string_view text_;
  Equation equation_;
  Arrays operands_;
  std::map<Label, Dim> sizes_;
};

struct KnownPath {
  Path steps;
};
std::size_t held_bytes(const std::shared_ptr<const KnownPath>& path) { return path->steps.size() * 64; }

constinit Memo<std::shared_ptr<const KnownPath>> paths;

// Of up to two operands, or more letters than are looked at, all at once.
Path path_of(const Einsum& of, std::size_t operands) {
  if (operands <= 2 || of.labels() > 64) return {all_of(operands)};
  const Contraction contraction = of.contraction();
  Hasher hash;
  hash(contraction.operands.size())(contraction.result);
  for (std::uint64_t letters : contraction.operands) hash(letters);
  for (double size : contraction.sizes) hash(size);
  return paths
      .get(hash.finish(),
           [&] {
             KnownPath made;
             for (const auto& [i, j] : contraction_order(contraction))
               made.steps.push_back({static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)});
             return std::make_shared<const KnownPath>(std::move(made));
           })
      ->steps;
}

}  // namespace

Array einsum(std::string_view equation, const Arrays& operands, const EinsumOptions& options, const Source& where) {
  const SourceScope place(where, "einsum");
  Einsum of(equation, operands);
  const Promoted met = promoted("einsum", operands);
  const bool truths = met.dtype == DType::bool_;  // whether any product is true, by how many are
  if (truths) of.convert_operands(DType::i32);
  const std::optional<DType> preferred = truths ? std::nullopt : options.preferred;
  const DType wide = preferred ? summed_in("einsum", met.dtype, *preferred) : met.dtype;
  const Array sums = of.along(options.path.empty() ? path_of(of, operands.size()) : options.path, wide, preferred);
  const Array made = truths ? sums != 0 : sums;
  return convert(made, options.preferred.value_or(met.dtype)).with_weak(met.weak);
}

std::vector<std::vector<std::int64_t>> einsum_path(std::string_view equation, const Arrays& operands,
                                                   const Source& where) {
  const SourceScope place(where, "einsum_path");
  return path_of(Einsum(equation, operands), operands.size());
}

}  // namespace tenon
