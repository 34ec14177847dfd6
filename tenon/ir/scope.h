// Scope: a trace in progress. A thread-local stack of scopes decides where an op goes: always to the top one.
#pragma once

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <unordered_map>

#include "tenon/ir/equal_sizes.h"
#include "tenon/ir/op.h"

namespace tenon {

// What a trace became: a closed Program whose inputs are those declared, then the captures.
struct TraceResult {
  ProgramRef program;
  Arrays captures;         // handles of the enclosing scope, or concrete
  std::vector<Dim> sizes;  // of the enclosing scope, one a size parameter
};

// The transformations that are ahead of what a trace records: derivatives, and batches of lanes, each kind numbered
// from the outermost. The innermost comes first. Rules of the user's are traced for those that they are for.
struct Ahead {
  std::uint32_t derivatives = 0;
  std::vector<Dim> lanes = {};  // how many of each batch
  bool operator==(const Ahead&) const = default;
};
// In which of them a value takes part: whether it may have a tangent, whether it may differ from lane to lane. A bit
// each; what is further in than 64 shares the last.
struct TakesPart {
  std::uint64_t derivatives = 0, lanes = 0;
  static TakesPart in(const Ahead& ahead) { return {first(ahead.derivatives), first(ahead.lanes.size())}; }
  static std::uint64_t bit(std::size_t number) { return std::uint64_t(1) << std::min<std::size_t>(number, 63); }
  static std::uint64_t first(std::size_t count) { return count >= 64 ? ~std::uint64_t(0) : bit(count) - 1; }
  // Of so many, the number of the innermost that is among these, from 1 on; 0: none is. What shares a bit is the last.
  static std::size_t innermost(std::uint64_t among, std::size_t count) {
    const auto width = static_cast<std::size_t>(std::bit_width(among));
    return width < 64 ? width : count;
  }
  bool operator==(const TakesPart&) const = default;
  TakesPart operator|(const TakesPart& b) const { return {derivatives | b.derivatives, lanes | b.lanes}; }
  TakesPart operator&(const TakesPart& b) const { return {derivatives & b.derivatives, lanes & b.lanes}; }
};

// Confined to its thread; scopes nest like blocks. Pure eqns are value-numbered: the same op on the same variables in
// one recompute scope is one eqn.
class Scope {
 public:
  Scope();
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  static Scope* top();  // nullptr: no trace on this thread, or one that is hidden
  // Where an op of these operands goes: to the top; where that is hidden from all but what is traced, and an operand is
  // traced, to the hidden one. nullptr: it runs now.
  static Scope* of_operands(std::span<const Array> operands);
  std::uint64_t serial() const { return serial_; }
  static Scope& of(const Traced& traced);  // throws LeakError if that trace has ended
  static bool open(const Traced& traced);

  // A size parameter of the Program under construction; those asked for come first and stay, used or not.
  Dim size_param();
  std::vector<Dim> size_params_of(const Program& program);  // as many as it has
  Array input(const Type& type, bool weak = false);
  // An input whose value is known while tracing: x.item() may look at it. It is asked for when it is looked at.
  Array known_input(const Type& type, std::function<Value()> value, bool weak = false);
  // A capture that is shared with no other one of the same value, and stays, used or not: before all others, in order.
  Array fresh_capture(const Array& outer);
  Arrays add(const OpInfo& op, const Params& params, std::span<const Array> operands);
  // With `own_sizes`, sizes that data of the enclosing scopes decide and that no input's type shows are found again
  // from those data, instead of being size parameters.
  TraceResult finish(std::span<const Array> outputs, std::string name = {}, bool own_sizes = false);

  // The size that the data of a handle decide, where some op has asked for it here or in the scope it comes from.
  std::optional<Dim> data_size(const std::string& key, Var var);
  void note_data_size(const std::string& key, const Array& of, const Dim& size);  // of handles of this scope

  const Type& type(Var var) const { return parts_.types[var]; }
  const Eqn* maker(Var var) const;  // the eqn that made it; nullptr for inputs
  Var resolve(const Array& array);  // the variable here of any handle; captures what comes from outside

  bool knows_values() const { return knows_values_; }  // of some input
  // Whether a value follows from inputs and captures whose values are known.
  bool knows(Var var) const { return knows_values_ && facts_[var].known; }
  static bool knows(const Array& array);  // concrete ones are known
  Value evaluate(Var var);                // of what it knows: runs what was recorded since the last time, once

  // What will be done with what is recorded here; scopes above inherit it.
  const Ahead& ahead() const { return ahead_; }
  void set_ahead(Ahead ahead) { ahead_ = std::move(ahead); }
  static const Ahead& ahead_here();  // of the top scope; nothing where there is none
  // In which of those an array takes part: nowhere, if it is concrete. An input takes part in all, unless it is said
  // otherwise.
  static TakesPart takes_part(const Array& array);
  static TakesPart any_takes_part(std::span<const Array> arrays);
  void set_takes_part(const Array& input, const TakesPart& where);

  // Eqns recorded from now on belong to this recompute scope and these numerics, until changed back.
  RecomputeScope recompute = 0;
  Numerics numerics = Numerics::relaxed;

 private:
  struct Key;
  friend class ScopeTypeContext;
  static Scope* find(const Traced& traced);
  struct Facts {
    TakesPart part = {};
    bool known = false;
  };
  Var new_var(Type type, Facts facts);
  Var literal(const Scalar& value);
  Var capture(const Array& outer);
  Var new_capture(const Array& outer, TakesPart part);
  const Value* find_value(Var var);
  Arrays handles(std::span<const Var> vars);
  std::optional<Eqn> definition_of(SizeVar size);

  std::uint64_t serial_;
  Scope* below_;
  ProgramParts parts_;
  std::vector<std::uint32_t> maker_;  // of each var: eqn index + 1, or 0
  Arrays captures_;
  std::vector<Var> capture_vars_;
  std::vector<std::size_t> fresh_captures_;  // of these
  std::map<std::pair<std::uint64_t, Var>, Var> captured_traced_;
  std::map<const void*, std::vector<std::size_t>> captured_buffers_;
  std::unordered_map<Hash128, std::uint32_t> numbering_;  // pure eqns by structure
  std::map<std::pair<std::string, Var>, Dim> data_sizes_;
  EqualSizes required_;       // by eqns of this scope
  std::vector<Facts> facts_;  // of each var
  Ahead ahead_;
  bool knows_values_ = false;
  std::unordered_map<Var, std::function<Value()>> inputs_known_;  // of inputs and captures, until they are asked for
  std::unordered_map<Var, Value> values_;
  std::size_t evaluated_eqns_ = 0;
  std::map<SizeVar, Dim> evaluated_sizes_;
};

// While it lives, ops on this thread run now, as if no trace were open: arrays of such traces are leaked ones, or,
// where it hides from concrete arrays alone, ops of them are recorded as before.
class CompileTime {
 public:
  enum class From : std::uint8_t { all, concrete };
  explicit CompileTime(From hidden = From::all);
  ~CompileTime();
  CompileTime(const CompileTime&) = delete;
  CompileTime& operator=(const CompileTime&) = delete;

 private:
  Scope *top_, *hidden_;  // as they were before
};

SizeVar fresh_size();  // unique in this process while tracing; Program::finish renumbers

}  // namespace tenon
