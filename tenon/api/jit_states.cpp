// What each function that jit made keeps: its specialisations, what is known of the sizes it is called with, and what
// is said of its traces.
#include <cxxabi.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <unordered_set>

#include "tenon/api/jit.h"
#include "tenon/base/caches.h"
#include "tenon/rewrite/engine.h"
#include "tenon/rewrite/strictly.h"

namespace tenon::api_detail {

namespace {

// A line on stderr, which the state tells once.
void tell(const std::string& text) {
  const std::string line = "tenon: " + text + "\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

// The functions that jit made.
class JitStates final : public Cache {
 public:
  JitStates() { enlist(); }
  void add(JitState* state) {
    const std::lock_guard lock(mutex_);
    all_.insert(state);
  }
  void remove(JitState* state) {
    const std::lock_guard lock(mutex_);
    all_.erase(state);
    calls_of_ended_ += state->readers.calls();
    traces_of_ended_ += state->notes.traces();
  }
  CacheInfo info() override {
    const std::lock_guard lock(mutex_);
    CacheInfo sum{.name = "traces", .bound = all_.size() * EntryTable::bound};
    std::size_t calls = calls_of_ended_;
    sum.misses = traces_of_ended_;
    for (const JitState* state : all_) {
      sum.entries += state->entries.size();
      sum.misses += state->notes.traces();
      calls += state->readers.calls();
    }
    sum.hits = calls - std::min(calls, sum.misses);
    return sum;
  }
  void clear() override {
    std::vector<std::vector<EntryTable::Gone>> gone;  // ends outside of the lock
    const std::lock_guard lock(mutex_);
    for (JitState* state : all_) {
      state->entries.clear();
      gone.push_back(state->readers.drop(state->entries.take_gone()));
    }
  }

 private:
  ForkMutex mutex_;
  std::unordered_set<JitState*> all_;
  std::size_t calls_of_ended_ = 0, traces_of_ended_ = 0;
};
JitStates& jit_states() {
  static constinit Lasting<JitStates> all;
  return all.get();
}

std::string type_name(const std::type_info& type) {
  int failed = 0;
  char* const text = abi::__cxa_demangle(type.name(), nullptr, nullptr, &failed);
  std::string name = failed == 0 && text != nullptr ? text : type.name();
  std::free(text);
  return name;
}

std::vector<std::string> argument_names(const tree::View& arguments) {
  std::vector<std::string> all;
  for (const std::string& path : tree::paths(arguments)) all.push_back(argument_name(path));
  return all;
}

TracedForm form_of(const Signature& signature, const JitCall& call) {
  TracedForm form{{{"the C++ types", type_name(call.types), true}},
                  {signature.leaves().begin(), signature.leaves().end()}};
  call.arguments.visit([](const Array&) {},
                       [&](const tree::Static& fixed, const tree::Path& path) {
                         const bool structure = fixed.as<tree::Held>() != nullptr;
                         form.fixed.push_back({argument_name(path.text()), fixed.text(), structure});
                       });
  return form;
}

// A call, as open traces compare it with others of the same function.
struct OpenCall {
  const void* tag;
  const Signature& signature;
  bool operator==(const OpenCall& b) const { return tag == b.tag && signature == b.signature; }
};

}  // namespace

Donation donation_of(const std::vector<std::size_t>& donated, std::span<const std::size_t> leaves) {
  Donation donation;
  for (const std::size_t number : donated)
    if (number >= leaves.size())
      throw TreeError(fmt::format("jit: the option donate names argument {}, the function is called with {} arguments.",
                                  number, leaves.size()),
                      "Arguments are counted from 0.");
  for (std::size_t number = 0; number < leaves.size(); ++number) {
    const bool given = std::ranges::find(donated, number) != donated.end();
    donation.argument_of.insert(donation.argument_of.end(), leaves[number], number);
    donation.leaves.insert(donation.leaves.end(), leaves[number], given);
  }
  return donation;
}

JitState::JitState(JitOptions given, const Source& where, std::uint64_t type_hash)
    : options(std::move(given)), rules(with_rules_here(options.rewrites)), name{"", where}, type(type_hash) {
  options.numerics = std::max(options.numerics, numerics_here());
  jit_states().add(this);
}
JitState::~JitState() { jit_states().remove(this); }

bool JitCall::matches(const JitEntry& entry) const {
  if (entry.tag() != tag || (entry.is_sized() && !vary)) return false;
  const CallFrame frame(entry.leaves());
  return entry.signature().matches(arguments, frame.leaves()) &&
         entry.traced_for({frame.leaves(), entry.signature().leaves().size()});
}

const JitEntry* JitState::find(JitCall& call) {
  const auto matches = [&](const JitEntry& entry) { return call.matches(entry); };
  if (const JitEntry* recent = entries.recent(); recent != nullptr && matches(*recent)) return recent;
  call.hash = Signature::hash(call.arguments);
  if (const JitEntry* found = entries.find(call.hash, matches)) return found;
  if (!call.vary) return nullptr;
  call.form = Signature::form_hash(call.arguments);
  return entries.find(call.form, matches);
}

const JitEntry& JitState::add(JitCall& call, FunctionRef<EntryRef(const JitCall&)> make, EntryRef& alone) {
  alone = make(call);
  if (alone->is_sized() && !accepts(*alone)) {
    call.vary = false;
    alone = make(call);
  }
  if (alone->borrowed()) return *alone;
  const JitEntry* kept = entries.keep(alone, [&](const JitEntry& entry) { return call.matches(entry); });
  const auto gone = readers.drop(entries.take_gone());
  return *kept;
}

void JitState::note(const Signature& signature, const JitCall& call) {
  if (notes.traces() == 0)
    if (const auto text = note_new_function(name, Hasher()(type)(call.hash).finish().low)) tell(*text);
  const auto names = [&] { return argument_names(call.arguments); };
  if (const auto text = notes.note(name, form_of(signature, call), names)) tell(*text);
}

bool JitState::accepts(const JitEntry& sized) {
  if (options.sizes == Sizes::symbolic || !options.named_sizes.empty() || sized.keeps_promises()) return true;
  sizes.fix(sized.hash(), sized.signature().sizes());
  return false;
}

SizeNames JitState::names_of_sizes(const JitCall& call) const {
  if (options.named_sizes.empty()) return {};
  const Arrays leaves = tree::leaves(call.arguments);
  SizeNames names = SizeNames::of(options.named_sizes, call.leaves, leaves);
  names.require_agreement(leaves, [&] { return argument_names(call.arguments); });
  return names;
}

void JitState::trace(FlatFunction f, std::span<const Array> leaves, const JitCall& call, EntryParts& parts) {
  parts.donation = donation_of(options.donate, call.leaves);
  parts.strict = {.in_place = options.strict_in_place, .native = options.strict_native};
  const SizeNames names = names_of_sizes(call);
  const Signature signature = Signature::of(call.arguments);
  note(signature, call);
  const OpenCall open_call{call.tag, signature};
  const OpenTrace open(this, name, call.hash, &open_call, leaves,
                       [&](const void* other) { return open_call == *static_cast<const OpenCall*>(other); });
  parts.signature = signature;
  parts.traced =
      traced_by_rules(rules, options.numerics, [&] { return trace_as_asked(f, leaves, call, names, parts); });
  parts.hash = parts.signature.sizes().empty() ? call.hash : call.form;
}

TracedFunction traced_by_rules(const RuleSetRef& rules, Numerics numerics, FunctionRef<TracedFunction()> trace) {
  const RulesInstead these(rules);
  const NotesApplied notes;
  std::optional<StrictNumerics> strict;
  if (numerics == Numerics::strict) strict.emplace();
  TracedFunction traced = trace();
  if (rules != nullptr)
    traced.program = rewrite(traced.program, *rules, Phase::after_differentiation, Calls::short_ones_inlined);
  if (strict) traced.program = strictly(traced.program);
  traced.applied = notes.applied();
  return traced;
}

TracedFunction JitState::trace_as_asked(FlatFunction f, std::span<const Array> leaves, const JitCall& call,
                                        const SizeNames& names, EntryParts& parts) {
  if (!call.vary) return trace_for_calls(f, leaves, parts.what_for);
  const std::string called = name.called();
  const auto leaf_names = [&] { return argument_names(call.arguments); };
  const auto why = [](const std::exception& error) { return std::optional(std::string(error.what())); };
  const SizedTrace how{options.sizes, &sizes, call.form, &names, called, leaf_names, why};
  SizeVariables variables;
  TracedFunction traced = trace_for_sizes(f, leaves, how, variables, parts.what_for, {});
  parts.signature = parts.signature.with_sizes(leaves, std::move(variables));
  return traced;
}

}  // namespace tenon::api_detail
