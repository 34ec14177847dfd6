// The ops that hold Programs: loop, cond, call. Every spelling of control flow is one of these.
#pragma once

#include <functional>
#include <optional>

#include "tenon/ir/bind.h"

namespace tenon {

// Which carries of a loop reverse mode keeps; it runs the steps between them again.
enum class CheckpointKind : std::uint8_t {
  every,    // that of each `count`-th step
  binomial  // of `count` steps, chosen so that few steps are run again, also where their number is not known beforehand
};
struct Checkpoints {
  CheckpointKind kind = CheckpointKind::every;
  std::int64_t count = 1;
};

// loop {…} consts…, carries…, xs…  ->  final carries…, ys…
//   body: (consts…, carries…, one element of each xs…) -> (carries…, one element of each ys…)
//   cond: (consts…, carries…) -> bool[]; absent: the loop runs `length` times.
// An xs is an array whose axis 0 has `length`, or a list, which then decides the number of steps. A ys is an array
// stacked along axis 0 where `length` is given and there is no cond, else a list.
// Lists in step have as many elements, or none: the empty list is the zero of every length.
// reverse: step t reads and writes element n-1-t.
struct LoopParams {
  ProgramRef body;
  ProgramRef cond;  // may be null
  std::optional<Dim> length;
  bool reverse = false;
  std::int64_t consts = 0;
  std::int64_t carries = 0;
  bool lanes = false;  // body gives one more output, bool[B…]: the lanes whose ys of this step count (ys are lists)
  std::vector<Dim> body_sizes;  // one a size parameter of body, cond
  std::vector<Dim> cond_sizes;
  std::optional<Checkpoints> checkpoints;  // absent: reverse mode keeps what each step computes and the next ones need
};

// What the body of a loop with these operands takes at each step.
std::vector<Type> body_input_types(const LoopParams& params, std::span<const Type> operands);

// cond {…} index: i32[], operands…  ->  outputs of branches[clamp(index)](operands…); all branches agree in types.
struct CondParams {
  std::vector<ProgramRef> branches;
  std::vector<std::vector<Dim>> sizes;
};

// call {…} operands…  ->  outputs of the Program
struct CallParams {
  ProgramRef program;
  std::vector<Dim> sizes;
};

// list_active {axes, depth} lists…  ->  list of bool[B…], or list of lists where depth is 2, …: which lanes have an
// element there in one of the lists. Lanes run along the first axes of the lists' arrays, one axis a vmap, the
// outermost first.
Array list_active(std::span<const Array> lists, std::int64_t axes, std::int64_t depth = 1);
// list_select lanes: bool[B…], list, list  ->  list: of each lane the first list where `lanes` holds, else the second.
Array list_select(const Array& lanes, const Array& yes, const Array& no);
// list_sum list, list  ->  list: element by element; a list without elements is zero.
Array list_sum(const Array& a, const Array& b);
// Made of loops: a list without elements; the zero of any type.
Array empty_list(const Type& element);
Array zeros_of(const Type& type);
// A value, or all elements of a list, with a batch axis more in front.
Array one_for_all_lanes(const Array& a, const Dim& size);
Array sum_of_lanes(const Array& a);  // along their axis, the first one
// The type of the arrays inside of lists.
const Type& leaf_type(const Type& type);

const OpInfo& loop_op();
const OpInfo& cond_op();
// The ops call, call_unit and call_inlined.
const OpInfo& call_op(Placement placement = Placement::priced);

// Whether a Program has loops, in regions and calls too.
bool has_loops(const Program& program);

// Carries that the body gives on as they are become consts; their results are the operands.
Arrays loop(LoopParams params, std::span<const Array> operands);
Arrays cond(CondParams params, const Array& index, std::span<const Array> operands);
Arrays call(const ProgramRef& program, std::span<const Dim> sizes, std::span<const Array> operands,
            Placement placement = Placement::priced);
Arrays call(const ProgramRef& program, std::span<const Array> operands);  // sizes found from the operands

}  // namespace tenon
