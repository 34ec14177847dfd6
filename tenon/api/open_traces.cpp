#include "tenon/api/open_traces.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "tenon/base/stack.h"

namespace tenon::api_detail {
namespace {

thread_local OpenTrace* innermost = nullptr;

constexpr std::string_view advice =
    "Write what repeats as a loop (while_loop, fori_loop, scan), or end the recursion by what is known while the "
    "function is traced: a static argument, or a shape.";

// "f (a.py:3) -> g (a.py:7) -> f", of the outermost first; of many, those at both ends.
std::string chain(const std::vector<const FunctionName*>& names) {
  constexpr std::size_t ends = 4;
  std::string text;
  std::vector<const FunctionName*> told;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names.size() > 2 * ends + 1 && i == ends) {
      text += fmt::format(" -> … {} more …", names.size() - 2 * ends);
      i = names.size() - ends;
    }
    if (i > 0) text += " -> ";
    const bool again = std::ranges::any_of(told, [&](const FunctionName* n) { return n->text() == names[i]->text(); });
    text += again ? names[i]->called() : names[i]->text();
    told.push_back(names[i]);
  }
  return text;
}

}  // namespace

OpenTrace::OpenTrace(const void* function, const FunctionName& name, std::uint64_t hash, const void* call,
                     std::span<const Array> arguments, FunctionRef<bool(const void*)> alike)
    : function_(function), name_(name), hash_(hash), call_(call), for_(TracedFor::call(arguments)), outer_(innermost) {
  for (const OpenTrace* open = outer_; open != nullptr; open = open->outer_)
    if (open->function_ == function && open->hash_ == hash && within(*open) && alike(open->call_)) throw_cycle(*open);
  try {
    require_stack();
  } catch (const NestingError& e) {
    refuse_recursion(e.asked());
    throw;
  }
  innermost = this;
}
OpenTrace::~OpenTrace() { innermost = outer_; }

// A rule of the user's is traced for one derivative, or one batch, fewer than what asks for it: that comes to an end.
bool OpenTrace::within(const OpenTrace& open) const {
  const Ahead &here = for_.ahead, &there = open.for_.ahead;
  if (here == there) return for_.inputs == open.for_.inputs;
  return here.derivatives >= there.derivatives && here.lanes.size() >= there.lanes.size();
}

void OpenTrace::throw_cycle(const OpenTrace& first) const {
  std::vector<const FunctionName*> names{&name_};
  for (const OpenTrace* open = outer_; open != first.outer_; open = open->outer_) names.push_back(&open->name_);
  std::ranges::reverse(names);
  throw NestingError(
      fmt::format("jit: {} is called for arguments of the same types while it is traced for them: {}. A trace takes "
                  "every branch, whatever the values are, so that it would not end.",
                  name_.called(), chain(names)),
      advice);
}

void OpenTrace::refuse_recursion(std::string_view what) {
  std::unordered_set<const void*> seen;
  std::vector<const FunctionName*> names;
  bool twice = false;
  for (const OpenTrace* open = innermost; open != nullptr; open = open->outer_) {
    twice = !seen.insert(open->function_).second || twice;
    names.push_back(&open->name_);
  }
  if (!twice) return;
  std::ranges::reverse(names);
  throw NestingError(fmt::format("{} What is traced, each within the one before: {}.", what, chain(names)), advice);
}

}  // namespace tenon::api_detail
