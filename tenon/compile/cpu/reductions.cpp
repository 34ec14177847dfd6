// Reductions: along a row with several vector accumulators, along columns with a result a lane, or element by element.
#include <utility>

#include "tenon/compile/cpu/statements.h"

namespace tenon::cpu {
namespace {

constexpr int accumulators = 4;  // partial results of a reduction, to hide the latency of combining

// What a long sum rounds grows with how many numbers are added one after the other: so many are, and their sums.
constexpr std::int64_t run_of_sum = 128;
bool adds_reals(const kernel::Reduce& r) {
  return std::ranges::all_of(r.results(), [](const kernel::Reduce::Result& result) {
    return result.combine == Combine::add && is_real(result.value.dtype());
  });
}

// How many of them each result of a row has: what is computed for each of a long body hides that latency by itself, and
// so do several results.
int accumulators_of(const Work& work, const kernel::Reduce& r) {
  const auto results = static_cast<int>(std::min<std::size_t>(r.others.size() + 1, accumulators));
  return work.instructions < 300 ? accumulators / results : 1;
}

bool has_signs(Combine op, DType dtype) { return is_real(dtype) && (op == Combine::max || op == Combine::min); }

Value* held(Builder& b, llvm::AllocaInst* place) { return b.CreateLoad(place->getAllocatedType(), place); }

}  // namespace

Value* FunctionEmitter::combined(Combine op, DType dtype, Value* x, Value* y) {
  const bool real = is_real(dtype), is_signed = is_signed_integer(dtype);
  switch (op) {
    case Combine::add:
      return real ? b_.CreateFAdd(x, y) : b_.CreateAdd(x, y);
    case Combine::mul:
      return real ? b_.CreateFMul(x, y) : b_.CreateMul(x, y);
    case Combine::max:
    case Combine::min: {
      const bool largest = op == Combine::max;
      // As the processor's instruction has it: of a number and NaN the second.
      if (real) return b_.CreateSelect(largest ? b_.CreateFCmpOGT(y, x) : b_.CreateFCmpOLT(y, x), y, x);
      return b_.CreateBinaryIntrinsic(largest     ? is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax
                                      : is_signed ? llvm::Intrinsic::smin
                                                  : llvm::Intrinsic::umin,
                                      x, y);
    }
    case Combine::and_:
      return b_.CreateAnd(x, y);
    case Combine::or_:
      return b_.CreateOr(x, y);
  }
  llvm_unreachable("an unknown reduction");
}
Value* FunctionEmitter::across(Combine op, DType dtype, Value* x) {
  auto* type = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  if (type == nullptr) return x;
  const bool real = is_real(dtype), is_signed = is_signed_integer(dtype);
  llvm::IRBuilderBase::FastMathFlagGuard guard(b_);
  llvm::FastMathFlags flags = b_.getFastMathFlags();
  flags.setAllowReassoc(true);
  const bool extremum = op == Combine::max || op == Combine::min;
  flags.setNoSignedZeros(extremum), flags.setNoNaNs(extremum);
  b_.setFastMathFlags(flags);
  switch (op) {
    case Combine::add:
      return real ? b_.CreateFAddReduce(llvm::ConstantFP::get(type->getElementType(), -0.0), x) : b_.CreateAddReduce(x);
    case Combine::mul:
      return real ? b_.CreateFMulReduce(llvm::ConstantFP::get(type->getElementType(), 1.0), x) : b_.CreateMulReduce(x);
    case Combine::max:
      return real ? b_.CreateFPMaxReduce(x) : b_.CreateIntMaxReduce(x, is_signed);
    case Combine::min:
      return real ? b_.CreateFPMinReduce(x) : b_.CreateIntMinReduce(x, is_signed);
    case Combine::and_:
      return b_.CreateAndReduce(x);
    case Combine::or_:
      return b_.CreateOrReduce(x);
  }
  llvm_unreachable("an unknown reduction");
}

// Whether every load of an expression is contiguous along a variable, one element of runs that are, or constant.
bool FunctionEmitter::streams_along(const Expr& e, std::uint32_t var) {
  std::set<const Expr::Node*> seen;  // nodes are shared: a block cipher has more paths than atoms
  return streams_along(e, var, seen);
}
bool FunctionEmitter::streams_along(const Expr& e, std::uint32_t var, std::set<const Expr::Node*>& seen) {
  if (!seen.insert(e.identity()).second) return true;
  if (e.kind() == Expr::Kind::load) {
    const Variation v = e_.variation(e.operand(0), var);
    return v.stride && (*v.stride == 0 || *v.stride == 1 || e_.run_of(e, var) > 1);
  }
  for (const auto& operand : e.node().operands)
    if (operand && !streams_along(Expr(operand), var, seen)) return false;
  return true;
}

Value* FunctionEmitter::sign_bits(Value* x) {
  return b_.CreateBitCast(x, x->getType()->getWithNewType(b_.getIntNTy(x->getType()->getScalarSizeInBits())));
}
FunctionEmitter::Partial FunctionEmitter::partial(Combine op, DType dtype, std::int64_t lanes, Value* fill) {
  Builder at_entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
  if (lanes > 1) fill = b_.CreateVectorSplat(static_cast<unsigned>(lanes), fill);
  Partial p{op, dtype, at_entry.CreateAlloca(fill->getType())};
  b_.CreateStore(fill, p.value);
  if (!has_signs(p.op, p.dtype)) return p;
  Value* signs = sign_bits(fill);
  p.signs = at_entry.CreateAlloca(signs->getType());
  b_.CreateStore(signs, p.signs);
  p.unordered = at_entry.CreateAlloca(fill->getType());
  b_.CreateStore(unordered(fill, fill, llvm::Constant::getNullValue(fill->getType())), p.unordered);
  return p;
}
FunctionEmitter::Partials FunctionEmitter::partials(const kernel::Reduce& r, std::int64_t lanes, const Values& fill) {
  Partials all;
  for (const kernel::Reduce::Result& result : r.results())
    all.push_back(partial(result.combine, result.value.dtype(), lanes, fill[all.size()]));
  return all;
}
// NaN where one of two is, else what was found before.
Value* FunctionEmitter::unordered(Value* x, Value* y, Value* before) {
  return b_.CreateSelect(b_.CreateFCmpUNO(x, y), llvm::ConstantFP::getNaN(before->getType()), before);
}
void FunctionEmitter::combine(const Partial& into, Value* value) {
  b_.CreateStore(combined(into.op, into.dtype, held(b_, into.value), value), into.value);
}
// Notes of two values of an extremum their signs, and whether one is NaN.
void FunctionEmitter::note(const Partial& into, Value* x, Value* y) {
  if (into.signs == nullptr) return;
  b_.CreateStore(unordered(x, y, held(b_, into.unordered)), into.unordered);
  note_signs(into, sign_bits(x));
  if (y != x) note_signs(into, sign_bits(y));
}
void FunctionEmitter::note_signs(const Partial& into, Value* signs) {
  Value* before = held(b_, into.signs);
  b_.CreateStore(into.op == Combine::max ? b_.CreateAnd(before, signs) : b_.CreateOr(before, signs), into.signs);
}
FunctionEmitter::Values FunctionEmitter::initial_values(const kernel::Reduce& r) {
  Values all;
  for (const kernel::Reduce::Result& result : r.results()) all.push_back(e_.scalar(result.initial));
  return all;
}
void FunctionEmitter::store_results(const kernel::Reduce& r, const Values& results) {
  e_.forget();
  std::size_t i = 0;
  for (const kernel::Reduce::Result& result : r.results()) e_.store(result.slot, result.offset, results[i++]);
}
FunctionEmitter::Values FunctionEmitter::accumulate(const kernel::Reduce& r, const Partials& into,
                                                    const Values* outside) {
  Values values;
  for (const kernel::Reduce::Result& result : r.results()) {
    Value* value = e_.lanes(result.value);
    if (e_.mask() != nullptr && outside != nullptr) {
      const auto lanes = llvm::cast<llvm::FixedVectorType>(value->getType())->getNumElements();
      value = b_.CreateSelect(e_.mask(), value, b_.CreateVectorSplat(lanes, (*outside)[values.size()]));
    }
    values.push_back(value);
  }
  store_lanes(r.stores);
  for (std::size_t i = 0; i < values.size(); ++i) combine(into[i], values[i]);
  return values;
}
void FunctionEmitter::accumulate_one(const kernel::Reduce& r, const Partials& into, const Values* outside) {
  const Values values = accumulate(r, into, outside);
  for (std::size_t i = 0; i < values.size(); ++i) note(into[i], values[i], values[i]);
}
// Adds a partial result of as many lanes.
void FunctionEmitter::combine(const Partial& into, const Partial& from) {
  combine(into, held(b_, from.value));
  if (from.signs == nullptr) return;
  note_signs(into, held(b_, from.signs));
  Value* found = held(b_, from.unordered);
  b_.CreateStore(unordered(found, found, held(b_, into.unordered)), into.unordered);
}
// Of all lanes of a partial result: the scalar, and the signs of its zero.
std::pair<Value*, Value*> FunctionEmitter::across(const Partial& p) {
  Value *value = across(p.op, p.dtype, held(b_, p.value)), *signs = p.signs == nullptr ? nullptr : held(b_, p.signs);
  if (signs == nullptr) return {value, signs};
  Value* found = held(b_, p.unordered);
  Value* some = b_.CreateFCmpUNO(found, found);
  if (!signs->getType()->isVectorTy()) return {with_unordered(value, some), signs};
  signs = p.op == Combine::max ? b_.CreateAndReduce(signs) : b_.CreateOrReduce(signs);
  return {with_unordered(value, b_.CreateOrReduce(some)), signs};
}
Value* FunctionEmitter::with_unordered(Value* value, Value* some) {
  return b_.CreateSelect(some, llvm::ConstantFP::getNaN(value->getType()), value);
}
// Of each lane.
Value* FunctionEmitter::result_of(const Partial& p) {
  Value* value = held(b_, p.value);
  if (p.signs == nullptr) return value;
  Value* found = held(b_, p.unordered);
  return with_sign(with_unordered(value, b_.CreateFCmpUNO(found, found)), held(b_, p.signs));
}
// The extremum with the sign that its zero has.
Value* FunctionEmitter::with_sign(Value* value, Value* signs) {
  if (signs == nullptr) return value;
  const unsigned bits = value->getType()->getScalarSizeInBits();
  Value* mask = llvm::ConstantInt::get(signs->getType(), llvm::APInt::getSignMask(bits));
  Value* zero = b_.CreateBitCast(b_.CreateAnd(signs, mask), value->getType());
  return b_.CreateSelect(b_.CreateFCmpOEQ(value, llvm::Constant::getNullValue(value->getType())), zero, value);
}

void FunctionEmitter::emit(const kernel::Reduce& r) {
  const Dim outer = product_of(r.outer_sizes), inner = product_of(r.inner_sizes);
  if (outer == Dim(0)) return;
  const std::vector<kernel::Reduce::Result> results = r.results();
  Work work;
  for (const kernel::Reduce::Result& result : results) add_work(result.value, work);
  add_work(r.stores, work);
  e_.set(work, accumulators_of(work, r) + copies_of_rows);
  b_.short_chains = at_most(outer * inner, unroll_limit);
  const auto lanes = static_cast<std::int64_t>(widest(work.element_bytes));
  const bool unrolled_outer = at_most(outer, 16), unrolled_inner = at_most(inner, 16);
  const auto all_stream = [&](std::uint32_t var) {
    return std::ranges::all_of(results, [&](const auto& result) { return streams_along(result.value, var); });
  };
  const auto along_inner = [&](const kernel::Store& s) { return streams_along(s.value, r.inner_vars.back()); };
  const bool inner_streams = !r.inner_vars.empty() && !at_most(r.inner_sizes.back(), 1) &&
                             all_stream(r.inner_vars.back()) && std::ranges::all_of(r.stores, along_inner) &&
                             in_rows(r.stores, r.inner_vars.back());
  const auto is_stored_along = [&](const kernel::Reduce::Result& result) {
    const auto stride = e_.variation(result.offset, r.outer_vars.back()).stride;
    return stride == 1 || stride == 2;
  };
  const bool outer_streams = !r.outer_vars.empty() && !at_most(r.outer_sizes.back(), 1) &&
                             all_stream(r.outer_vars.back()) && std::ranges::all_of(results, is_stored_along);
  if (inner != Dim(0) && outer_streams && r.stores.empty() &&
      (!inner_streams || at_most(r.inner_sizes.back(), lanes - 1)))
    return reduce_columns(r, work, unrolled_outer, unrolled_inner);
  loops(r.outer_vars, r.outer_sizes, 0, r.outer_vars.size(), unrolled_outer && unrolled_inner, [&] {
    const Values initial = initial_values(r);
    const auto by_scalars = [&] { store_results(r, reduce_scalars(r, initial, unrolled_inner)); };
    const auto by_registers = [&] { store_results(r, reduce_row(r, work, lanes, initial, unrolled_inner)); };
    if (inner == Dim(0))
      store_results(r, initial);
    else if (!inner_streams)
      by_scalars();
    else if (are_parts(r))
      either(b_.CreateICmpSLT(number(inner), b_.getInt64(accumulators)), by_scalars, by_registers);
    else
      by_registers();
  });
}

// Whether a row is one of parts, of which there are few where what they are of is small: only running tells how many.
bool FunctionEmitter::are_parts(const kernel::Reduce& r) const {
  return r.inner_vars.size() == 1 && !r.inner_sizes[0].known() && r.stores.empty() && r.others.empty() &&
         r.value.kind() == Expr::Kind::load && f_.slots[r.value.node().id].temporary();
}

// body(i, into) for i over [0, extent) in steps, with sums of `run` steps each that are added up; where there are many
// of them, likewise.
void FunctionEmitter::in_runs(const Dim& extent, std::int64_t step, std::int64_t run, const std::vector<Partials>& into,
                              StepBody body) {
  const std::int64_t block = run * step;
  const Dim runs = floor_div(extent, block);
  const auto one_run = [&](Value* first, const std::vector<Partials>& sums) {
    const std::vector<Partials> own = emptied(sums);
    loop(block, step, [&](Value* i) { body(b_.CreateAdd(first, i), own); });
    for (std::size_t i = 0; i < own.size(); ++i)
      for (std::size_t k = 0; k < own[i].size(); ++k) combine(sums[i][k], own[i][k]);
  };
  if (runs.known() && runs.value() >= 2 * run_of_sum)
    in_runs(runs * block, block, run_of_sum, into, one_run);
  else
    loop(runs * block, block, [&](Value* first) { one_run(first, into); });
  loop(extent, step, [&](Value* i) { body(i, into); }, runs * block);
}
// Sums of nothing, of as many lanes.
std::vector<FunctionEmitter::Partials> FunctionEmitter::emptied(const std::vector<Partials>& all) {
  std::vector<Partials> made;
  for (const Partials& totals : all) {
    Partials& sums = made.emplace_back();
    for (const Partial& total : totals) {
      auto* type = total.value->getAllocatedType();
      auto* lanes = llvm::dyn_cast<llvm::FixedVectorType>(type);
      sums.push_back(partial(total.op, total.dtype, lanes == nullptr ? 1 : lanes->getNumElements(),
                             llvm::Constant::getNullValue(type->getScalarType())));
    }
  }
  return made;
}

// Over the first `count` inner variables of a reduction, of which each step adds `each` numbers one after the other.
void FunctionEmitter::over_inner(const kernel::Reduce& r, std::size_t count, std::int64_t each, bool unrolled,
                                 const std::vector<Partials>& into,
                                 llvm::function_ref<void(const std::vector<Partials>&)> body) {
  const auto inside = [&](std::size_t from, std::size_t to, Code code) {
    loops(r.inner_vars, r.inner_sizes, from, to, unrolled, code);
  };
  const auto most = [&] { return (2 * run_of_sum + each - 1) / each; };
  std::size_t end = count;  // behind the variable that is divided into runs
  for (; end > 0 && at_most(r.inner_sizes[end - 1], most() - 1); --end)
    each *= std::max<std::int64_t>(r.inner_sizes[end - 1].try_value().value_or(1), 1);
  if (unrolled || end == 0 || !adds_reals(r)) return inside(0, count, [&] { body(into); });
  const std::size_t divided = end - 1;
  const std::int64_t run = std::max<std::int64_t>(run_of_sum / each, 1);
  inside(0, divided, [&] {
    in_runs(r.inner_sizes[divided], 1, run, into, [&](Value* i, const std::vector<Partials>& own) {
      e_.set(r.inner_vars[divided], i);
      inside(end, count, [&] { body(own); });
    });
  });
}

FunctionEmitter::Values FunctionEmitter::reduce_scalars(const kernel::Reduce& r, const Values& initial, bool unrolled) {
  const Partials parts = partials(r, 1, initial);
  over_inner(r, r.inner_vars.size(), 1, unrolled, {parts}, [&](const std::vector<Partials>& into) {
    e_.forget();
    accumulate_one(r, into[0]);
  });
  Values results;
  for (const Partial& part : parts) {
    const auto [value, signs] = across(part);
    results.push_back(with_sign(value, signs));
  }
  return results;
}

// A vector of a row for each of these.
void FunctionEmitter::add_step(const kernel::Reduce& r, std::int64_t lanes, Value* i,
                               const std::vector<Partials>& into) {
  Values before;  // what is noted of two values at once costs half
  for (std::size_t a = 0; a < into.size(); ++a) {
    e_.set_lanes(r.inner_vars.back(), b_.CreateAdd(i, b_.getInt64(a * static_cast<std::uint64_t>(lanes))),
                 static_cast<unsigned>(lanes));
    const Values values = accumulate(r, into[a]);
    for (std::size_t k = 0; k < values.size(); ++k)
      if (a % 2 == 1)
        note(into[a - 1][k], before[k], values[k]);
      else if (a + 1 == into.size())
        note(into[a][k], values[k], values[k]);
    before = values;
  }
}

// Along the last inner variable: several vector accumulators, then a vector of what is left. Of a length that only
// running tells, what whole steps do not reach goes to the first accumulator: a row that has none pays for one alone.
FunctionEmitter::Values FunctionEmitter::reduce_row(const kernel::Reduce& r, const Work& work, std::int64_t lanes,
                                                    const Values& initial, bool unrolled) {
  const int accumulators = accumulators_of(work, r);
  const Dim& last = r.inner_sizes.back();
  const std::int64_t step = lanes * accumulators;
  const Dim whole = floor_div(last, step) * step, vectors = floor_div(last, lanes) * lanes, left = last - vectors;
  const std::uint32_t var = r.inner_vars.back();
  std::vector<Partials> parts;
  Partials rest;
  const auto open_parts = [&](int count) {
    while (static_cast<int>(parts.size()) < count) parts.push_back(partials(r, lanes, initial));
  };
  // Pairs first: a tree waits less than a chain.
  const auto close_parts = [&] {
    for (std::size_t width = 1; width < parts.size(); width *= 2)
      for (std::size_t i = 0; i + width < parts.size(); i += 2 * width)
        for (std::size_t k = 0; k < parts[i].size(); ++k) combine(parts[i][k], parts[i + width][k]);
  };
  const bool masks = !last.known() && has_masks(work, r.stores), one_row = r.inner_vars.size() == 1;
  if (vectors != Dim(0)) open_parts(masks && one_row ? 1 : whole != Dim(0) ? accumulators : 1);
  if (left != Dim(0) && !masks) rest = partials(r, left.try_value().value_or(1), initial);
  const std::int64_t steps = whole.try_value().value_or(2 * run_of_sum * step) / step;
  const bool by_runs = steps >= 2 * run_of_sum && adds_reals(r);
  const auto row = [&](const std::vector<Partials>& into) {
    const auto whole_steps = [&] {
      const auto add = [&](Value* i, const std::vector<Partials>& sums) { add_step(r, lanes, i, sums); };
      if (by_runs) return in_runs(whole, step, run_of_sum, into, add);
      loop(whole, step, [&](Value* i) { add(i, into); });
    };
    if (masks && one_row)
      when_there_are(whole, [&] {
        open_parts(accumulators);
        whole_steps();
        close_parts();
      });
    else
      whole_steps();
    loop(
        vectors, lanes,
        [&](Value* i) {
          e_.set_lanes(var, i, static_cast<unsigned>(lanes));
          accumulate_one(r, into[0]);
        },
        whole);
    if (!rest.empty() && left.known()) {
      e_.set_lanes(var, number(vectors), static_cast<unsigned>(left.value()));
      accumulate_one(r, rest);
    } else if (masks) {
      when_there_are(left, [&] {
        e_.set_lanes_below(var, number(vectors), static_cast<unsigned>(lanes), number(last));
        accumulate_one(r, into[0], &initial);
      });
    } else if (!rest.empty()) {
      const auto some = [&](Value* i) {
        e_.set_lanes(var, i, 1);
        accumulate_one(r, rest);
      };
      loop(last, 1, some, vectors);
    }
    e_.set_lanes(var, b_.getInt64(0), 1);
  };
  over_inner(r, r.inner_vars.size() - 1, std::clamp<std::int64_t>(steps, 1, run_of_sum), unrolled, parts, row);
  if (!(masks && one_row)) close_parts();
  if (parts.empty()) parts.push_back(std::exchange(rest, {}));
  Values results;
  for (std::size_t k = 0; k < parts[0].size(); ++k)
    results.push_back(across(parts[0][k], rest.empty() ? nullptr : &rest[k]));
  return results;
}
// Of all lanes of a partial result, and of another one's that has other lanes.
Value* FunctionEmitter::across(const Partial& part, const Partial* rest) {
  auto [value, signs] = across(part);
  if (rest == nullptr) return with_sign(value, signs);
  const auto [value_of_rest, signs_of_rest] = across(*rest);
  const Partial both = partial(part.op, part.dtype, 1, value);
  if (signs != nullptr) b_.CreateStore(signs, both.signs);
  combine(both, value_of_rest);
  if (signs != nullptr) {
    note(both, value_of_rest, value_of_rest);
    note_signs(both, signs_of_rest);
  }
  std::tie(value, signs) = across(both);
  return with_sign(value, signs);
}

// Whether columns take a few rows at a time: processors fetch few rows that are far apart ahead. What was found of the
// rows before lies where the results do, which must hold it without rounding.
constexpr std::int64_t rows_at_once = 16, long_row_bytes = 1024;
bool FunctionEmitter::in_row_chunks(const kernel::Reduce& r, const Work& work) const {
  const auto is_held = [&](const kernel::Reduce::Result& result) {
    return f_.slots[result.slot].dtype == result.value.dtype();
  };
  return std::ranges::all_of(r.results(), is_held) && r.inner_vars.size() == 1 &&
         !at_most(r.inner_sizes[0], rows_at_once + rows_at_once / 2) &&
         !at_most(r.outer_sizes.back(), long_row_bytes / static_cast<std::int64_t>(work.element_bytes) - 1);
}

// What an element changes nothing in.
Value* FunctionEmitter::identity(const kernel::Reduce::Result& result) {
  Value* initial = e_.scalar(result.initial);
  if (result.combine != Combine::add && result.combine != Combine::mul) return initial;
  auto* type = initial->getType();
  const unsigned one = result.combine == Combine::mul ? 1 : 0;
  return type->isFloatingPointTy() ? llvm::ConstantFP::get(type, one) : llvm::ConstantInt::get(type, one);
}

// at(first, width, set_lanes) for all results along the last outer variable, of which each lane has one. Several
// registers side by side hide the latency of combining.
void FunctionEmitter::over_columns(const kernel::Reduce& r, const Work& work, ColumnBody at) {
  const auto lanes = static_cast<std::int64_t>(widest(work.element_bytes));
  const Dim& last = r.outer_sizes.back();
  const bool short_row = at_most(last, accumulators * lanes - 1);
  const std::int64_t step = work.instructions < 20 && !short_row ? accumulators_of(work, r) * lanes : lanes;
  const Dim vectors = floor_div(last, lanes) * lanes, whole = floor_div(last, step) * step, left = last - vectors;
  const std::uint32_t var = r.outer_vars.back();
  const auto body = [&](Value* i, std::int64_t width) {
    at(i, width,
       [&] { e_.set_lanes(var, i, static_cast<unsigned>(width), static_cast<unsigned>(std::min(lanes, width))); });
  };
  const auto is_masked = [&](const kernel::Reduce::Result& result) {
    return size_of(f_.slots[result.slot].dtype) >= 4 && e_.variation(result.offset, var).stride == 1;
  };
  const bool masks = !left.known() && has_masks(work, {}) && std::ranges::all_of(r.results(), is_masked);
  const auto some = [&](Value* i) {
    if (!masks) return body(i, 1);
    at(i, lanes, [&] { e_.set_lanes_below(var, i, static_cast<unsigned>(lanes), number(last)); });
  };
  loop(whole, step, [&](Value* i) { body(i, step); });
  loop(vectors, lanes, [&](Value* i) { body(i, lanes); }, whole);
  if (left.known() && left != Dim(0))
    body(number(vectors), left.value());
  else if (!left.known() && masks)
    when_there_are(left, [&] { some(number(vectors)); });
  else if (!left.known())
    loop(last, 1, some, vectors);
  e_.set_lanes(var, b_.getInt64(0), 1);
}

void FunctionEmitter::reduce_columns(const kernel::Reduce& r, const Work& work, bool unrolled_outer,
                                     bool unrolled_inner) {
  const std::uint32_t var = r.outer_vars.back();
  // The results of some columns, which start as `first` has it; add() adds rows to them.
  const auto columns = [&](auto&& first, auto&& add) {
    over_columns(r, work, [&](Value* i, std::int64_t width, Code set_lanes) {
      e_.set_lanes(var, i, 1);
      const Partials parts = partials(r, width, first());
      set_lanes();
      add(parts);
      Values results;
      for (const Partial& part : parts) results.push_back(result_of(part));
      store_results(r, results);
    });
  };
  const auto initial = [&] { return initial_values(r); };
  const auto identities = [&] {
    Values all;
    for (const kernel::Reduce::Result& result : r.results()) all.push_back(identity(result));
    return all;
  };
  const auto add_all = [&](const Partials& parts) {
    over_inner(r, r.inner_vars.size(), 1, unrolled_inner, {parts}, [&](const std::vector<Partials>& into) {
      e_.forget();
      accumulate_one(r, into[0]);
    });
  };
  std::vector<Expr> found;  // of the rows before
  for (const kernel::Reduce::Result& result : r.results())
    found.push_back(kernel::load(result.slot, result.value.dtype(), result.offset));
  const auto add_before = [&](const Partials& parts) {
    e_.forget();
    for (std::size_t k = 0; k < parts.size(); ++k) {
      Value* before = e_.lanes(found[k]);
      combine(parts[k], before);
      note(parts[k], before, before);
    }
  };
  loops(r.outer_vars, r.outer_sizes, 0, r.outer_vars.size() - 1, unrolled_outer && unrolled_inner, [&] {
    if (unrolled_inner || !in_row_chunks(r, work)) return columns(initial, add_all);
    columns(initial, [](const Partials&) {});
    Value* rows = number(r.inner_sizes[0]);
    loop(r.inner_sizes[0], rows_at_once, [&](Value* begin) {
      Value* end =
          b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateAdd(begin, b_.getInt64(rows_at_once)), rows);
      columns(identities, [&](const Partials& parts) {
        loop_from(begin, end, 1, [&](Value* row) {
          e_.set(r.inner_vars[0], row);
          e_.forget();
          accumulate_one(r, parts);
        });
        add_before(parts);
      });
    });
  });
}

}  // namespace tenon::cpu
