#include "tenon/compile/islands.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "tenon/base/error.h"
#include "tenon/compile/compilation.h"
#include "tenon/ir/estimate.h"
#include "tenon/ir/replay.h"

namespace tenon {
namespace {

// f(size) for the sizes that an eqn mentions, beside those that it decides itself.
template <class F>
void visit_sizes(const Program& program, const Eqn& eqn, F f) {
  const auto of = [&](const Dim& d) {
    d.visit_variables([&](SizeVar s) {
      if (std::ranges::find(eqn.new_sizes, s) == eqn.new_sizes.end()) f(s);
    });
  };
  eqn.params.visit_dims(of);
  for (Var v : eqn.in) program.type(v).visit_dims(of);
  for (Var v : eqn.out) program.type(v).visit_dims(of);
}

class Cut {
 public:
  Cut(const Program& program, PieceOf what) : program_(program), what_(what), first_of_(program.vars(), 0) {
    for (SizeVar s : program.size_params()) known_at_.emplace(s, 0);
    for (const Eqn& eqn : program.eqns()) levels_.push_back(level_of(eqn));
    drop_small_pieces();
  }

  Pieces run() {
    // Neighbours without native form are one piece: native levels are even, and the small ones among them no more
    // native.
    std::vector<std::pair<bool, std::vector<std::size_t>>> groups;
    for (std::size_t level = 0; level < members_.size(); ++level) {
      if (members_[level].empty()) continue;
      const bool native = is_native(level);
      if (groups.empty() || native || groups.back().first) groups.emplace_back(native, std::vector<std::size_t>());
      auto& eqns = groups.back().second;
      eqns.insert(eqns.end(), members_[level].begin(), members_[level].end());
    }
    for (auto& [native, eqns] : groups) std::ranges::sort(eqns);
    if (what_ == PieceOf::program && groups.size() == 1)
      groups[0].first = false;  // else it had a native form as a whole
    find_readers(groups);
    Pieces result;
    for (std::size_t g = 0; g < groups.size(); ++g)
      result.pieces.push_back(piece(g, groups[g].first, groups[g].second));
    return result;
  }

 private:
  static bool is_native(std::size_t level) { return level % 2 == 0; }
  bool is_given(SizeVar s) const {
    return std::ranges::find(program_.size_params(), s) != program_.size_params().end();
  }

  // Whether an eqn is native for sizes that are known by then.
  bool has_native_form(const Eqn& eqn) const {
    if (!eqn.op->lower) return false;
    bool sized = false;
    visit_sizes(program_, eqn, [&](SizeVar) { sized = true; });
    sized = sized && eqn.new_sizes.empty();
    if (what_ == PieceOf::body) {
      const auto is_list = [&](Var v) { return program_.type(v).is_list(); };
      if (std::ranges::any_of(eqn.in, is_list) || std::ranges::any_of(eqn.out, is_list)) return false;
    }
    // Before sizes are known, only bodies could tell more: the code for them is cut again.
    return sized || why_not_native(program_, eqn).empty();
  }

  // The first piece it may be in: behind those that make its operands, that decide its sizes, and that have effects
  // before it.
  std::size_t level_of(const Eqn& eqn) {
    const bool native = has_native_form(eqn);
    std::size_t level = 0;
    for (Var v : eqn.in) level = std::max(level, first_of_[v]);
    // What is compiled for sizes that are known comes behind the piece that finds them.
    const bool waits = native && !why_not_native(program_, eqn).empty();
    visit_sizes(program_, eqn,
                [&](SizeVar s) { level = std::max(level, known_at_.at(s) + (waits && !is_given(s) ? 1 : 0)); });
    const bool effect = effect_of(eqn) != Effect::none;
    if (effect) level = std::max(level, last_effect_);
    if (is_native(level) != native) ++level;
    for (Var v : eqn.out) first_of_[v] = level;
    for (SizeVar s : eqn.new_sizes) known_at_.emplace(s, level);
    if (effect) last_effect_ = level;
    return level;
  }

  void drop_small_pieces() {
    for (std::size_t e = 0; e < levels_.size(); ++e) {
      if (members_.size() <= levels_[e]) members_.resize(levels_[e] + 1);
      members_[levels_[e]].push_back(e);
    }
    for (std::size_t level = 0; level < members_.size(); level += 2) {
      if (is_worth_code(members_[level])) continue;
      if (members_.size() == level + 1) members_.emplace_back();
      auto& next = members_[level + 1];
      next.insert(next.end(), members_[level].begin(), members_[level].end());
      members_[level].clear();
    }
  }
  bool is_worth_code(const std::vector<std::size_t>& eqns) const {
    constexpr double many_elements = 1 << 16;
    const std::size_t many = what_ == PieceOf::body ? 2 : 8;
    double elements = 0;
    bool regions = false;
    for (const std::size_t e : eqns) {
      const Eqn& eqn = program_.eqns()[e];
      regions = regions || eqn.params.hold_programs();
      elements += estimated_elements(program_, eqn.out);
    }
    return regions || eqns.size() >= many || elements >= many_elements;
  }

  void find_readers(const std::vector<std::pair<bool, std::vector<std::size_t>>>& groups) {
    last_reader_.assign(program_.vars(), nobody);
    made_in_.assign(program_.vars(), nobody);
    for (std::size_t g = 0; g < groups.size(); ++g)
      for (const std::size_t e : groups[g].second) {
        for (Var v : program_.eqns()[e].in) last_reader_[v] = g;
        for (Var v : program_.eqns()[e].out) made_in_[v] = g;
      }
    for (Var v : program_.outputs()) last_reader_[v] = everybody;
  }

  Pieces::Piece piece(std::size_t number, bool native, const std::vector<std::size_t>& eqns) const {
    Pieces::Piece result{.native = native, .program = {}, .sizes = {}, .in = {}, .out = {}, .last_reads = {}};
    std::set<Var> read;
    std::set<SizeVar> mentioned, own;
    for (const std::size_t e : eqns) {
      const Eqn& eqn = program_.eqns()[e];
      for (Var v : eqn.in)
        if (made_in_[v] != number && read.insert(v).second) result.in.push_back(v);
      for (Var v : eqn.out)
        if (last_reader_[v] == everybody || (last_reader_[v] != nobody && last_reader_[v] != number) ||
            !eqn.new_sizes.empty())
          result.out.push_back(v);
      visit_sizes(program_, eqn, [&](SizeVar s) {
        if (!is_given(s)) mentioned.insert(s);
      });
      own.insert(eqn.new_sizes.begin(), eqn.new_sizes.end());
    }
    result.decides = !own.empty();
    result.sizes.assign(program_.size_params().begin(), program_.size_params().end());
    std::ranges::set_difference(mentioned, own, std::back_inserter(result.sizes));
    std::ranges::copy_if(result.in, std::back_inserter(result.last_reads),
                         [&](Var v) { return last_reader_[v] == number; });

    Scope scope;
    Replay replay(program_, scope.size_params_of(program_));
    for (std::size_t i = program_.size_params().size(); i < result.sizes.size(); ++i)
      replay.bind_size(result.sizes[i], scope.size_param());
    for (Var v : result.in) replay.set(v, scope.input(replay.type(v)));
    for (const std::size_t e : eqns) replay.bind_eqn(program_.eqns()[e]);
    Arrays outputs;
    for (Var v : result.out) outputs.push_back(replay.get(v));
    result.program = scope.finish(outputs, program_.name()).program;
    return result;
  }

  static constexpr std::size_t nobody = ~std::size_t(0), everybody = nobody - 1;
  const Program& program_;
  const PieceOf what_;
  std::vector<std::size_t> first_of_;  // of each variable: the level at which it is made
  std::map<SizeVar, std::size_t> known_at_;
  std::size_t last_effect_ = 0;
  std::vector<std::size_t> levels_;
  std::vector<std::vector<std::size_t>> members_;  // of each level: its eqns
  std::vector<std::size_t> last_reader_, made_in_;
};

}  // namespace

Pieces cut_at_islands(const Program& program, PieceOf what) {
  const CompileTime no_trace;
  return Cut(program, what).run();
}

namespace {

// f(eqn, reason) for each eqn that keeps the Program from being native as a whole.
template <class F>
void visit_islands(const Program& program, F f) {
  for (const Eqn& eqn : program.eqns()) {
    const std::string reason = why_not_native(program, eqn);
    if (!reason.empty()) f(eqn, reason);
  }
}

}  // namespace

std::string islands_text(const Program& program) {
  constexpr int most = 20;
  std::string text;
  int all = 0;
  visit_islands(program, [&](const Eqn& eqn, const std::string& reason) {
    if (++all <= most) text += fmt::format("  {}{}: {}\n", eqn.op->name, eqn.where.at_text(), reason);
  });
  if (all > most) text += fmt::format("  and {} more\n", all - most);
  return all > 0 ? text : fmt::format("  {}\n", why_not_native(program));
}

void require_native(const Compilation& c) {
  if (c.native() || c.flat == nullptr) return;
  Source first;
  bool any = false;
  visit_islands(*c.flat, [&](const Eqn& eqn, const std::string&) {
    if (!first.known()) first = eqn.where;
    any = true;
  });
  if (!any) return;  // what waits for sizes has native code for each
  throw CompileError(
      fmt::format("strict_native: the function has no native form as a whole:\n{}", islands_text(*c.flat)),
      "Leave strict_native out, and the rest of it runs as native code around that; or write it in another "
      "way: where() and sums under a mask keep the size that a choice of elements makes unknown.",
      first);
}

}  // namespace tenon
