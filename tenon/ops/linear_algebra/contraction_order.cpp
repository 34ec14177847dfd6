#include "tenon/ops/linear_algebra/contraction_order.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <queue>
#include <tuple>

namespace tenon {
namespace {

using Letters = std::uint64_t;

// What is left of a contraction while operands meet: each has a number that stays, the first ones their places.
class Meeting {
 public:
  explicit Meeting(const Contraction& of) : sizes_(of.sizes), result_(of.result), letters_(of.operands) {
    alive_.assign(letters_.size(), true);
    for (std::size_t i = 0; i < letters_.size(); ++i) {
      places_.push_back(i);
      for_each_letter(letters_[i], [&](unsigned letter) { owners_[letter].emplace(i, i); });
    }
    left_ = letters_.size();
    // A letter of one operand alone is summed before.
    for (std::size_t i = 0; i < letters_.size(); ++i) forget_private_letters(i);
  }

  std::size_t left() const { return left_; }
  bool alive(std::size_t i) const { return alive_[i]; }
  Letters letters(std::size_t i) const { return letters_[i]; }
  Letters result() const { return result_; }
  std::size_t made() const { return letters_.size(); }
  double size(Letters letters) const {
    double product = 1;
    for_each_letter(letters, [&](unsigned letter) { product *= sizes_[letter]; });
    return product;
  }
  double operations(Letters all, Letters kept) const { return size(all) * ((all & ~kept) != 0 ? 2 : 1); }

  // What two operands leave: letters that the result has, or an operand beside them.
  Letters product(std::size_t i, std::size_t j) const {
    const Letters all = letters_[i] | letters_[j];
    Letters kept = all & result_;
    for_each_letter(all & ~result_, [&](unsigned letter) {
      const auto& owners = owners_.at(letter);
      if (owners.size() > owners.count(places_[i]) + owners.count(places_[j])) kept |= Letters(1) << letter;
    });
    return kept;
  }

  std::size_t meet(std::size_t i, std::size_t j) {
    const Letters kept = product(i, j);
    const std::size_t made = letters_.size();
    for (const std::size_t gone : {i, j}) {
      alive_[gone] = false;
      for_each_letter(letters_[gone], [&](unsigned letter) { owners_[letter].erase(places_[gone]); });
    }
    letters_.push_back(kept), alive_.push_back(true), places_.push_back(places_[i]);
    for_each_letter(kept, [&](unsigned letter) { owners_[letter].emplace(places_[made], made); });
    --left_;
    return made;
  }

  // f(i, j) of neighbours of i, each once a letter.
  template <class F>
  void for_each_neighbour(std::size_t i, F f) const {
    for_each_letter(letters_[i], [&](unsigned letter) {
      const auto& owners = owners_.at(letter);
      const auto at = owners.find(places_[i]);
      if (at != owners.begin()) f(std::prev(at)->second, i);
      if (std::next(at) != owners.end()) f(i, std::next(at)->second);
    });
  }

 private:
  template <class F>
  static void for_each_letter(Letters letters, F f) {
    for (; letters != 0; letters &= letters - 1) f(static_cast<unsigned>(std::countr_zero(letters)));
  }
  void forget_private_letters(std::size_t i) {
    for_each_letter(letters_[i] & ~result_, [&](unsigned letter) {
      if (owners_[letter].size() == 1) letters_[i] &= ~(Letters(1) << letter), owners_[letter].clear();
    });
  }

  const std::vector<double>& sizes_;
  Letters result_;
  std::vector<Letters> letters_;
  std::vector<bool> alive_;
  std::vector<std::size_t> places_;                                // of the first that an operand is made of
  std::map<unsigned, std::map<std::size_t, std::size_t>> owners_;  // of a letter, by place: who has it
  std::size_t left_;
};

using Numbers = std::vector<std::pair<std::size_t, std::size_t>>;

// Until so many are left.
void meet_neighbours(Meeting& meeting, std::size_t most, Numbers& order) {
  if (meeting.left() <= most) return;
  using Candidate = std::tuple<double, std::size_t, std::size_t>;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates, alone;
  const auto offer = [&](std::size_t i, std::size_t j) {
    candidates.emplace(
        meeting.size(meeting.product(i, j)) - meeting.size(meeting.letters(i)) - meeting.size(meeting.letters(j)), i,
        j);
  };
  const auto meet = [&](std::size_t i, std::size_t j) {
    order.emplace_back(i, j);
    const std::size_t made = meeting.meet(i, j);
    meeting.for_each_neighbour(made, offer);
    return made;
  };
  for (std::size_t i = 0, count = meeting.made(); i < count; ++i) meeting.for_each_neighbour(i, offer);
  while (meeting.left() > most && !candidates.empty()) {
    const auto [above, i, j] = candidates.top();
    candidates.pop();
    if (meeting.alive(i) && meeting.alive(j)) meet(i, j);
  }
  if (meeting.left() <= most) return;
  // Those that are left have no letters together: the smallest first.
  for (std::size_t i = 0; i < meeting.made(); ++i)
    if (meeting.alive(i)) alone.emplace(meeting.size(meeting.letters(i)), i, i);
  while (meeting.left() > most) {
    const std::size_t i = std::get<1>(alone.top());
    alone.pop();
    const std::size_t j = std::get<1>(alone.top());
    alone.pop();
    const std::size_t made = meet(i, j);
    alone.emplace(meeting.size(meeting.letters(made)), made, made);
  }
}

// The cheapest tree over each set of operands, from those over its parts: 3^n steps.
void meet_at_best(Meeting& meeting, Numbers& order) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < meeting.made(); ++i)
    if (meeting.alive(i)) numbers.push_back(i);
  const std::size_t n = numbers.size(), sets = std::size_t(1) << n;
  std::vector<Letters> letters(sets), kept(sets);
  for (std::size_t set = 1; set < sets; ++set)
    letters[set] = letters[set & (set - 1)] | meeting.letters(numbers[static_cast<std::size_t>(std::countr_zero(set))]);
  for (std::size_t set = 1; set < sets; ++set) kept[set] = letters[set] & (meeting.result() | letters[sets - 1 - set]);
  std::vector<double> cost(sets, 0);
  std::vector<std::size_t> first(sets, 0);  // the part with the first operand of the set
  for (std::size_t set = 1; set < sets; ++set) {
    if (std::has_single_bit(set)) continue;
    const std::size_t least = set & -set, rest = set ^ least;
    double best = std::numeric_limits<double>::infinity();
    first[set] = least;  // where all are beyond every number
    for (std::size_t more = rest; more != 0;) {
      more = (more - 1) & rest;
      const std::size_t part = least | more, other = set ^ part;
      const double below = cost[part] + cost[other];
      if (below >= best) continue;
      const double whole = below + meeting.operations(kept[part] | kept[other], kept[set]);
      if (whole < best) best = whole, first[set] = part;
    }
    cost[set] = best;
  }
  const auto emit = [&](const auto& self, std::size_t set) -> std::size_t {
    if (std::has_single_bit(set)) return numbers[static_cast<std::size_t>(std::countr_zero(set))];
    const std::size_t i = self(self, first[set]), j = self(self, set ^ first[set]);
    order.emplace_back(i, j);
    return meeting.meet(i, j);
  };
  if (n > 1) emit(emit, sets - 1);
}

}  // namespace

ContractionOrder contraction_order(const Contraction& of) {
  constexpr std::size_t most_at_best = 12;
  Meeting meeting(of);
  Numbers numbers;
  meet_neighbours(meeting, most_at_best, numbers);
  meet_at_best(meeting, numbers);
  // Places: how many that came before are left, by a tree of sums.
  const std::size_t all = meeting.made();
  std::vector<std::size_t> gone(all + 1, 0);
  const auto place = [&](std::size_t number) {
    std::size_t before = 0;
    for (std::size_t i = number; i != 0; i &= i - 1) before += gone[i];
    return number - before;
  };
  ContractionOrder order;
  for (const auto& [i, j] : numbers) {
    order.emplace_back(place(i), place(j));
    for (const std::size_t number : {i, j})
      for (std::size_t at = number + 1; at <= all; at += at & -at) ++gone[at];
  }
  return order;
}

}  // namespace tenon
