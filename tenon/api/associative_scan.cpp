// associative_scan: prefixes of pairs give those of odd length, and one step more the others; of as many elements as
// only running tells, each prefix comes from the one before.
#include <fmt/format.h>

#include "tenon/api/loops.h"

namespace tenon::api_detail {
namespace {

class Prefixes {
 public:
  Prefixes(FlatFunction f, std::int64_t axis) : f_(f), axis_(axis) {}

  Arrays of(const Arrays& x) const {
    const auto known = x[0].dim(axis_).try_value();
    if (!known) return one_by_one(x);
    const std::int64_t n = *known;
    if (n < 2) return x;
    const Arrays odd = of(combine(part(x, 0, n - 1, 2), part(x, 1, n, 2)));  // those that end at 1, 3, …
    Arrays even = part(x, 0, 1);                                             // those that end at 0, 2, …
    if (n > 2) even = joined(even, combine(part(odd, 0, (n - 1) / 2), part(x, 2, n, 2)));
    return interleaved(even, odd, n);
  }

 private:
  // Each step gives a prefix and makes the next one; the last step is given its element once more, and nobody wants
  // what it makes. Where there are no elements, zeros are to begin with.
  Arrays one_by_one(const Arrays& x) const {
    Arrays start, next;
    for (const Array& a : x) {
      const Dim n = a.dim(axis_);
      const Array rows = move_axis(a, axis_, 0);
      const Array none = zeros_of(Type::array(a.dtype(), rows.shape().without_axis(0).with_axis(0, 1)));
      const Array last = slice_in_dim(concatenate(Arrays{none, rows}, 0), n, n + 1, 0);
      const Array all = concatenate(Arrays{rows, last}, 0);
      start.push_back(slice_in_dim(all, 0, 1, 0)), next.push_back(slice_in_dim(all, 1, n + 1, 0));
    }
    const auto step = [&](const Arrays& prefix, const Arrays& row) {
      Arrays element, out;
      for (const Array& r : row) element.push_back(expand_dims(r, 0));
      for (std::size_t i = 0; i < row.size(); ++i) out.push_back(reshape(prefix[i], row[i].shape()));
      return std::pair(of_rows(prefix, element), out);
    };
    Arrays all = scan(step, start, next, {.length = next[0].dim(0)}).second;
    for (Array& a : all) a = move_axis(a, 0, axis_);
    return all;
  }
  // combine() of one element each, along axis 0.
  Arrays of_rows(const Arrays& x, const Arrays& y) const {
    const auto moved = [](const Arrays& all, std::int64_t from, std::int64_t to) {
      Arrays result;
      for (const Array& a : all) result.push_back(move_axis(a, from, to));
      return result;
    };
    return moved(combine(moved(x, 0, axis_), moved(y, 0, axis_)), axis_, 0);
  }
  Arrays part(const Arrays& x, std::int64_t from, std::int64_t to, std::int64_t stride = 1) const {
    Arrays parts;
    for (const Array& a : x) parts.push_back(slice_in_dim(a, from, to, axis_, stride));
    return parts;
  }
  Arrays joined(const Arrays& x, const Arrays& y) const {
    Arrays all;
    for (std::size_t i = 0; i < x.size(); ++i) all.push_back(concatenate(Arrays{x[i], y[i]}, axis_));
    return all;
  }
  // x[0], y[0], x[1], y[1], … : n in all; x may have one more than y.
  Arrays interleaved(const Arrays& x, const Arrays& y, std::int64_t n) const {
    Arrays all;
    const Arrays first = part(x, 0, n / 2);
    for (std::size_t i = 0; i < x.size(); ++i) {
      Shape shape = first[i].shape();
      shape[static_cast<std::size_t>(axis_)] = n / 2 * 2;
      all.push_back(reshape(stack(Arrays{first[i], y[i]}, axis_ + 1), shape));
    }
    return n % 2 == 0 ? all : joined(all, part(x, n / 2, n / 2 + 1));
  }
  Arrays combine(const Arrays& x, const Arrays& y) const {
    Arrays both = x;
    both.insert(both.end(), y.begin(), y.end());
    Arrays result = f_(both);
    for (std::size_t i = 0; i < x.size(); ++i)
      if (result[i].type() != x[i].type())
        throw ShapeError(fmt::format("associative_scan: the function makes {} of two {}.", result[i].type().text(),
                                     x[i].type().text()),
                         "It is applied to many elements at once, and keeps their shape and dtype.");
    return result;
  }

  FlatFunction f_;
  std::int64_t axis_;
};

}  // namespace

Arrays scan_associative(FlatFunction f, Arrays elements, std::int64_t axis, bool reverse,
                        const std::vector<std::string>& paths) {
  if (elements.empty()) return elements;
  axis = static_cast<std::int64_t>(normalize_axis(axis, elements[0].rank(), "associative_scan"));
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const Type t = elements[i].type();
    const std::string name = paths[i].empty() ? "xs" : "leaf " + paths[i] + " of xs";
    if (!t.is_array() || axis >= static_cast<std::int64_t>(t.rank()))
      throw ShapeError(fmt::format("associative_scan: {} is {}, which has no axis {}.", name, t.text(), axis),
                       "Every array of xs has its elements along `axis`.");
    if (!asked_equal(elements[i].dim(axis), elements[0].dim(axis)))
      throw ShapeError(fmt::format("associative_scan: {} is {}: {} elements where there are {}.", name, t.text(),
                                   elements[i].dim(axis).text(), elements[0].dim(axis).text()),
                       "All arrays of xs have the same size along `axis`.");
    elements[i] = elements[i].with_weak(false);
    if (reverse) elements[i] = tenon::reverse(elements[i], {axis});
  }
  Arrays results = Prefixes(f, axis).of(elements);
  for (Array& result : results)
    if (reverse) result = tenon::reverse(result, {axis});
  return results;
}

}  // namespace tenon::api_detail
