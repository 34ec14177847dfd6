#include "tenon/ops/control/host.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/base/fork.h"
#include "tenon/ir/describe_params.h"
#include "tenon/ops/composites/index.h"
#include "tenon/ops/control/region.h"
#include "tenon/ops/families.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/runtime/host_calls.h"

namespace tenon {

// A function counts by its number, in equality and in text.
struct HostFunctionParam {
  std::int64_t number = 0;
  HostFunctionRef function = {};
};
BOOST_DESCRIBE_STRUCT(HostFunctionParam, (), (number))
BOOST_DESCRIBE_ENUM(HostBatch, refuse, sequential, expand_dims, broadcast_all, as_it_is)

// host_call {…} guards…: bool[], operands…  ->  results…
struct HostCallParams {
  HostFunctionParam function;
  std::vector<Type> results;
  HostBatch batch;
  bool effect;
  std::int64_t guards = 0;  // where one of them does not hold, nothing is called, and results are zeros
};
BOOST_DESCRIBE_STRUCT(HostCallParams, (), (function, results, batch, effect, guards))

namespace {

extern const OpInfo host_call_info;

std::vector<Type> host_type(const Params& params, std::span<const Type> in, TypeContext&) {
  const auto& p = params.as<HostCallParams>();
  if (p.function.function == nullptr)
    throw VerifyError("host_call: the Program was read from text, which cannot hold the function that it calls.",
                      "Trace the function again that made it.");
  if (p.guards < 0 || static_cast<std::size_t>(p.guards) > in.size())
    throw VerifyError("host_call: there are more guards than operands.");
  for (std::size_t i = 0; i < static_cast<std::size_t>(p.guards); ++i)
    if (in[i] != Type::array(DType::bool_, {})) throw VerifyError("host_call: a guard is one bool.");
  for (const std::span<const Type> types : {in, std::span<const Type>(p.results)})
    for (const Type& t : types)
      if (!t.is_array())
        throw DTypeError(fmt::format("{}: {} is not an array.", p.function.function->name(), t.text()),
                         "Stack the list first.");
  return p.results;
}

HostArray described(const Type& type) { return {type.dtype, type.shape.sizes()}; }
std::vector<HostArray> described(std::span<const Type> types) {
  std::vector<HostArray> all;
  for (const Type& type : types) all.push_back(described(type));
  return all;
}

std::vector<Value> host_eval(const Params& params, std::span<const Value> in, const EvalContext& context) {
  const auto& p = params.as<HostCallParams>();
  const auto guards = in.first(static_cast<std::size_t>(p.guards));
  const bool runs = std::ranges::all_of(guards, [](const Value& v) { return *std::get<Buffer>(v).as<bool>(); });
  std::vector<Value> results;
  if (!runs) {
    for (const Type& t : context.out) results.emplace_back(Buffer::zeros(t.dtype, t.shape.sizes()));
    return results;
  }
  std::vector<Buffer> operands;
  for (const Value& v : in.subspan(guards.size())) operands.push_back(family::contiguous(v));
  for (Buffer& made : p.function.function->call(operands, described(context.out)))
    results.emplace_back(std::move(made));
  return results;
}

LibraryForm host_form(const Params& params, std::span<const Type> in) {
  const auto& p = params.as<HostCallParams>();
  std::vector<Dim> description{p.guards, static_cast<std::int64_t>(in.size()),
                               static_cast<std::int64_t>(p.results.size())};
  for (const std::span<const Type> types : {in, std::span<const Type>(p.results)})
    for (const Type& type : types) {
      description.insert(description.end(), {static_cast<std::int64_t>(type.dtype), Dim(type.rank())});
      description.insert(description.end(), type.shape.begin(), type.shape.end());
    }
  return {.function = "tenon_host_call",
          .description = std::move(description),
          .nanoseconds = 1000,
          .any_number = true,
          .object = p.function.function.get()};
}

// --- batches ---
// A loop over the lanes, whose step is the call.
Arrays lane_by_lane(const BatchArgs& args) {
  Arrays operands;
  LoopParams lanes;
  {
    Scope scope;
    Arrays inputs(args.operands.size());
    for (const bool batched : {false, true})  // what all lanes share stands first
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (args.batched[i] != batched) continue;
        Type type = args.operands[i].type();
        if (batched) type.shape = type.shape.without_axis(0);
        inputs[i] = scope.input(type);
        operands.push_back(args.operands[i]);
        if (!batched) ++lanes.consts;
      }
    const TraceResult step = scope.finish(scope.add(host_call_info, args.params, inputs), "lane");
    lanes.body = step.program;
    lanes.body_sizes = step.sizes;
  }
  lanes.length = args.size;
  return loop(std::move(lanes), operands);
}

// One call for all lanes. A guard that differs among them holds where one of them does.
Arrays all_lanes(const BatchArgs& args, HostCallParams p) {
  const auto guards = static_cast<std::size_t>(p.guards);
  Arrays operands;
  for (std::size_t i = 0; i < args.operands.size(); ++i) {
    const Array& x = args.operands[i];
    if (i < guards)
      operands.push_back(args.batched[i] ? any(x) : x);
    else if (args.batched[i] || p.batch == HostBatch::as_it_is)
      operands.push_back(x);
    else
      operands.push_back(p.batch == HostBatch::expand_dims ? expand_dims(x, 0) : one_for_all_lanes(x, args.size));
  }
  for (Type& type : p.results) type = Type::array(type.dtype, type.shape.with_axis(0, args.size));
  return bind_op(host_call_info, make_params(std::move(p)), operands);
}

BatchResult host_batch(const BatchArgs& args) {
  const auto& p = args.params.as<HostCallParams>();
  if (p.batch == HostBatch::refuse)
    throw UnsupportedError(
        fmt::format("vmap: {} does not say how it is called with a batch.", p.function.function->name()),
        "Say one of sequential, expand_dims and broadcast_all.");
  return {p.batch == HostBatch::sequential ? lane_by_lane(args) : all_lanes(args, p),
          std::vector<bool>(p.results.size(), true)};
}

const OpInfo host_call_info{
    .name = "host_call",
    .summary = "a function of the user's, called with the operands while the program runs",
    .params = &describe::params_ops<HostCallParams>,
    .type = TypeRule(host_type),
    .eval = EvalRule(host_eval),
    .jvp = Absent{"it is a function of the user's"},
    .transpose = Absent{"not linear"},
    .batch = BatchRule(host_batch),
    .split = Absent{"wholly known or not"},
    .guard = GuardRule([](const GuardArgs& args) {
      HostCallParams p = args.params.as<HostCallParams>();
      ++p.guards;
      return GuardResult{make_params(std::move(p)), 0};
    }),
    .lower = LowerRule(LowerLibrary{host_form}),
    .alias = Absent{"the function gives arrays of its own"},
    .effect = std::function<Effect(const Params&)>(
        [](const Params& p) { return p.as<HostCallParams>().effect ? Effect::host : Effect::none; }),
    .sample = Absent{"tested with the functions that tests make"},
};
const bool host_installed = (install_op(host_call_info), true);

}  // namespace

bool is_host_call(const OpInfo& op) { return &op == &host_call_info; }

HostFunctionRef host_function(std::string name, HostCallback f) {
  auto body = [f = std::move(f)](std::span<const Buffer> in) {
    const CompileTime no_trace;
    const UserCode open;
    const Arrays operands(in.begin(), in.end());
    std::vector<Buffer> results;
    for (const Array& a : f(operands)) results.push_back(a.to_buffer());
    return results;
  };
  // The user's function is let go of where nothing waits for what it may do.
  return {new HostFunction(std::move(name), std::move(body)), [](HostFunction* f) {
            outside_fork_sections([](void* held) { delete static_cast<HostFunction*>(held); }, f);
          }};
}

std::vector<Array> host_call(const HostFunctionRef& f, const std::vector<Type>& results,
                             std::span<const Array> operands, const HostCallOptions& options) {
  const Params params = make_params(HostCallParams{{f->id(), f}, results, options.batch, options.effect});
  if (Scope::of_operands(operands) != nullptr) return bind_op(host_call_info, params, operands);
  // Nothing is compiled for a call that is there once.
  const std::vector<Type> out = result_types(host_call_info, params, types_of(operands));
  std::vector<Value> values;
  for (const Array& operand : operands) values.push_back(operand.value());
  Arrays made;
  for (const Value& value : host_eval(params, values, {{}, out})) made.emplace_back(std::get<Buffer>(value));
  return made;
}

std::vector<Dim> host_sizes(const HostFunctionRef& sizes, std::int64_t count, std::span<const Array> operands) {
  const Array numbers = host_call(sizes, {Type::array(DType::i64, {Dim(count)})}, operands, {})[0];
  std::vector<Dim> all;
  for (std::int64_t i = 0; i < count; ++i) all.push_back(array_as_size(numbers(i)));
  return all;
}

std::vector<Array> host_call(HostCallback f, HostSizes sizes,
                             FunctionRef<std::vector<Type>(std::span<const Dim>)> results,
                             std::span<const Array> operands, const HostCallOptions& options, const Source& where) {
  const SourceScope place(where, "host_call");
  const HostFunctionRef numbers =
      host_function("the function of sizes", [of = std::move(sizes.of)](std::span<const Array> in) {
        const std::vector<std::int64_t> said = of(in);
        return std::vector{array_from_rows(DType::i64, {static_cast<std::int64_t>(said.size())}, said.data())};
      });
  const std::vector<Dim> found = host_sizes(numbers, sizes.count, operands);
  return host_call(host_function("host_call", std::move(f)), results(found), operands, options);
}

std::vector<Array> host_call(HostCallback f, const std::vector<Type>& results, std::span<const Array> operands,
                             const HostCallOptions& options, const Source& where) {
  const SourceScope place(where, "host_call");
  return host_call(host_function("host_call", std::move(f)), results, operands, options);
}

}  // namespace tenon
