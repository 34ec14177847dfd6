#include "tenon/api/residuals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "tenon/api/kept.h"
#include "tenon/api/ref_states.h"
#include "tenon/ir/literal.h"
#include "tenon/ops/control/region.h"
#include "tenon/ops/elementwise/bits.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/rewrite/delta_stacks.h"
#include "tenon/transform/transforms.h"

namespace tenon {
namespace {

std::int64_t bytes_of(const Type& type) {
  if (!type.is_array()) return bytes_of(*type.element);
  std::int64_t bytes = static_cast<std::int64_t>(size_of(type.dtype));
  for (const Dim& d : type.shape) bytes *= d.known() ? d.value() : 1;
  return bytes;
}

}  // namespace

std::int64_t SavedResiduals::bytes() const {
  std::int64_t sum = 0;
  for (const SavedResidual& r : all)
    if (r.from == SavedResidual::From::stored) sum += r.bytes;
  return sum;
}

std::string SavedResiduals::text() const {
  using From = SavedResidual::From;
  const auto stored = std::ranges::count(all, From::stored, &SavedResidual::from);
  std::string text =
      fmt::format("{} bytes are kept for reverse mode, in {} array{}\n", bytes(), stored, stored == 1 ? "" : "s");
  for (const SavedResidual& r : all) {
    text += "  " + r.type.text();
    if (r.from == From::stored) text += fmt::format("  {} bytes{}", r.bytes, r.type.is_array() ? "" : " a step");
    text += "  " + r.name;
    if (r.encoding == SavedResidual::Encoding::changes) text += ", as what each step changes,";
    if (r.encoding == SavedResidual::Encoding::bits) text += ", as bits,";
    text += r.where.at_text();
    text += "\n";
  }
  return text;
}

std::ostream& operator<<(std::ostream& out, const SavedResiduals& residuals) { return out << residuals.text(); }

std::string SavedResiduals::details() const {
  using From = SavedResidual::From;
  using Encoding = SavedResidual::Encoding;
  const auto stored = std::ranges::count(all, From::stored, &SavedResidual::from);
  std::string text =
      fmt::format("{} bytes are kept for reverse mode, in {} array{}\n", bytes(), stored, stored == 1 ? "" : "s");
  for (const SavedResidual& r : all) {
    text += fmt::format("  {}  {}{}\n", r.type.text(), r.name, r.where.at_text());
    if (r.from == From::stored) {
      text += fmt::format("    {} bytes", r.bytes);
      if (r.encoding == Encoding::list) text += " a step, of as many steps as data count";
      if (r.steps && *r.steps > 0)
        text += fmt::format(", {} a step of {}", (r.bytes + *r.steps - 1) / *r.steps, *r.steps);
      if (r.encoding == Encoding::changes) text += ", as the last one and what each step changes";
      if (r.encoding == Encoding::bits) text += ", as bits";
      text += "\n";
    }
    if (!r.reader.empty()) text += fmt::format("    for: {}\n", r.reader);
    text += fmt::format("    kept: {}\n", r.why);
    if (!r.remedy.empty()) text += fmt::format("    less: {}\n", r.remedy);
  }
  return text;
}

namespace api_detail {

Type Origin::kept_type(const Type& stack) const {
  if (!booleans) return stack;
  if (stack.is_list()) return Type::list(kept_type(*stack.element));
  std::vector<Dim> dims(stack.shape.begin(), stack.shape.end() - static_cast<std::ptrdiff_t>(packed_rank));
  dims.insert(dims.end(), booleans->shape.begin(), booleans->shape.end());
  return Type::array(DType::bool_, Shape(std::move(dims)));
}

Origin origin_of(const Program& program, Var v) {
  for (const Eqn& eqn : program.eqns()) {
    const auto out = std::ranges::find(eqn.out, v);
    if (out == eqn.out.end()) continue;
    if (eqn.op == &pack_bits_op()) {
      Var booleans = eqn.in[0];
      for (const Eqn& e : program.eqns())
        if (e.op == &reshape_op() && e.out[0] == booleans) booleans = e.in[0];
      Origin origin = origin_of(program, booleans);
      if (origin.op.empty()) origin = {.op = "a carry of the loop", .where = eqn.where};
      origin.booleans = program.type(booleans);
      origin.packed_rank = program.type(v).rank();
      return origin;
    }
    Origin origin{std::string(eqn.op->name), eqn.where, &eqn, {}, &program};
    const auto index = static_cast<std::size_t>(out - eqn.out.begin());
    const bool of_loop = eqn.op == &loop_op();
    const bool stacks = of_loop && index >= static_cast<std::size_t>(eqn.params.as<LoopParams>().carries);
    bool carried = stacks;
    // A region's Programs give its outputs in order; a branch that was not taken gives plain zeros.
    eqn.params.visit_programs([&](const ProgramRef& inside) {
      if (!inside || index >= inside->outputs().size()) return;
      if (eqn.op == &loop_op() && inside != eqn.params.as<LoopParams>().body) return;
      Origin deeper = origin_of(*inside, inside->outputs()[index]);
      if (deeper.op.empty() ||
          (deeper.eqn != nullptr && (deeper.eqn->op == &literal_op() || deeper.eqn->op == &broadcast_op())))
        return;
      deeper.around.insert(deeper.around.begin(), &eqn);
      if (of_loop && !stacks) deeper.eqn = &eqn, deeper.program = &program, deeper.around.clear();
      origin = std::move(deeper);
      carried = false;
    });
    if (carried) {
      origin.op = "a carry of the loop";
      origin.around.push_back(&eqn);
    }
    return origin;
  }
  return {};
}

namespace {

// The first eqn that reads a variable, looked up inside of regions and calls.
const Eqn* reader_of(const Program& program, Var v) {
  for (const Eqn& eqn : program.eqns()) {
    const auto in = std::ranges::find(eqn.in, v);
    if (in == eqn.in.end()) continue;
    const Eqn* reader = &eqn;
    const auto index = static_cast<std::size_t>(in - eqn.in.begin()) - (eqn.op == &cond_op() ? 1 : 0);
    eqn.params.visit_programs([&](const ProgramRef& inside) {
      if (!inside || index >= inside->inputs().size() || reader != &eqn) return;
      if (eqn.op == &loop_op() && inside != eqn.params.as<LoopParams>().body) return;
      if (const Eqn* deeper = reader_of(*inside, inside->inputs()[index])) reader = deeper;
    });
    return reader;
  }
  return nullptr;
}

// The loop that stacks a value, the outermost.
const Eqn* stacking_loop(const Origin& origin) {
  for (const Eqn* eqn : origin.around)
    if (eqn->op == &loop_op()) return eqn;
  return nullptr;
}

std::int64_t bytes_of_carries(const LoopParams& p) {
  std::int64_t bytes = 0;
  for (std::int64_t i = 0; i < p.carries; ++i)
    bytes += bytes_of(p.body->type(p.body->inputs()[static_cast<std::size_t>(p.consts + i)]));
  return bytes;
}

bool made_again(const Eqn& eqn) { return rule_of<LowerElement>(*eqn.op) != nullptr; }

std::string why_kept(const Origin& origin, const Eqn* reader) {
  if (reader != nullptr && reader->op == &loop_again_op()) return "the steps behind it are run again from there";
  if (origin.eqn == nullptr) return "nothing smaller gives it";
  if (origin.op == "a carry of the loop") return "each step is made of the one before";
  if (!made_again(*origin.eqn)) return fmt::format("{} is not computed again", origin.eqn->op->name);
  return "what it is made of is no smaller";
}

// A checkpoint that keeps less, where there is one. `together`: bytes that the same loop keeps in all.
std::string remedy_of(const Origin& origin, const Eqn* reader, std::int64_t together) {
  if (reader != nullptr && reader->op == &loop_again_op())
    return fmt::format("fewer checkpoints of the loop{}, whose steps are run again more often then",
                       reader->where.at_text());
  if (const Eqn* loop = stacking_loop(origin)) {
    const auto& p = loop->params.as<LoopParams>();
    const std::int64_t carries = bytes_of_carries(p);
    if (!p.length || p.cond)
      return fmt::format("the option checkpoints = n of the loop{} keeps n carries of {} bytes", loop->where.at_text(),
                         carries);
    if (!p.length->known()) return {};
    const std::int64_t steps = p.length->value();
    const auto every =
        static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(std::max<std::int64_t>(steps, 1)))));
    const std::int64_t less =
        (steps + every - 1) / every * carries + every * together / std::max<std::int64_t>(steps, 1);
    if (less >= together) return {};
    return fmt::format("the option checkpoint = tn::every({}) of the loop{} keeps about {} bytes instead of {}", every,
                       loop->where.at_text(), less, together);
  }
  if (origin.eqn == nullptr || origin.program == nullptr || origin.eqn->in.empty()) return {};
  std::string operands;
  for (const Var v : origin.eqn->in) operands += (operands.empty() ? "" : ", ") + origin.program->type(v).text();
  return fmt::format("tn::checkpoint of the function that calls {}{} computes it again, from {}", origin.eqn->op->name,
                     origin.eqn->where.at_text(), operands);
}

}  // namespace

SavedResiduals saved_residuals_flat(FlatFunction f, const Arguments& arguments) {
  const TracedFunction traced = trace_flat(f, arguments.leaves, writes_refs, knows_values(),
                                           TracedFor::derivative(arguments.leaves, arguments.chosen));
  Mask active = arguments.chosen, differentiated;
  for (std::size_t i = 0; i < active.size(); ++i) active[i] = active[i] && has_tangent(arguments.leaves[i].type());
  const RefsOfDerivative refs("saved_residuals", traced, active);  // nothing is written: it is only told
  active.resize(traced.program->inputs().size(), false);
  for (Var v : traced.program->outputs())
    differentiated.push_back(differentiated.size() < traced.results() && has_tangent(traced.program->type(v)));
  const Partitioned parts =
      linearize(traced.program, refs.with_states_in(active), refs.with_states_out(differentiated));
  const ProgramRef first = inline_calls(parts.first);
  const std::vector<std::string> paths = arguments.paths();
  SavedResiduals saved;
  struct Told {
    std::size_t residual;
    Origin origin;
    const Eqn* reader;
  };
  std::vector<Told> told;
  const std::size_t linear = parts.second->inputs().size() - parts.residuals.size();
  for (const auto& r : parts.residuals) {
    using From = SavedResidual::From;
    SavedResidual residual{.from = From::stored, .type = r.type, .bytes = bytes_of(r.type)};
    if (!r.type.is_array()) residual.encoding = SavedResidual::Encoding::list;
    const Eqn* reader = reader_of(*parts.second, parts.second->inputs()[linear + saved.all.size()]);
    if (reader != nullptr) residual.reader = std::string(reader->op->name) + reader->where.at_text();
    if (r.from == Partitioned::Residual::From::input) {
      const bool given = r.index < paths.size();
      residual.from = given ? From::argument : From::capture;
      residual.name = given ? argument_name(paths[r.index]) : "an array that the function captures";
      residual.why = "it is there anyway";
    } else {
      const bool result = r.from == Partitioned::Residual::From::output;
      const std::size_t index = result ? r.index : differentiated.size() + r.index;
      const Origin origin = origin_of(*parts.first, parts.first->outputs()[index]);
      residual.name = result ? "a result" : origin.op;
      residual.where = origin.where;
      residual.why = result ? "it is there anyway" : why_kept(origin, reader);
      if (result) {
        residual.from = From::result;
      } else {
        residual.type = origin.kept_type(r.type);
        if (origin.booleans && r.type.is_array()) residual.encoding = SavedResidual::Encoding::bits;
        if (const auto less = delta_bytes(*first, first->outputs()[index])) {
          residual.encoding = SavedResidual::Encoding::changes;
          residual.bytes = static_cast<std::int64_t>(*less);
        }
        if (const Eqn* loop = stacking_loop(origin); loop != nullptr && r.type.is_array() && r.type.shape[0].known())
          residual.steps = r.type.shape[0].value();
        told.push_back({saved.all.size(), origin, reader});
      }
    }
    saved.all.push_back(std::move(residual));
  }
  for (const Told& t : told) {
    std::int64_t together = 0;
    for (const Told& other : told)
      if (stacking_loop(other.origin) == stacking_loop(t.origin)) together += saved.all[other.residual].bytes;
    saved.all[t.residual].remedy = remedy_of(t.origin, t.reader, together);
  }
  return saved;
}

}  // namespace api_detail
}  // namespace tenon
