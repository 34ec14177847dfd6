#include "tenon/api/jit.h"

namespace tenon {
namespace {

// Everything runs through the compiler from the moment the library is loaded.
CompilingExecutor compiler;
const bool installed = (install_executor(&compiler), true);

}  // namespace

namespace api_detail {

void hash_types(std::span<const Array> arguments, Hasher& hasher) {
  for (const Array& a : arguments) {
    if (const Buffer* b = a.buffer()) {
      hasher(b->dtype())(b->rank());
      for (std::int64_t d : b->dims()) hasher(d);
    } else {
      a.type().hash(hasher);
    }
    hasher(a.weak());
  }
}

Arrays JitEntry::run(std::span<const Array> arguments) const {
  if (Scope::top() != nullptr) return apply(traced_, arguments);
  std::call_once(once_, [&] {
    executable_ = compile(traced_.program);
    for (const Array& capture : traced_.captures) captured_.push_back(capture.value());
  });
  std::vector<Value> values;
  values.reserve(arguments.size() + captured_.size());
  for (const Array& a : arguments) values.push_back(a.value());
  values.insert(values.end(), captured_.begin(), captured_.end());
  Arrays results;
  results.reserve(traced_.weak.size());
  for (Value& value : executable_->run(values))
    results.push_back(std::visit([]<class T>(T&& held) { return Array(std::forward<T>(held)); }, std::move(value))
                          .with_weak(traced_.weak[results.size()]));
  return results;
}

}  // namespace api_detail
}  // namespace tenon
