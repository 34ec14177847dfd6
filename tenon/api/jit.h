// jit: a function traced once and compiled once for each kind of arguments, as one native program.
#pragma once

#include <algorithm>
#include <atomic>

#include "tenon/api/entry_table.h"
#include "tenon/api/numerics.h"
#include "tenon/api/open_traces.h"
#include "tenon/api/ref.h"
#include "tenon/api/rewrites.h"
#include "tenon/api/signature.h"
#include "tenon/api/sizes.h"
#include "tenon/api/trace_notes.h"
#include "tenon/api/transforms.h"
#include "tenon/base/fork.h"
#include "tenon/base/function_ref.h"
#include "tenon/runtime/context.h"

namespace tenon {

struct InputName;

struct JitOptions {
  // Arguments, counted from 0, whose memory a call may reuse for its results. A leaf is donated where its array is
  // passed as a variable that is not const (or as a temporary), is the only handle of memory that Tenon allocated, and
  // a result of the same type can be computed in it. It cannot be used after the call then: reading it throws
  // RuntimeError. All other leaves (borrowed, shared, broadcast, of no result's type) stay as they are.
  std::vector<std::size_t> donate = {};
  // Updates of arrays in places, x.at(i).set(v) and its kin, in loops, branches and derivatives too, copy no array of
  // more than 64 elements: else compiling throws CompileError, which names the update, what forces the copy, and the
  // lines of both; and a call whose donated argument must stay as it is throws RuntimeError. Of the outermost jitted
  // function: inside of another it is part of that one.
  bool strict_in_place = false;
  // All of it runs as one native program: else compiling throws CompileError, which names what has no native form, why,
  // and the lines (explain() tells the same). Of the outermost jitted function, too.
  bool strict_native = false;
  // Which sizes of the arguments' axes are variables of what is traced and compiled, and so may be any from 2 on.
  Sizes sizes = Sizes::automatic;
  // Sizes with names are variables from the first call on, unless they are 0 or 1. A call where axes that are named the
  // same differ throws ShapeError, which names both arguments. {{0, {"T", ""}}, {1, {"T"}}}
  std::vector<NamedSizes> named_sizes = {};
  // Rules that are applied beside the library's, where the function is differentiated and to all that it becomes; and
  // those of Rewrites that are in force where jit is called.
  std::vector<RuleRef> rewrites = {};
  // strict: as it is written, to the bit of the order in which sums are taken; only exact rules are applied.
  Numerics numerics = Numerics::relaxed;
};

namespace api_detail {

// What is an error instead of taking longer.
struct Strict {
  bool in_place = false, native = false;
};

// Room for addresses during a call, in memory that the thread keeps.
class CallFrame {
 public:
  explicit CallFrame(std::size_t words);
  ~CallFrame();
  CallFrame(const CallFrame&) = delete;
  CallFrame& operator=(const CallFrame&) = delete;
  void** words() const { return words_; }
  const Array** leaves() const { return const_cast<const Array**>(reinterpret_cast<Array**>(words_)); }
  Array** results(std::size_t leaves) const { return reinterpret_cast<Array**>(words_) + leaves; }

 private:
  std::size_t count_;
  void** words_;
  bool own_;
};

// Which leaves of a call are donated.
struct Donation {
  std::vector<bool> leaves;              // donated ones among the leaves of the arguments
  std::vector<std::size_t> argument_of;  // the argument of each leaf
};

// Of the arguments that the option names; `leaves`: how many each argument has.
Donation donation_of(const std::vector<std::size_t>& donated, std::span<const std::size_t> leaves);

// What a specialisation is made of, but for its trees. Its special members are compiled once, not in each program that
// jits a function.
struct EntryParts {
  EntryParts();
  EntryParts(EntryParts&&) noexcept;
  ~EntryParts();

  std::uint64_t hash = 0;
  Signature signature;
  TracedFunction traced;
  Donation donation;
  std::vector<CellRef> passed;  // references among the arguments, as the trace knows them
  Strict strict;
  std::optional<TracedFor> what_for;  // where the trace depends on it
};

// One specialisation of a jitted function: the part that knows no trees. Compiled when it first runs on values.
class JitEntry : public std::enable_shared_from_this<JitEntry> {
 public:
  // `tag`: of the C++ types of the arguments.
  JitEntry(const void* tag, EntryParts parts);
  virtual ~JitEntry();

  const void* tag() const { return tag_; }  // of the C++ types of the arguments
  std::uint64_t hash() const { return hash_; }
  const Signature& signature() const { return signature_; }
  const TracedFunction& traced() const { return traced_; }
  // What a call gives and gets: leaves of the arguments and of the result, then references that are used, or written.
  std::size_t leaves() const { return signature_.leaves().size() + refs_.size(); }
  std::size_t results() const { return traced_.weak.size(); }
  bool uses_refs() const { return !refs_.empty(); }
  Strict strict() const { return strict_; }
  // For what a call gives and gets, and its addresses.
  std::size_t frame_words() const {
    const std::size_t sizes = signature_.sizes().axes.size();
    return 2 * (leaves() + results()) + traced_.captures.size() + (sizes > 0 ? sizes + 1 : 0);
  }
  // Whether sizes of the arguments are variables.
  bool is_sized() const { return !signature_.sizes().empty(); }
  // Reads an enclosing trace, or has sizes of one: good for this call alone.
  bool borrowed() const;
  // Whether the trace is good for the transformations that are ahead here, and those that these leaves take part in:
  // which rules of the user's it holds depends on them.
  bool traced_for(std::span<const Array* const> leaves) const { return !what_for_ || is_for(leaves); }

  // Inside a trace: a call of the traced Program. `passed`: references among the arguments of this call.
  Arrays bind(std::span<const Array> arguments, std::span<const CellRef> passed) const;
  // The frame holds addresses of the leaves, then of the arrays that get the results. Leaves of the arguments in
  // `given` (bit i: number i) may be donated.
  void run(void** frame, std::uint64_t given) const;
  // Into the memory of existing arrays; `paths` tells their names for an error.
  void run_into(void** frame, FunctionRef<std::vector<std::string>()> paths) const;
  // Compiles now.
  void prepare() const;
  // Of one with variable sizes: whether what is promised of the function holds of it, that it is strict and that
  // donated memory is used. Else it is to be traced for each size. Compiles where anything is promised.
  bool keeps_promises() const;
  // Leaves of more than one element that are donated, and of whose memory no result is made. Compiles.
  std::vector<std::size_t> donated_in_vain() const;
  // As run() and run_into(), with the references of this call in the frame.
  void run_with_refs(void** frame, std::span<const CellRef> passed, FunctionRef<void()> run) const;

  // Of a result that the caller gives, whether it is a tree of the structure that the function returns.
  bool returns(const tree::View& given) const;

 protected:
  // Of what the function returned, the leaves become empty, and its static values are noted. Throws where it holds
  // references.
  void take_result(const tree::MutableView& result);

 private:
  struct Ready;
  struct Lazy;
  // A reference that the function uses: captured, or one of those passed, or the state that this has for a derivative.
  struct UsedRef {
    CellRef captured;
    std::size_t passed = 0;
    std::uint32_t derivative = 0;
    bool written = false;
  };
  std::vector<CellRef> cells(std::span<const CellRef> passed) const;
  const Ready& ready(bool donating) const;
  std::unique_ptr<const Ready> make_ready(bool donating) const;
  void run_values(const Ready& ready, void** frame) const;
  std::span<const std::int64_t> measure(void** frame) const;  // the sizes of a call
  void** place_inputs(const Ready& ready, void** frame, void** at, std::vector<Buffer>& copies) const;
  std::string_view why_not_donated(const Array& leaf, std::size_t i, void** frame, std::uint64_t given) const;
  void require_donated(const Ready& ready, void** frame, std::uint64_t given) const;
  InputName input_name(std::size_t i) const;
  bool is_for(std::span<const Array* const> leaves) const;

  const void* tag_;
  std::uint64_t hash_;
  Signature signature_;
  TracedFunction traced_;  // its captures are those that are no references
  std::vector<UsedRef> refs_;
  Donation donation_;
  bool donates_;
  Strict strict_;
  std::optional<TracedFor> what_for_;
  StaticValues fixed_results_;
  std::unique_ptr<Lazy> plain_, donating_;
};

// Traced to be called often. `what_for`: where the trace depends on that.
// The arguments' types, or those that are given in their place.
TracedFunction trace_for_calls(FlatFunction f, std::span<const Array> arguments, std::optional<TracedFor>& what_for,
                               std::string_view name = {}, std::span<const Type> types = {});

// What `trace` traces: with these rules in force, rewritten by them, and strict where that is asked for.
TracedFunction traced_by_rules(const RuleSetRef& rules, Numerics numerics, FunctionRef<TracedFunction()> trace);

template <class... Args>
inline constexpr char type_tag = 0;

[[noreturn]] void throw_not_prepared(const Signature& wanted, std::span<const Array> given,
                                     const std::vector<std::string>& paths);
[[noreturn]] void throw_other_structure();
EntryRef shared(JitEntry* made);  // which it owns from now on
[[noreturn]] void throw_traced_into();

// A specialisation for arguments of these C++ types.
template <class Result, class... Args>
struct EntryOf : JitEntry {
  static const void* tag_of_type() { return &type_tag<Args...>; }
  EntryOf(EntryParts parts, Result tree) : JitEntry(tag_of_type(), std::move(parts)), result(std::move(tree)) {
    take_result(result);
  }
  Result result;  // the tree that the function returned, its leaves empty
};

// One call of a jitted function, whatever its types are.
struct JitCall {
  const void* tag;
  const std::type_info& types;
  tree::View arguments;
  bool vary;                                 // sizes may be variables
  std::uint64_t hash = 0, form = 0;          // with the sizes of its leaves; and without them, where they vary
  std::span<const std::size_t> leaves = {};  // of each argument, how many: for a call that is to be traced

  bool matches(const JitEntry& entry) const;
};

// What copies of one jitted function share, but for the function. Those that there are, are the cache "traces".
struct JitState {
  // `type`: of the function.
  JitState(JitOptions options, const Source& where, std::uint64_t type);
  ~JitState();
  JitState(const JitState&) = delete;
  JitState& operator=(const JitState&) = delete;
  // The specialisation for a call, where there is one; `call` gets its hashes.
  const JitEntry* find(JitCall& call);
  // A new one, which `make` traces; what is good for one call alone is kept by `alone`.
  const JitEntry& add(JitCall& call, FunctionRef<EntryRef(const JitCall&)> make, EntryRef& alone);
  // Traces f, whose arguments are these leaves, for a call; `parts` has its references.
  void trace(FlatFunction f, std::span<const Array> leaves, const JitCall& call, EntryParts& parts);

  JitOptions options;
  RuleSetRef rules;  // null where there are none
  FunctionName name;
  std::uint64_t type;
  EntryTable entries;
  Readers readers;
  TraceNotes notes;
  SizeHistory sizes;

 private:
  void note(const Signature& signature, const JitCall& call);
  bool accepts(const JitEntry& sized);
  SizeNames names_of_sizes(const JitCall& call) const;
  TracedFunction trace_as_asked(FlatFunction f, std::span<const Array> leaves, const JitCall& call,
                                const SizeNames& names, EntryParts& parts);
};

// What is good for one call alone is kept by `alone`. With `vary`, sizes may be variables.
template <class Result, class... Args>
const EntryOf<Result, Args...>& find_entry(JitState& state, Callable<Result, Args...> f, EntryRef& alone, bool vary,
                                           const Args&... args) {
  using Entry = EntryOf<Result, Args...>;
  const auto tied = std::tie(args...);
  JitCall call{Entry::tag_of_type(), typeid(std::tuple<Args...>), tied, vary && Scope::top() == nullptr};
  if (const JitEntry* found = state.find(call)) return static_cast<const Entry&>(*found);
  const std::array<std::size_t, sizeof...(Args)> leaves{tree::count(args)...};
  call.leaves = leaves;
  const auto make = [&](const JitCall& asked) {
    std::tuple<Args...> inside(args...);
    EntryParts parts;
    parts.passed = stand_ins_of(tied);
    rebind_cells(inside, parts.passed);
    FlattenedCall<Result, Args...> flat(f, std::move(inside));
    state.trace(flat, flat.arguments(), asked, parts);
    return shared(new Entry(std::move(parts), std::move(flat.result())));
  };
  return static_cast<const Entry&>(state.add(call, make, alone));
}

template <class Result, class... Args>
Result call_in_trace(const EntryOf<Result, Args...>& entry, const Args&... args) {
  return tree::with_leaves(entry.result, entry.bind(tree::leaves(std::tie(args...)), cells_of(std::tie(args...))));
}

// The leaves of the arguments are in the frame.
template <class Result, class... Args>
Result call_in_frame(const EntryOf<Result, Args...>& entry, const CallFrame& frame, std::uint64_t given,
                     const Args&... args) {
  Result result = entry.result;
  tree::MutableView(result).addresses(frame.results(entry.leaves()));
  const auto run = [&] { entry.run(frame.words(), given); };
  if (entry.uses_refs()) [[unlikely]]
    entry.run_with_refs(frame.words(), cells_of(std::tie(args...)), run);
  else
    run();
  return result;
}

template <class Result, class... Args>
Result call_entry(const EntryOf<Result, Args...>& entry, std::uint64_t given, const Args&... args) {
  const CallFrame frame(entry.frame_words());
  tree::View(std::tie(args...)).addresses(frame.leaves());
  return call_in_frame(entry, frame, given, args...);
}

template <class Given, class Result, class... Args>
void into_entry(const EntryOf<Result, Args...>& entry, Given& results, const Args&... args) {
  static_assert(std::is_same_v<Given, Result>,
                "into: the results are written into a tree of the type that the function returns");
  if (Scope::top() != nullptr) throw_traced_into();
  const CallFrame frame(entry.frame_words());
  tree::View(std::tie(args...)).addresses(frame.leaves());
  if (!entry.returns(results)) {
    bool empty = true;
    tree::View(results).visit([&](const Array& a) { empty = empty && a.empty(); });
    if (!empty) throw_other_structure();
    results = entry.result;
  }
  tree::MutableView(results).addresses(frame.results(entry.leaves()));
  const auto run = [&] { entry.run_into(frame.words(), [&] { return tree::paths(results); }); };
  if (entry.uses_refs())
    entry.run_with_refs(frame.words(), cells_of(std::tie(args...)), run);
  else
    run();
}

// Bit i: argument i is a variable that is not const, or a temporary.
template <class... Args>
constexpr std::uint64_t given_arguments() {
  std::uint64_t bits = 0;
  std::size_t number = 0;
  ((bits |= std::uint64_t(!std::is_const_v<std::remove_reference_t<Args>>) << (number++ & 63)), ...);
  return bits;
}

}  // namespace api_detail

template <class F, class... Args>
class Prepared;
template <class F>
class UnderContext;

// A callable like f. The object is its own cache: by the structure of the arguments, their static fields, and the
// leaves' types; of sizes that vary it keeps what is good for all of them, see Sizes. Concrete arrays that f captures
// are snapshots, taken when it is traced. Copies share the cache. Thread-safe. A call that has run before with
// arguments of these types allocates its results and nothing else, and takes no lock; where another trace is open, it
// is one call of what was traced. Throws what f throws while it is traced, and what running throws: MemoryError,
// CancelledError.
template <class F>
class Jitted {
  template <class... Args>
  using ResultOf = api_detail::ResultOf<F, Args...>;

 public:
  explicit Jitted(F f, JitOptions options, const Source& where)
      : state_(std::make_shared<State>(std::move(options), where, std::move(f))), where_(where) {}

  template <class... Args>
  ResultOf<std::remove_cvref_t<Args>...> operator()(Args&&... args) const {
    using Called = api_detail::EntryOf<ResultOf<std::remove_cvref_t<Args>...>, std::remove_cvref_t<Args>...>;
    static_assert(tree_detail::check_result<ResultOf<std::remove_cvref_t<Args>...>>());
    constexpr std::uint64_t given = api_detail::given_arguments<Args...>();
    const SourceScope place(where_);
    const api_detail::Readers::Reading reading(state_->readers);
    api_detail::EntryRef alone;
    if (Scope::top() != nullptr) return api_detail::call_in_trace(find(alone, false, args...), args...);
    const auto* recent = state_->entries.recent();
    if (recent != nullptr && recent->tag() == Called::tag_of_type()) {
      const api_detail::CallFrame frame(recent->frame_words());
      if (recent->signature().matches(std::tie(args...), frame.leaves()))
        return api_detail::call_in_frame(static_cast<const Called&>(*recent), frame, given, args...);
    }
    return api_detail::call_entry(find(alone, true, args...), given, args...);
  }

  // f(args…), its results written into the arrays of `results`, a tree like f's result: nothing is allocated. Arrays of
  // results that are empty, that other handles share or that overlap an argument get memory of their own instead;
  // borrowed memory is always written. Throws TreeError where the tree, ShapeError or DTypeError where an array is of
  // another type, and RuntimeError where its memory is read-only; nothing is written then.
  template <class Result, class... Args>
  void into(Result& results, const Args&... args) const {
    const SourceScope place(where_);
    const api_detail::Readers::Reading reading(state_->readers);
    api_detail::EntryRef alone;
    api_detail::into_entry(find(alone, true, args...), results, args...);
  }

  // Compiled now, for arguments of these types; see Prepared. The values are not looked at.
  template <class... Args>
  Prepared<F, Args...> prepare(const Args&... args) const {
    const SourceScope place(where_);
    return Prepared<F, Args...>(*this, args...);
  }

  // The same function under a context, by which another thread can stop it: f.with(context)(args…). The context must
  // outlive what is returned.
  UnderContext<F> with(const Context& context) const { return UnderContext<F>(*this, context); }

  F& function() const { return state_->f; }
  const JitOptions& options() const { return state_->options; }
  const RuleSetRef& rules() const { return state_->rules; }

 private:
  friend class UnderContext<F>;
  template <class, class...>
  friend class Prepared;
  struct State : api_detail::JitState {
    State(JitOptions given, const Source& where, F function)
        : JitState(std::move(given), where, typeid(F).hash_code()), f(std::move(function)) {}
    F f;
  };
  template <class... Args>
  const auto& find(api_detail::EntryRef& alone, bool vary, const Args&... args) const {
    return api_detail::find_entry(*state_, api_detail::Callable<ResultOf<Args...>, Args...>::of(state_->f), alone, vary,
                                  args...);
  }

  std::shared_ptr<State> state_;
  Source where_;
};

// A jitted function compiled for arguments of certain types: of the C++ types Args, with the leaves' dtypes and shapes
// and the static values that prepare() was given; sizes are variables where the option symbolic, or names, say so.
// Calls with others throw TreeError. Copies share what is compiled.
//
//   auto J = jacobian.prepare(example);
//   auto result = J(batch);
//   J.into(result, other_batch);   // allocates nothing, takes no lock
template <class F, class... Args>
class Prepared {
 public:
  Prepared(Jitted<F> f, const Args&... args) : f_(std::move(f)) {
    if (Scope::top() != nullptr) api_detail::throw_traced_into();
    const api_detail::Readers::Reading reading(f_.state_->readers);
    const JitOptions& options = f_.options();
    const bool vary = options.sizes == Sizes::symbolic || !options.named_sizes.empty();
    entry_ = &f_.find(alone_, vary, args...);
    alone_ = entry_->shared_from_this();
    entry_->prepare();
  }

  template <class... Given>
  auto operator()(Given&&... args) const {
    check(args...);
    const SourceScope place(f_.where_);
    return api_detail::call_entry(*entry_, api_detail::given_arguments<Given...>(), args...);
  }

  // As Jitted::into.
  template <class Result>
  void into(Result& results, const Args&... args) const {
    check(args...);
    const SourceScope place(f_.where_);
    api_detail::into_entry(*entry_, results, args...);
  }

 private:
  template <class... Given>
  void check(const Given&... args) const {
    static_assert((std::is_same_v<Given, Args> && ...), "this was prepared for arguments of other types");
    if (Scope::top() != nullptr) api_detail::throw_traced_into();
    const api_detail::CallFrame frame(entry_->leaves());
    if (!entry_->signature().matches(std::tie(args...), frame.leaves()))
      api_detail::throw_not_prepared(entry_->signature(), tree::leaves(std::tie(args...)),
                                     tree::paths(std::tie(args...)));
  }

  Jitted<F> f_;
  api_detail::EntryRef alone_;  // which holds the entry, whatever the function's cache drops
  const api_detail::EntryOf<api_detail::ResultOf<F, Args...>, Args...>* entry_;
};

// See Jitted::with.
template <class F>
class UnderContext {
 public:
  UnderContext(Jitted<F> f, const Context& context) : f_(std::move(f)), context_(&context) {}
  template <class... Args>
  auto operator()(Args&&... args) const {
    const ContextScope scope(*context_);
    return f_(std::forward<Args>(args)...);
  }
  template <class Result, class... Args>
  void into(Result& results, const Args&... args) const {
    const ContextScope scope(*context_);
    f_.into(results, args...);
  }

 private:
  Jitted<F> f_;
  const Context* context_;
};

// jit(f), jit(f, {.donate = {0}}). f is any callable: a function, a lambda with captures, a member function. It is
// kept, and called when arguments of new types come: a lambda that outlives this scope captures by value, [=]; what it
// has by reference must live as long as what jit returns, as with every C++ lambda. Of what it captures the trace keeps
// what it was when f was called: arrays that change between calls are arguments, or references (make_ref).
//
//   auto step = tn::jit([](Params p, Array x) { p.w += x; return p; }, {.donate = {0}});
//   params = step(params, x);   // in place
template <class F>
Jitted<F> jit(F f, JitOptions options = {}, const Source& where = std::source_location::current()) {
  return Jitted<F>(std::move(f), std::move(options), where);
}

// The Program that a function is at these arguments, to be printed or read.
//   const auto program = tn::trace([](Array x) { return x * x; })(Array(2.f));
template <class F>
auto trace(F f) {
  return [f](const auto&... args) mutable {
    api_detail::Flattened<F, std::remove_cvref_t<decltype(args)>...> flat(f, args...);
    const std::vector<bool> all(flat.arguments().size(), true);  // it may be differentiated
    return trace_flat(flat, flat.arguments(), writes_refs, false, TracedFor::derivative(flat.arguments(), all)).program;
  };
}

}  // namespace tenon
