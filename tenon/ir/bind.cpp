#include "tenon/ir/bind.h"

#include <atomic>

#include "tenon/ir/literal.h"

namespace tenon {
namespace {

std::atomic<Executor*> installed{nullptr};

class FreshSizes : public TypeContext {
 public:
  Dim new_size(std::string_view, std::size_t) override { return Dim::variable(fresh_size()); }
  Dim new_size(std::string_view) override { return Dim::variable(fresh_size()); }
  void require_equal(const Dim& a, const Dim& b, FunctionRef<std::string()> what) override {
    if (a.known() && b.known() && a.value() != b.value()) throw ShapeError(what(), unequal_sizes_advice);
  }
};

}  // namespace

std::vector<Type> types_of(std::span<const Array> arrays) {
  std::vector<Type> types;
  for (const Array& a : arrays) types.push_back(a.type());
  return types;
}

Arrays joined(std::initializer_list<std::span<const Array>> parts) {
  Arrays all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

Executor& executor() {
  Executor* e = installed.load(std::memory_order_acquire);
  if (e == nullptr)
    throw RuntimeError("nothing is installed that runs ops.", "Link the whole of libtenon, or install_executor().");
  return *e;
}

Executor* install_executor(Executor* next) { return installed.exchange(next, std::memory_order_acq_rel); }

Arrays bind_op(const OpInfo& op, const Params& params, std::span<const Array> operands) {
  if (Scope* scope = Scope::of_operands(operands)) return scope->add(op, params, operands);
  std::vector<Value> values;
  values.reserve(operands.size());
  for (const Array& operand : operands) values.push_back(operand.value());
  std::vector<Value> results = executor().run_op(op, params, values);
  Arrays arrays;
  arrays.reserve(results.size());
  for (Value& result : results)
    arrays.push_back(std::visit([](auto held) { return Array(std::move(held)); }, std::move(result)));
  return arrays;
}

Arrays bind_op(const OpInfo& op, const Params& params, std::initializer_list<Array> operands) {
  return bind_op(op, params, std::span<const Array>(operands.begin(), operands.size()));
}

void require_equal(const Dim& a, const Dim& b, std::string asked) {
  static_cast<void>(bind_op(require_equal_op(), require_equal_params(a, b, std::move(asked)), {}));
}

Array bind1(const OpInfo& op, const Params& params, std::initializer_list<Array> operands) {
  return bind_op(op, params, operands)[0];
}

std::vector<Type> result_types(const OpInfo& op, const Params& params, std::span<const Type> in) {
  FreshSizes context;
  return (*op.type)(params, in, context);
}

ProgramRef program_of(const OpInfo& op, const Params& params, std::span<const Type> in) {
  Scope scope;
  Arrays operands;
  for (const Type& type : in) operands.push_back(scope.input(type));
  const Arrays results = scope.add(op, params, operands);
  return scope.finish(results, std::string(op.name)).program;
}

}  // namespace tenon
