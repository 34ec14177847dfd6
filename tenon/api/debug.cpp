#include "tenon/api/debug.h"

#include <fmt/args.h>
#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <mutex>
#include <sstream>

#include "tenon/api/data.h"
#include "tenon/base/fork.h"
#include "tenon/ops/control/host.h"

namespace tenon {
namespace {

using Arguments = fmt::dynamic_format_arg_store<fmt::format_context>;

void add_number(const Scalar& number, Arguments& to) {
  if (number.dtype() == DType::bool_)
    to.push_back(number.as<bool>());
  else if (is_integer(number.dtype()))
    to.push_back(number.convert(DType::i64).as<std::int64_t>());
  else
    to.push_back(number.convert(DType::f64).as<double>());
}

void add(const Array& array, Arguments& to) {
  if (array.rank() == 0 && !is_complex(array.dtype())) return add_number(array.item_scalar(SourceScope::current()), to);
  std::ostringstream text;
  text << array;
  to.push_back(text.str());
}

std::string formatted(const std::string& format, std::span<const Array> arrays) {
  Arguments arguments;
  for (const Array& a : arrays) add(a, arguments);
  return fmt::vformat(format, arguments);
}

// Of each format one function: programs that print the same are one program.
HostFunctionRef printer(const std::string& format) {
  static constinit ForkMutex mutex;
  static constinit Lasting<std::map<std::string, HostFunctionRef>> all;
  const std::lock_guard lock(mutex);
  HostFunctionRef& made = all.get()[format];
  if (made == nullptr)
    made = host_function("debug_print", [format](std::span<const Array> arrays) {
      const std::string line = formatted(format, arrays) + "\n";
      std::fwrite(line.data(), 1, line.size(), stdout);
      std::fflush(stdout);
      return Arrays();
    });
  return made;
}

// What stands in for arrays that are not there yet.
Array example(const Array& a) {
  const Type type = a.type();
  if (type.rank() == 0) return Array(Scalar(0).convert(type.dtype));
  return Array(Buffer::zeros(type.dtype, std::vector<std::int64_t>(type.rank(), 0)));
}

}  // namespace

void api_detail::print_arrays(std::string_view format, std::span<const Array> arrays, const Source& where) {
  const SourceScope place(where, "debug_print");
  Arrays examples;
  for (const Array& a : arrays) examples.push_back(example(a));
  try {
    formatted(std::string(format), examples);
  } catch (const fmt::format_error& e) {
    throw ShapeError(
        fmt::format("debug_print: the format \"{}\" does not fit {} arrays: {}.", format, arrays.size(), e.what()),
        "Write {} for each; numbers take a form such as {:.3f}.");
  }
  host_call(printer(std::string(format)), {}, arrays, {.batch = HostBatch::sequential, .effect = true});
}

}  // namespace tenon
