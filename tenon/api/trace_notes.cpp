#include "tenon/api/trace_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "tenon/base/generations.h"
#include "tenon/base/log.h"

namespace tenon::api_detail {
namespace {

std::string_view weakness(const LeafType& t) { return t.weak() ? "weakly typed" : "not weakly typed"; }

// aspect(name, now, was) for each; of counts, nothing is written.
template <class Aspect>
void compare(const LeafType& now, const LeafType& was, const Aspect& aspect) {
  const Type &a = now.type(), &b = was.type();
  if (!a.is_array() || !b.is_array()) {
    if (!(a == b)) aspect("type", [&] { return std::pair(a.text(), b.text()); });
    return;
  }
  if (a.dtype != b.dtype)
    aspect("dtype", [&] { return std::pair(std::string(name(a.dtype)), std::string(name(b.dtype))); });
  if (now.weak() != was.weak())
    aspect("weak type", [&] { return std::pair(std::string(weakness(now)), std::string(weakness(was))); });
  if (a.rank() != b.rank()) return aspect("shape", [&] { return std::pair(a.shape.text(), b.shape.text()); });
  for (std::size_t i = 0; i < a.rank(); ++i)
    if (a.shape[i] != b.shape[i])
      aspect(fmt::format("axis {}", i), [&] { return std::pair(a.shape[i].text(), b.shape[i].text()); });
}

// differs(now, was) of what is no leaf; null: it is not given there.
template <class Differs>
void compare_fixed(const TracedForm& now, const TracedForm& was, const Differs& differs) {
  using Fixed = TracedForm::Fixed;
  if (std::ranges::equal(now.fixed, was.fixed, {}, &Fixed::place, &Fixed::place)) {
    for (std::size_t i = 0; i < now.fixed.size(); ++i)
      if (now.fixed[i].value != was.fixed[i].value) differs(&now.fixed[i], &was.fixed[i]);
    return;
  }
  std::map<std::string_view, const Fixed*> before;
  for (const Fixed& f : was.fixed) before.emplace(f.place, &f);
  for (const Fixed& f : now.fixed) {
    const auto found = before.find(f.place);
    const Fixed* other = found == before.end() ? nullptr : found->second;
    if (other == nullptr || other->value != f.value) differs(&f, other);
    if (other != nullptr) before.erase(found);
  }
  for (const auto& [place, f] : before) differs(nullptr, f);
}

// Forms with other leaves are further away than those with the same ones.
std::size_t distance(const TracedForm& now, const TracedForm& was) {
  std::size_t count = 0;
  bool same_leaves = now.leaves.size() == was.leaves.size();
  compare_fixed(now, was, [&](const TracedForm::Fixed* a, const TracedForm::Fixed* b) {
    ++count;
    same_leaves = same_leaves && !(a == nullptr ? b : a)->structure;
  });
  if (!same_leaves) return count + 10 * std::max(now.leaves.size(), was.leaves.size());
  for (std::size_t i = 0; i < now.leaves.size(); ++i)
    compare(now.leaves[i], was.leaves[i], [&](const auto&, const auto&) { ++count; });
  return count;
}

// A long text from a little before the place where it differs from another.
std::string around(const std::string& text, const std::string& other) {
  constexpr std::ptrdiff_t before = 24, most = 72;
  const std::ptrdiff_t at = std::ranges::mismatch(text, other).in1 - text.begin();
  const std::ptrdiff_t from = at > before ? at - before : 0;
  const auto size = static_cast<std::ptrdiff_t>(text.size());
  if (from == 0 && size <= most) return text;
  return (from > 0 ? "…" : "") + text.substr(static_cast<std::size_t>(from), most) + (from + most < size ? "…" : "");
}

std::vector<Difference> differences(const TracedForm& now, const TracedForm& was, LeafNames names) {
  std::vector<Difference> all;
  bool same_leaves = now.leaves.size() == was.leaves.size();
  compare_fixed(now, was, [&](const TracedForm::Fixed* a, const TracedForm::Fixed* b) {
    const std::string none = "not given";
    const std::string &x = a == nullptr ? none : a->value, &y = b == nullptr ? none : b->value;
    all.push_back({(a == nullptr ? b : a)->place, around(x, y), around(y, x)});
    same_leaves = same_leaves && !(a == nullptr ? b : a)->structure;
  });
  if (!same_leaves) return all;
  std::vector<std::string> of_leaves;
  for (std::size_t i = 0; i < now.leaves.size(); ++i)
    compare(now.leaves[i], was.leaves[i], [&](std::string_view aspect, const auto& both) {
      if (of_leaves.empty()) of_leaves = names();
      auto [a, b] = both();
      all.push_back({fmt::format("{}, {}", of_leaves[i], aspect), std::move(a), std::move(b)});
    });
  return all;
}

std::string joined(const std::vector<Difference>& all) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(all.size(), most); ++i) text += (i > 0 ? "; " : "") + all[i].text();
  if (all.size() > most) text += fmt::format("; and {} more", all.size() - most);
  return text;
}

}  // namespace

std::string FunctionName::text() const {
  if (name.empty()) return called();
  return where.known() ? fmt::format("{} ({})", name, where.text()) : name;
}
std::string FunctionName::called() const {
  if (!name.empty()) return name;
  return where.known() ? "the function jitted at " + where.text() : "a function";
}

std::string Difference::text() const {
  return was.empty() ? fmt::format("{}: {}", place, now) : fmt::format("{}: {}, was {}", place, now, was);
}

std::optional<std::string> TraceNotes::note(const FunctionName& name, TracedForm form, LeafNames names) {
  std::optional<TracedForm> nearest;
  {
    const std::lock_guard lock(mutex_);
    if ((!told_ || log_enabled(LogTopic::cache)) && !latest_.empty()) nearest = nearest_to(form);
  }
  std::vector<Difference> all;
  if (nearest) {
    all = differences(form, *nearest, names);
    if (all.empty())
      all.push_back(
          {"what is around the call", "another transformation, or an array there that the function captures", {}});
    if (log_enabled(LogTopic::cache))
      log_line(LogTopic::cache, fmt::format("{}: traced again: {}", name.called(), joined(all)));
  }
  const std::lock_guard lock(mutex_);
  if (latest_.size() < compared)
    latest_.push_back(std::move(form));
  else
    latest_[traces_ % compared] = std::move(form);
  ++traces_;
  for (Difference& d : all)
    if (differed_.size() < places || differed_.contains(d.place)) {
      Place& place = differed_[d.place];
      ++place.times;
      place.latest = std::move(d);
    }
  if (traces_ <= many || std::exchange(told_, true)) return std::nullopt;
  return too_many(name);
}

// Of those that are as near, the latest.
const TracedForm& TraceNotes::nearest_to(const TracedForm& form) const {
  const TracedForm* nearest = nullptr;
  std::size_t least = 0;
  for (std::size_t i = 1; i <= latest_.size(); ++i) {
    const TracedForm& was = latest_[(traces_ - i) % latest_.size()];
    const std::size_t far = distance(form, was);
    if (nearest != nullptr && far >= least) continue;
    nearest = &was;
    least = far;
  }
  return *nearest;
}

std::size_t TraceNotes::traces() const {
  const std::lock_guard lock(mutex_);
  return traces_;
}

std::string TraceNotes::too_many(const FunctionName& name) const {
  const auto most = std::ranges::max_element(differed_, {}, [](const auto& each) { return each.second.times; });
  return fmt::format(
      "{} has been traced {} times, each time for other types or static values, which takes more time than running. "
      "What differed most often: {} ({} times). Static arguments are for few values; arrays of many sizes can be "
      "padded to few, where the function needs their sizes as numbers; what a function captures can be an argument.",
      name.text(), traces_, most->second.latest.text(), most->second.times);
}

std::optional<std::string> note_new_function(const FunctionName& name, std::uint64_t hash) {
  using Counts = Generations<Hash128, std::size_t>;
  static constinit ForkMutex mutex;
  static constinit Lasting<Counts> counts;
  if (!name.where.known()) return std::nullopt;
  const Hash128 place =
      Hasher()(std::string_view(name.where.file))(name.where.line)(name.where.column)(std::string_view(name.name))
          .finish();
  const Hash128 key = Hasher()(place)(hash).finish();
  std::size_t times = 1;
  {
    const std::lock_guard lock(mutex);
    Counts& all = counts.get([] { return Counts(4096); });
    if (std::size_t* found = all.find(key))
      times = ++*found;
    else
      static_cast<void>(all.insert(key, 1));
    if (times <= TraceNotes::many || all.find(place) != nullptr) return std::nullopt;
    static_cast<void>(all.insert(place, times));  // it has been told
  }
  return fmt::format(
      "jit has been given {} {} times, and each time it was traced for the same types, which takes more time than "
      "running. Call jit once, outside of the loop, and keep what it returns; what differs from time to time can be an "
      "argument.",
      name.text(), times);
}

}  // namespace tenon::api_detail
