#include "tenon/ir/scope.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <ranges>
#include <set>

#include "tenon/base/fork.h"
#include "tenon/base/stack.h"
#include "tenon/ir/bind.h"
#include "tenon/ir/literal.h"
#include "tenon/ir/origins.h"
#include "tenon/ir/unify.h"

namespace tenon {
namespace {

thread_local Scope* top_scope = nullptr;
thread_local Scope* hidden_scope = nullptr;  // and all below it: of concrete arrays no op goes there
std::atomic<std::uint64_t> next_serial{1};
std::atomic<SizeVar> next_size{1u << 20};

bool is_pure(const OpInfo& op, const Params& params) { return !op.effect || (*op.effect)(params) == Effect::none; }

// Free size variables of a Program under construction, in order of first appearance.
class FreeSizes {
 public:
  void define(SizeVar s) { defined_.insert({s, true}); }
  bool defines(SizeVar s) const { return defined_.contains(s); }
  void see(const Dim& d) {
    if (d.known()) return;
    d.visit_variables([&](SizeVar s) {
      if (defined_.insert({s, true}).second) free.push_back(s);
    });
  }
  void see(const Type& t) {
    t.visit_dims([&](const Dim& d) { see(d); });
  }
  std::vector<SizeVar> free;

 private:
  std::map<SizeVar, bool> defined_;
};

// Eqns that stay: something reads them, they have an effect, or they decide a size. What they read becomes live.
std::vector<const Eqn*> kept_eqns(const std::vector<Eqn>& eqns, std::vector<bool>& live) {
  std::vector<const Eqn*> kept;
  for (std::size_t i = eqns.size(); i-- > 0;) {
    const Eqn& eqn = eqns[i];
    bool wanted = !is_pure(*eqn.op, eqn.params) || !eqn.new_sizes.empty();
    for (Var v : eqn.out) wanted = wanted || live[v];
    if (!wanted) continue;
    kept.push_back(&eqn);
    for (Var v : eqn.in) live[v] = true;
  }
  std::ranges::reverse(kept);
  return kept;
}

void see_eqns(FreeSizes& sizes, std::span<const Eqn* const> eqns, const std::vector<Type>& types) {
  for (const Eqn* eqn : eqns) {
    for (SizeVar s : eqn->new_sizes) sizes.define(s);
    eqn->params.visit_dims([&](const Dim& d) { sizes.see(d); });
    for (Var v : eqn->out) sizes.see(types[v]);
  }
}

// Of sizes that are known from outside: they need not be found.
void leave_out_finders(std::vector<const Eqn*>& kept, const std::vector<bool>& live, FunctionRef<bool(SizeVar)> known) {
  std::erase_if(kept, [&](const Eqn* eqn) {
    return !eqn->new_sizes.empty() && is_pure(*eqn->op, eqn->params) && std::ranges::all_of(eqn->new_sizes, known) &&
           std::ranges::none_of(eqn->out, [&](Var v) { return live[v]; });
  });
}

// Eqns that find sizes which others before them show, as captures may: they come first, with what they are found from.
// Gives these sizes.
// `maker`: of each variable, 1 more than its eqn; 0: none.
std::set<SizeVar> bring_forward(std::vector<const Eqn*>& kept, std::span<const SizeVar> sizes,
                                const std::vector<Eqn>& eqns, std::span<const std::uint32_t> maker) {
  const std::set<SizeVar> wanted(sizes.begin(), sizes.end());
  std::set<SizeVar> found;
  std::vector<bool> first(eqns.size(), false);
  for (const Eqn* eqn : kept | std::views::reverse) {
    const auto at = static_cast<std::size_t>(eqn - eqns.data());
    for (SizeVar s : eqn->new_sizes)
      if (wanted.contains(s)) found.insert(s), first[at] = true;
    if (!first[at]) continue;
    for (Var v : eqn->in)
      if (maker[v] != 0) first[maker[v] - 1] = true;
  }
  std::ranges::stable_partition(kept,
                                [&](const Eqn* eqn) { return first[static_cast<std::size_t>(eqn - eqns.data())]; });
  return found;
}

// Defines the sizes that a type shows by themselves.
void define_shown(FreeSizes& sizes, const Type& type) {
  type.visit_dims([&](const Dim& d) {
    if (const auto s = bare_variable(d)) sizes.define(*s);
  });
}

}  // namespace

SizeVar fresh_size() { return next_size.fetch_add(1, std::memory_order_relaxed); }

Scope::Scope()
    : serial_((require_stack(), next_serial.fetch_add(1, std::memory_order_relaxed))),
      below_(top_scope),
      ahead_(ahead_here()) {
  top_scope = this;
}
Scope::~Scope() { top_scope = below_; }

Scope* Scope::top() { return top_scope == hidden_scope ? nullptr : top_scope; }

Scope* Scope::of_operands(std::span<const Array> operands) {
  if (top_scope != hidden_scope || top_scope == nullptr) return top_scope;
  const bool traced = std::ranges::any_of(operands, [](const Array& a) { return a.traced() != nullptr; });
  return traced ? top_scope : nullptr;
}

Scope* Scope::find(const Traced& traced) {
  for (Scope* s = top_scope; s != nullptr; s = s->below_)
    if (s->serial_ == traced.scope) return s;
  return nullptr;
}

bool Scope::open(const Traced& traced) { return find(traced) != nullptr; }

Scope& Scope::of(const Traced& traced) {
  if (Scope* found = find(traced)) return *found;
  throw LeakError("a traced array is used after its trace has ended, or in another thread than its trace's.",
                  "Return it from the traced function instead of storing it outside.");
}

Var Scope::new_var(Type type, Facts facts) {
  if (type.is_array() && !is_differentiable(type.dtype)) facts.part.derivatives = 0;
  facts_.push_back(facts);
  parts_.types.push_back(std::move(type));
  maker_.push_back(0);
  return static_cast<Var>(parts_.types.size() - 1);
}

Dim Scope::size_param() {
  parts_.size_params.push_back(fresh_size());
  return Dim::variable(parts_.size_params.back());
}

std::vector<Dim> Scope::size_params_of(const Program& program) {
  std::vector<Dim> sizes(program.size_params().size());
  for (Dim& d : sizes) d = size_param();
  return sizes;
}

Array Scope::input(const Type& type, bool weak) {
  const Var v = new_var(type, {.part = TakesPart::in(ahead_)});
  parts_.inputs.push_back(v);
  return Array(Traced{serial_, v}, weak);
}

Array Scope::known_input(const Type& type, std::function<Value()> value, bool weak) {
  const Array handle = input(type, weak);
  facts_[handle.traced()->var].known = knows_values_ = true;
  inputs_known_.emplace(handle.traced()->var, std::move(value));
  return handle;
}

bool Scope::knows(const Array& array) {
  const Traced* t = array.traced();
  return t == nullptr ? array.concrete() : of(*t).knows(t->var);
}

const Ahead& Scope::ahead_here() {
  static constinit Lasting<const Ahead> nothing;
  const Scope* const here = top();
  return here == nullptr ? nothing.get([] { return Ahead(); }) : here->ahead_;
}

TakesPart Scope::takes_part(const Array& array) {
  const Traced* t = array.traced();
  return t == nullptr ? TakesPart() : of(*t).facts_[t->var].part;
}

TakesPart Scope::any_takes_part(std::span<const Array> arrays) {
  TakesPart any;
  for (const Array& a : arrays) any = any | takes_part(a);
  return any;
}

void Scope::set_takes_part(const Array& input, const TakesPart& where) {
  const Var v = input.traced()->var;
  facts_[v].part = where;
  if (const Type& type = parts_.types[v]; type.is_array() && !is_differentiable(type.dtype))
    facts_[v].part.derivatives = 0;
}

const Eqn* Scope::maker(Var var) const { return maker_[var] == 0 ? nullptr : &parts_.eqns[maker_[var] - 1]; }

Var Scope::literal(const Scalar& value) { return add(literal_op(), literal_params(value), {})[0].traced()->var; }

Var Scope::capture(const Array& outer) {
  if (const Traced* t = outer.traced()) {
    of(*t);  // it must be alive
    const auto key = std::pair(t->scope, t->var);
    if (const auto found = captured_traced_.find(key); found != captured_traced_.end()) return found->second;
    return captured_traced_.emplace(key, new_capture(outer, takes_part(outer))).first->second;
  }
  const Buffer* buffer = outer.buffer();
  const void* identity = buffer != nullptr ? static_cast<const void*>(buffer->data())
                                           : static_cast<const void*>(outer.list()->items.get());
  for (const std::size_t i : captured_buffers_[identity]) {
    const Buffer* held = captures_[i].buffer();
    if (buffer == nullptr ||
        (held != nullptr && held->dtype() == buffer->dtype() && std::ranges::equal(held->dims(), buffer->dims()) &&
         std::ranges::equal(held->strides(), buffer->strides())))
      return capture_vars_[i];
  }
  captured_buffers_[identity].push_back(captures_.size());
  return new_capture(outer, {});
}

Var Scope::new_capture(const Array& outer, TakesPart part) {
  const Var v = new_var(outer.type(), {.part = part & TakesPart::in(ahead_), .known = knows(outer)});
  captures_.push_back(outer);
  capture_vars_.push_back(v);
  if (facts_[v].known) inputs_known_.emplace(v, [outer] { return outer.value(); });
  return v;
}

// What stands in a reference may come to take part in more, in a loop.
Array Scope::fresh_capture(const Array& outer) {
  fresh_captures_.push_back(captures_.size());
  return Array(Traced{serial_, new_capture(outer, TakesPart::in(ahead_))}, false);
}

Var Scope::resolve(const Array& array) {
  if (const Traced* t = array.traced(); t != nullptr && t->scope == serial_) return t->var;
  if (const Scalar* n = array.number()) return literal(*n);
  if (array.empty() || array.donated()) static_cast<void>(array.type());  // throws what to do
  return capture(array);
}

Arrays Scope::handles(std::span<const Var> vars) {
  Arrays handles;
  handles.reserve(vars.size());
  for (Var v : vars) handles.emplace_back(Traced{serial_, v}, false);
  return handles;
}

// Two sizes that have to be equal when the program runs.
struct Guard {
  Dim a, b;
  std::string asked;
};

// Numbers sizes that data decide, and notes guards.
class ScopeTypeContext : public TypeContext {
 public:
  ScopeTypeContext(Scope& scope, std::span<const Var> in) : scope_(scope), in_(in) {}
  Dim new_size(std::string_view key, std::size_t operand) override {
    if (const auto found = scope_.data_size(std::string(key), in_[operand])) return *found;
    const Dim size = new_size(key);
    scope_.data_sizes_.emplace(std::pair(std::string(key), in_[operand]), size);
    return size;
  }
  Dim new_size(std::string_view) override {
    new_sizes.push_back(fresh_size());
    return Dim::variable(new_sizes.back());
  }
  void require_equal(const Dim& a, const Dim& b, FunctionRef<std::string()> what) override {
    if (scope_.required_.are_equal(a, b)) return;
    if (a.known() && b.known()) throw ShapeError(what() + lines(), unequal_sizes_advice);
    guards.push_back({a, b, what() + lines()});
  }
  std::vector<SizeVar> new_sizes;
  std::vector<Guard> guards;

 private:
  std::string lines() const {
    Arrays operands;
    for (const Var v : in_) operands.emplace_back(Traced{scope_.serial(), v}, false);
    return lines_of(operands);
  }

  Scope& scope_;
  std::span<const Var> in_;
};

// Sizes that running tells reach an op when its Program is made anew for them.
static void require_sizes(const OpInfo& op, const Type& type) {
  if (!type.is_array() || !type.shape.known()) return;
  std::int64_t elements = 1;
  bool fits = true;
  for (const Dim& size : type.shape) {
    if (size.value() < 0)
      throw ShapeError(fmt::format("{}: a size of {} is negative.", op.name, type.text()), "Sizes are at least 0.");
    fits = fits && !__builtin_mul_overflow(elements, size.value(), &elements);
  }
  if (!fits) static_cast<void>(type.shape.elements());  // throws where they are too many
}

std::optional<Dim> Scope::data_size(const std::string& key, Var var) {
  if (const auto found = data_sizes_.find({key, var}); found != data_sizes_.end()) return found->second;
  for (std::size_t i = 0; i < captures_.size(); ++i) {
    const Traced* outer = capture_vars_[i] == var ? captures_[i].traced() : nullptr;
    if (outer == nullptr) continue;
    const auto size = of(*outer).data_size(key, outer->var);
    if (size) data_sizes_.emplace(std::pair(key, var), *size);
    return size;
  }
  return std::nullopt;
}

void Scope::note_data_size(const std::string& key, const Array& of, const Dim& size) {
  if (const Traced* t = of.traced(); t != nullptr && t->scope == serial_)
    data_sizes_.emplace(std::pair(key, t->var), size);
}

// An eqn that finds a size again from the data of an input, or of a variable of an enclosing scope.
std::optional<Eqn> Scope::definition_of(SizeVar size) {
  const Dim wanted = Dim::variable(size);
  for (Scope* scope = this; scope != nullptr; scope = scope->below_)
    for (const auto& [fact, known] : scope->data_sizes_) {
      const OpInfo* op = known == wanted ? find_op(fact.first) : nullptr;
      if (op == nullptr || (scope == this && maker_[fact.second] != 0)) continue;
      const Var from = resolve(Array(Traced{scope->serial_, fact.second}, false));
      Eqn eqn{.op = op, .in = {from}, .new_sizes = {size}, .where = SourceScope::current()};
      const Type in[]{parts_.types[from]};
      data_sizes_.emplace(std::pair(fact.first, from), wanted);
      ScopeTypeContext context(*this, eqn.in);
      for (Type& type : (*op->type)(eqn.params, in, context)) eqn.out.push_back(new_var(std::move(type), {}));
      return eqn;
    }
  return std::nullopt;
}

Arrays Scope::add(const OpInfo& op, const Params& params, std::span<const Array> operands) {
  Eqn eqn{.op = &op, .params = params, .numerics = numerics, .recompute = recompute, .where = SourceScope::current()};
  eqn.in.reserve(operands.size());
  for (const Array& operand : operands) eqn.in.push_back(resolve(operand));
  const bool pure = is_pure(op, params);
  if (&op == &require_equal_op()) {  // a check that follows from others is none
    const auto [a, b] = sizes_to_be_equal(params);
    if (required_.are_equal(a, b)) return {};
    required_.note(a, b);
  }
  Hash128 key;
  if (pure) {
    Hasher h;
    h(op.name)(numerics)(recompute);
    params.hash(h);
    for (Var v : eqn.in) h(v);
    key = h.finish();
    if (const auto found = numbering_.find(key); found != numbering_.end())
      return handles(parts_.eqns[found->second].out);
  }
  std::vector<Type> in;
  in.reserve(eqn.in.size());
  for (Var v : eqn.in) in.push_back(parts_.types[v]);
  ScopeTypeContext context(*this, eqn.in);
  std::vector<Type> out = (*op.type)(params, in, context);
  for (const Type& type : out) require_sizes(op, type);
  for (Guard& g : context.guards) add(require_equal_op(), require_equal_params(g.a, g.b, std::move(g.asked)), {});
  eqn.new_sizes = std::move(context.new_sizes);
  Facts facts{.known = true};
  for (Var v : eqn.in) {
    facts.part = facts.part | facts_[v].part;
    facts.known = facts.known && facts_[v].known;
  }
  for (Type& type : out) eqn.out.push_back(new_var(std::move(type), facts));
  parts_.eqns.push_back(std::move(eqn));
  const auto index = static_cast<std::uint32_t>(parts_.eqns.size());
  for (Var v : parts_.eqns.back().out) maker_[v] = index;
  if (pure) numbering_.emplace(key, index - 1);
  return handles(parts_.eqns.back().out);
}

TraceResult Scope::finish(std::span<const Array> outputs, std::string name, bool own_sizes) {
  TraceResult result;
  ProgramParts parts;
  parts.name = std::move(name);
  std::vector<bool> live;
  for (const Array& output : outputs) parts.outputs.push_back(resolve(output));
  parts.types = parts_.types;
  live.assign(parts.types.size(), false);
  for (Var v : parts.outputs) live[v] = true;
  std::vector<const Eqn*> kept = kept_eqns(parts_.eqns, live);
  // Sizes that neither an input's type nor the caller gives come from the data that decide them.
  if (own_sizes) {
    FreeSizes shown;
    std::set<SizeVar> outside;  // that inputs and captures have
    for (SizeVar s : parts_.size_params) shown.define(s);
    const auto see_outside = [&](Var v) {
      define_shown(shown, parts.types[v]);
      parts.types[v].visit_dims([&](const Dim& d) { d.visit_variables([&](SizeVar s) { outside.insert(s); }); });
    };
    for (Var v : parts_.inputs) see_outside(v);
    for (Var v : capture_vars_)
      if (live[v]) see_outside(v);
    // Else a variable of an enclosing scope is captured whose type shows the size.
    const auto witness_of = [&](SizeVar size) -> std::optional<Var> {
      for (Scope* scope = below_; scope != nullptr; scope = scope->below_)
        for (Var v = 0; v < scope->parts_.types.size(); ++v) {
          const Type& type = scope->parts_.types[v];
          if (type.is_array() && std::ranges::find(type.shape, Dim::variable(size)) != type.shape.end())
            return resolve(Array(Traced{scope->serial_, v}, false));
        }
      return std::nullopt;
    };
    std::vector<Var> witnesses;
    const auto take_witness = [&](SizeVar s) {
      const std::optional<Var> witness = shown.defines(s) ? std::nullopt : witness_of(s);
      if (!witness) return;
      witnesses.push_back(*witness);
      shown.define(s);
    };
    std::ranges::for_each(outside, take_witness);
    leave_out_finders(kept, live, [&](SizeVar s) { return outside.contains(s) && shown.defines(s); });
    see_eqns(shown, kept, parts.types);
    const std::set<SizeVar> found_late = bring_forward(kept, shown.free, parts_.eqns, maker_);
    for (SizeVar s : shown.free) {
      if (found_late.contains(s)) continue;
      if (auto eqn = definition_of(s))
        parts.eqns.push_back(std::move(*eqn));
      else if (const auto witness = witness_of(s))
        witnesses.push_back(*witness);
    }
    parts.types = parts_.types;
    live.resize(parts.types.size(), false);
    for (Var v : witnesses) live[v] = true;
    for (const Eqn& eqn : parts.eqns)
      for (Var v : eqn.in) live[v] = true;
  }
  FreeSizes sizes;
  for (SizeVar s : parts_.size_params) sizes.see(Dim::variable(s));
  parts.inputs = parts_.inputs;
  const auto take = [&](std::size_t i) {
    parts.inputs.push_back(capture_vars_[i]);
    result.captures.push_back(captures_[i]);
  };
  std::ranges::for_each(fresh_captures_, take);
  for (std::size_t i = 0; i < captures_.size(); ++i)
    if (live[capture_vars_[i]] && std::ranges::find(fresh_captures_, i) == fresh_captures_.end()) take(i);
  for (Var v : parts.inputs) sizes.see(parts.types[v]);
  for (const Eqn& eqn : parts.eqns)
    for (SizeVar s : eqn.new_sizes) sizes.define(s);
  see_eqns(sizes, kept, parts.types);
  for (const Eqn* eqn : kept) parts.eqns.push_back(*eqn);
  parts.size_params = sizes.free;
  for (SizeVar s : sizes.free) result.sizes.push_back(Dim::variable(s));
  result.program = Program::finish(std::move(parts));
  return result;
}

const Value* Scope::find_value(Var var) {
  if (const auto found = values_.find(var); found != values_.end()) return &found->second;
  const auto input = inputs_known_.find(var);
  return input == inputs_known_.end() ? nullptr : &values_.emplace(var, input->second()).first->second;
}

Value Scope::evaluate(Var var) {
  if (const Value* value = find_value(var)) return *value;
  // Everything known that was recorded since the last evaluation becomes one Program from values to all new ones; it
  // runs through the executor, compiled whole.
  ProgramParts parts;
  parts.types = parts_.types;
  std::vector<bool> defined(parts.types.size(), false);
  std::vector<Value> inputs;
  const auto need = [&](Var v) {
    if (defined[v]) return;
    defined[v] = true;
    parts.inputs.push_back(v);
    inputs.push_back(*find_value(v));
  };
  std::vector<Var> made;
  for (; evaluated_eqns_ < parts_.eqns.size(); ++evaluated_eqns_) {
    const Eqn& eqn = parts_.eqns[evaluated_eqns_];
    if (eqn.out.empty() && !is_pure(*eqn.op, eqn.params)) continue;  // it acts once, when the whole runs
    if (!std::ranges::all_of(eqn.in, [&](Var v) { return knows(v); })) continue;
    for (Var v : eqn.in) need(v);
    for (Var v : eqn.out) {
      defined[v] = true;
      made.push_back(v);
    }
    parts.eqns.push_back(eqn);
  }
  parts.outputs = made;
  // Sizes that earlier values showed are numbers by now.
  const auto known_size = [&](const Dim& d) { return substitute(d, evaluated_sizes_); };
  if (!evaluated_sizes_.empty()) {
    for (Type& type : parts.types) type = type.map_dims(known_size);
    for (Eqn& eqn : parts.eqns) eqn.params = eqn.params.map_dims(known_size);
  }
  const ProgramRef program = Program::finish(std::move(parts));
  const std::vector<Value> results = [&] {
    const CompileTime outside;  // of any trace
    return executor().run(program, {}, inputs);
  }();
  for (std::size_t i = 0; i < made.size(); ++i) {
    unify(parts_.types[made[i]], type_of(results[i]), evaluated_sizes_);
    values_.emplace(made[i], results[i]);
  }
  return *find_value(var);
}

CompileTime::CompileTime(From hidden) : top_(top_scope), hidden_(hidden_scope) {
  if (hidden == From::all) top_scope = nullptr;
  hidden_scope = top_scope;
}
CompileTime::~CompileTime() {
  top_scope = top_;
  hidden_scope = hidden_;
}

}  // namespace tenon
