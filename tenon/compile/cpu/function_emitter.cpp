#include "tenon/compile/cpu/function_emitter.h"

#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>

#include "tenon/compile/codegen.h"
#include "tenon/compile/cost.h"
#include "tenon/compile/cpu/work.h"
#include "tenon/kernel/rows.h"
#include "tenon/runtime/products.h"

namespace tenon::cpu {
namespace {

using kernel::Combine;
using kernel::Expr;
using llvm::Value;

constexpr std::int64_t unroll_limit = 64;          // elements of a nest that is written out
constexpr std::int64_t streamed_bytes = 16 << 20;  // of an output: it leaves no room for anything else in a cache

constexpr int accumulators = 4;  // partial results of a reduction, to hide the latency of combining

std::int64_t product_of(const std::vector<std::int64_t>& sizes) {
  std::int64_t n = 1;
  for (std::int64_t s : sizes) n *= s;
  return n;
}

class FunctionEmitter {
 public:
  FunctionEmitter(llvm::Module& module, const kernel::Function& f, const Target& target, llvm::Function* function)
      : FunctionEmitter(module, f, target, function, nullptr) {
    Frame frame{
        function->getArg(0), function->getArg(1), function->getArg(2), b_.CreateAlloca(b_.getInt32Ty()), {}, {}};
    b_.CreateStore(b_.getInt32(0), frame.failed);
    std::set<SlotId> own;
    find_own(f.body, own);
    for (SlotId i = 0; i < f.slots.size(); ++i)
      if (f.slots[i].place == kernel::Slot::Place::local && !own.contains(i)) frame.locals.emplace(i, local(i));
    enter(std::move(frame));
  }

  void run() {
    block(f_.body);
    end_streams();
    b_.CreateRet(b_.CreateLoad(b_.getInt32Ty(), frame_.failed));
  }

 private:
  using SlotId = kernel::SlotId;
  // What code needs of its surroundings: a parallel body is a function of its own, that gets them through memory.
  struct Frame {
    Value *arguments, *arena, *cancelled, *failed;  // `failed`: not 0 once a call has run out of memory
    std::map<SlotId, Value*> locals;
    std::map<std::uint32_t, Value*> vars;
  };

  FunctionEmitter(llvm::Module& module, const kernel::Function& f, const Target& target, llvm::Function* function,
                  std::nullptr_t)
      : module_(module),
        f_(f),
        target_(target),
        function_(function),
        b_(llvm::BasicBlock::Create(module.getContext(), "entry", function)),
        e_(b_, f, target.vector_bytes) {
    llvm::FastMathFlags flags;
    flags.setAllowContract(true);
    b_.setFastMathFlags(flags);
    for (const kernel::Statement& s : f.body)
      visit_slots(s, [&](SlotId slot, bool write) {
        if (!write) read_.insert(slot);
      });
  }

  void enter(Frame frame) {
    frame_ = std::move(frame);
    for (SlotId i = 0; i < f_.slots.size(); ++i) {
      const kernel::Slot& s = f_.slots[i];
      if (s.place == kernel::Slot::Place::argument) {
        Value* at = b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), frame_.arguments, s.argument);
        auto* load = b_.CreateLoad(b_.getPtrTy(), at);
        load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b_.getContext(), {}));
        e_.place(i, load);
      } else if (s.place == kernel::Slot::Place::arena) {
        e_.place(i, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), frame_.arena, s.arena_offset));
      } else if (s.place == kernel::Slot::Place::constant) {
        e_.place(i, constant(s));
      }
    }
    for (const auto& [slot, address] : frame_.locals) e_.place(slot, address);
    for (const auto& [var, value] : frame_.vars) e_.set(var, value);
  }

  llvm::GlobalVariable* constant(const kernel::Slot& s) {
    auto* bytes = llvm::ConstantDataArray::getString(
        b_.getContext(), {reinterpret_cast<const char*>(s.values.data()), s.values.size()}, false);
    auto* place = new llvm::GlobalVariable(module_, bytes->getType(), true, llvm::GlobalValue::PrivateLinkage, bytes);
    place->setAlignment(llvm::Align(64));
    return place;
  }

  llvm::AllocaInst* local(SlotId slot) {
    const kernel::Slot& s = f_.slots[slot];
    llvm::IRBuilder<> at_entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
    auto* place = at_entry.CreateAlloca(llvm::ArrayType::get(
        e_.memory_type(s.dtype), static_cast<std::uint64_t>(std::max<std::int64_t>(s.elements, 1))));
    place->setAlignment(llvm::Align(64));
    return place;
  }

  static void find_own(const kernel::Block& statements, std::set<SlotId>& own) {
    for (const kernel::Statement& s : statements) {
      if (const auto* f = std::get_if<kernel::For>(&s.held())) find_own(f->body, own);
      if (const auto* w = std::get_if<kernel::While>(&s.held())) find_own(w->before, own), find_own(w->body, own);
      if (const auto* c = std::get_if<kernel::Switch>(&s.held()))
        for (const kernel::Block& branch : c->branches) find_own(branch, own);
      if (const auto* b = std::get_if<kernel::Blocks>(&s.held())) {
        own.insert(b->own.begin(), b->own.end());
        find_own(b->body, own), find_own(b->tail, own);
      }
    }
  }

  void block(const kernel::Block& statements) {
    for (const kernel::Statement& s : statements) {
      e_.forget();
      const double before = std::exchange(unpolled_, nanoseconds(s));
      std::visit([&](const auto& held) { emit(held); }, s.held());
      unpolled_ = before;
    }
    e_.forget();
  }

  // --- being cancelled ---
  static constexpr double poll_interval = 1e6;      // at most that many estimated nanoseconds
  static constexpr std::int64_t poll_steps = 1000;  // of a loop whose steps may take longer than estimated

  // Returns from the function where it is to stop. The callers of a parallel body find out at their own next poll.
  void poll() {
    auto* flag = b_.CreateAlignedLoad(b_.getInt32Ty(), frame_.cancelled, llvm::Align(4));
    flag->setAtomic(llvm::AtomicOrdering::Monotonic);
    auto* stop = llvm::BasicBlock::Create(b_.getContext(), "cancelled", function_);
    auto* on = llvm::BasicBlock::Create(b_.getContext(), "on", function_);
    b_.CreateCondBr(b_.CreateICmpEQ(flag, b_.getInt32(0)), on, stop,
                    llvm::MDBuilder(b_.getContext()).createBranchWeights(1 << 20, 1));
    b_.SetInsertPoint(stop);
    if (function_->getReturnType()->isVoidTy())
      b_.CreateRetVoid();
    else
      b_.CreateRet(b_.getInt32(static_cast<std::uint32_t>(was_cancelled)));
    b_.SetInsertPoint(on);
  }

  // for (i = start; i < limit; i += step) body(i), in groups with a poll before each where all of it takes long.
  template <class Body>
  void loop(std::int64_t limit, std::int64_t step, Body body, std::int64_t start = 0) {
    if (start >= limit) return;
    const auto number = [&](std::int64_t i) { return b_.getInt64(static_cast<std::uint64_t>(i)); };
    const std::int64_t steps = (limit - start + step - 1) / step;
    const double before = unpolled_, each = before / static_cast<double>(steps);
    if (before < poll_interval) return loop_from(number(start), number(limit), step, body);
    const std::int64_t group =
        std::min(steps, std::max<std::int64_t>(1, static_cast<std::int64_t>(poll_interval / each)));
    unpolled_ = each < poll_interval ? 0 : each;
    in_groups(start, limit, group * step, [&](Value* from, Value* to) { loop_from(from, to, step, body); });
    unpolled_ = before;
  }
  template <class Group>
  void in_groups(std::int64_t start, std::int64_t limit, std::int64_t width, Group group) {
    const auto number = [&](std::int64_t i) { return b_.getInt64(static_cast<std::uint64_t>(i)); };
    loop_from(number(start), number(limit), width, [&](Value* from) {
      poll();
      Value* to = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateAdd(from, number(width)), number(limit));
      group(from, to);
    });
  }
  // At least once.
  template <class Body>
  void loop_from(Value* start, Value* limit, std::int64_t step, Body body) {
    auto* before = b_.GetInsertBlock();
    auto* head = llvm::BasicBlock::Create(b_.getContext(), "loop", function_);
    auto* after = llvm::BasicBlock::Create(b_.getContext(), "after", function_);
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    auto* i = b_.CreatePHI(b_.getInt64Ty(), 2);
    i->addIncoming(start, before);
    body(i);
    Value* next = b_.CreateAdd(i, b_.getInt64(static_cast<std::uint64_t>(step)), "", true, true);
    i->addIncoming(next, b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateICmpSLT(next, limit), head, after);
    b_.SetInsertPoint(after);
  }

  // Loops over vars[from..to), innermost last; written out where `unrolled`.
  template <class Body>
  void loops(const std::vector<std::uint32_t>& vars, const std::vector<std::int64_t>& sizes, std::size_t from,
             std::size_t to, bool unrolled, Body body) {
    if (from == to) return body();
    const auto inner = [&] { loops(vars, sizes, from + 1, to, unrolled, body); };
    if (unrolled || sizes[from] == 1) {
      for (std::int64_t i = 0; i < sizes[from]; ++i) {
        e_.set(vars[from], b_.getInt64(static_cast<std::uint64_t>(i)));
        inner();
      }
      return;
    }
    loop(sizes[from], 1, [&](Value* i) {
      e_.set(vars[from], i);
      inner();
    });
  }

  unsigned widest(std::size_t element_bytes) const {
    return std::max<unsigned>(1, target_.vector_bytes / static_cast<unsigned>(std::max<std::size_t>(element_bytes, 4)));
  }

  // How many registers side by side hide the latency of a body: one where a processor overlaps passes by itself, as
  // many as its registers allow where one pass fills its window.
  std::int64_t registers_at_once(const Work& work, std::int64_t lanes, std::int64_t extent) const {
    std::int64_t most = work.instructions < 100 ? 1 : target_.vector_bytes == 64 ? 4 : 2;
    const auto passes = [&](std::int64_t n) { return (extent + n * lanes - 1) / (n * lanes) * n; };
    while (most > 1 && (extent < most * lanes || passes(most) * 8 > passes(1) * 9)) most /= 2;
    return most;
  }

  // --- nests ---
  void emit(const kernel::Nest& n) {
    const std::int64_t total = product_of(n.sizes);
    if (total == 0) return;
    const std::size_t rank = n.vars.size();
    const bool unrolled = total <= unroll_limit;
    bool vectors = n.independent && rank > 0 && n.sizes.back() > 1, overwrites = false;
    Work work;
    for (const kernel::Store& s : n.stores) {
      vectors = vectors && !s.condition && rank > 0 && e_.variation(s.offset, n.vars.back()).stride == 1;
      work.element_bytes = std::max(work.element_bytes, size_of(f_.slots[s.slot].dtype));
      add_work(s.value, work);
    }
    e_.set(std::move(work.angles));
    b_.short_chains = unrolled;
    if (!vectors) {
      loops(n.vars, n.sizes, 0, rank, unrolled, [&] { store_scalars(n); });
      return;
    }
    for (const kernel::Store& s : n.stores) overwrites = overwrites || work.reads.contains(s.slot);
    const std::int64_t width = std::min<std::int64_t>(widest(work.element_bytes), n.sizes.back());
    if (!unrolled && streams(n, width)) return streamed(n, [&] { vector_nest(n, work, unrolled, overwrites); });
    vector_nest(n, work, unrolled, overwrites);
  }

  void vector_nest(const kernel::Nest& n, const Work& work, bool unrolled, bool overwrites) {
    const std::size_t rank = n.vars.size();
    const std::int64_t last = n.sizes.back(), lanes = std::min<std::int64_t>(widest(work.element_bytes), last),
                       step = lanes * (unrolled ? 1 : registers_at_once(work, lanes, last));
    loops(n.vars, n.sizes, 0, rank - 1, unrolled, [&] {
      const auto body = [&](Value* i, std::int64_t width) {
        e_.set_lanes(n.vars.back(), i, static_cast<unsigned>(width), static_cast<unsigned>(std::min(lanes, width)));
        store_lanes(n);
      };
      row(last, step, lanes, unrolled, !overwrites, body);
      e_.set_lanes(n.vars.back(), b_.getInt64(0), 1);
    });
  }

  // Whether a nest writes whole, aligned registers of large outputs that nothing reads again.
  bool streams(const kernel::Nest& n, std::int64_t width) const {
    if (width * 4 < static_cast<std::int64_t>(target_.vector_bytes) || n.sizes.back() % width != 0) return false;
    return std::ranges::all_of(n.stores, [&](const kernel::Store& s) {
      const kernel::Slot& slot = f_.slots[s.slot];
      const auto bytes = static_cast<std::int64_t>(size_of(slot.dtype));
      const auto at = affine(s.offset);
      return slot.place == kernel::Slot::Place::argument && slot.elements * bytes >= streamed_bytes &&
             width * bytes == target_.vector_bytes && !read_.contains(s.slot) && at && at->constant % width == 0 &&
             std::ranges::all_of(
                 at->terms, [&](const auto& term) { return term.first == n.vars.back() || term.second % width == 0; });
    });
  }
  // The nest with stores past the caches, where the outputs are aligned; as it is, where they are not.
  template <class Emit>
  void streamed(const kernel::Nest& n, Emit emit) {
    Value* low = b_.getInt64(0);
    for (const kernel::Store& s : n.stores)
      low = b_.CreateOr(low, b_.CreatePtrToInt(e_.address(s.slot, b_.getInt64(0)), b_.getInt64Ty()));
    Value* aligned = b_.CreateICmpEQ(b_.CreateAnd(low, b_.getInt64(target_.vector_bytes - 1)), b_.getInt64(0));
    auto* past = llvm::BasicBlock::Create(b_.getContext(), "streamed", function_);
    auto* plain = llvm::BasicBlock::Create(b_.getContext(), "plain", function_);
    auto* after = llvm::BasicBlock::Create(b_.getContext(), "after", function_);
    b_.CreateCondBr(aligned, past, plain);
    for (const auto& [block, stream] : {std::pair(past, true), std::pair(plain, false)}) {
      b_.SetInsertPoint(block);
      e_.forget();
      e_.stream_stores = stream;
      emit();
      b_.CreateBr(after);
    }
    b_.SetInsertPoint(after);
    e_.forget();
    streams_ = true;
  }
  // Streamed stores are seen by other threads after this.
  void end_streams() {
    if (streams_) b_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
  }

  // body(first, width) over [0, extent) in steps of several registers of `lanes`. Where a row may be computed twice,
  // its last step is moved back to end with it; else what is left goes by single registers, and then by what is left of
  // one.
  template <class Body>
  void row(std::int64_t extent, std::int64_t step, std::int64_t lanes, bool unrolled, bool twice, Body body) {
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

  // All values are computed before the first is stored: a store may overwrite what another value reads at this index.
  void store_lanes(const kernel::Nest& n) {
    std::vector<Value*> values;
    for (const kernel::Store& s : n.stores) values.push_back(e_.lanes(s.value));
    for (std::size_t i = 0; i < n.stores.size(); ++i) e_.store(n.stores[i].slot, n.stores[i].offset, values[i]);
  }
  void store_scalars(const kernel::Nest& n) {
    e_.forget();
    if (std::ranges::none_of(n.stores, [](const kernel::Store& s) { return bool(s.condition); })) return store_lanes(n);
    for (const kernel::Store& s : n.stores) {
      if (!s.condition) {
        e_.store(s.slot, s.offset, e_.scalar(s.value));
        continue;
      }
      auto* yes = llvm::BasicBlock::Create(b_.getContext(), "store", function_);
      auto* after = llvm::BasicBlock::Create(b_.getContext(), "after", function_);
      b_.CreateCondBr(e_.scalar(s.condition), yes, after);
      b_.SetInsertPoint(yes);
      e_.forget();
      e_.store(s.slot, s.offset, e_.scalar(s.value));
      b_.CreateBr(after);
      b_.SetInsertPoint(after);
      e_.forget();
    }
  }

  // --- reductions ---
  Value* combined(Combine op, DType dtype, Value* x, Value* y) {
    const bool real = is_real(dtype), is_signed = is_signed_integer(dtype);
    switch (op) {
      case Combine::add:
        return real ? b_.CreateFAdd(x, y) : b_.CreateAdd(x, y);
      case Combine::mul:
        return real ? b_.CreateFMul(x, y) : b_.CreateMul(x, y);
      case Combine::max:
        if (real) return extremum_ignoring_signs(llvm::Intrinsic::maximum, x, y);
        return b_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, x, y);
      case Combine::min:
        if (real) return extremum_ignoring_signs(llvm::Intrinsic::minimum, x, y);
        return b_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, x, y);
      case Combine::and_:
        return b_.CreateAnd(x, y);
      case Combine::or_:
        return b_.CreateOr(x, y);
    }
    llvm_unreachable("an unknown reduction");
  }
  Value* extremum_ignoring_signs(llvm::Intrinsic::ID id, Value* x, Value* y) {
    llvm::IRBuilderBase::FastMathFlagGuard guard(b_);
    llvm::FastMathFlags flags = b_.getFastMathFlags();
    flags.setNoSignedZeros(true);
    b_.setFastMathFlags(flags);
    return b_.CreateBinaryIntrinsic(id, x, y);
  }
  Value* across(Combine op, DType dtype, Value* x) {
    auto* type = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
    if (type == nullptr) return x;
    const bool real = is_real(dtype), is_signed = is_signed_integer(dtype);
    llvm::IRBuilderBase::FastMathFlagGuard guard(b_);
    llvm::FastMathFlags flags = b_.getFastMathFlags();
    flags.setAllowReassoc(true);
    flags.setNoSignedZeros(op == Combine::max || op == Combine::min);
    b_.setFastMathFlags(flags);
    switch (op) {
      case Combine::add:
        return real ? b_.CreateFAddReduce(llvm::ConstantFP::get(type->getElementType(), -0.0), x)
                    : b_.CreateAddReduce(x);
      case Combine::mul:
        return real ? b_.CreateFMulReduce(llvm::ConstantFP::get(type->getElementType(), 1.0), x)
                    : b_.CreateMulReduce(x);
      case Combine::max:
        return real ? b_.CreateFPMaximumReduce(x) : b_.CreateIntMaxReduce(x, is_signed);
      case Combine::min:
        return real ? b_.CreateFPMinimumReduce(x) : b_.CreateIntMinReduce(x, is_signed);
      case Combine::and_:
        return b_.CreateAndReduce(x);
      case Combine::or_:
        return b_.CreateOrReduce(x);
    }
    llvm_unreachable("an unknown reduction");
  }

  // Whether every load of an expression is contiguous or constant along a variable.
  bool streams_along(const Expr& e, std::uint32_t var) {
    std::set<const Expr::Node*> seen;  // nodes are shared: a block cipher has more paths than atoms
    return streams_along(e, var, seen);
  }
  bool streams_along(const Expr& e, std::uint32_t var, std::set<const Expr::Node*>& seen) {
    if (!seen.insert(e.identity()).second) return true;
    if (e.kind() == Expr::Kind::load) {
      const Variation v = e_.variation(e.operand(0), var);
      return v.stride && (*v.stride == 0 || *v.stride == 1);
    }
    for (const auto& operand : e.node().operands)
      if (operand && !streams_along(Expr(operand), var, seen)) return false;
    return true;
  }

  // A partial result of `lanes` lanes in the frame; it becomes registers. An extremum of reals is found with signs of
  // zero ignored, which halves its time, and beside it what decides the sign of a zero: a maximum is -0 where all signs
  // are negative, a minimum where any is.
  struct Partial {
    Combine op;
    DType dtype;
    llvm::AllocaInst *value, *signs = nullptr;
  };
  static bool has_signs(Combine op, DType dtype) {
    return is_real(dtype) && (op == Combine::max || op == Combine::min);
  }
  Value* sign_bits(Value* x) {
    return b_.CreateBitCast(x, x->getType()->getWithNewType(b_.getIntNTy(x->getType()->getScalarSizeInBits())));
  }
  Partial partial(const kernel::Reduce& r, std::int64_t lanes, Value* fill) {
    Builder at_entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
    if (lanes > 1) fill = b_.CreateVectorSplat(static_cast<unsigned>(lanes), fill);
    Partial p{r.combine, r.value.dtype(), at_entry.CreateAlloca(fill->getType())};
    b_.CreateStore(fill, p.value);
    if (!has_signs(p.op, p.dtype)) return p;
    Value* signs = sign_bits(fill);
    p.signs = at_entry.CreateAlloca(signs->getType());
    b_.CreateStore(signs, p.signs);
    return p;
  }
  static Value* held(Builder& b, llvm::AllocaInst* place) { return b.CreateLoad(place->getAllocatedType(), place); }
  void combine(const Partial& into, Value* value, Value* signs) {
    b_.CreateStore(combined(into.op, into.dtype, held(b_, into.value), value), into.value);
    if (into.signs == nullptr) return;
    Value* before = held(b_, into.signs);
    b_.CreateStore(into.op == Combine::max ? b_.CreateAnd(before, signs) : b_.CreateOr(before, signs), into.signs);
  }
  void accumulate(const kernel::Reduce& r, const Partial& into) {
    Value* value = e_.lanes(r.value);
    std::vector<Value*> stored;
    for (const kernel::Store& s : r.stores) stored.push_back(e_.lanes(s.value));
    for (std::size_t i = 0; i < stored.size(); ++i) e_.store(r.stores[i].slot, r.stores[i].offset, stored[i]);
    combine(into, value, into.signs == nullptr ? nullptr : sign_bits(value));
  }
  // Adds a partial result of as many lanes.
  void combine(const Partial& into, const Partial& from) {
    combine(into, held(b_, from.value), from.signs == nullptr ? nullptr : held(b_, from.signs));
  }
  // Of all lanes of a partial result: the scalar, and the signs of its zero.
  std::pair<Value*, Value*> across(const Partial& p) {
    Value* signs = p.signs == nullptr ? nullptr : held(b_, p.signs);
    if (signs != nullptr && signs->getType()->isVectorTy())
      signs = p.op == Combine::max ? b_.CreateAndReduce(signs) : b_.CreateOrReduce(signs);
    return {across(p.op, p.dtype, held(b_, p.value)), signs};
  }
  // The extremum with the sign that its zero has.
  Value* with_sign(Value* value, Value* signs) {
    if (signs == nullptr) return value;
    const unsigned bits = value->getType()->getScalarSizeInBits();
    Value* mask = llvm::ConstantInt::get(signs->getType(), llvm::APInt::getSignMask(bits));
    Value* zero = b_.CreateBitCast(b_.CreateAnd(signs, mask), value->getType());
    return b_.CreateSelect(b_.CreateFCmpOEQ(value, llvm::Constant::getNullValue(value->getType())), zero, value);
  }

  void emit(const kernel::Reduce& r) {
    const std::int64_t outer = product_of(r.outer_sizes), inner = product_of(r.inner_sizes);
    if (outer == 0) return;
    Work work;
    add_work(r.value, work);
    for (const kernel::Store& s : r.stores) add_work(s.value, work);
    e_.set(std::move(work.angles));
    b_.short_chains = outer * inner <= unroll_limit;
    const auto lanes = static_cast<std::int64_t>(widest(work.element_bytes));
    const bool unrolled_outer = outer <= 16, unrolled_inner = inner <= 16;
    const auto along_inner = [&](const kernel::Store& s) {
      return streams_along(s.value, r.inner_vars.back()) && e_.variation(s.offset, r.inner_vars.back()).stride == 1;
    };
    const bool inner_streams = !r.inner_vars.empty() && r.inner_sizes.back() > 1 &&
                               streams_along(r.value, r.inner_vars.back()) &&
                               std::ranges::all_of(r.stores, along_inner);
    const bool outer_streams = !r.outer_vars.empty() && r.outer_sizes.back() > 1 &&
                               streams_along(r.value, r.outer_vars.back()) &&
                               e_.variation(r.offset, r.outer_vars.back()).stride == 1;
    if (inner > 0 && outer_streams && r.stores.empty() && (!inner_streams || r.inner_sizes.back() < lanes))
      return reduce_columns(r, lanes, unrolled_outer, unrolled_inner);
    loops(r.outer_vars, r.outer_sizes, 0, r.outer_vars.size(), unrolled_outer && unrolled_inner, [&] {
      Value* initial = e_.scalar(r.initial);
      Value* result = initial;
      if (inner > 0)
        result =
            inner_streams ? reduce_row(r, lanes, initial, unrolled_inner) : reduce_scalars(r, initial, unrolled_inner);
      e_.forget();
      e_.store(r.slot, r.offset, result);
    });
  }

  Value* reduce_scalars(const kernel::Reduce& r, Value* initial, bool unrolled) {
    const Partial result = partial(r, 1, initial);
    loops(r.inner_vars, r.inner_sizes, 0, r.inner_vars.size(), unrolled, [&] {
      e_.forget();
      accumulate(r, result);
    });
    return std::apply([&](Value* value, Value* signs) { return with_sign(value, signs); }, across(result));
  }

  // Along the last inner variable: several vector accumulators, then a vector of what is left.
  Value* reduce_row(const kernel::Reduce& r, std::int64_t lanes, Value* initial, bool unrolled) {
    const std::int64_t last = r.inner_sizes.back(), step = lanes * accumulators, whole = last / step * step,
                       vectors = last / lanes * lanes;
    const std::uint32_t var = r.inner_vars.back();
    std::vector<Partial> parts;
    std::optional<Partial> rest;
    if (vectors > 0)
      for (int i = 0; i < (whole > 0 ? accumulators : 1); ++i) parts.push_back(partial(r, lanes, initial));
    if (vectors < last) rest = partial(r, last - vectors, initial);
    loops(r.inner_vars, r.inner_sizes, 0, r.inner_vars.size() - 1, unrolled, [&] {
      loop(whole, step, [&](Value* i) {
        for (std::size_t a = 0; a < parts.size(); ++a) {
          e_.set_lanes(var, b_.CreateAdd(i, b_.getInt64(a * static_cast<std::uint64_t>(lanes))),
                       static_cast<unsigned>(lanes));
          accumulate(r, parts[a]);
        }
      });
      loop(
          vectors, lanes,
          [&](Value* i) {
            e_.set_lanes(var, i, static_cast<unsigned>(lanes));
            accumulate(r, parts[0]);
          },
          whole);
      if (rest) {
        e_.set_lanes(var, b_.getInt64(static_cast<std::uint64_t>(vectors)), static_cast<unsigned>(last - vectors));
        accumulate(r, *rest);
      }
      e_.set_lanes(var, b_.getInt64(0), 1);
    });
    // Pairs first: a tree waits less than a chain.
    for (std::size_t width = 1; width < parts.size(); width *= 2)
      for (std::size_t i = 0; i + width < parts.size(); i += 2 * width) combine(parts[i], parts[i + width]);
    if (parts.empty()) parts.push_back(*rest), rest.reset();
    auto [value, signs] = across(parts[0]);
    if (rest) {
      const auto [value_of_rest, signs_of_rest] = across(*rest);
      const Partial both = partial(r, 1, value);
      if (signs != nullptr) b_.CreateStore(signs, both.signs);
      combine(both, value_of_rest, signs_of_rest);
      std::tie(value, signs) = across(both);
    }
    return with_sign(value, signs);
  }

  // Along the last outer variable: each lane is one result.
  void reduce_columns(const kernel::Reduce& r, std::int64_t lanes, bool unrolled_outer, bool unrolled_inner) {
    const std::int64_t last = r.outer_sizes.back(), whole = last / lanes * lanes;
    const std::uint32_t var = r.outer_vars.back();
    loops(r.outer_vars, r.outer_sizes, 0, r.outer_vars.size() - 1, unrolled_outer && unrolled_inner, [&] {
      const auto body = [&](Value* i, std::int64_t width) {
        e_.set_lanes(var, i, 1);
        const Partial result = partial(r, width, e_.scalar(r.initial));
        e_.set_lanes(var, i, static_cast<unsigned>(width));
        loops(r.inner_vars, r.inner_sizes, 0, r.inner_vars.size(), unrolled_inner, [&] {
          e_.forget();
          accumulate(r, result);
        });
        e_.forget();
        e_.store(r.slot, r.offset,
                 with_sign(held(b_, result.value), result.signs == nullptr ? nullptr : held(b_, result.signs)));
      };
      loop(whole, lanes, [&](Value* i) { body(i, lanes); });
      if (whole < last) body(b_.getInt64(static_cast<std::uint64_t>(whole)), last - whole);
      e_.set_lanes(var, b_.getInt64(0), 1);
    });
  }

  // --- the rest ---
  void emit(const kernel::Copy& c) {
    if (c.elements == 0) return;
    const DType dtype = f_.slots[c.to].dtype;
    Value* first = e_.scalar(c.to_offset);
    Value *to = e_.address(c.to, first), *from = e_.address(c.from, e_.scalar(c.from_offset));
    const llvm::Align align(size_of(dtype));
    if (c.elements > unroll_limit) {
      b_.CreateMemMove(to, align, from, align, static_cast<std::uint64_t>(c.elements) * size_of(dtype));
      return;
    }
    llvm::Type* type = e_.memory_type(dtype);
    std::vector<Value*> values;
    const auto lanes = static_cast<std::int64_t>(widest(size_of(dtype)));
    const auto pieces = [&](auto&& f) {
      for (std::int64_t at = 0, width = 0; at < c.elements; at += width) {
        width = std::min({lanes, c.elements - at, c.row - at % c.row});
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

  void emit(const kernel::Product& p) {
    const TenonGemm product{static_cast<std::int32_t>(p.dtype),
                            0,
                            p.batch,
                            p.m,
                            p.n,
                            p.k,
                            p.a_batch,
                            p.a_m,
                            p.a_k,
                            p.b_batch,
                            p.b_k,
                            p.b_n,
                            p.c_batch,
                            p.c_m,
                            p.c_n};
    static_assert(sizeof product % sizeof(std::uint64_t) == 0, "the description is laid down as words");
    std::vector<std::uint64_t> words(sizeof product / sizeof(std::uint64_t));
    std::memcpy(words.data(), &product, sizeof product);
    auto* constant = llvm::ConstantDataArray::get(b_.getContext(), words);
    auto* shape =
        new llvm::GlobalVariable(module_, constant->getType(), true, llvm::GlobalValue::PrivateLinkage, constant);
    auto* pointer = b_.getPtrTy();
    auto callee = module_.getOrInsertFunction(
        "tenon_gemm", llvm::FunctionType::get(b_.getInt32Ty(), {pointer, pointer, pointer, pointer}, false));
    llvm::cast<llvm::Function>(callee.getCallee())->setDoesNotThrow();
    Value* failed =
        b_.CreateCall(callee, {shape, e_.address(p.a, e_.scalar(p.a_offset)), e_.address(p.b, e_.scalar(p.b_offset)),
                               e_.address(p.c, e_.scalar(p.c_offset))});
    if (parallel_)
      b_.CreateAtomicRMW(llvm::AtomicRMWInst::Or, frame_.failed, failed, llvm::MaybeAlign(4),
                         llvm::AtomicOrdering::Monotonic);
    else
      b_.CreateStore(b_.CreateOr(b_.CreateLoad(b_.getInt32Ty(), frame_.failed), failed), frame_.failed);
  }

  void emit(const kernel::For& f) {
    if (f.count == 0) return;
    const auto body = [&](Value* i) {
      e_.set(f.var, i);
      frame_.vars.insert_or_assign(f.var, i);
      block(f.body);
    };
    const double each = unpolled_ / static_cast<double>(f.count);
    const auto group = static_cast<std::int64_t>(
        std::clamp(poll_interval / std::max(each, 1e-3), 1.0, static_cast<double>(poll_steps)));
    if (f.count <= group)
      loop_from(b_.getInt64(0), b_.getInt64(static_cast<std::uint64_t>(f.count)), 1, body);
    else
      in_groups(0, f.count, group, [&](Value* from, Value* to) { loop_from(from, to, 1, body); });
    frame_.vars.erase(f.var);
  }

  void emit(const kernel::While& w) {
    auto* head = llvm::BasicBlock::Create(b_.getContext(), "while", function_);
    auto* body = llvm::BasicBlock::Create(b_.getContext(), "body", function_);
    auto* after = llvm::BasicBlock::Create(b_.getContext(), "after", function_);
    // A power of two of steps between polls.
    const auto group = static_cast<std::uint32_t>(
        std::clamp(poll_interval / std::max(unpolled_, 1e-3), 1.0, static_cast<double>(poll_steps)));
    const std::uint32_t mask = std::bit_ceil(group) - 1;
    llvm::IRBuilder<> at_entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
    auto* steps = at_entry.CreateAlloca(b_.getInt32Ty());
    b_.CreateStore(b_.getInt32(0), steps);
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    block(w.before);
    b_.CreateCondBr(e_.scalar(w.condition), body, after);
    b_.SetInsertPoint(body);
    block(w.body);
    auto* look = llvm::BasicBlock::Create(b_.getContext(), "look", function_);
    Value* done = b_.CreateAdd(b_.CreateLoad(b_.getInt32Ty(), steps), b_.getInt32(1));
    b_.CreateStore(done, steps);
    b_.CreateCondBr(b_.CreateICmpEQ(b_.CreateAnd(done, b_.getInt32(mask)), b_.getInt32(0)), look, head);
    b_.SetInsertPoint(look);
    poll();
    b_.CreateBr(head);
    b_.SetInsertPoint(after);
  }

  void emit(const kernel::Switch& s) {
    Value* index = e_.scalar(s.index);
    auto* after = llvm::BasicBlock::Create(b_.getContext(), "after", function_);
    std::vector<llvm::BasicBlock*> blocks;
    for (std::size_t i = 0; i < s.branches.size(); ++i)
      blocks.push_back(llvm::BasicBlock::Create(b_.getContext(), "case", function_));
    auto* choose = b_.CreateSwitch(index, blocks.back(), static_cast<unsigned>(blocks.size()));
    for (std::size_t i = 0; i + 1 < blocks.size(); ++i) choose->addCase(b_.getInt64(i), blocks[i]);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      b_.SetInsertPoint(blocks[i]);
      block(s.branches[i]);
      b_.CreateBr(after);
    }
    b_.SetInsertPoint(after);
  }

  // --- blocks ---
  void emit(const kernel::Blocks& blocks) {
    if (blocks.parallel) return fork(blocks);
    for (const SlotId slot : blocks.own) e_.place(slot, local(slot));
    loop(blocks.count, 1, [&](Value* i) {
      e_.set(blocks.var, i);
      block(blocks.body);
    });
    block(blocks.tail);
  }

  // A function of its own for a range of blocks, called on all threads; the tail is one block more.
  void fork(const kernel::Blocks& blocks) {
    llvm::Type *pointer = b_.getPtrTy(), *number = b_.getInt64Ty();
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {pointer, number, number, b_.getInt32Ty()}, false);
    auto* body =
        llvm::Function::Create(type, llvm::Function::InternalLinkage, function_->getName() + "_blocks", module_);
    body->setAttributes(function_->getAttributes());
    FunctionEmitter inside(module_, f_, target_, body, nullptr);
    Value* words = capture(blocks, inside);
    inside.run_range(blocks);
    auto callee = module_.getOrInsertFunction(
        "tenon_parallel_for", llvm::FunctionType::get(b_.getVoidTy(), {pointer, pointer, number, number}, false));
    llvm::cast<llvm::Function>(callee.getCallee())->setDoesNotThrow();
    const std::int64_t count = blocks.count + (blocks.tail.empty() ? 0 : 1);
    b_.CreateCall(callee, {body, words, b_.getInt64(static_cast<std::uint64_t>(count)), b_.getInt64(1)});
  }

  // Writes this function's frame to memory, and has `inside` read it.
  Value* capture(const kernel::Blocks& blocks, FunctionEmitter& inside) {
    std::set<SlotId> used;
    visit_slots(blocks, [&](SlotId slot, bool) {
      if (frame_.locals.contains(slot)) used.insert(slot);
    });
    const auto words = 4 + used.size() + frame_.vars.size();
    auto* type = llvm::ArrayType::get(b_.getInt64Ty(), words);
    llvm::IRBuilder<> at_entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
    Value* memory = at_entry.CreateAlloca(type);
    unsigned at = 0;
    const auto pass = [&](Value* value) -> Value* {
      b_.CreateStore(value, b_.CreateConstInBoundsGEP2_32(type, memory, 0, at));
      Value* from = inside.b_.CreateConstInBoundsGEP2_32(type, inside.function_->getArg(0), 0, at++);
      return inside.b_.CreateLoad(value->getType(), from);
    };
    Frame frame{pass(frame_.arguments), pass(frame_.arena), pass(frame_.cancelled), pass(frame_.failed), {}, {}};
    for (const SlotId slot : used) frame.locals.emplace(slot, pass(frame_.locals.at(slot)));
    for (const auto& [var, value] : frame_.vars) frame.vars.emplace(var, pass(value));
    inside.parallel_ = true;
    inside.enter(std::move(frame));
    return memory;
  }

  void run_range(const kernel::Blocks& blocks) {
    for (const SlotId slot : blocks.own) e_.place(slot, local(slot));
    Value *begin = function_->getArg(1), *end = function_->getArg(2);
    Value* limit =
        b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, b_.getInt64(static_cast<std::uint64_t>(blocks.count)));
    const auto when = [&](Value* condition, auto&& body) {
      auto* yes = llvm::BasicBlock::Create(b_.getContext(), "yes", function_);
      auto* after = llvm::BasicBlock::Create(b_.getContext(), "after", function_);
      b_.CreateCondBr(condition, yes, after);
      b_.SetInsertPoint(yes);
      body();
      b_.CreateBr(after);
      b_.SetInsertPoint(after);
    };
    when(b_.CreateICmpSLT(begin, limit), [&] {
      loop_from(begin, limit, 1, [&](Value* i) {
        poll();
        e_.set(blocks.var, i);
        block(blocks.body);
      });
    });
    if (!blocks.tail.empty()) when(b_.CreateICmpSGT(end, limit), [&] { block(blocks.tail); });
    end_streams();
    b_.CreateRetVoid();
  }

  llvm::Module& module_;
  const kernel::Function& f_;
  const Target& target_;
  llvm::Function* function_;
  Frame frame_{};
  bool parallel_ = false, streams_ = false;
  std::set<SlotId> read_;  // slots that anything reads
  double unpolled_ = 0;    // estimated nanoseconds of what is being emitted, and does not poll yet
  Builder b_;
  ExprEmitter e_;
};

}  // namespace

void emit_function(llvm::Module& module, const kernel::Function& f, const Target& target, const std::string& name) {
  auto& context = module.getContext();
  auto* pointer = llvm::PointerType::getUnqual(context);
  auto* function = llvm::Function::Create(
      llvm::FunctionType::get(llvm::Type::getInt32Ty(context), {pointer, pointer, pointer}, false),
      llvm::Function::ExternalLinkage, name, module);
  function->setDoesNotThrow();
  function->addFnAttr("target-cpu", target.cpu);
  function->addFnAttr("target-features", target.features);
  function->addFnAttr("prefer-vector-width", std::to_string(8 * target.vector_bytes));
  FunctionEmitter(module, f, target, function).run();
}

}  // namespace tenon::cpu
