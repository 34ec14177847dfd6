// Nests of stores and copies: vectors along the innermost variable, elements of small nests written out.
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>

#include "tenon/compile/cpu/statements.h"
#include "tenon/kernel/analysis/affine.h"
#include "tenon/kernel/analysis/instructions.h"

namespace tenon::cpu {
namespace {

// Whether an expression reads a slot elsewhere than at `offset`. Nodes are shared: each is looked at once.
bool reads_elsewhere(const Expr& e, kernel::SlotId slot, const Expr& offset, std::set<const Expr::Node*>& seen) {
  if (!seen.insert(e.identity()).second) return false;
  if (e.kind() == Expr::Kind::load && e.node().id == slot && e.operand(0).identity() != offset.identity()) return true;
  return std::ranges::any_of(e.node().operands, [&](const auto& operand) {
    return operand && reads_elsewhere(Expr(operand), slot, offset, seen);
  });
}

// How many stores from i on go to places beside each other that are a whole run of so many, of which every lane has
// one; 1 where these are none.
std::size_t run_from(std::span<const kernel::Store> stores, std::size_t i, std::int64_t stride) {
  const auto run = static_cast<std::size_t>(stride);
  if (stride < 2 || i + run > stores.size()) return 1;
  const auto [first, at] = kernel::without_constant(stores[i].offset);
  if (at % stride != 0 || !kernel::is_multiple(first, stride)) return 1;
  for (std::size_t k = 1; k < run; ++k) {
    const auto [next, there] = kernel::without_constant(stores[i + k].offset);
    if (stores[i + k].slot != stores[i].slot || next.identity() != first.identity() ||
        there != at + static_cast<std::int64_t>(k))
      return 1;
  }
  return run;
}
bool under_one_condition(std::span<const kernel::Store> stores) {
  return std::ranges::all_of(stores, [&](const kernel::Store& s) {
    return bool(s.condition) && s.condition.identity() == stores[0].condition.identity();
  });
}

}  // namespace

unsigned FunctionEmitter::widest(std::size_t element_bytes) const {
  return std::max<unsigned>(1, target_.vector_bytes / static_cast<unsigned>(std::max<std::size_t>(element_bytes, 4)));
}

// Of a vector along an axis; of any length, the widest.
std::int64_t FunctionEmitter::lanes_along(const Work& work, const Dim& length) const {
  const std::int64_t lanes = widest(work.element_bytes);
  return at_most(length, lanes) ? length.value() : lanes;
}

// Whether the processor reads and writes some lanes of a register of these elements.
bool FunctionEmitter::has_masks(const Work& work, std::span<const kernel::Store> stores) const {
  if (target_.vector_bytes >= 64) return true;
  const auto is_wide = [&](SlotId slot) { return size_of(f_.slots[slot].dtype) >= 4; };
  return target_.vector_bytes >= 32 && std::ranges::all_of(work.reads, is_wide) &&
         std::ranges::all_of(stores, is_wide, &kernel::Store::slot);
}

// How many registers side by side hide the latency of a body: one where a processor overlaps passes by itself, as
// many as its registers allow where one pass fills its window.
std::int64_t FunctionEmitter::registers_at_once(const Work& work, std::size_t values, std::int64_t lanes,
                                                const Dim& length) const {
  constexpr std::size_t most_values = 4;  // computed side by side, they hide it as well
  const auto extent = static_cast<std::int64_t>(estimate(length));
  std::int64_t most = work.instructions < 100 || values >= most_values ? 1 : target_.vector_bytes == 64 ? 4 : 2;
  const auto passes = [&](std::int64_t n) { return (extent + n * lanes - 1) / (n * lanes) * n; };
  while (most > 1 && (extent < most * lanes || passes(most) * 8 > passes(1) * 9)) most /= 2;
  return most;
}

void FunctionEmitter::emit(const kernel::Nest& n) {
  const Dim total = product_of(n.sizes);
  if (total == Dim(0)) return;
  const std::size_t rank = n.vars.size();
  bool vectors = rank > 0 && !at_most(n.sizes.back(), 1) && (n.independent || rows_independent(n)), overwrites = false;
  Work work;
  const auto whole_rows = [&](const kernel::Store& s) {
    return !s.condition || (under_one_condition(n.stores) && !e_.variation(s.condition, n.vars.back()).varies);
  };
  vectors = vectors && std::ranges::all_of(n.stores, whole_rows) && in_rows(n.stores, n.vars.back());
  for (const kernel::Store& s : n.stores) {
    work.element_bytes = std::max(work.element_bytes, size_of(f_.slots[s.slot].dtype));
    add_work(s.value, work);
  }
  vectors = vectors && !is_short(total, work);
  e_.set(work, copies_of_rows);
  const bool unrolled = at_most(total, unroll_limit) && is_written_out(n, total.value(), work, vectors);
  b_.short_chains = unrolled;
  if (!vectors) {
    if (!n.independent && !unrolled && rank > 0) return one_by_one(n, work);
    loops(n.vars, n.sizes, 0, rank, unrolled, [&] { store_scalars(n.stores); });
    return;
  }
  for (const kernel::Store& s : n.stores) overwrites = overwrites || work.reads.contains(s.slot);
  const std::int64_t width = lanes_along(work, n.sizes.back());
  const auto outputs = unrolled ? std::nullopt : streams(n, work, width);
  if (outputs) return streamed(*outputs, [&] { vector_nest(n, work, unrolled, overwrites); });
  vector_nest(n, work, unrolled, overwrites);
}

// In order. Several of a short body a turn: counting would take as long as they do.
void FunctionEmitter::one_by_one(const kernel::Nest& n, const Work& work) {
  constexpr std::int64_t short_body = 24, at_once = 4;  // instructions
  const std::size_t last = n.vars.size() - 1;
  const Dim& length = n.sizes[last];
  const std::int64_t step =
      work.instructions > short_body || work.functions > 0 || at_most(length, 2 * at_once) ? 1 : at_once;
  const auto turn = [&](Value* i, std::int64_t many) {
    for (std::int64_t k = 0; k < many; ++k) {
      e_.set(n.vars[last], k == 0 ? i : b_.CreateAdd(i, b_.getInt64(static_cast<std::uint64_t>(k)), "", true, true));
      store_scalars(n.stores);
    }
  };
  loops(n.vars, n.sizes, 0, last, false, [&] {
    const Dim whole = floor_div(length, step) * step;
    loop(whole, step, [&](Value* i) { turn(i, step); });
    loop(length, 1, [&](Value* i) { turn(i, 1); }, whole);
  });
}

// Whether a nest over few elements is written out. Arrays of the function's own that it reads or writes are in
// registers then. A long body that has none of these would be compiled once for each register of its rows, for nothing.
bool FunctionEmitter::is_written_out(const kernel::Nest& n, std::int64_t elements, const Work& work, bool vectors) {
  constexpr std::int64_t most_in_registers = 4096, most_in_memory = 512;  // instructions
  constexpr std::int64_t shuffles = 12;  // where lanes do not lie beside each other; LLVM takes long for each
  Walk walk;
  for (const kernel::Store& s : n.stores) {
    add_access(s.slot, s.offset, n.vars, walk);
    add_reads(s.value, n.vars, walk);
    if (s.condition) add_reads(s.condition, n.vars, walk);
  }
  const std::int64_t lanes = vectors ? lanes_along(work, n.sizes.back()) : 1;
  const std::int64_t times = (elements + lanes - 1) / lanes, shuffled = vectors ? walk.apart * shuffles : 0;
  return (walk.instructions + std::ssize(n.stores) + shuffled) * times <=
         (walk.over_own ? most_in_registers : most_in_memory);
}

void FunctionEmitter::add_access(SlotId slot, const Expr& offset, std::span<const std::uint32_t> vars, Walk& walk) {
  const auto follows = [&](std::uint32_t var) { return e_.variation(offset, var).varies; };
  // A register is a place that is known: not one that an outer loop says.
  const bool known_place = offset.kind() == Expr::Kind::constant || std::ranges::any_of(vars, follows);
  if (f_.slots[slot].place == kernel::Slot::Place::local && known_place) walk.over_own = true;
  if (!vars.empty() && follows(vars.back()) && e_.variation(offset, vars.back()).stride != 1) ++walk.apart;
}

// Whether e reads arrays: what it computes of its variables alone is constant where it is written out.
bool FunctionEmitter::add_reads(const Expr& e, std::span<const std::uint32_t> vars, Walk& walk) {
  const auto [known, first] = walk.seen.try_emplace(e.identity(), false);
  if (!first) return known->second;
  bool reads = e.kind() == Expr::Kind::load;
  if (reads) add_access(e.node().id, e.operand(0), vars, walk);
  for (const auto& operand : e.node().operands)
    if (operand && add_reads(Expr(operand), vars, walk)) reads = true;
  if (reads) walk.instructions += kernel::instruction(e).instructions;
  return walk.seen[e.identity()] = reads;
}

// Whether so few elements, of a number that only running tells, go one by one: a register with a mask takes no less,
// and what one nest writes so another one waits for that reads it otherwise.
bool FunctionEmitter::is_short(const Dim& elements, const Work& work) const {
  constexpr std::int64_t most_elements = 8;
  constexpr int most_instructions = 8;
  if (elements.known() || work.instructions > most_instructions || work.functions > 0) return false;
  const std::optional<std::int64_t> most = kernel::bound_of(f_, elements);
  return most && *most <= most_elements;
}

// Whether each store goes along a variable to contiguous places, or with those beside it to whole runs.
bool FunctionEmitter::in_rows(std::span<const kernel::Store> stores, std::uint32_t var) {
  for (std::size_t i = 0; i < stores.size();) {
    const std::int64_t stride = e_.variation(stores[i].offset, var).stride.value_or(0);
    const std::size_t run = run_from(stores, i, stride);
    if (stride != 1 && run == 1) return false;
    i += run;
  }
  return true;
}

// Whether the elements of a row of a nest that runs in order do not depend on one another: each is stored to a place of
// its own, and what is stored, and whether, reads its own place at most.
bool FunctionEmitter::rows_independent(const kernel::Nest& n) const {
  const kernel::Store& s = n.stores[0];
  std::set<const Expr::Node*> seen;
  return n.stores.size() == 1 && !reads_elsewhere(s.value, s.slot, s.offset, seen) &&
         (!s.condition || !reads_elsewhere(s.condition, s.slot, s.offset, seen));
}

void FunctionEmitter::vector_nest(const kernel::Nest& n, const Work& work, bool unrolled, bool overwrites) {
  const std::size_t rank = n.vars.size();
  const Dim& last = n.sizes.back();
  const std::int64_t lanes = lanes_along(work, last),
                     step = lanes * (unrolled ? 1 : registers_at_once(work, n.stores.size(), lanes, last));
  loops(n.vars, n.sizes, 0, rank - 1, unrolled, [&] {
    const auto body = [&](Value* i, std::int64_t width) {
      e_.set_lanes(n.vars.back(), i, static_cast<unsigned>(width), static_cast<unsigned>(std::min(lanes, width)));
      store_lanes(n.stores);
    };
    const auto masked = [&](Value* i) {
      e_.set_lanes_below(n.vars.back(), i, static_cast<unsigned>(lanes), number(last));
      store_lanes(n.stores);
    };
    const auto whole_row = [&] {
      if (last.known())
        row(last.value(), step, lanes, unrolled, !overwrites, body);
      else
        any_row(last, work, step, !overwrites, body, has_masks(work, n.stores) ? Body(masked) : Body());
      e_.set_lanes(n.vars.back(), b_.getInt64(0), 1);
    };
    if (const Expr& condition = n.stores[0].condition)
      stored_when(condition, whole_row);
    else
      whole_row();
  });
}

// Whether an output is better stored through the last cache: where it and what is read have room there, nearly, and
// further on where little is read, of which stores past the caches could leave more in them. Such a store itself takes
// longer than one that meets its line (docs/native-code.md has the measurement).
bool FunctionEmitter::is_kept(std::int64_t written, std::int64_t read) const {
  const std::int64_t cache = target_.cache_bytes;
  return written + read <= cache + cache / 8 || read <= cache / 2 + written / 3;
}

// The most elements of an output for which that holds, where only running tells how many it has: beside `read` bytes
// and `open` arrays that have as many.
std::int64_t FunctionEmitter::most_kept(const kernel::Slot& slot, std::int64_t read, std::int64_t open) const {
  const std::int64_t cache = target_.cache_bytes, room = (cache + cache / 8 - read) / (1 + open);
  if (open == 0 && read <= cache / 2) return std::numeric_limits<std::int64_t>::max();
  const std::int64_t further = open == 0 ? 0 : 3 * (cache / 2 - read) / (3 * open - 1);
  return std::max({room, further, std::int64_t(0)}) / static_cast<std::int64_t>(size_of(slot.dtype));
}

// Where a nest writes whole, aligned registers of outputs that nothing reads again and that are better not kept in the
// last cache: these, each with how many elements are kept there, where only running tells how many it has.
std::optional<FunctionEmitter::Streamed> FunctionEmitter::streams(const kernel::Nest& n, const Work& work,
                                                                  std::int64_t width) {
  if (width * 4 < static_cast<std::int64_t>(target_.vector_bytes) || modulo(n.sizes.back(), width) != Dim(0)) return {};
  // A nest over a row may read what others have made of it.
  std::int64_t read = common_->argument_bytes, open = common_->open_arguments;
  for (const SlotId id : work.reads) {
    if (f_.slots[id].place == kernel::Slot::Place::argument) continue;
    read += known_bytes(f_.slots[id]);
    open += !f_.slots[id].elements.known();
  }
  Streamed found;
  const auto is_better = [&](SlotId id) {
    const kernel::Slot& slot = f_.slots[id];
    if (slot.elements.known()) return found.emplace(id, 0), !is_kept(known_bytes(slot), read);
    const std::int64_t most = most_kept(slot, read, open);
    found.emplace(id, most);
    return !at_most(slot.elements, most);
  };
  std::size_t next = 0, begins = 0;
  const bool all = std::ranges::all_of(n.stores, [&](const kernel::Store& s) {
    const std::size_t i = next++;
    if (i < begins) return true;
    begins = i + run_from(n.stores, i, e_.variation(s.offset, n.vars.back()).stride.value_or(0));
    const kernel::Slot& slot = f_.slots[s.slot];
    const auto bytes = static_cast<std::int64_t>(size_of(slot.dtype));
    const auto at = affine(s.offset);
    return slot.place == kernel::Slot::Place::argument && is_better(s.slot) && width * bytes == target_.vector_bytes &&
           common_->read[s.slot] == 0 && at && exact_quotient(at->constant, width) &&
           std::ranges::all_of(at->terms, [&](const auto& term) {
             return term.first == n.vars.back() || exact_quotient(term.second, width);
           });
  });
  return all ? std::optional(std::move(found)) : std::nullopt;
}
// Whether none of these is to be kept in the last cache, as far as only running tells.
Value* FunctionEmitter::are_large(const Streamed& outputs) {
  Value* all = b_.getTrue();
  for (const auto& [slot, most] : outputs)
    if (const Dim& elements = f_.slots[slot].elements; !elements.known())
      all = b_.CreateAnd(all, b_.CreateICmpSGT(number(elements), number(most)));
  return all;
}
// The nest with stores past the caches, where the outputs are aligned, and as large as that; as it is, where they are
// not.
void FunctionEmitter::streamed(const Streamed& outputs, Code emit) {
  Value* low = b_.getInt64(0);
  for (const auto& [slot, most] : outputs)
    low = b_.CreateOr(low, b_.CreatePtrToInt(e_.address(slot, b_.getInt64(0)), b_.getInt64Ty()));
  Value* aligned = b_.CreateICmpEQ(b_.CreateAnd(low, b_.getInt64(target_.vector_bytes - 1)), b_.getInt64(0));
  Value* here = b_.CreateAnd(aligned, are_large(outputs));
  streamed_.push_back(outputs);
  auto* past = llvm::BasicBlock::Create(b_.getContext(), "streamed", function_);
  auto* plain = llvm::BasicBlock::Create(b_.getContext(), "plain", function_);
  auto* after = llvm::BasicBlock::Create(b_.getContext(), "after", function_);
  b_.CreateCondBr(here, past, plain);
  for (const auto& [block, stream] : {std::pair(past, true), std::pair(plain, false)}) {
    b_.SetInsertPoint(block);
    e_.forget();
    e_.stream_stores = stream;
    emit();
    b_.CreateBr(after);
  }
  b_.SetInsertPoint(after);
  e_.forget();
}
// Streamed stores are seen by other threads after this.
void FunctionEmitter::end_streams() {
  if (streamed_.empty()) return;
  Value* any = b_.getFalse();
  for (const Streamed& outputs : streamed_) any = b_.CreateOr(any, are_large(outputs));
  when(any, [&] { b_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {}); });
}

// body(first, width) over [0, extent) in steps of several registers of `lanes`. Where a row may be computed twice,
// its last step is moved back to end with it; else what is left goes by single registers, and then by what is left of
// one.
void FunctionEmitter::row(std::int64_t extent, std::int64_t step, std::int64_t lanes, bool unrolled, bool twice,
                          llvm::function_ref<void(Value*, std::int64_t)> body) {
  const auto at = [&](std::int64_t i) { return b_.getInt64(static_cast<std::uint64_t>(i)); };
  if (unrolled || extent == step) {
    for (std::int64_t i = 0; i < extent; i += step) body(at(i), std::min(step, extent - i));
  } else if (twice && extent % step != 0) {
    loop(extent, step,
         [&](Value* i) { body(b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, i, at(extent - step)), step); });
  } else {
    const std::int64_t whole = extent / step * step, vectors = extent / lanes * lanes;
    loop(whole, step, [&](Value* i) { body(i, step); });
    loop(vectors, lanes, [&](Value* i) { body(i, lanes); }, whole);
    if (vectors < extent) body(at(vectors), extent - vectors);
  }
}

// The same over a length that only running tells. What is left behind whole registers goes by one with a mask, or,
// where none is given, element by element. A row of one register at most is that one; a long body is emitted once, with
// a mask for every register.
void FunctionEmitter::any_row(const Dim& extent, const Work& work, std::int64_t step, bool twice,
                              llvm::function_ref<void(Value*, std::int64_t)> body, Body masked) {
  constexpr int long_body = 100;  // instructions: a mask takes two or three
  const std::int64_t lanes = lanes_along(work, extent);
  if (masked && kernel::bound_of(f_, extent).value_or(lanes + 1) <= lanes)
    return when_there_are(extent, [&] { masked(b_.getInt64(0)); });
  if (masked && step == lanes && work.instructions > long_body && target_.vector_bytes >= 64)
    return loop(extent, lanes, [&](Value* i) { masked(i); });
  const Dim whole = floor_div(extent, step) * step, vectors = floor_div(extent, lanes) * lanes;
  const auto left = [&](const Dim& from) {
    if (step != lanes) loop(vectors, lanes, [&](Value* i) { body(i, lanes); }, from);
    if (!masked) return loop(extent, 1, [&](Value* i) { body(i, 1); }, vectors);
    when_there_are(extent - vectors, [&] { masked(number(vectors)); });
  };
  if (!twice || extent - whole == Dim(0)) {
    loop(whole, step, [&](Value* i) { body(i, step); });
    return left(whole);
  }
  Value *end = number(extent), *last_step = number(extent - step);
  either(
      b_.CreateICmpSGE(end, b_.getInt64(static_cast<std::uint64_t>(step))),
      [&] {
        loop(extent, step,
             [&](Value* i) { body(b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, i, last_step), step); });
      },
      [&] { left(0); });
}

// All values are computed before the first is stored: a store may overwrite what another value reads at this index.
void FunctionEmitter::store_lanes(std::span<const kernel::Store> stores) {
  std::vector<Value*> values;
  for (const kernel::Store& s : stores) values.push_back(e_.to_store(s.value));
  for (std::size_t i = 0; i < stores.size(); ++i) {
    const kernel::Store& s = stores[i];
    const std::size_t run = values[i]->getType()->isVectorTy() ? run_from(stores, i, e_.stride(s.offset)) : 1;
    if (run == 1) {
      e_.write(s.slot, s.offset, values[i]);
      continue;
    }
    e_.write_runs(
        s.slot, s.offset,
        {values.begin() + static_cast<std::ptrdiff_t>(i), values.begin() + static_cast<std::ptrdiff_t>(i + run)});
    i += run - 1;
  }
}
void FunctionEmitter::store_scalars(std::span<const kernel::Store> stores) {
  e_.forget();
  if (std::ranges::none_of(stores, [](const kernel::Store& s) { return bool(s.condition); }))
    return store_lanes(stores);
  for (std::size_t i = 0, count = 0; i < stores.size(); i += count) {
    const Expr& condition = stores[i].condition;
    for (count = 1; i + count < stores.size() && stores[i + count].condition.identity() == condition.identity();)
      ++count;
    const auto same = stores.subspan(i, count);
    if (condition)
      stored_when(condition, [&] { store_lanes(same); });
    else
      store_lanes(same);
  }
}
void FunctionEmitter::stored_when(const Expr& condition, Code code) {
  when(e_.scalar(condition), [&] {
    e_.forget();
    code();
  });
  e_.forget();
}

void FunctionEmitter::emit(const kernel::Copy& c) {
  if (c.elements == Dim(0)) return;
  const DType dtype = f_.slots[c.to].dtype;
  Value* first = e_.scalar(c.to_offset);
  Value *to = e_.address(c.to, first), *from = e_.address(c.from, e_.scalar(c.from_offset));
  const llvm::Align align(size_of(dtype));
  if (!at_most(c.elements, unroll_limit)) {
    b_.CreateMemMove(to, align, from, align, number(c.elements * static_cast<std::int64_t>(size_of(dtype))));
    return;
  }
  const std::int64_t elements = c.elements.value(), row = c.row.value();
  llvm::Type* type = e_.memory_type(dtype);
  std::vector<Value*> values;
  const auto lanes = static_cast<std::int64_t>(widest(size_of(dtype)));
  const auto pieces = [&](auto&& f) {
    for (std::int64_t at = 0, width = 0; at < elements; at += width) {
      width = std::min({lanes, elements - at, row - at % row});
      f(at, width == 1 ? type : llvm::FixedVectorType::get(type, static_cast<unsigned>(width)));
    }
  };
  pieces([&](std::int64_t at, llvm::Type* piece) {
    values.push_back(e_.of_slot(
        b_.CreateAlignedLoad(piece, b_.CreateConstInBoundsGEP1_64(type, from, static_cast<std::uint64_t>(at)), align),
        c.from));
  });
  std::size_t i = 0;
  pieces([&](std::int64_t at, llvm::Type* piece) {
    if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(piece))
      e_.note_piece(c.to, b_.CreateAdd(first, b_.getInt64(static_cast<std::uint64_t>(at))), vector->getNumElements());
    e_.of_slot(b_.CreateAlignedStore(values[i++],
                                     b_.CreateConstInBoundsGEP1_64(type, to, static_cast<std::uint64_t>(at)), align),
               c.to);
  });
}

}  // namespace tenon::cpu
