#include "finite.h"

#include <fmt/format.h>
#include <nanobind/nanobind.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <deque>
#include <unordered_set>

#include "array.h"
#include "errors.h"
#include "executor.h"
#include "rooms.h"
#include "source_lines.h"
#include "tenon/eval/evaluate.h"

namespace tenon::python {

Watched watched;

namespace {

// Functions that are written in Python, of ops whose results they leave out again: inside of them nothing is required.
thread_local int held = 0;

// "nan" or "inf", where a value holds one that is looked for; else empty.
template <class T>
const char* found_in(const Buffer& b) {
  const Buffer dense = b.contiguous() ? b : b.contiguous_copy();
  const auto* data = reinterpret_cast<const T*>(dense.data());
  const std::size_t count = dense.bytes() / sizeof(T);
  for (std::size_t i = 0; i < count; ++i) {
    const auto x = static_cast<double>(data[i]);
    if (watched.nans && std::isnan(x)) return "nan";
    if (watched.infs && std::isinf(x)) return "inf";
  }
  return nullptr;
}

// Of narrow floats by their bits.
template <NarrowFloat T>
const char* found_in_bits(const Buffer& b) {
  constexpr FloatFormat format = format_of(*dtype_of<T>);
  const Buffer dense = b.contiguous() ? b : b.contiguous_copy();
  for (std::int64_t i = 0; i < dense.elements(); ++i) {
    const std::uint64_t bits = dense.as<T>()[i].bits;
    if (watched.nans && format.is_nan(bits)) return "nan";
    if (watched.infs && format.has_infinity() && (bits & (format.sign() - 1)) == format.exponents()) return "inf";
  }
  return nullptr;
}

const char* found_in(const Value& value) {
  const auto* b = std::get_if<Buffer>(&value);
  if (b == nullptr || b->bytes() == 0) return nullptr;
  return dispatch(b->dtype(), [&]<class T>(std::type_identity<T>) -> const char* {
    if constexpr (NarrowFloat<T>)
      return found_in_bits<T>(*b);
    else if constexpr (std::is_floating_point_v<T>)
      return found_in<T>(*b);
    else if constexpr (requires { typename T::value_type; })
      return found_in<typename T::value_type>(*b);
    else
      return nullptr;
  });
}

const char* first_found(std::span<const Value> values) {
  for (const Value& value : values)
    if (const char* found = found_in(value)) return found;
  return nullptr;
}

// Where what is looked for began.
struct Origin {
  std::string text;
  Source where;
};
using OriginRef = std::shared_ptr<const Origin>;

OriginRef origin_of(const char* found, const OpInfo& op, std::span<const Value> operands, const Source& where) {
  std::string types;
  for (const Value& v : operands) types += (types.empty() ? "" : ", ") + type_of(v).text();
  const char* before = first_found(operands);
  return std::make_shared<Origin>(
      Origin{fmt::format("invalid value ({}) encountered in {} of {}{}.", found, op.name,
                         types.empty() ? "no operands" : types,
                         before == nullptr ? "" : fmt::format(", of which one holds {} already", before)),
             where});
}

// The last results that hold what is looked for, each with its origin, which is found when it is asked for. They are
// kept, so that no other array takes their memory.
struct Suspect {
  Value value;
  std::function<OriginRef()> origin;
};
std::deque<Suspect>& suspects() {
  static thread_local auto* all = new std::deque<Suspect>();
  return *all;
}
constexpr std::size_t most_suspects = 64;

const std::byte* place_of(const Value& value) {
  const auto* b = std::get_if<Buffer>(&value);
  return b == nullptr ? nullptr : b->data();
}

const Suspect* suspect_at(const Value& value) {
  for (const Suspect& s : suspects())
    if (place_of(value) != nullptr && place_of(s.value) == place_of(value)) return &s;
  return nullptr;
}

void suspect(std::span<const Value> results, const std::function<OriginRef()>& origin) {
  for (const Value& value : results) {
    if (found_in(value) == nullptr) continue;
    suspects().push_front({value, origin});
    if (suspects().size() > most_suspects) suspects().pop_back();
  }
}

// Runs a Program op by op, and says in which one the first of its results that holds what is looked for began.
OriginRef origin_within(const ProgramRef& program, std::span<const std::int64_t> sizes, std::span<const Value> inputs) {
  std::unordered_map<Var, OriginRef> origins;
  OriginRef inside;                      // of what runs in a region, the first
  std::unordered_set<Var> written_down;  // what follows from numbers alone: something begins where it is taken
  const auto is_own = [&](const Eqn& eqn) {
    return &eqn >= program->eqns().data() && &eqn < program->eqns().data() + program->eqns().size();
  };
  const NativeRun beside;  // one around all of them: each for itself would be too short for signals to be attended to
  evaluate(
      *program, sizes, inputs, executor(),
      [&](const Eqn& eqn, std::span<const Value> operands, std::span<const Value> results) {
        const bool own = is_own(eqn);  // those of a region have variables of their own
        if (eqn.in.empty() || (own && std::ranges::all_of(eqn.in, [&](Var v) { return written_down.contains(v); }))) {
          if (own) written_down.insert(eqn.out.begin(), eqn.out.end());
          return;
        }
        const char* found = first_found(results);
        if (!own) {
          if (found != nullptr && inside == nullptr && first_found(operands) == nullptr)
            inside = origin_of(found, *eqn.op, operands, eqn.where);
          return;
        }
        OriginRef within = std::exchange(inside, nullptr);
        if (found == nullptr) return;
        for (const Var v : eqn.in)
          if (const auto before = origins.find(v); before != origins.end()) within = before->second;
        if (within == nullptr) within = origin_of(found, *eqn.op, operands, eqn.where);
        for (std::size_t i = 0; i < results.size(); ++i)
          if (found_in(results[i]) != nullptr) origins.emplace(eqn.out[i], within);
      });
  for (const Var v : program->outputs())
    if (const auto at = origins.find(v); at != origins.end()) return at->second;
  return std::make_shared<Origin>(
      Origin{fmt::format("invalid value encountered in the compiled function {}: op by op there is none, or it is in "
                         "an argument.",
                         program->name()),
             {}});
}

[[noreturn]] void throw_non_finite(const OriginRef& origin) {
  suspects().clear();
  const bool infs = !watched.nans;
  throw NonFiniteError(fmt::format("{}: {}", infs ? "debug_infs" : "debug_nans", origin->text),
                       fmt::format("Where it is wanted, write with tn.{}(False).", infs ? "debug_infs" : "debug_nans"),
                       origin->where.known() ? origin->where : user_line());
}

// A context of Python's: what is made in it is looked through where it ends.
void hold(bool more) { held += more ? 1 : -1; }

}  // namespace

void note_op(const OpInfo& op, const Params& params, std::span<const Value> operands, std::span<const Value> results) {
  const char* found = first_found(results);
  if (found == nullptr) return;
  if (params.hold_programs()) {
    std::vector<Type> types;
    for (const Value& v : operands) types.push_back(type_of(v));
    return note_program(program_of(op, params, types), {}, operands, results);
  }
  for (const Value& operand : operands)
    if (const Suspect* before = suspect_at(operand)) return suspect(results, std::function(before->origin));
  const OriginRef origin = origin_of(found, op, operands, user_line());
  suspect(results, [origin] { return origin; });
}

void note_program(const ProgramRef& program, std::span<const std::int64_t> sizes, std::span<const Value> inputs,
                  std::span<const Value> results) {
  if (first_found(results) == nullptr) return;
  suspect(results,
          [program, sizes = std::vector(sizes.begin(), sizes.end()),
           inputs = std::vector(inputs.begin(), inputs.end())] { return origin_within(program, sizes, inputs); });
}

void require_finite(const Value& value) {
  if (held > 0 || suspects().empty()) return;
  if (const Suspect* s = suspect_at(value); s != nullptr && found_in(value) != nullptr) {
    const std::function<OriginRef()> origin = s->origin;
    throw_non_finite(origin());
  }
}

void add_finite(nb::module_& module) {
  module.def("debug_nans", [] { return watched.nans; });
  module.def("debug_infs", [] { return watched.infs; });
  module.def("set_debug_nans", [](bool on) { watched.nans = on; });
  module.def("set_debug_infs", [](bool on) { watched.infs = on; });
  module.def("watching", watching);
  module.def("hold_checks", hold, nb::arg("more"));
  module.def("require_finite", [](nb::handle x) {
    if (watching() && is_array(x.ptr()) && array_of(x.ptr()).buffer() != nullptr)
      require_finite(Value(*array_of(x.ptr()).buffer()));
  });
}

}  // namespace tenon::python
