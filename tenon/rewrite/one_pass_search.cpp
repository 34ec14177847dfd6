#include "tenon/rewrite/one_pass_search.h"

#include <algorithm>
#include <optional>
#include <set>

#include "tenon/rewrite/streams.h"

namespace tenon {
namespace {

constexpr std::size_t most_followed = 400;  // eqns that wait for one reduction

// Where to divide: rows of less stay in the cache while they are read again. A part fits the first level, or, of rows
// that lie side by side, has so many of each that its results are few beside what it reads.
std::optional<DividedAxis> divided_axis(const Type& x, std::span<const std::int64_t> axes) {
  constexpr std::int64_t least_bytes = 256 << 10, part_bytes = 16 << 10, side_by_side = 32, fewest_parts = 4;
  const auto elements = x.shape.elements();
  if (!elements.known() || elements == Dim(0)) return {};
  const auto bytes = static_cast<std::int64_t>(size_of(x.dtype));
  std::int64_t inner = 1, reduced = 1;  // of elements inside the axis, and of those that are reduced with it
  for (auto axis = static_cast<std::int64_t>(x.rank()) - 1; axis >= 0; --axis) {
    const std::int64_t n = x.shape[at(axis)].value();
    if (std::ranges::count(axes, axis) > 0) {
      const std::int64_t each = std::max({part_bytes / bytes / inner, side_by_side / reduced, std::int64_t(1)});
      if (n / each >= fewest_parts && inner * n >= least_bytes / bytes) {
        // A part that leaves nothing, if one of about that size does.
        for (std::int64_t near = each; near < 2 * each; ++near)
          if (n % near == 0) return DividedAxis{axis, n / near, near, 0};
        for (std::int64_t near = each; near > each / 2; --near)
          if (n % near == 0) return DividedAxis{axis, n / near, near, 0};
        return DividedAxis{axis, n / each, each, n % each};
      }
      reduced *= n;
    }
    inner *= n;
  }
  return {};
}

class OnePassSearch {
 public:
  explicit OnePassSearch(const Program& program)
      : program_(program),
        maker_(maker_numbers(program)),
        readers_(program),
        taken_(program.eqns().size(), false),
        early_(program.eqns().size(), false) {}

  std::vector<OnePass> find() {
    std::vector<OnePass> found;
    for (std::size_t e = 0; e < program_.eqns().size(); ++e)
      if (auto pass = pass_of(e); pass && settle(*pass)) found.push_back(std::move(*pass));
    return found;
  }

 private:
  std::optional<OnePass> pass_of(std::size_t e) const {
    const auto first = taken_[e] || early_[e] ? std::nullopt : first_reduction(program_, e);
    const auto divided = first ? divided_axis(program_.type(first->x), first->axes) : std::nullopt;
    if (!divided) return {};
    return OnePass{*first, *divided,
                   sums_that_wait(program_, maker_, readers_, *first, false, [](Var) { return false; })};
  }

  // Leaves the sums that can begin where the first reduction does. Whether there are some that wait for it.
  bool settle(OnePass& pass) {
    std::set<std::size_t> needed;
    std::erase_if(pass.sums, [&](const WaitingSum& sum) {
      const auto makers = needed_early(pass, sum);
      if (taken_[sum.eqn] || early_[sum.eqn] || !makers) return true;
      needed.insert(makers->begin(), makers->end());
      return false;
    });
    const auto waits = [](const WaitingSum& sum) {
      return std::ranges::any_of(sum.terms,
                                 [](const SummedTerm& t) { return !t.exponents.empty() || !t.distances.empty(); });
    };
    if (std::ranges::none_of(pass.sums, waits)) return false;
    taken_[pass.first.eqn] = true;
    for (const WaitingSum& sum : pass.sums) taken_[sum.eqn] = true;
    for (const std::size_t e : needed) early_[e] = true;
    return true;
  }
  // The eqns behind the first reduction that make what a sum reads.
  std::optional<std::set<std::size_t>> needed_early(const OnePass& pass, const WaitingSum& sum) const {
    std::vector<Var> open = elements_read(sum);
    std::set<std::size_t> found;
    while (!open.empty()) {
      const std::size_t e = maker_[open.back()];
      open.pop_back();
      if (e == nowhere || e < pass.first.eqn || !found.insert(e).second) continue;
      const Eqn& eqn = program_.eqns()[e];
      if (taken_[e] || effect_of(eqn) != Effect::none || !eqn.new_sizes.empty() || found.size() > most_followed)
        return {};
      open.insert(open.end(), eqn.in.begin(), eqn.in.end());
    }
    return found;
  }

  const Program& program_;
  const std::vector<std::size_t> maker_;
  const EqnReaders readers_;
  std::vector<bool> taken_, early_;  // eqns that are written anew, and those that are bound before their turn
};

}  // namespace

std::vector<OnePass> find_one_passes(const Program& program) { return OnePassSearch(program).find(); }

}  // namespace tenon
