#include "tenon/compile/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "tenon/base/factors.h"
#include "tenon/base/stack.h"
#include "tenon/compile/compilation.h"
#include "tenon/compile/in_place.h"
#include "tenon/compile/islands.h"
#include "tenon/compile/pipeline.h"
#include "tenon/kernel/analysis/rows.h"
#include "tenon/rewrite/hoist_reductions.h"
#include "tenon/rewrite/share_calls.h"

namespace tenon {
namespace {

using kernel::Expr;
using kernel::SlotId;

std::string bytes_text(double bytes) { return grouped(bytes) + (bytes == 1 ? " byte" : " bytes"); }

// What the expressions of a kernel compute at one index; offsets of loads are not looked into.
struct Counted {
  std::map<std::string_view, int> ops;
  std::map<SlotId, double> reads;  // elements at one index
  int operations = 0;
  std::set<const void*> seen;

  void add(const Expr& e) {
    if (!e || !seen.insert(e.identity()).second) return;
    switch (e.kind()) {
      case Expr::Kind::load:
        ++reads[e.node().id];
        return;
      case Expr::Kind::unary:
        count(kernel::name(e.node().unary));
        break;
      case Expr::Kind::binary:
        count(kernel::name(e.node().binary));
        break;
      case Expr::Kind::select:
        count("select");
        break;
      case Expr::Kind::convert:
        count("convert");
        break;
      case Expr::Kind::bitcast:
        count("bitcast");
        break;
      default:
        return;
    }
    for (const auto& operand : e.node().operands)
      if (operand) add(Expr(operand));
  }
  void count(std::string_view name) {
    ++ops[name];
    ++operations;
  }
  std::string text() const {
    std::string text;
    for (const auto& [name, times] : ops)
      text += fmt::format("{}{}{}", text.empty() ? "" : ", ", name, times > 1 ? fmt::format(" ×{}", times) : "");
    return text.empty() ? "moves elements" : text;
  }
};

std::string name_of(const Program& unit) { return unit.name().empty() ? "a function" : unit.name(); }

std::string section(std::string_view title, const std::string& lines) {
  return lines.empty() ? std::string() : fmt::format("{}:\n{}", title, lines);
}

class Explanation {
 public:
  Explanation(const kernel::Function& f, const Units& units) : f_(f) {
    std::unordered_map<const void*, ProgramRef> at;
    for (const auto& slot : units) at.emplace(&slot->unit, slot->program);
    for (std::uint32_t k = 0; k < f.objects.size(); ++k)
      if (const auto unit = at.find(f.objects[k]); unit != at.end()) called_.emplace(k, Called{unit->second});
  }

  void run() { block(f_.body, 1, 1); }

  // What a function does with the units that it calls; a call's arena is its own and the largest of theirs.
  struct Totals {
    double operations = 0, moved = 0, arena = 0;
  };
  // Units, by their Programs' hashes, and what each does, those that another calls first.
  struct Known {
    std::map<Hash128, Totals> totals;
    std::string text;  // what is told of each, by its name
  };
  Totals totals(Known& known) const {
    Totals all{operations, moved, 0};
    for (const auto& [number, called] : called_) {
      const Totals& unit = totals_of(called.program, known);
      all.operations += called.times * unit.operations;
      all.moved += called.times * unit.moved;
      all.arena = std::max(all.arena, unit.arena);
    }
    all.arena += kernel::estimate(f_.arena_bytes);
    return all;
  }
  std::string units(Known& known) const {
    std::string lines;
    for (const auto& [number, called] : called_) {
      const Totals& unit = totals_of(called.program, known);
      lines += fmt::format("  {}: {} eqns, {} operations and {} moved a call, called {} times\n",
                           name_of(*called.program), called.program->eqns().size(), grouped(unit.operations),
                           bytes_text(unit.moved), grouped(called.times));
    }
    return lines;
  }

  // What it does, in order, and the products among that. `of`: whose these are.
  std::string text(const std::string& of) const {
    return section("steps" + of, steps) + section("library calls" + of + " (matrix products)", products);
  }

  std::string steps, products;
  int kernels = 0, product_count = 0;
  double operations = 0, moved = 0;

 private:
  template <class... T>
  void line(int depth, fmt::format_string<T...> form, T&&... values) {
    steps.append(2 * static_cast<std::size_t>(depth), ' ');
    steps += fmt::format(form, std::forward<T>(values)...);
    steps.push_back('\n');
  }

  void block(const kernel::Block& statements, int depth, double times) {
    for (const kernel::Statement& s : statements)
      std::visit([&](const auto& held) { tell(held, depth, times); }, s.held());
  }

  bool in_memory(SlotId slot) const { return f_.slots[slot].place != kernel::Slot::Place::local; }

  // A kernel of n indices that also stores `written` elements of the slots given.
  void kernel(const Counted& c, double n, const std::map<SlotId, double>& written, const std::string& what,
              const Source& where, int depth, double times) {
    double read = 0, wrote = 0;
    for (const auto& [slot, each] : c.reads)
      if (in_memory(slot))
        read += std::min(each * n, kernel::estimate(f_.slots[slot].elements)) *
                static_cast<double>(size_of(f_.slots[slot].dtype));
    for (const auto& [slot, elements] : written)
      if (in_memory(slot)) wrote += elements * static_cast<double>(size_of(f_.slots[slot].dtype));
    line(depth, "kernel {}: {}; {} operations, {} read, {} written{}", ++kernels, what, grouped(c.operations * n),
         bytes_text(read), bytes_text(wrote), where.at_text());
    operations += c.operations * n * times;
    moved += (read + wrote) * times;
  }

  static std::string extent(const kernel::Sizes& sizes) { return Shape(sizes).text(); }

  void tell(const kernel::Nest& n, int depth, double times) {
    Counted c;
    std::map<SlotId, double> written;
    std::string types;
    for (const kernel::Store& s : n.stores) {
      c.add(s.value), c.add(s.condition);
      written[s.slot] += kernel::estimate(n.sizes);
      types += fmt::format("{}{}{}", types.empty() ? "" : ", ", name(f_.slots[s.slot].dtype), extent(n.sizes));
    }
    kernel(c, kernel::estimate(n.sizes), written, c.text() + " -> " + types, n.where, depth, times);
  }

  void tell(const kernel::Reduce& r, int depth, double times) {
    constexpr std::string_view names[]{"sum", "product", "max", "min", "all", "any"};
    const std::vector<kernel::Reduce::Result> results = r.results();
    Counted c;
    for (const kernel::Reduce::Result& result : results) c.add(result.value);
    for (const kernel::Store& s : r.stores) c.add(s.value);
    const std::string inside = c.ops.empty() ? std::string() : " of " + c.text();
    std::string combines, types;
    std::map<SlotId, double> written;
    for (const kernel::Reduce::Result& result : results) {
      const std::string_view combine = names[static_cast<std::size_t>(result.combine)];
      c.count(combine);
      combines += fmt::format("{}{}", combines.empty() ? "" : ", ", combine);
      types +=
          fmt::format("{}{}{}", types.empty() ? "" : ", ", name(f_.slots[result.slot].dtype), extent(r.outer_sizes));
      written[result.slot] += kernel::estimate(r.outer_sizes);
    }
    const double n = kernel::estimate(r.outer_sizes) * kernel::estimate(r.inner_sizes);
    for (const kernel::Store& s : r.stores) written[s.slot] += n;
    kernel(c, n, written, fmt::format("{} over {}{} -> {}", combines, extent(r.inner_sizes), inside, types), r.where,
           depth, times);
  }

  void tell(const kernel::Copy& c, int depth, double times) {
    const double bytes = kernel::estimate(c.elements) * static_cast<double>(size_of(f_.slots[c.to].dtype));
    line(depth, "copy of {}{}", bytes_text(bytes), c.where.at_text());
    if (!in_memory(c.to) && !in_memory(c.from)) return;  // between registers
    moved += 2 * bytes * times;
  }

  void tell(const kernel::Product& p, int depth, double times) {
    const double work = 2.0 * kernel::estimate({p.batch, p.m, p.n, p.k});
    const DType of_a = f_.slots[p.a].dtype, of_b = f_.slots[p.b].dtype;
    const bool narrow = are_factors(of_a, of_b, p.dtype);
    const std::string what = fmt::format("{}{} · {}{}{}{}", name(narrow ? of_a : p.dtype), extent({p.m, p.k}),
                                         narrow && of_a != of_b ? name(of_b) : "", extent({p.k, p.n}),
                                         narrow ? fmt::format(" to {}", name(p.dtype)) : "",
                                         p.batch == Dim(1) ? "" : fmt::format(", batch of {}", p.batch.text()));
    line(depth, "product {}: {}; {} operations{}", ++product_count, what, grouped(work), p.where.at_text());
    products += fmt::format("  {}: {}{}; {} operations{}\n", product_count, what,
                            times > 1 ? fmt::format(", {} times", grouped(times)) : "", grouped(work * times),
                            p.where.at_text());
    operations += work * times;
    const auto bytes = [&](const Dim& rows, const Dim& columns, DType d) {
      return kernel::estimate(p.batch * rows * columns) * static_cast<double>(size_of(d));
    };
    moved += (bytes(p.m, p.k, narrow ? of_a : p.dtype) + bytes(p.k, p.n, narrow ? of_b : p.dtype) +
              bytes(p.m, p.n, p.dtype)) *
             times;
  }

  void tell(const kernel::Element& e, int depth, double) {
    line(depth, "{} of a list, {}", e.access == kernel::Element::Access::read ? "an element" : "a new element",
         bytes_text(kernel::estimate(e.bytes)));
  }
  void tell(const kernel::Call& c, int depth, double times) {
    if (c.function != call_of_unit) return line(depth, "call of {}{}", c.function, c.where.at_text());
    Called& called = called_.at(*f_.slots[*c.arguments[0].address].object);
    called.times += times;
    line(depth, "call of {}{}", name_of(*called.program), c.where.at_text());
  }

  void tell(const kernel::For& f, int depth, double times) {
    line(depth, "loop of {} steps:", f.count.known() ? grouped(kernel::estimate(f.count)) : f.count.text());
    block(f.body, depth + 1, times * kernel::estimate(f.count));
  }
  void tell(const kernel::While& w, int depth, double times) {
    line(depth, "loop while a condition holds, which is computed by:");
    block(w.before, depth + 1, times);
    line(depth, "and whose step is:");
    block(w.body, depth + 1, times);
  }
  void tell(const kernel::Switch& s, int depth, double times) {
    for (std::size_t i = 0; i < s.branches.size(); ++i) {
      line(depth, "branch {} of {}:", i, s.branches.size());
      block(s.branches[i], depth + 1, times);
    }
  }
  void tell(const kernel::Blocks& b, int depth, double times) {
    line(depth, "in {} blocks of rows{}:",
         b.count.known() ? grouped(kernel::estimate(b.count) + (b.tail.empty() ? 0 : 1)) : b.count.text(),
         b.parallel ? ", divided among the threads" : "");
    block(b.body, depth + 1, times * kernel::estimate(b.count));
    if (b.tail.empty()) return;
    line(depth, "and for the rows that fill no block:");
    block(b.tail, depth + 1, times);
  }

  static const Totals& totals_of(const ProgramRef& program, Known& known) {
    if (const auto found = known.totals.find(program->hash()); found != known.totals.end()) return found->second;
    require_stack();
    const Compilation unit = compilation_of(program);
    Explanation explanation(unit.planned->function, unit.planned->units);
    explanation.run();
    const Totals& totals = known.totals.emplace(program->hash(), explanation.totals(known)).first->second;
    known.text += explanation.text(" of " + name_of(*program));
    return totals;
  }

  struct Called {
    ProgramRef program;
    double times = 0;
  };
  const kernel::Function& f_;
  std::map<std::uint32_t, Called> called_;  // units, by their number among the function's objects
};

// Of a Program without native form all are inlined.
std::string calls_text(const ProgramRef& program, bool native) {
  std::string lines;
  for (CalledFunction f : called_functions(program)) {
    if (f.unit && !native) f = {f.name, f.eqns, f.times, false, "the whole has no native form", f.where};
    lines += fmt::format("  {}, {} eqns, called {}{}: {}: {}\n", f.name.empty() ? "a function" : f.name,
                         grouped(f.eqns), f.times == 1 ? "once" : grouped(f.times) + " times", f.where.at_text(),
                         f.unit ? "a unit" : "inlined", f.reason);
  }
  return section("functions that are called", lines);
}

std::string kept_text(const Report& report) {
  double sum = 0;
  std::string lines;
  for (const Report::Kept& k : report.kept) {
    sum += static_cast<double>(k.bytes);
    lines += fmt::format("  {}, {}{}\n", k.value, bytes_text(static_cast<double>(k.bytes)), k.where.at_text());
  }
  return section(fmt::format("kept for reverse mode, {}", bytes_text(sum)), lines);
}

// A line a rule and place.
std::string applied_text(const Report& report) {
  std::string lines;
  std::map<std::string, int> times;
  std::vector<std::string> order;
  for (const Applied& a : report.applied) {
    std::string line =
        fmt::format("\"{}\" ({}){}: {} as {}", a.rule, name(a.exactness), a.where.at_text(), a.before, a.after);
    if (++times[line] == 1) order.push_back(std::move(line));
  }
  for (const std::string& line : order)
    lines += fmt::format("  {}{}\n", line, times[line] > 1 ? fmt::format(", {} times", times[line]) : "");
  return section("rewritten by rules", lines);
}

// Of what loops stack: the reductions that they take in, why others stay behind them, and what else reads a stack.
std::string hoists_text(const ProgramRef& program, const Report& report) {
  const std::span<const ProgramPass> passes = compile_passes();
  const auto hoists = std::ranges::find(passes, "hoist_reductions", &ProgramPass::name);
  const auto line_of = [](const auto& note) {
    return fmt::format("  {}{}, of the loop{}", note.value, note.where.at_text(), note.loop.at_text());
  };
  std::string moved, others, stacks;
  for (const Report::Taken& taken : report.taken) moved += line_of(taken) + "\n";
  const auto notes =
      is_left_out(hoists->name) ? std::vector<HoistNote>() : hoist_notes(run_passes({passes.begin(), hoists}, program));
  for (const HoistNote& note : notes) {
    const std::string line = line_of(note);
    if (note.stack)
      stacks += fmt::format("{}: {}\n", line, note.stays);
    else if (note.stays.empty())
      moved += line + "\n";
    else
      others += fmt::format("{}: {}\n", line, note.stays);
  }
  return section("reductions taken into loops", moved) + section("reductions that stay behind loops", others) +
         section("stacks of loops that are stored", stacks);
}

// Of a Program that has no native form as a whole.
std::string pieces_text(const Program& flat) {
  int native = 0, others = 0;
  std::size_t eqns = 0;
  for (const Pieces::Piece& piece : cut_at_islands(flat, PieceOf::program).pieces) {
    ++(piece.native ? native : others);
    if (!piece.native) eqns += piece.program->eqns().size();
  }
  const std::string by_evaluator = fmt::format("{} eqns by the reference evaluator, one by one", eqns);
  return (native == 0
              ? "runs " + by_evaluator + "\n"
              : fmt::format("runs in pieces: {} of native code, {} between them; {}\n", native, others, by_evaluator)) +
         section("without native form", islands_text(flat));
}

}  // namespace

std::string explain(const ProgramRef& program, const std::vector<bool>& donated, Report given) {
  double arguments = 0, results = 0;
  for (const Type& t : program->input_types()) arguments += static_cast<double>(t.known_bytes());
  for (const Type& t : program->output_types()) results += static_cast<double>(t.known_bytes());
  const std::string head = fmt::format("{} arguments, {}; {} results, {}\n", program->inputs().size(),
                                       bytes_text(arguments), program->outputs().size(), bytes_text(results));
  const Compilation c = compilation_of(program, donated, Reasons::reported, std::move(given));
  const Report& report = c.report;
  if (c.for_each_size()) return fmt::format("{}compiled for each of its sizes: {}\n", head, c.not_native);
  if (!c.native())
    return head + pieces_text(*c.flat) + applied_text(report) + hoists_text(program, report) +
           calls_text(program, false) + kept_text(report);
  const auto& [function, shared, units, found] = *c.planned;
  Explanation explanation(function, units);
  explanation.run();
  double in_place = 0;
  for (std::size_t i = 0; i < shared.size(); ++i)
    if (shared[i]) in_place += static_cast<double>(c.flat->type(c.flat->outputs()[i]).known_bytes());
  double registers = 0;
  for (const kernel::Slot& s : function.slots)
    if (s.place == kernel::Slot::Place::local)
      registers += kernel::estimate(s.elements) * static_cast<double>(size_of(s.dtype));
  Explanation::Known known;
  const Explanation::Totals all = explanation.totals(known);
  std::string text = head;
  text += fmt::format("native code: {} kernels, {} products, {} operations, {} moved\n", explanation.kernels,
                      explanation.product_count, grouped(all.operations), bytes_text(all.moved));
  text += fmt::format(
      "memory: at most {}: arguments, results and {} of intermediate values; {} in registers or on the stack\n",
      bytes_text(arguments + results - in_place + all.arena), bytes_text(all.arena), bytes_text(registers));
  if (function.lists) text += "lists: as much more as the steps of their loops keep\n";
  if (in_place > 0) text += fmt::format("donated: {} of results in the arguments' memory\n", bytes_text(in_place));
  const std::string called =
      section("functions that are compiled by themselves", explanation.units(known)) + known.text;
  std::string cuts, copies;
  for (const Copied& copy : copied(function)) copies += "  " + copy.text() + "\n";
  for (const Report::Cut& cut : report.cuts)
    cuts += fmt::format("  {}, {}: {}{}\n", cut.value, bytes_text(static_cast<double>(cut.bytes)), cut.reason,
                        cut.where.at_text());
  return text + section("steps", explanation.steps) + applied_text(report) + hoists_text(program, report) +
         calls_text(program, true) + called + section("library calls (matrix products)", explanation.products) +
         kept_text(report) + section("stored instead of being computed in what reads it", cuts) +
         section("copies that could not be avoided", copies);
}

}  // namespace tenon
