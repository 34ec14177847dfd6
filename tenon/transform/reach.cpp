// Which outputs depend on which inputs: the masks that every rewriting run is given.
#include "tenon/ops/collectives.h"
#include "tenon/transform/memo.h"
#include "tenon/transform/transforms.h"

namespace tenon {
namespace {

Mask make_reach(const Program& program, const Mask& in, Recurse& recurse) {
  std::vector<bool> reached(program.vars(), false);
  for (std::size_t i = 0; i < in.size(); ++i) reached[program.inputs()[i]] = in[i];
  for (const Eqn& eqn : program.eqns()) {
    Mask operands;
    bool any = false;
    for (Var v : eqn.in) {
      operands.push_back(reached[v]);
      any = any || reached[v];
    }
    if (!any) continue;
    // What a lane is told of all lanes of its vmap is the same in each.
    if (recurse.of_lanes() && is_all_gather(*eqn.op) && operands[1]) continue;
    if (eqn.op->split) {
      const Mask outs = eqn.op->split->reach(eqn.params, operands, recurse);
      for (std::size_t i = 0; i < eqn.out.size(); ++i) reached[eqn.out[i]] = outs[i];
    } else {
      for (Var v : eqn.out) reached[v] = true;
    }
  }
  Mask out;
  for (Var v : program.outputs()) out.push_back(reached[v]);
  return out;
}

class Transforms final : public Recurse {
 public:
  explicit Transforms(bool lanes) : lanes_(lanes) {}
  Mask reach(const ProgramRef& p, const Mask& in) override {
    static constinit Memo<Mask> memo;
    Hasher h;
    h("reach")(p->hash())(lanes_);
    hash_mask(h, in);
    return memo.get(h.finish(), [&] { return make_reach(*p, in, *this); });
  }
  bool of_lanes() const override { return lanes_; }
  ProgramRef jvp(const ProgramRef& p, const Mask& in, const Mask& out) override { return tenon::jvp(p, in, out); }
  Partitioned partition(const ProgramRef& p, const PartitionRequest& r) override { return tenon::partition(p, r); }
  ProgramRef transpose(const ProgramRef& p, const TransposeRequest& r) override { return tenon::transpose(p, r); }
  ProgramRef vmap(const ProgramRef& p, const Mask& in, const Mask& out, const Dim& size) override {
    return tenon::vmap(p, in, out, size);
  }

 private:
  bool lanes_;
};

}  // namespace

Mask reach(const ProgramRef& program, const Mask& in) { return recurse().reach(program, in); }

Recurse& recurse() {
  static constinit Lasting<Transforms> transforms;
  return transforms.get([] { return Transforms(false); });
}
Recurse& recurse_of_lanes() {
  static constinit Lasting<Transforms> transforms;
  return transforms.get([] { return Transforms(true); });
}

}  // namespace tenon
