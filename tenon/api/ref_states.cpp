#include "tenon/api/ref_states.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/ops/control/region.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/elementwise/float_bits.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/transform/transforms.h"

namespace tenon::api_detail {
namespace {

constexpr std::uint64_t two_to_32 = std::uint64_t(1) << 32;

bool in_halves(const Type& type) { return size_of(type.dtype) == 8; }

}  // namespace

Type state_type(const Type& type) {
  if (has_tangent(type)) return type;
  return Type::array(DType::f64, in_halves(type) ? type.shape.with_axis(0, Dim(2)) : type.shape);
}

Array as_state(const Array& value) {
  const Type type = value.type();
  if (has_tangent(type)) return value;
  if (!in_halves(type)) return convert(value, DType::f64);
  const Array word = bitcast(value, DType::u64), base = Array(Scalar(two_to_32));
  return stack({convert(word / base, DType::f64), convert(word % base, DType::f64)});
}

Array from_state(const Array& state, const Type& type) {
  if (has_tangent(type)) return state;
  if (!in_halves(type)) return convert(state, type.dtype);
  const auto half = [&](std::int64_t i) { return convert(squeeze(slice_in_dim(state, i, i + 1, 0), 0), DType::u64); };
  return bitcast(half(0) * Array(Scalar(two_to_32)) + half(1), type.dtype);
}

CellRef state_of(const CellRef& cell, std::uint32_t derivative) {
  const Type type = read_cell(cell).type();
  if (!type.shape.known())
    throw RuntimeError(
        fmt::format("custom_vjp: backward uses a reference{} to {}, whose size is not known while tracing.",
                    cell->made.at_text(), type.text()),
        "Make a reference of a known size.");
  return state_cell(cell, derivative, [&] {
    const CompileTime now;
    return zeros_of(state_type(type));
  });
}

RefsOfDerivative::RefsOfDerivative(std::string_view op, const TracedFunction& f, const std::vector<bool>& active)
    : results_(f.results()) {
  const std::uint32_t number = Scope::ahead_here().derivatives + 1;
  Mask in = active;
  in.resize(f.program->inputs().size(), false);
  const Mask differentiated = tangents_reach(f.program, in);
  std::size_t output = results_;
  for (std::size_t i = 0; i < f.refs.size(); ++i) {
    const RefUse& use = f.refs[i];
    if (!use.written) continue;
    if (use.cell->derivative == number) {
      cells_.push_back(use.cell->state_of.lock());
      state_operands_.push_back(f.arguments + i);
      state_outputs_.push_back(output);
      written_.push_back({nullptr, true});
    } else if (differentiated[output]) {
      throw DifferentiationError(
          fmt::format("{}: what is written to a reference from outside{} depends on what is differentiated.", op,
                      use.cell->made.at_text()),
          "Write stop_gradient() of it, or make the reference in the function and return what is in it at the end.",
          use.written_at);
    } else {
      written_.push_back(use);
    }
    ++output;
  }
}

void RefsOfDerivative::refuse_states(std::string_view op) const {
  if (cells_.empty()) return;
  throw RuntimeError(
      fmt::format("Ref: a reference from outside{} is used in the backward of custom_vjp, of which {} runs "
                  "several at once.",
                  cells_[0]->made.at_text(), op),
      "Use grad() or vjp().");
}

std::vector<bool> RefsOfDerivative::with_states_in(std::vector<bool> operands) const {
  for (const std::size_t i : state_operands_) operands[i] = true;
  return operands;
}

std::vector<bool> RefsOfDerivative::with_states_out(std::vector<bool> outputs) const {
  for (const std::size_t i : state_outputs_) outputs[i] = true;
  return outputs;
}

void RefsOfDerivative::write(Arrays& outputs) const {
  for (std::size_t i = 0; i < written_.size(); ++i)
    if (written_[i].cell) write_cell(written_[i].cell, outputs[results_ + i].with_weak(false));
  outputs.resize(results_);
}

Arrays RefsOfDerivative::begin() const {
  Arrays states;
  for (const CellRef& cell : cells_) states.push_back(as_state(read_cell(cell)));
  return states;
}

void RefsOfDerivative::end(Arrays& cotangents) const {
  const std::size_t own = cotangents.size() - cells_.size();
  for (std::size_t i = 0; i < cells_.size(); ++i)
    write_cell(cells_[i], from_state(cotangents[own + i], read_cell(cells_[i]).type()).with_weak(false));
  cotangents.resize(own);
}

void RefsOfDerivative::hash(Hasher& hasher) const {
  for (const CellRef& cell : cells_) hasher(reinterpret_cast<std::uintptr_t>(cell.get()));
}

}  // namespace tenon::api_detail
