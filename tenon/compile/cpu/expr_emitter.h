// Expressions of the loop language as LLVM IR: scalars, or vectors along one loop variable.
#pragma once

#include <map>
#include <unordered_map>

#include "tenon/compile/cpu/math.h"
#include "tenon/compile/cpu/work.h"
#include "tenon/kernel/analysis/open_numbers.h"
#include "tenon/kernel/analysis/ranges.h"
#include "tenon/kernel/function.h"

namespace tenon::cpu {

// The symbol of the open numbers of a module.
inline constexpr const char* numbers_name = "tenon_numbers";

// How an expression changes from lane to lane along the vector variable.
struct Variation {
  bool varies = false;
  std::optional<std::int64_t> stride;  // of i64 expressions that are affine in it
};

// Computes expressions. What it has computed it knows by their nodes, which it keeps until it is told to forget.
class ExprEmitter {
 public:
  using FindSlot = std::function<llvm::Value*(kernel::SlotId)>;
  ExprEmitter(Builder& builder, const kernel::Function& function, const kernel::OpenNumbers& numbers,
              unsigned vector_bytes, FindSlot find_slot);

  // Where a slot is; before anything reads or writes it. Others are asked for when they are first used.
  void place(kernel::SlotId slot, llvm::Value* address) { slots_.insert_or_assign(slot, address); }
  void displace(kernel::SlotId slot) { slots_.erase(slot); }

  // Values of loop variables from here on; forgets what was computed under other values.
  void set(std::uint32_t var, llvm::Value* value) {
    vars_[var] = value;
    forget();
  }
  // Lanes 0, 1, … of `var` are value, value + 1, …; 1 lane: scalar. More lanes than a register holds are as many
  // registers side by side; memory is moved in pieces of one.
  void set_lanes(std::uint32_t var, llvm::Value* value, unsigned lanes, unsigned piece = 0) {
    vars_[var] = value;
    vector_var_ = var;
    lanes_ = lanes;
    piece_ = piece == 0 ? lanes : piece;
    mask_ = nullptr;
    forget();
  }
  // As many lanes, of one register, of which those below `end` alone are in memory.
  void set_lanes_below(std::uint32_t var, llvm::Value* value, unsigned lanes, llvm::Value* end);
  llvm::Value* mask() const { return mask_; }  // of the lanes that are in memory; null: all are
  void forget() {
    scalars_.clear();
    vectors_.clear();
    unrounded_scalars_.clear();
    unrounded_vectors_.clear();
    variations_.clear();
    runs_.clear();
    kept_.clear();
  }

  // What is computed from here on, about so many times in code: angles of which both sine and cosine are wanted, and
  // whether there is so much mathematics that it is called instead of being inlined.
  void set(const Work& work, int copies) {
    angles_ = work.angles;
    calls_functions_ = all_functions_called_ || calls_functions(work, copies);
  }
  // Whether all mathematics is called from here on; and whether it was before.
  bool call_functions(bool all) { return std::exchange(all_functions_called_, all); }
  bool calls_all_functions() const { return all_functions_called_; }

  Variation variation(const kernel::Expr& e, std::uint32_t var);
  using Variations = std::unordered_map<const void*, Variation>;
  static Variation variation(const kernel::Expr& e, std::uint32_t var, Variations& known);
  std::int64_t stride(const kernel::Expr& e) {  // from lane to lane; 0 where there is none
    return vector_var_ ? variation(e, *vector_var_).stride.value_or(0) : 0;
  }
  llvm::Value* scalar(const kernel::Expr& e);  // at lane 0
  llvm::Value* lanes(const kernel::Expr& e);   // a vector where there are lanes, the expression varying or not
  // Contiguous from lane 0's offset, or lane by lane where the offset has another stride.
  void store(kernel::SlotId slot, const kernel::Expr& offset, llvm::Value* value);
  // The lanes as memory holds them, and their store.
  llvm::Value* to_store(const kernel::Expr& e);
  void write(kernel::SlotId slot, const kernel::Expr& offset, llvm::Value* memory);
  // Several such, of which the first lane of each lies beside that of the one before, then the second ones, and so on.
  void write_runs(kernel::SlotId slot, const kernel::Expr& offset, std::vector<llvm::Value*> values);
  // Of how many elements a load reads one, along `var`, where all of them can be read as whole vectors; 1: of others.
  unsigned run_of(const kernel::Expr& load, std::uint32_t var);
  llvm::Value* address(kernel::SlotId slot, llvm::Value* offset);
  llvm::Value* found_size(kernel::SlotId slot);     // as it is here
  llvm::Value* found_address(kernel::SlotId slot);  // likewise, of memory that is asked for
  llvm::Type* type_of(DType dtype);                 // of values: bool is i1, narrow floats are f32 that they can hold
  llvm::Type* memory_type(DType dtype);             // bool is i8, narrow floats are integers
  llvm::Instruction* of_slot(llvm::Instruction* access, kernel::SlotId slot);  // says that slots do not overlap

  // Says that no slot overlaps with what describes a list.
  llvm::Instruction* of_list(llvm::Instruction* access);

  bool stream_stores = false;  // stores go past the caches; they are aligned

  // Says that a local slot is written by vectors of this many lanes from an offset on.
  void note_piece(kernel::SlotId slot, llvm::Value* offset, unsigned lanes);

 private:
  llvm::Value* emit(const kernel::Expr& e, bool vector);
  llvm::Value* load(const kernel::Expr& e, bool vector);
  void part_loads();
  llvm::Value* read(const kernel::Expr& e, bool vector);
  llvm::Value* read_row(kernel::SlotId slot, llvm::Value* from, unsigned run = 1, unsigned k = 0);
  llvm::Value* read_of_run(const kernel::Expr& load, unsigned run);
  llvm::Value* mask_of_run(unsigned run, unsigned k);
  void put(kernel::SlotId slot, llvm::Value* value, llvm::Value* to);
  llvm::Value* in_memory(const kernel::Expr& e, bool vector);
  llvm::Value* bitcast(const kernel::Expr& e, bool vector);
  std::vector<std::pair<int, int>> pieces_of(kernel::SlotId slot) const;
  llvm::Constant* literal(DType dtype, const std::byte* bits);
  llvm::Value* constant(const kernel::Expr& e);
  llvm::Value* elements_of_constant(kernel::SlotId slot, llvm::Value* index);
  llvm::Value* shuffled(kernel::SlotId slot, llvm::Value* index);
  llvm::Value* decoded(DType dtype, llvm::Value* memory);
  llvm::Value* encoded(DType dtype, llvm::Value* value);
  llvm::Value* rounded(DType dtype, llvm::Value* value);
  llvm::Value* binary(kernel::Binary op, DType dtype, llvm::Value* x, llvm::Value* y);
  llvm::Value* integer_division(bool remainder, bool is_signed, llvm::Value* x, llvm::Value* y);
  llvm::Value* integer_power(bool is_signed, llvm::Value* x, llvm::Value* y);
  llvm::Value* extremum(bool max, DType dtype, llvm::Value* x, llvm::Value* y);
  llvm::Value* unary(const kernel::Expr& e, llvm::Value* x, std::unordered_map<const void*, llvm::Value*>& known);
  llvm::Value* convert(DType from, DType to, llvm::Value* x);
  llvm::Value* rounded_to_odd(llvm::Value* x, llvm::Type* type);
  llvm::Type* widened(llvm::Type* type, bool vector) {
    return vector ? llvm::FixedVectorType::get(type, lanes_) : type;
  }

  Builder& b_;
  const kernel::Function& f_;
  const kernel::OpenNumbers& numbers_;
  const unsigned vector_bytes_;
  FindSlot find_slot_;
  std::unordered_map<kernel::SlotId, llvm::Value*> slots_;
  std::map<kernel::SlotId, std::map<int, int>>
      pieces_;  // of local slots: vectors stored at known offsets, by first lane
  std::vector<llvm::MDNode*> scopes_, others_;
  llvm::MDNode* all_scopes_ = nullptr;
  std::map<std::uint32_t, llvm::Value*> vars_;
  std::optional<std::uint32_t> vector_var_;
  unsigned lanes_ = 1, piece_ = 1;
  llvm::Value* mask_ = nullptr;
  std::vector<kernel::Expr> kept_;  // whose nodes are keys of the following
  std::unordered_map<const void*, llvm::Value*> scalars_, vectors_;
  std::unordered_map<const void*, llvm::Value*> unrounded_scalars_, unrounded_vectors_;  // of narrow floats
  Variations variations_;  // with the variable along which vectors run
  // Elements of runs, each as lanes: by slot, first place and length.
  std::map<std::tuple<kernel::SlotId, const void*, std::int64_t, unsigned>, std::vector<llvm::Value*>> runs_;
  kernel::Ranges ranges_;
  Angles angles_;
  bool calls_functions_ = false, all_functions_called_ = false;
  llvm::BasicBlock* block_of_loads_ = nullptr;
  int loads_ = 0;
};

}  // namespace tenon::cpu
