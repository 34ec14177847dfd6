#include "tenon/runtime/host_calls.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <exception>
#include <functional>
#include <utility>

#include "tenon/runtime/subnormals.h"
#include "tenon/runtime/symbols.h"

namespace tenon {
namespace {

thread_local std::exception_ptr failure;
thread_local GivenArrays* given = nullptr;

const void* address_of(const Buffer* array) { return array->data(); }

std::string text_of(DType dtype, std::span<const std::int64_t> dims) {
  return fmt::format("{}[{}]", name(dtype), fmt::join(dims, ","));
}

// --- a description: function, guards, how many operands and results; then of each dtype, rank, sizes ---
class Description {
 public:
  explicit Description(const std::int64_t* words)
      : function_(std::bit_cast<const HostFunction*>(words[0])), guards_(words[1]), at_(words + 4) {
    for (std::int64_t i = 0; i < words[2]; ++i) operands.push_back(next());
    for (std::int64_t i = 0; i < words[3]; ++i) results.push_back(next());
  }
  const HostFunction& function() const { return *function_; }
  std::size_t guards() const { return static_cast<std::size_t>(guards_); }
  std::vector<HostArray> operands, results;

 private:
  HostArray next() {
    const auto dtype = static_cast<DType>(*at_++);
    const std::int64_t rank = *at_++;
    HostArray array{dtype, {at_, at_ + rank}};
    at_ += rank;
    return array;
  }
  const HostFunction* function_;
  std::int64_t guards_;
  const std::int64_t* at_;
};

void call_at(const Description& d, void* const* addresses) {
  void* const* const to = addresses + d.operands.size();
  bool runs = true;
  for (std::size_t i = 0; i < d.guards(); ++i) runs = runs && *static_cast<const bool*>(addresses[i]);
  if (!runs) {
    for (std::size_t i = 0; i < d.results.size(); ++i) {
      std::size_t bytes = size_of(d.results[i].dtype);
      for (const std::int64_t n : d.results[i].dims) bytes *= static_cast<std::size_t>(n);
      std::memset(to[i], 0, bytes);
    }
    return;
  }
  // The function may keep its operands: they are arrays that the program was given, or copies.
  std::vector<Buffer> operands;
  for (std::size_t i = d.guards(); i < d.operands.size(); ++i) {
    if (const Buffer* array = GivenArrays::find(addresses[i], d.operands[i])) {
      operands.push_back(*array);
      continue;
    }
    Buffer& copy = operands.emplace_back(Buffer::allocate(d.operands[i].dtype, d.operands[i].dims));
    if (copy.bytes() > 0) std::memcpy(copy.data(), addresses[i], copy.bytes());
  }
  const std::vector<Buffer> made = d.function().call(operands, d.results);
  for (std::size_t i = 0; i < made.size(); ++i)
    if (made[i].bytes() > 0) std::memcpy(to[i], made[i].data(), made[i].bytes());
}

}  // namespace

GivenArrays::GivenArrays(std::vector<const Buffer*> arrays)
    : arrays_(std::move(arrays)), before_(std::exchange(given, this)) {
  std::ranges::sort(arrays_, std::less<const void*>(), address_of);
}
GivenArrays::~GivenArrays() { given = before_; }
const Buffer* GivenArrays::find(const void* address, const HostArray& type) {
  if (given == nullptr) return nullptr;
  for (const Buffer* array : std::ranges::equal_range(given->arrays_, address, std::less<const void*>(), address_of))
    if (array->dtype() == type.dtype && std::ranges::equal(array->dims(), type.dims)) return array;
  return nullptr;
}

HostFunction::HostFunction(std::string name, Body body) : name_(std::move(name)), body_(std::move(body)) {
  static std::atomic<std::int64_t> last{0};
  id_ = ++last;
}

std::vector<Buffer> HostFunction::call(std::span<const Buffer> operands, std::span<const HostArray> results) const {
  std::vector<Buffer> made = [&] {
    const SubnormalScope kept(false);  // compiled programs flush them; other code does not expect that
    return body_(operands);
  }();
  if (made.size() != results.size())
    throw RuntimeError(fmt::format("{}: gave {} arrays, {} were announced.", name_, made.size(), results.size()),
                       "It returns as many as the types that it is called with.");
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (made[i].dtype() != results[i].dtype || !std::ranges::equal(made[i].dims(), results[i].dims))
      throw RuntimeError(
          fmt::format("{}: gave {} as result {}, {} was announced.", name_, text_of(made[i].dtype(), made[i].dims()), i,
                      text_of(results[i].dtype, results[i].dims)),
          "It returns arrays of the types that it is called with.");
    if (!made[i].contiguous()) made[i] = made[i].contiguous_copy();
  }
  return made;
}

void rethrow_host_failure() { std::rethrow_exception(std::exchange(failure, nullptr)); }

}  // namespace tenon

std::int64_t tenon_host_call(const std::int64_t* description, void* const* addresses) {
  try {
    tenon::call_at(tenon::Description(description), addresses);
    return 0;
  } catch (...) {
    tenon::failure = std::current_exception();
    return -tenon::host_call_failed;
  }
}

namespace tenon {
namespace {

const RuntimeSymbol symbol_of_host_call("tenon_host_call", &tenon_host_call);

}  // namespace
}  // namespace tenon
