#include "tenon/kernel/passes/tile_columns.h"

#include <algorithm>
#include <set>
#include <utility>

#include "tenon/kernel/analysis/affine.h"
#include "tenon/kernel/analysis/rows.h"
#include "tenon/kernel/expressions.h"

namespace tenon::kernel {
namespace {

// The largest divisor of a size that is at most so large, and a multiple of `unit`; 1 where there is none.
std::int64_t divisor(std::int64_t size, std::int64_t most, std::int64_t unit) {
  for (std::int64_t d = std::min(size, most) / unit * unit; d >= unit; d -= unit)
    if (size % d == 0) return d;
  return 1;
}

// Bytes of what a row reads that is the same for all rows: it depends on the column alone.
std::int64_t bytes_alike(const Function& function, const Nest& n, std::uint32_t row) {
  std::set<std::pair<SlotId, std::int64_t>> seen;  // by where they begin
  std::int64_t bytes = 0;
  for (const Store& s : n.stores)
    visit_loads(s.value, [&](const Expr& load) {
      const auto offset = affine(load.operand(0));
      if (!offset || !offset->known() || offset->coefficient(row) != Dim(0) || offset->coefficient(n.vars[0]) != Dim(1))
        return;
      if (seen.emplace(load.node().id, offset->constant.value()).second)
        bytes += n.sizes[0].value() * static_cast<std::int64_t>(size_of(function.slots[load.node().id].dtype));
    });
  return bytes;
}

// Of blocks that are one row each: some rows a block, in tiles.
void tile(Function& function, const Target& target, Blocks& blocks) {
  constexpr std::int64_t most_rows = 16, fewest_rows = 4, fewest_columns = 64;
  auto* n = blocks.body.size() == 1 ? std::get_if<Nest>(&blocks.body[0].held()) : nullptr;
  if (n == nullptr || !n->independent || n->sizes.size() != 1 || !n->sizes[0].known()) return;
  if (!blocks.own.empty() || !blocks.count.known() || blocks.rest != Dim(0)) return;
  if (std::ranges::any_of(n->stores, [](const Store& s) { return bool(s.condition); })) return;
  const std::int64_t rows = blocks.count.value(), columns = n->sizes[0].value();
  const std::int64_t bytes = bytes_alike(function, *n, blocks.var);
  if (bytes <= target.cache_bytes) return;
  const std::int64_t wanted = columns * target.cache_bytes / bytes, few = 4 * target.threads;
  const std::int64_t of_rows = divisor(rows, std::min(most_rows, rows / few), 1),
                     of_columns = divisor(columns, std::max(wanted, fewest_columns), fewest_columns);
  if (of_rows < fewest_rows || of_columns < fewest_columns) return;
  const std::uint32_t row = function.vars++, part = function.vars++, column = n->vars[0];
  Rewrite tiled;
  tiled.vars.emplace(blocks.var, variable(blocks.var) * Expr(of_rows) + variable(row));
  tiled.vars.emplace(column, variable(part) * Expr(of_columns) + variable(column));
  for (Store& s : n->stores) s.offset = tiled(s.offset), s.value = tiled(s.value);
  n->vars = {part, row, column};
  n->sizes = {columns / of_columns, of_rows, of_columns};
  blocks.count = rows / of_rows;
  if (blocks.grain.known()) blocks.grain = std::max<std::int64_t>(blocks.grain.value() / of_rows, 1);
}

void tile(Function& function, const Target& target, Block& block) {
  for (Statement& s : block) {
    for_each_block(s, [&](Block& inside) { tile(function, target, inside); });
    if (auto* blocks = std::get_if<Blocks>(&s.held())) tile(function, target, *blocks);
  }
}

}  // namespace

void tile_columns(Function& function, const Target& target) { tile(function, target, function.body); }

}  // namespace tenon::kernel
