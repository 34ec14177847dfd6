// OpInfo: the whole story of an op as a flat record of slots. A slot is a function, a named derivation, or an absence
// with its reason; leaving one out does not compile, since no slot can be made from nothing.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "tenon/base/function_ref.h"
#include "tenon/ir/array.h"
#include "tenon/ir/traits.h"
#include "tenon/kernel/expr.h"

namespace tenon {

struct Recurse;

// "none: …" in place of a slot's function; the reason is shown to users and in the op × slot table.
struct Absent {
  std::string_view reason;
};

template <class Rule>
class Slot {
 public:
  Slot() = delete;
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, Slot> && std::is_constructible_v<std::variant<Rule, Absent>, F>)
  Slot(F&& rule) : rule_(std::forward<F>(rule)) {}
  explicit operator bool() const { return std::holds_alternative<Rule>(rule_); }
  const Rule& operator*() const { return std::get<Rule>(rule_); }
  const Rule* operator->() const { return &std::get<Rule>(rule_); }
  std::string_view reason() const { return std::get<Absent>(rule_).reason; }

 private:
  std::variant<Rule, Absent> rule_;
};

// --- type: result types from operand types and params, or a teaching error ---
// What a type rule may ask of the trace it runs in.
class TypeContext {
 public:
  virtual ~TypeContext() = default;
  // The size that the data of operand `operand` decide: the same variable whenever the same variable's data are asked
  // for again, so that x[m] * y[m] agree. `key` names the op of that operand alone whose result shows the size.
  virtual Dim new_size(std::string_view key, std::size_t operand) = 0;
  // The same where all operands decide together.
  virtual Dim new_size(std::string_view key) = 0;
  // Two sizes that must be equal: decided now where both are known, else a guard at run time.
  static constexpr const char* unequal_sizes_advice =
      "These sizes must be equal: reshape, slice or transpose an operand.";
  virtual void require_equal(const Dim& a, const Dim& b, FunctionRef<std::string()> what) = 0;  // text of the error
};
using TypeRule = std::function<std::vector<Type>(const Params&, std::span<const Type>, TypeContext&)>;

// --- eval: the reference evaluation, simple and independent of every compiler ---
struct EvalContext {
  // Evaluates a nested Program; sizes are its size parameters.
  std::function<std::vector<Value>(const Program&, std::span<const std::int64_t> sizes, std::span<const Value>)> run;
  std::span<const Type> out;  // result types with all known sizes substituted
};
using EvalRule = std::function<std::vector<Value>(const Params&, std::span<const Value>, const EvalContext&)>;

// --- jvp: outputs and their tangents. A tangent that is missing is zero; integers and booleans never have one ---
struct JvpArgs {
  const Params& params;
  std::span<const Array> primals;
  std::span<const MaybeArray> tangents;
  Recurse& recurse;
};
struct JvpResult {
  Arrays outputs;
  std::vector<MaybeArray> tangents;
};
using JvpRule = std::function<JvpResult(const JvpArgs&)>;

// --- transpose: cotangents of the linear operands ---
struct TransposeOperand {
  Type type;
  MaybeArray value;  // missing where the operand is linear
  bool linear() const { return !value.has_value(); }
};
// Where cotangents of linear operands go. add() sums; update() hands over the sum so far (zeros at first) and takes the
// new one, so that a cotangent of an indexed read is an in-place addition of a few elements.
class CotangentSink {
 public:
  virtual ~CotangentSink() = default;
  virtual void add(std::size_t operand, const Array& cotangent) = 0;
  virtual void update(std::size_t operand, FunctionRef<Array(const Array&)> next) = 0;
};
struct TransposeArgs {
  const Params& params;
  std::span<const TransposeOperand> operands;
  std::span<const MaybeArray> cotangents;  // one an output; missing is zero
  CotangentSink& sink;
  Recurse& recurse;
};
using TransposeRule = std::function<void(const TransposeArgs&)>;

// --- batch: the batch axis is axis 0 of every batched operand and output ---
struct BatchArgs {
  const Params& params;
  std::span<const Array> operands;
  std::span<const bool> batched;
  Dim size;
  Recurse& recurse;
};
struct BatchResult {
  Arrays outputs;
  std::vector<bool> batched;
};
using BatchRule = std::function<BatchResult(const BatchArgs&)>;

// --- split: partial evaluation of a region op, for linearize and transpose. Ordinary ops are wholly known or not ---
using Mask = std::vector<bool>;
struct SplitArgs {
  const Params& params;
  std::span<const Type> types;  // of the operands
  const Mask& known;            // operands whose value is there in the first part
  bool recompute;
  Recurse& recurse;
};
// The eqn as two: `first` reads known operands and gives the known outputs, then residuals; `second` reads operands and
// residuals and gives the other outputs.
struct SplitResult {
  const OpInfo* first;
  Params first_params;
  std::vector<std::size_t> first_in;   // operands of the eqn
  std::vector<std::size_t> first_out;  // outputs of the eqn; what `first` gives beyond them are residuals
  const OpInfo* second;
  Params second_params;
  // Instead, where residuals' types decide sizes: from the types of all operands of `second`.
  std::function<Params(std::span<const Type>)> second_params_of = {};
  struct Source {
    enum class From : std::uint8_t {
      operand,
      residual,
      output
    } from;  // of the eqn, of `first`, known output of the eqn
    std::size_t index;
  };
  std::vector<Source> second_in;
  // Where `second` reads something made of these: its operands from their values.
  std::function<std::vector<Array>(std::vector<Array>)> second_operands = {};
  std::vector<std::size_t> second_out;  // outputs of the eqn
  RecomputeScope second_recompute = 0;  // of what `second` computes again, if it must not be merged with `first`
};
struct SplitRule {
  // Outputs that depend on an operand of the mask.
  std::function<Mask(const Params&, const Mask&, Recurse&)> reach;
  std::function<SplitResult(const SplitArgs&)> split;
};

// --- guard: of an op that holds Programs, the same with one operand more, `running`: bool[]. Where it is false nothing
// in them can run on (ops/guard.h). Of one that calls a function of the user's: it is not called there ---
struct GuardArgs {
  const Params& params;
  // A Program that reads `running` as its input `at`: one whose outputs are the op's results, some of which must be
  // what they were made of where nothing runs; any other; a condition, which then does not hold.
  std::function<ProgramRef(const ProgramRef&, std::size_t at)> results, inside;
  std::function<ProgramRef(const ProgramRef&)> condition;
};
struct GuardResult {
  Params params;
  std::size_t operand;  // in front of which `running` goes
};
using GuardRule = std::function<GuardResult(const GuardArgs&)>;

// --- lower ---
struct LowerArgs {
  const Params& params;
  std::span<const Type> in;
  std::span<const Type> out;
  std::span<const kernel::Expr> index;  // of the output element, one i64 an axis
  std::function<kernel::Expr(std::size_t operand, std::span<const kernel::Expr> index)> load;
  // Asks for a size that is not negative wherever the code runs, so that what is loaded lies inside of its array.
  std::function<void(const Dim&)> require_not_negative;
};
// One element of the (only) output as an expression: elementwise ops, and every op that is a map of indices.
struct LowerElement {
  std::function<kernel::Expr(const LowerArgs&)> rule;
  bool elementwise = false;  // reads each operand at the output's own index
  bool identity = false;     // the output is the operand: only transformations tell them apart
};
// The output is the operand combined over `axes`, starting from `initial`.
struct ReductionForm {
  kernel::Combine combine;
  std::vector<std::int64_t> axes;
  Scalar initial;
};
struct LowerReduction {
  std::function<ReductionForm(const Params&, std::span<const Type>)> rule;
};
// How a call becomes code: as it is cheaper; of a unit, that is compiled by itself; or as a part of the caller.
enum class Placement : std::uint8_t { priced, unit, inlined };

// The op is a Program applied to its operands.
struct LowerCall {
  struct Callee {
    ProgramRef program;
    std::vector<Dim> sizes;  // one a size parameter
  };
  std::function<Callee(const Params&)> rule;
  Placement placement = Placement::priced;
};
// The planner knows this op by what it is (loop, cond, product, scatter, update in place, an array whose numbers are
// known).
struct LowerStructure {
  enum class Kind {
    loop,
    cond,
    product,
    update_slice,
    scatter,
    host,
    list_active,
    list_select,
    list_sum,
    list_fit,
    list_collapse,
    list_spread,
    list_unstack,
    list_stack,
    list_get,
    list_put,
    list_add,
    compress,
    uncompress,
    count,
    extent,
    constant
  } kind;
};
// A function of the runtime does it: given the addresses of the description, the operands, the results and memory that
// it may write, in this order. What it returns is less than 0 where it fails. `any_number`: it takes the description
// and one table of the other addresses.
struct LibraryForm {
  std::string_view function;
  std::vector<Dim> description;
  std::int64_t workspace = 0;    // bytes; of sizes that vary the function has memory of its own, and is given null
  double nanoseconds = 20;       // about what a call takes
  bool any_number = false;       // of operands and results
  const void* object = nullptr;  // of this process: its address stands before the description
  bool sizes_known() const {
    for (const Dim& word : description)
      if (!word.known()) return false;
    return true;
  }
};
struct LowerLibrary {
  std::function<LibraryForm(const Params&, std::span<const Type> in)> rule;
};
using LowerRule = std::variant<LowerElement, LowerReduction, LowerCall, LowerStructure, LowerLibrary>;

// --- alias: output `output` may overwrite operand `operand` ---
struct AliasRule {
  std::size_t output = 0;
  std::size_t operand = 0;
};

// --- sample: argument domains, for generated tests ---
struct SampleCase {
  Params params;
  std::vector<Type> types;
  std::vector<std::pair<double, double>> domains;  // per operand; integers are rounded
  bool by_values = true;  // the derivative is that of the values, as finite differences show it
};
using SampleRule = std::function<std::vector<SampleCase>(DType)>;  // empty: not for this dtype

struct OpInfo {
  std::string_view name;
  std::string_view summary;  // one line for the generated table
  const ParamsOps* params;   // nullptr: none
  Slot<TypeRule> type;
  Slot<EvalRule> eval;
  Slot<JvpRule> jvp;
  Slot<TransposeRule> transpose;
  Slot<BatchRule> batch;
  Slot<SplitRule> split;
  Slot<GuardRule> guard;
  Slot<LowerRule> lower;
  Slot<AliasRule> alias;
  Slot<std::function<Effect(const Params&)>> effect;  // Absent: none
  Slot<SampleRule> sample;
  Traits traits = {};
};

// How an op lowers, where it is of that kind; else null.
template <class Rule>
const Rule* rule_of(const OpInfo& op) {
  return op.lower ? std::get_if<Rule>(&*op.lower) : nullptr;
}

// Whether an eqn reads each of its operands at the index of its only result.
bool is_elementwise(const Eqn& eqn);

// What an eqn does beside giving its results.
Effect effect_of(const Eqn& eqn);

// All ops by name. ops/all.cpp installs the list; user-defined ops are added at run time. Guarded by a mutex.
void install_op(const OpInfo& op);
const OpInfo* find_op(std::string_view name);
std::vector<const OpInfo*> all_ops();  // sorted by name

}  // namespace tenon
