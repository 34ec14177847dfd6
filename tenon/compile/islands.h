// Islands: eqns without a native form, and the native code around them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tenon/ir/program.h"
#include "tenon/ir/value.h"

namespace tenon {

struct Compilation;  // tenon/compile/compilation.h

// A Program as pieces that run one behind the other. In the native ones every eqn has a native form, for all sizes that
// it mentions; the others run op by op, loops whose bodies hold such eqns among them, whose bodies are
// cut in turn.
struct Pieces {
  struct Piece {
    bool native;
    ProgramRef program;
    std::vector<SizeVar> sizes;   // of the whole: its size parameters
    std::vector<Var> in, out;     // of the whole
    std::vector<Var> last_reads;  // of `in`: no later piece needs them
    bool decides = false;         // sizes: its results show them
  };
  std::vector<Piece> pieces;
};

// What is cut: a Program without native form, or the body of a loop or branch of one. The body of a loop runs again and
// again, which pays for code sooner; but lists would be copied in and out.
enum class PieceOf : std::uint8_t { program, body };

// Native where compiling is worth it: loops and branches, many eqns or many elements. There are as few pieces as one
// after the other depends on. Linear in the eqns; of a flat Program (flattened(), tenon/compile/plan/plan.h), or of a
// body of one.
Pieces cut_at_islands(const Program& program, PieceOf what);

// Runs a Program that has no native form as a whole.
std::vector<Value> run_pieces(const Program& program, std::span<const std::int64_t> sizes,
                              std::span<const Value> inputs, PieceOf what);

// Throws CompileError, with the line of the first one, where a Program that is to be compiled has islands.
void require_native(const Compilation& compilation);

// A line an island: its ops, the user's lines, and why it has no native form.
std::string islands_text(const Program& program);

}  // namespace tenon
