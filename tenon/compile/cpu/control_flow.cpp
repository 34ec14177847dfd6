// Loops, branches and blocks of rows, the functions that threads run, and the polls by which a program is cancelled.
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "tenon/compile/cpu/statements.h"
#include "tenon/compile/native/codegen.h"
#include "tenon/kernel/analysis/cost.h"
#include "tenon/kernel/analysis/rows.h"
#include "tenon/runtime/linear_algebra/products.h"

namespace tenon::cpu {
namespace {

constexpr double poll_interval = 1e6;      // at most that many estimated nanoseconds between two polls
constexpr std::int64_t poll_steps = 1000;  // of a loop whose steps may take longer than estimated

}  // namespace

// Returns from the function where it is to stop; where it only has to attend to something it does and goes on. The
// callers of a parallel body find out at their own next poll.
void FunctionEmitter::poll() {
  auto* flag = b_.CreateAlignedLoad(b_.getInt32Ty(), frame_.cancelled, llvm::Align(4));
  flag->setAtomic(llvm::AtomicOrdering::Monotonic);
  const auto stop = [&] {
    if (function_->getReturnType()->isVoidTy())
      b_.CreateRetVoid();
    else
      b_.CreateRet(b_.getInt32(static_cast<std::uint32_t>(was_cancelled)));
  };
  const auto look = [&] {
    auto callee =
        module_.getOrInsertFunction("tenon_stops", llvm::FunctionType::get(b_.getInt32Ty(), {b_.getPtrTy()}, false));
    auto* function = llvm::cast<llvm::Function>(callee.getCallee());
    function->setDoesNotThrow();
    function->addFnAttr(llvm::Attribute::Cold);
    when(b_.CreateICmpNE(b_.CreateCall(callee, {frame_.cancelled}), b_.getInt32(0)), stop, true);
  };
  when(b_.CreateICmpNE(flag, b_.getInt32(0)), look, true);
}

// The code of `body` runs where the condition holds, and may return from the function.
void FunctionEmitter::when(Value* condition, Code body, bool seldom) {
  auto* yes = llvm::BasicBlock::Create(b_.getContext(), "yes", function_);
  auto* after = llvm::BasicBlock::Create(b_.getContext(), "after", function_);
  auto* weights = seldom ? llvm::MDBuilder(b_.getContext()).createBranchWeights(1, 1 << 20) : nullptr;
  b_.CreateCondBr(condition, yes, after, weights);
  b_.SetInsertPoint(yes);
  body();
  if (b_.GetInsertBlock()->getTerminator() == nullptr) b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

// Where there is something of a number, of which there is either something for all sizes or that shows only now.
void FunctionEmitter::when_there_are(const Dim& number_of, Code body) {
  if (number_of == Dim(0)) return;
  if (number_of.known()) return body();
  when(b_.CreateICmpSGT(number(number_of), b_.getInt64(0)), body);
}

void FunctionEmitter::either(Value* condition, Code yes, Code no) {
  auto* first = llvm::BasicBlock::Create(b_.getContext(), "yes", function_);
  auto* second = llvm::BasicBlock::Create(b_.getContext(), "no", function_);
  auto* after = llvm::BasicBlock::Create(b_.getContext(), "after", function_);
  b_.CreateCondBr(condition, first, second);
  for (const auto& [block, code] : {std::pair(first, yes), std::pair(second, no)}) {
    b_.SetInsertPoint(block);
    e_.forget();
    code();
    b_.CreateBr(after);
  }
  b_.SetInsertPoint(after);
  e_.forget();
}

// for (i = start; i < limit; i += step) body(i), in groups with a poll before each where all of it takes long.
void FunctionEmitter::loop(const Dim& limit, std::int64_t step, Body body, const Dim& start) {
  const Dim distance = limit - start;
  if (at_most(distance, 0)) return;
  Value *first = number(start), *end = number(limit);
  const double steps = std::max(std::ceil(estimate(distance) / static_cast<double>(step)), 1.);
  const double before = unpolled_, each = before / steps;
  when_there_are(distance, [&] {
    if (before < poll_interval) return loop_from(first, end, step, body);
    const auto group = static_cast<std::int64_t>(std::min(steps, std::max(1., std::floor(poll_interval / each))));
    unpolled_ = each < poll_interval ? 0 : each;
    in_groups(first, end, group * step, [&](Value* from, Value* to) { loop_from(from, to, step, body); });
    unpolled_ = before;
  });
}
void FunctionEmitter::in_groups(Value* start, Value* limit, std::int64_t width,
                                llvm::function_ref<void(Value*, Value*)> group) {
  loop_from(start, limit, width, [&](Value* from) {
    poll();
    Value* to = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin,
                                         b_.CreateAdd(from, b_.getInt64(static_cast<std::uint64_t>(width))), limit);
    group(from, to);
  });
}
// At least once.
void FunctionEmitter::loop_from(Value* start, Value* limit, std::int64_t step, Body body) {
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
void FunctionEmitter::loops(const std::vector<std::uint32_t>& vars, const kernel::Sizes& sizes, std::size_t from,
                            std::size_t to, bool unrolled, Code body) {
  if (from == to) return body();
  const auto inner = [&] { loops(vars, sizes, from + 1, to, unrolled, body); };
  if (unrolled || sizes[from] == Dim(1)) {
    for (std::int64_t i = 0; i < sizes[from].value(); ++i) {
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

void FunctionEmitter::emit(const kernel::For& f) {
  const auto body = [&](Value* i) {
    e_.set(f.var, i);
    frame_.vars.insert_or_assign(f.var, i);
    block(f.body);
  };
  const double each = unpolled_ / std::max(estimate(f.count), 1.);
  const auto group =
      static_cast<std::int64_t>(std::clamp(poll_interval / std::max(each, 1e-3), 1.0, static_cast<double>(poll_steps)));
  Value *first = b_.getInt64(0), *end = number(f.count);
  when_there_are(f.count, [&] {
    if (at_most(f.count, group))
      loop_from(first, end, 1, body);
    else
      in_groups(first, end, group, [&](Value* from, Value* to) { loop_from(from, to, 1, body); });
  });
  frame_.vars.erase(f.var);
}

void FunctionEmitter::emit(const kernel::While& w) {
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

void FunctionEmitter::emit(const kernel::Switch& s) {
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

void FunctionEmitter::body_of(const kernel::Blocks& blocks, Value* number) {
  e_.set(blocks.var, number);
  frame_.vars.insert_or_assign(blocks.var, number);
  block(blocks.body);
  frame_.vars.erase(blocks.var);
}

void FunctionEmitter::tail_of(const kernel::Blocks& blocks) {
  if (blocks.tail.empty()) return;
  Value* number_of_tail = number(blocks.count);
  when_there_are(blocks.rest, [&] {
    e_.set(blocks.var, number_of_tail);
    frame_.vars.insert_or_assign(blocks.var, number_of_tail);
    block(blocks.tail);
    frame_.vars.erase(blocks.var);
  });
}

void FunctionEmitter::emit(const kernel::Blocks& blocks) {
  if (blocks.parallel) when_there_are(blocks.count, [&] { fork(blocks); });
  if (blocks.parallel && !tail_is_here(blocks)) return;
  const bool outside = std::exchange(inside_rows_, true);
  place_own(blocks);
  if (!blocks.parallel) loop(blocks.count, 1, [&](Value* i) { body_of(blocks, i); });
  tail_of(blocks);
  inside_rows_ = outside;
}

// Whether the tail of parallel blocks runs where they are forked, behind them, and not as one of them: where there may
// be nothing but the tail, a call is not worth it.
bool FunctionEmitter::tail_is_here(const kernel::Blocks& blocks) {
  return !blocks.tail.empty() && !(blocks.rest.known() && at_least(blocks.count, 1));
}

// A function of its own for a range of blocks, called on all threads; the tail may be one block more.
void FunctionEmitter::fork(const kernel::Blocks& blocks) {
  llvm::Type *pointer = b_.getPtrTy(), *word = b_.getInt64Ty();
  auto* body = own_function(b_.getVoidTy(), {pointer, word, word, b_.getInt32Ty()}, "_blocks");
  FunctionEmitter inside(module_, f_, target_, body, common_);
  std::set<SlotId> used;
  visit_slots(f_, blocks, [&](SlotId slot, bool) {
    if (frame_.locals.contains(slot)) used.insert(slot);
  });
  Value* words = capture(used, inside);
  inside.parallel_ = inside.inside_rows_ = true;
  inside.run_range(blocks);
  auto callee = module_.getOrInsertFunction(
      "tenon_parallel_for", llvm::FunctionType::get(b_.getVoidTy(), {pointer, pointer, word, word}, false));
  llvm::cast<llvm::Function>(callee.getCallee())->setDoesNotThrow();
  Value* count = number(blocks.count + (blocks.tail.empty() || tail_is_here(blocks) ? 0 : 1));
  b_.CreateCall(callee, {body, words, count, number(blocks.grain)});
}

// Writes this function's frame to memory, and has `inside` read it.
Value* FunctionEmitter::capture(const std::set<SlotId>& locals, FunctionEmitter& inside) {
  const auto words = 4 + locals.size() + frame_.vars.size();
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
  const auto is_together = [&](SlotId slot) { return frame_.offsets != nullptr && frame_.offsets->contains(slot); };
  if (std::ranges::any_of(locals, is_together)) {
    frame.together = pass(frame_.together);
    frame.offsets = frame_.offsets;
  }
  for (const SlotId slot : locals)
    frame.locals.emplace(slot, is_together(slot) ? inside.at_offset(frame, slot) : pass(frame_.locals.at(slot)));
  for (const auto& [var, value] : frame_.vars) frame.vars.emplace(var, pass(value));
  inside.enter(std::move(frame));
  return memory;
}

void FunctionEmitter::run_range(const kernel::Blocks& blocks) {
  place_own(blocks);
  Value *begin = function_->getArg(1), *end = function_->getArg(2);
  Value* limit = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, number(blocks.count));
  when(b_.CreateICmpSLT(begin, limit), [&] {
    loop_from(begin, limit, 1, [&](Value* i) {
      poll();
      body_of(blocks, i);
    });
  });
  if (!blocks.tail.empty() && !tail_is_here(blocks)) when(b_.CreateICmpSGT(end, limit), [&] { tail_of(blocks); });
  end_streams();
  b_.CreateRetVoid();
}

}  // namespace tenon::cpu
