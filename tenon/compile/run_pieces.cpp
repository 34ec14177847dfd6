// Running a Program that has no native form as a whole: pieces in turn, native ones compiled, others by the evaluator.
#include "tenon/compile/executable.h"
#include "tenon/compile/islands.h"
#include "tenon/eval/evaluate.h"
#include "tenon/ir/unify.h"
#include "tenon/rewrite/count_steps.h"
#include "tenon/transform/memo.h"

namespace tenon {

std::size_t held_bytes(const std::shared_ptr<const Pieces>& pieces) {
  std::size_t bytes = sizeof(Pieces);
  for (const Pieces::Piece& piece : pieces->pieces)
    bytes += sizeof piece + held_bytes(piece.program) + (piece.in.size() + piece.out.size()) * sizeof(Var);
  return bytes;
}

namespace {

std::shared_ptr<const Pieces> pieces_of(const Program& program, PieceOf what) {
  static constinit Memo<std::shared_ptr<const Pieces>> memo;
  return memo.get(Hasher()("pieces")(program.hash())(what).finish(), [&] {
    auto pieces = std::make_shared<Pieces>(cut_at_islands(program, what));
    for (Pieces::Piece& piece : pieces->pieces)
      if (!piece.native) piece.program = count_steps(piece.program);
    return std::shared_ptr<const Pieces>(std::move(pieces));
  });
}

std::vector<Value> run_body(const Program& program, std::span<const std::int64_t> sizes, std::span<const Value> in) {
  return run_pieces(program, sizes, in, PieceOf::body);
}

class Run {
 public:
  Run(const Program& program, std::span<const std::int64_t> sizes) : program_(program), values_(program.vars()) {
    for (std::size_t i = 0; i < sizes.size(); ++i) sizes_.emplace(program.size_params()[i], Dim(sizes[i]));
  }

  std::vector<Value> run(const Pieces& pieces, std::span<const Value> inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) values_[program_.inputs()[i]] = inputs[i];
    for (const Pieces::Piece& piece : pieces.pieces) step(piece);
    std::vector<Value> outputs;
    for (Var v : program_.outputs()) outputs.push_back(values_[v]);
    return outputs;
  }

 private:
  void step(const Pieces::Piece& piece) {
    std::vector<Value> in;
    for (Var v : piece.in) in.push_back(values_[v]);
    for (Var v : piece.last_reads) values_[v] = Value();
    std::vector<std::int64_t> sizes;
    for (SizeVar s : piece.sizes) sizes.push_back(sizes_.at(s).value());
    std::vector<Value> out =
        piece.native ? compile(piece.program)->run(in, sizes) : evaluate(*piece.program, sizes, in, run_body);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const Var v = piece.out[i];
      if (piece.decides) unify(program_.type(v), type_of(out[i]), sizes_);
      values_[v] = std::move(out[i]);
    }
  }
  const Program& program_;
  SizeBinding sizes_;
  std::vector<Value> values_;
};

}  // namespace

std::vector<Value> run_pieces(const Program& program, std::span<const std::int64_t> sizes,
                              std::span<const Value> inputs, PieceOf what) {
  const std::shared_ptr<const Pieces> cut = pieces_of(program, what);
  if (cut->pieces.size() == 1 && !cut->pieces[0].native && what == PieceOf::body)
    return evaluate(program, sizes, inputs, run_body);
  return Run(program, sizes).run(*cut, inputs);
}

}  // namespace tenon
