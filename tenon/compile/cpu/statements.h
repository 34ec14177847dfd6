// Statements of the loop language as LLVM IR, within one function: what the rooms of nests, reductions and control flow
// share.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>

#include <map>
#include <memory>
#include <set>
#include <span>
#include <unordered_map>

#include "tenon/compile/cpu/function_emitter.h"
#include "tenon/compile/cpu/size_code.h"
#include "tenon/kernel/analysis/form.h"
#include "tenon/kernel/target.h"

namespace tenon::cpu {

using kernel::at_most;
using kernel::Combine;
using kernel::estimate;
using kernel::Expr;
using kernel::product_of;
using llvm::Value;

// Elements of a nest that is written out; what is local and no larger becomes registers.
inline constexpr std::int64_t unroll_limit = kernel::Target().register_elements;

// Of a slot, 0 where its size is not known; at most more than any cache has, so that sums over slots do not overflow.
std::int64_t known_bytes(const kernel::Slot& slot);

class FunctionEmitter {
 public:
  FunctionEmitter(llvm::Module& module, const kernel::Function& f, const kernel::OpenNumbers& numbers,
                  const Target& target, llvm::Function* function);

  void run();

 private:
  using SlotId = kernel::SlotId;
  using Body = llvm::function_ref<void(Value* index)>;
  using Code = llvm::function_ref<void()>;
  // What code needs of its surroundings: a parallel body is a function of its own, that gets them through memory.
  struct Frame {
    Value *arguments, *arena, *cancelled, *failed;  // `failed`: not 0 once a call has run out of memory
    std::map<SlotId, Value*> locals;
    std::map<std::uint32_t, Value*> vars;
    // Locals that lie in one piece of memory, where functions that it is cut into find them by their offsets.
    Value* together = nullptr;
    std::shared_ptr<const std::map<SlotId, std::uint64_t>> offsets = nullptr;
  };

  // What all functions of the code share.
  struct Common {
    std::vector<int> touched, read;  // how often the program touches and reads each slot
    const kernel::OpenNumbers& numbers;
    // Of the arguments that the program reads, each as often as it goes through it: bytes of those whose size is known,
    // and how many others there are.
    std::int64_t argument_bytes = 0, open_arguments = 0;
  };

  // --- function_emitter.cpp: the frame, and calls of the runtime ---
  FunctionEmitter(llvm::Module& module, const kernel::Function& f, const Target& target, llvm::Function* function,
                  std::shared_ptr<const Common> common);
  static std::shared_ptr<const Common> common_of(const kernel::Function& f, const kernel::OpenNumbers& numbers);
  void enter(Frame frame);
  Value* find_slot(SlotId slot);
  Value* number(const Dim& size);
  llvm::GlobalVariable* constant(const kernel::Slot& s);
  llvm::AllocaInst* local(SlotId slot);
  void place(SlotId slot, Value* address);
  llvm::Function* own_function(llvm::Type* result, llvm::ArrayRef<llvm::Type*> arguments, const char* suffix);
  void return_if_ended(Value* code);
  std::set<SlotId> shared_slots(std::span<const kernel::Statement> statements) const;
  Value* description(const kernel::Product& p);
  void emit(const kernel::Product& p);

  // --- parts.cpp ---
  void block(const kernel::Block& statements);
  void place_own(const kernel::Blocks& blocks);
  Value* at_offset(const Frame& frame, SlotId slot);
  void in_one_function(std::span<const kernel::Statement> statements);
  void in_order(std::span<const kernel::Statement> statements);
  std::set<SlotId> found_before(const kernel::Statement& s);
  void part(std::span<const kernel::Statement> statements, bool once);

  // --- launches.cpp ---
  // What the functions of equal statements share: their frame, where slots are in its local memory and in the numbers
  // of all, and themselves.
  struct Launches {
    Value* frame = nullptr;
    llvm::GlobalVariable* numbers = nullptr;
    std::map<SlotId, std::uint64_t> locals, of_numbers;
    kernel::Sizes offsets;  // in the arena, that only running tells
    std::map<Hash128, llvm::Function*> functions;
  };
  std::vector<std::optional<kernel::Form>> forms_of(std::span<const kernel::Statement> statements) const;
  llvm::Function* shared_function(const kernel::Statement& s, const kernel::Form& form);
  void prepare_launches(std::span<const kernel::Statement> statements, std::span<const std::size_t> runs);
  std::uint64_t place_in_arena(const kernel::Slot& slot) const;
  void launch(std::span<const kernel::Statement> statements, std::span<const std::optional<kernel::Form>> forms);

  // --- nests.cpp ---
  void emit(const kernel::Nest& n);
  void emit(const kernel::Copy& c);
  unsigned widest(std::size_t element_bytes) const;
  std::int64_t lanes_along(const Work& work, const Dim& length) const;
  bool in_rows(std::span<const kernel::Store> stores, std::uint32_t var);
  bool is_short(const Dim& elements, const Work& work) const;
  bool rows_independent(const kernel::Nest& n) const;
  std::int64_t registers_at_once(const Work& work, std::size_t values, std::int64_t lanes, const Dim& extent) const;
  bool is_written_out(const kernel::Nest& n, std::int64_t elements, const Work& work, bool vectors);
  // Of a nest that is written out: whether it reads or writes arrays of the function's own that may be registers; how
  // many it reads or writes whose lanes do not lie beside each other; and what is left to compute.
  struct Walk {
    bool over_own = false;
    std::int64_t apart = 0, instructions = 0;
    std::unordered_map<const Expr::Node*, bool> seen = {};
  };
  void add_access(SlotId slot, const Expr& offset, std::span<const std::uint32_t> vars, Walk& walk);
  bool add_reads(const Expr& e, std::span<const std::uint32_t> vars, Walk& walk);
  void one_by_one(const kernel::Nest& n, const Work& work);
  void vector_nest(const kernel::Nest& n, const Work& work, bool unrolled, bool overwrites);
  bool is_kept(std::int64_t written, std::int64_t read) const;
  std::int64_t most_kept(const kernel::Slot& slot, std::int64_t read, std::int64_t open) const;
  using Streamed = std::map<SlotId, std::int64_t>;  // outputs of a nest, and the most elements of each that are kept
  std::optional<Streamed> streams(const kernel::Nest& n, const Work& work, std::int64_t width);
  Value* are_large(const Streamed& outputs);
  void streamed(const Streamed& outputs, Code emit);
  void end_streams();
  void row(std::int64_t extent, std::int64_t step, std::int64_t lanes, bool unrolled, bool twice,
           llvm::function_ref<void(Value* first, std::int64_t width)> body);
  void any_row(const Dim& extent, const Work& work, std::int64_t step, bool twice,
               llvm::function_ref<void(Value* first, std::int64_t width)> body, Body masked);
  bool has_masks(const Work& work, std::span<const kernel::Store> stores) const;
  void store_lanes(std::span<const kernel::Store> stores);
  void store_scalars(std::span<const kernel::Store> stores);
  void stored_when(const Expr& condition, Code code);

  // --- reductions.cpp ---
  // A partial result of `lanes` lanes in the frame; it becomes registers. An extremum of reals is found with signs of
  // zero ignored, which halves its time, and beside it what decides the sign of a zero: a maximum is -0 where all signs
  // are negative, a minimum where any is.
  struct Partial {
    Combine op;
    DType dtype;
    llvm::AllocaInst *value, *signs = nullptr, *unordered = nullptr;  // the latter of extrema of real numbers
  };
  using Values = std::vector<Value*>;     // of each result of a reduction
  using Partials = std::vector<Partial>;  // and its partial result
  void emit(const kernel::Reduce& r);
  bool are_parts(const kernel::Reduce& r) const;
  using StepBody = llvm::function_ref<void(Value* i, const std::vector<Partials>& into)>;
  void in_runs(const Dim& extent, std::int64_t step, std::int64_t run, const std::vector<Partials>& into,
               StepBody body);
  std::vector<Partials> emptied(const std::vector<Partials>& all);
  void over_inner(const kernel::Reduce& r, std::size_t count, std::int64_t each, bool unrolled,
                  const std::vector<Partials>& into, llvm::function_ref<void(const std::vector<Partials>&)> body);
  Values reduce_scalars(const kernel::Reduce& r, const Values& initial, bool unrolled);
  Values reduce_row(const kernel::Reduce& r, const Work& work, std::int64_t lanes, const Values& initial,
                    bool unrolled);
  void add_step(const kernel::Reduce& r, std::int64_t lanes, Value* i, const std::vector<Partials>& into);
  using ColumnBody = llvm::function_ref<void(Value* first, std::int64_t width, Code set_lanes)>;
  void over_columns(const kernel::Reduce& r, const Work& work, ColumnBody at);
  bool in_row_chunks(const kernel::Reduce& r, const Work& work) const;
  Value* identity(const kernel::Reduce::Result& result);
  void reduce_columns(const kernel::Reduce& r, const Work& work, bool unrolled_outer, bool unrolled_inner);
  Partial partial(Combine op, DType dtype, std::int64_t lanes, Value* fill);
  Partials partials(const kernel::Reduce& r, std::int64_t lanes, const Values& fill);
  Values initial_values(const kernel::Reduce& r);
  void store_results(const kernel::Reduce& r, const Values& results);
  Values accumulate(const kernel::Reduce& r, const Partials& into, const Values* outside = nullptr);
  void accumulate_one(const kernel::Reduce& r, const Partials& into, const Values* outside = nullptr);
  void combine(const Partial& into, Value* value);
  void note(const Partial& into, Value* x, Value* y);
  void note_signs(const Partial& into, Value* signs);
  Value* unordered(Value* x, Value* y, Value* before);
  Value* with_unordered(Value* value, Value* some);
  Value* result_of(const Partial& p);
  void combine(const Partial& into, const Partial& from);
  Value* combined(Combine op, DType dtype, Value* x, Value* y);
  Value* across(Combine op, DType dtype, Value* x);
  std::pair<Value*, Value*> across(const Partial& p);
  Value* across(const Partial& part, const Partial* rest);
  Value* sign_bits(Value* x);
  Value* with_sign(Value* value, Value* signs);
  bool streams_along(const Expr& e, std::uint32_t var);
  bool streams_along(const Expr& e, std::uint32_t var, std::set<const Expr::Node*>& seen);

  // --- lists.cpp ---
  void emit(const kernel::Element& e);
  Value* chunk_shift(const Dim& bytes);
  void emit(const kernel::Call& c);
  Value* checked_call(llvm::StringRef function, llvm::ArrayRef<Value*> arguments);
  Value* table_of(std::span<Value* const> words);

  // --- control_flow.cpp ---
  void emit(const kernel::For& f);
  void emit(const kernel::While& w);
  void emit(const kernel::Switch& s);
  void emit(const kernel::Blocks& blocks);
  void body_of(const kernel::Blocks& blocks, Value* number);
  void tail_of(const kernel::Blocks& blocks);
  void poll();
  void when(Value* condition, Code body, bool seldom = false);
  void when_there_are(const Dim& number_of, Code body);
  void either(Value* condition, Code yes, Code no);
  void loop(const Dim& limit, std::int64_t step, Body body, const Dim& start = 0);
  void in_groups(Value* start, Value* limit, std::int64_t width,
                 llvm::function_ref<void(Value* from, Value* to)> group);
  void loop_from(Value* start, Value* limit, std::int64_t step, Body body);
  void loops(const std::vector<std::uint32_t>& vars, const kernel::Sizes& sizes, std::size_t from, std::size_t to,
             bool unrolled, Code body);
  static bool tail_is_here(const kernel::Blocks& blocks);
  void fork(const kernel::Blocks& blocks);
  Value* capture(const std::set<SlotId>& locals, FunctionEmitter& inside);
  void run_range(const kernel::Blocks& blocks);

  llvm::Module& module_;
  const kernel::Function& f_;
  const Target& target_;
  llvm::Function* function_;
  Frame frame_{};
  bool parallel_ = false;
  std::vector<Streamed> streamed_;  // what may have been written past the caches
  bool inside_rows_ = false;        // within a block of rows, which has slots to itself
  std::shared_ptr<const Common> common_;
  Launches launches_;
  SizeSteps size_steps_;                             // of sizes that this function computes as it begins
  std::map<std::size_t, llvm::AllocaInst*> tables_;  // of calls, by their length: one serves all
  double unpolled_ = 0;  // estimated nanoseconds of what is being emitted, and does not poll yet
  Builder b_;
  ExprEmitter e_;
};

}  // namespace tenon::cpu
