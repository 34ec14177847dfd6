#include "tenon/compile/specialise.h"

#include "tenon/ir/replay.h"
#include "tenon/transform/memo.h"
#include "tenon/transform/transforms.h"

namespace tenon {

ProgramRef specialised(const Program& program, std::span<const std::int64_t> sizes) {
  static constinit Memo<ProgramRef> memo;
  Hasher h;
  h("specialised")(program.hash())(sizes.size());
  for (const std::int64_t s : sizes) h(s);
  return memo.get(h.finish(), [&] {
    const CompileTime no_trace;
    const std::vector<Dim> dims(sizes.begin(), sizes.end());
    Scope scope;
    const Replay types(program, dims);
    Arrays inputs;
    for (Var v : program.inputs()) inputs.push_back(scope.input(types.type(v)));
    return scope.finish(inline_program(program, dims, inputs), program.name()).program;
  });
}

}  // namespace tenon
