// Functions of the user's that programs call while they run, with the arrays that they have there.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tenon/base/function_ref.h"
#include "tenon/ir/array.h"

namespace tenon {

class HostFunction;
struct OpInfo;

// What vmap makes of a call.
enum class HostBatch : std::uint8_t {
  refuse,       // UnsupportedError
  sequential,   // a call a lane, one after another
  expand_dims,  // one call: the batch is axis 0 of operands and results; that of an operand without a batch has size 1
  broadcast_all,  // one call: every operand has the batch
  as_it_is        // one call: the batch is axis 0 of the results and of operands that have one
};

struct HostCallOptions {
  HostBatch batch = HostBatch::sequential;
  // It does something beside giving its results: it is called as often as the program says, in the order of the
  // program. Else it may be called more or fewer times, and not at all where nothing needs its results.
  bool effect = false;
};

// Arrays to arrays.
using HostCallback = std::function<std::vector<Array>(std::span<const Array>)>;

// f(operands), where it is a plain C++ function that no trace sees: in compiled functions, loops and branches it is
// called with concrete arrays while the program runs, by the thread that runs it. It gives arrays of the types
// `results`, whose sizes are those of operands, or known; RuntimeError where it gives others. What it throws comes out
// of the call of the program, whose results are lost. It may call this library. Calls that do not take place, in lanes
// of a batch whose branch is not taken or whose loop has ended, are left out. It has no derivative:
// DifferentiationError, unless custom_jvp or custom_vjp gives one, or no tangent reaches it.
//
//   Array smooth(const Array& x) {
//     return tn::host_call([](std::span<const Array> in) { return std::vector{by_another_library(in[0])}; },
//                          {x.type()}, {{x}})[0];
//   }
std::vector<Array> host_call(HostCallback f, const std::vector<Type>& results, std::span<const Array> operands,
                             const HostCallOptions& options = {},
                             const Source& where = std::source_location::current());

// Of results whose sizes the host decides. `of(operands)` says them: `count` numbers, before f is called. `results`
// gives the types of the results for sizes, while it is traced; what it is given then are sizes that data decide, with
// which the function around it computes on. ShapeError where a number is negative; RuntimeError where there are more or
// fewer. Lanes of vmap would have results of different sizes: ShapeError, unless no operand differs among them.
//
//   Array rows_of(const Array& id) {
//     const tn::HostSizes sizes{1, [](std::span<const Array> in) { return std::vector{table.rows(in[0])}; }};
//     return tn::host_call([](std::span<const Array> in) { return std::vector{table.read(in[0])}; }, sizes,
//                          [](std::span<const tn::Dim> n) {
//                            return std::vector{tn::Type::array(tn::DType::f64, {n[0], 3})};
//                          },
//                          {{id}})[0];
//   }
struct HostSizes {
  std::int64_t count;
  std::function<std::vector<std::int64_t>(std::span<const Array>)> of;
};
std::vector<Array> host_call(HostCallback f, HostSizes sizes,
                             FunctionRef<std::vector<Type>(std::span<const Dim>)> results,
                             std::span<const Array> operands, const HostCallOptions& options = {},
                             const Source& where = std::source_location::current());

// The same of a function that is there already: programs that call one function are one program.
using HostFunctionRef = std::shared_ptr<const HostFunction>;
HostFunctionRef host_function(std::string name, HostCallback f);
std::vector<Array> host_call(const HostFunctionRef& f, const std::vector<Type>& results,
                             std::span<const Array> operands, const HostCallOptions& options);
// `sizes`: of the operands, one result, i64[count].
std::vector<Dim> host_sizes(const HostFunctionRef& sizes, std::int64_t count, std::span<const Array> operands);

// Whether an op calls a function of the user's.
bool is_host_call(const OpInfo& op);

}  // namespace tenon
