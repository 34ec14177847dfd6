#include "tenon/compile/plan/planned_work.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "tenon/ir/op.h"
#include "tenon/kernel/passes/split_nests.h"

namespace tenon {
namespace {

double elements(const Program& program, Var v) { return kernel::estimate(program.type(v).shape.elements()); }

// A few groups, or all there are.
class Groups {
 public:
  void add(std::size_t group) {
    if (std::find(few_.begin(), few_.begin() + count_, group) != few_.begin() + count_) return;
    if (count_ < std::ssize(few_))
      few_[static_cast<std::size_t>(count_++)] = group;
    else
      all_ = true;
  }
  void add(const Groups& more) {
    all_ = all_ || more.all_;
    for (std::ptrdiff_t i = 0; i < more.count_; ++i) add(more.few_[static_cast<std::size_t>(i)]);
  }
  bool all() const { return all_; }
  std::span<const std::size_t> few() const { return {few_.data(), static_cast<std::size_t>(count_)}; }

 private:
  std::array<std::size_t, 4> few_{};
  std::ptrdiff_t count_ = 0;
  bool all_ = false;
};

// The nest that computes each stored value: values of a group that wait at the same time share one. What reads one of
// them while it waits has the nest made, and before it the nests that this one reads.
class Nests {
 public:
  Nests(const Program& program, const Fusion& fusion) : fusion_(fusion), nest_(program.vars(), 0) {
    std::vector<Groups> waiting(program.vars());  // that an expression reads
    for (Var v = 0; v < program.vars(); ++v) ends_left_[fusion.group[v]] += fusion.ends[v] ? 1 : 0;
    for (const Eqn& eqn : program.eqns()) {
      Groups read;
      for (const Var v : eqn.in) read.add(waiting[v]);
      if (!is_element(eqn)) {
        store_ends(true);
        make(read);
        continue;
      }
      const Var out = eqn.out[0];
      if (fusion.stored[out]) {
        Waiting& group = waiting_[fusion.group[out]];
        group.values.push_back(out);
        group.reads.add(read);
        read = {};
        read.add(fusion.group[out]);
      }
      waiting[out] = read;
      if (fusion.ends[out]) ends(out);
    }
    make_all();
  }
  std::size_t of(Var v) const { return nest_[v]; }
  std::size_t count() const { return count_; }

 private:
  static constexpr std::size_t most_stores = 64;
  struct Waiting {
    std::vector<Var> values;
    Groups reads;
  };
  void ends(Var v) {
    const std::size_t group = fusion_.group[v];
    if (std::ranges::find(open_ends_, group) == open_ends_.end()) open_ends_.push_back(group);
    if (--ends_left_[group] == 0) store_ends(false);
  }
  void store_ends(bool all) {
    std::size_t done = 0;
    for (; done < open_ends_.size() && (all || ends_left_[open_ends_[done]] == 0); ++done) {
      Groups group;
      group.add(open_ends_[done]);
      make(group);
    }
    open_ends_.erase(open_ends_.begin(), open_ends_.begin() + static_cast<std::ptrdiff_t>(done));
  }
  void make(const Groups& asked) {
    std::vector<std::size_t> groups(asked.few().begin(), asked.few().end());
    bool all = asked.all();
    while (!groups.empty() && !all) {
      const auto found = waiting_.find(groups.back());
      groups.pop_back();
      if (found == waiting_.end()) continue;
      all = all || found->second.reads.all();
      for (const std::size_t read : found->second.reads.few()) groups.push_back(read);
      place(found->second.values);
      waiting_.erase(found);
    }
    if (all) make_all();
  }
  void make_all() {
    for (const auto& [group, held] : waiting_) place(held.values);
    waiting_.clear();
  }
  void place(const std::vector<Var>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i % most_stores == 0) ++count_;
      nest_[values[i]] = count_ - 1;
    }
  }

  const Fusion& fusion_;
  std::unordered_map<std::size_t, Waiting> waiting_;
  std::unordered_map<std::size_t, int> ends_left_;
  std::vector<std::size_t> open_ends_;
  std::vector<std::size_t> nest_;
  std::size_t count_ = 0;
};

// How often nests compare their own index: a nest that may have too many parts for that is not cut at all.
class Cuts {
 public:
  explicit Cuts(const Program& program) : index_(program.vars(), false) {
    for (const Eqn& eqn : program.eqns())
      if (is_element(eqn))
        index_[eqn.out[0]] = !is_inexact(program.type(eqn.out[0]).dtype) &&
                             std::ranges::all_of(eqn.in, [&](Var v) { return index_[v]; });
  }
  // Of a nest that computes an element of the eqn's result at one index.
  int of(const Program& program, const Eqn& eqn, const ElementForm& form) const {
    constexpr int a_comparison = 2;
    if (is_elementwise(eqn)) {
      const bool compares = program.type(eqn.out[0]).dtype == DType::bool_ && index_[eqn.out[0]];
      return compares ? a_comparison : 0;
    }
    const bool reads_at_index = std::any_of(eqn.in.begin() + (eqn.in.empty() ? 0 : 1), eqn.in.end(),
                                            [&](Var v) { return index_[v] && !eqn.in.empty(); });
    const int more = reads_at_index ? a_comparison * static_cast<int>(program.type(eqn.in[0]).rank()) : 0;
    return form.cuts + more;
  }
  // Whether so many, along axes nobody knows which, leave few enough parts.
  static bool few(double cuts, const Type& type) {
    const auto axes = static_cast<double>(
        std::max<std::ptrdiff_t>(1, std::ranges::count_if(type.shape, [](const Dim& d) { return d != Dim(1); })));
    return std::pow(cuts / axes + 1, axes) <= static_cast<double>(kernel::most_pieces);
  }

 private:
  std::vector<bool> index_;  // made of indices and numbers alone
};

class Counting {
 public:
  Counting(const Program& program, const ElementForms& forms, const Fusion& fusion)
      : program_(program), forms_(forms), fusion_(fusion), nests_(program, fusion), cuts_(program) {
    first_fresh_ = nests_.count();
    cuts_of_.assign(first_fresh_, 0);
    whole_.assign(first_fresh_, false);
  }
  Work work() {
    Work all = walk();
    bool some = false;
    for (const Eqn& eqn : program_.eqns()) {
      if (!is_element(eqn) || !fusion_.stored[eqn.out[0]]) continue;
      const std::size_t nest = nests_.of(eqn.out[0]);
      whole_[nest] = whole_[nest] || !Cuts::few(cuts_of_[nest], program_.type(eqn.out[0]));
      some = some || whole_[nest];
    }
    return some ? walk() : all;
  }

 private:
  Work walk() {
    Work work;
    std::vector<Readers> readers(program_.vars());
    std::fill(cuts_of_.begin(), cuts_of_.end(), 0);
    std::size_t fresh = first_fresh_;
    for (std::size_t e = program_.eqns().size(); e-- > 0;) {
      const Eqn& eqn = program_.eqns()[e];
      if (!is_element(eqn)) {
        for (const Var v : eqn.in) readers[v].add(fresh, elements(program_, v), false);
        ++fresh;
        if (rule_of<LowerReduction>(*eqn.op) != nullptr) work.add_reduction(elements(program_, eqn.in[0]));
        continue;
      }
      const Var out = eqn.out[0];
      const double once = elements(program_, out);
      if (fusion_.stored[out]) {
        readers[out] = {};
        readers[out].add(nests_.of(out), once, !whole_[nests_.of(out)]);
      }
      const int cuts = cuts_.of(program_, eqn, forms_[out]);
      if (cuts > 0)
        readers[out].each([&](std::size_t nest) {
          if (nest < first_fresh_) cuts_of_[nest] += cuts;
        });
      work.add(forms_[out], once, fusion_.stored[out] ? once : readers[out].evaluations());
      read_by(program_, eqn, forms_[out], [&] { return fresh++; }, readers);
    }
    return work;
  }

  const Program& program_;
  const ElementForms& forms_;
  const Fusion& fusion_;
  const Nests nests_;
  const Cuts cuts_;
  std::size_t first_fresh_ = 0;
  std::vector<double> cuts_of_;
  std::vector<bool> whole_;  // nests that are not cut
};

}  // namespace

void read_by(const Program& program, const Eqn& eqn, const ElementForm& form, FunctionRef<std::size_t()> fresh,
             std::vector<Readers>& readers) {
  const Readers& result = readers[eqn.out[0]];
  const double size = elements(program, eqn.out[0]);
  if (has_many_parts(eqn)) {  // stored part by part
    for (const Var v : eqn.in) readers[v].add(fresh(), elements(program, v), true);
  } else if (is_elementwise(eqn)) {
    for (std::size_t i = 0; i < eqn.in.size(); ++i)
      if (std::find(eqn.in.begin(), eqn.in.begin() + static_cast<std::ptrdiff_t>(i), eqn.in[i]) ==
          eqn.in.begin() + static_cast<std::ptrdiff_t>(i))
        readers[eqn.in[i]].add(result);
  } else {
    for (const ElementForm::Read& how : form.reads) readers[eqn.in[how.operand]].add(result, how, size);
  }
}

Work work_of(const Program& program, const ElementForms& forms, const Fusion& fusion) {
  return Counting(program, forms, fusion).work();
}

}  // namespace tenon
