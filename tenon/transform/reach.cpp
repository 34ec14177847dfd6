// Which outputs depend on which inputs: the masks that every rewriting run is given.
#include "tenon/ops/structure/collectives.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/transform/memo.h"
#include "tenon/transform/transforms.h"

namespace tenon {
namespace {

// What is asked of dependence: whether a value is computed from another, differs with it from lane to lane, or has a
// tangent where that one has.
enum class Asks : std::uint8_t { values, lanes, tangents };

Mask make_reach(const Program& program, const Mask& in, Recurse& recurse, Asks asks) {
  std::vector<bool> reached(program.vars(), false);
  const auto may = [&](Var v) { return asks != Asks::tangents || has_tangent(program.type(v)); };
  for (std::size_t i = 0; i < in.size(); ++i) reached[program.inputs()[i]] = in[i] && may(program.inputs()[i]);
  for (const Eqn& eqn : program.eqns()) {
    Mask operands;
    bool any = false;
    for (Var v : eqn.in) {
      operands.push_back(reached[v]);
      any = any || reached[v];
    }
    if (!any) continue;
    // What a lane is told of all lanes of its vmap is the same in each.
    if (asks == Asks::lanes && is_all_gather(*eqn.op) && operands[1]) continue;
    if (asks == Asks::tangents && eqn.op == &stop_gradient_op()) continue;
    if (eqn.op->split) {
      const Mask outs = eqn.op->split->reach(eqn.params, operands, recurse);
      for (std::size_t i = 0; i < eqn.out.size(); ++i) reached[eqn.out[i]] = outs[i] && may(eqn.out[i]);
    } else {
      for (Var v : eqn.out) reached[v] = may(v);
    }
  }
  Mask out;
  for (Var v : program.outputs()) out.push_back(reached[v]);
  return out;
}

class Transforms final : public Recurse {
 public:
  explicit Transforms(Asks asks) : asks_(asks) {}
  Mask reach(const ProgramRef& p, const Mask& in) override {
    static constinit Memo<Mask> memo;
    Hasher h;
    h("reach")(p->hash())(static_cast<int>(asks_));
    hash_mask(h, in);
    return memo.get(h.finish(), [&] { return make_reach(*p, in, *this, asks_); });
  }
  bool of_lanes() const override { return asks_ == Asks::lanes; }
  ProgramRef jvp(const ProgramRef& p, const Mask& in, const Mask& out) override { return tenon::jvp(p, in, out); }
  Partitioned partition(const ProgramRef& p, const PartitionRequest& r) override { return tenon::partition(p, r); }
  ProgramRef transpose(const ProgramRef& p, const TransposeRequest& r) override { return tenon::transpose(p, r); }
  ProgramRef vmap(const ProgramRef& p, const Mask& in, const Mask& out, const Dim& size) override {
    return tenon::vmap(p, in, out, size);
  }

 private:
  Asks asks_;
};

}  // namespace

Mask reach(const ProgramRef& program, const Mask& in) { return recurse().reach(program, in); }

Mask tangents_reach(const ProgramRef& program, const Mask& in) {
  static constinit Lasting<Transforms> transforms;
  return transforms.get([] { return Transforms(Asks::tangents); }).reach(program, in);
}

Recurse& recurse() {
  static constinit Lasting<Transforms> transforms;
  return transforms.get([] { return Transforms(Asks::values); });
}
Recurse& recurse_of_lanes() {
  static constinit Lasting<Transforms> transforms;
  return transforms.get([] { return Transforms(Asks::lanes); });
}

}  // namespace tenon
