#include "tenon/compile/in_place.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "tenon/base/error.h"
#include "tenon/compile/compilation.h"
#include "tenon/ops/structure/structure.h"

namespace tenon {
namespace {

class Copies {
 public:
  explicit Copies(const kernel::Function& function) : f_(function) {}

  void block(const kernel::Block& statements, double times) {
    for (const kernel::Statement& s : statements) std::visit([&](const auto& held) { look(held, times); }, s.held());
  }
  std::vector<Copied> found;

 private:
  bool in_memory(kernel::SlotId slot) const { return f_.slots[slot].place != kernel::Slot::Place::local; }

  void look(const kernel::Copy& c, double times) {
    if (!in_memory(c.to) && !in_memory(c.from)) return;
    const kernel::Slot& from = f_.slots[c.from];
    Copied copy{
        kernel::estimate(c.elements) * static_cast<double>(size_of(f_.slots[c.to].dtype)), times, c.cause, c.where, {}};
    if (!c.elements.known()) copy.bytes = Copied::varies;
    if (from.place == kernel::Slot::Place::argument) copy.argument = from.argument;
    found.push_back(std::move(copy));
  }
  void look(const kernel::Call& c, double times) {
    if (!c.cause.why.empty()) found.push_back({-1, times, c.cause, c.where, {}});
  }
  void look(const kernel::For& f, double times) { block(f.body, times * kernel::estimate(f.count)); }
  void look(const kernel::While& w, double times) { block(w.before, times), block(w.body, times); }
  void look(const kernel::Switch& s, double times) {
    for (const kernel::Block& b : s.branches) block(b, times);
  }
  // Blocks of rows are told as the array that they are parts of; the last one may be smaller.
  void look(const kernel::Blocks& b, double times) {
    std::vector<Copied> before = std::exchange(found, {});
    block(b.tail, times);
    std::vector<Copied> tail = std::exchange(found, {});
    block(b.body, times);
    for (Copied& copy : found)
      if (copy.bytes > 0) copy.bytes = b.count.known() ? copy.bytes * kernel::estimate(b.count) : Copied::varies;
    for (std::size_t i = 0; i < tail.size() && tail.size() == found.size(); ++i)  // of arrays: no list is in rows
      if (found[i].bytes != Copied::varies)
        found[i].bytes = tail[i].bytes == Copied::varies ? Copied::varies : found[i].bytes + tail[i].bytes;
    found.insert(found.begin(), std::make_move_iterator(before.begin()), std::make_move_iterator(before.end()));
  }
  template <class Other>
  void look(const Other&, double) {}

  const kernel::Function& f_;
};

const Eqn* an_update(const Program& program) {
  return find_eqn(program, [](const Eqn& eqn) { return is_update(*eqn.op); });
}

std::string reason(const kernel::CopyCause& cause) {
  return fmt::format("{}{}{}{}", cause.why, cause.reader.empty() ? "" : " ", cause.reader, cause.line.at_text());
}

}  // namespace

std::string grouped(double value) {
  const std::string digits = fmt::format("{:.0f}", value);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text.push_back(',');
    text.push_back(digits[i]);
  }
  return text;
}

std::string Copied::extent() const {
  if (bytes == varies) return "as many bytes as the array has";
  if (bytes < 0) return "the whole list";
  return grouped(bytes) + (bytes == 1 ? " byte" : " bytes");
}

std::string Copied::text() const {
  std::string text = extent();
  if (times > 1) text += ", " + grouped(times) + " times";
  text += where.at_text();
  if (cause.why.empty()) return text;
  if (!cause.writer.empty()) text += fmt::format(": {} of {}", cause.writer, cause.array);
  return text + ": " + reason(cause);
}

std::vector<Copied> copied(const kernel::Function& function) {
  Copies copies(function);
  copies.block(function.body, 1);
  return std::move(copies.found);
}

void require_in_place(const Compilation& c, FunctionRef<InputName(std::size_t)> input) {
  if (c.for_each_size()) return;  // jit asks with sizes that are known
  if (!c.native()) {
    if (const Eqn* update = an_update(*c.flat))
      throw CompileError(fmt::format("strict_in_place: {} of {} copies its array: the function runs by the reference "
                                     "evaluator, because {}.",
                                     update->op->name, c.flat->type(update->out[0]).text(), c.not_native),
                         "Leave strict_in_place out, or what has no native form.", update->where);
    return;
  }
  for (const Copied& copy : copied(c.planned->function)) {
    if (copy.cause.writer.empty()) continue;
    std::string why = reason(copy.cause), advice(copy.cause.advice);
    if (copy.cause.callers && copy.argument && *copy.argument < c.program->inputs().size()) {
      const InputName named = input(*copy.argument);
      why += ", " + named.name;
      advice = named.advice;
    }
    throw CompileError(
        fmt::format("strict_in_place: {} of {} copies {}{}: {}.", copy.cause.writer, copy.cause.array, copy.extent(),
                    copy.times > 1 ? fmt::format(", {} times", grouped(copy.times)) : "", why),
        advice + " Or leave strict_in_place out.", copy.where);
  }
}

}  // namespace tenon
