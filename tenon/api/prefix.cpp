#include "tenon/api/prefix.h"

#include <fmt/format.h>

#include <algorithm>

namespace tenon::api_detail {
namespace {

class Prefix {
 public:
  Prefix(const PrefixOf& said_by, std::span<const tree::Place> places)
      : said_by_(said_by), places_(places), axes_(places.size()) {}
  std::vector<Axis> resolve(const AxisTree& axes) {
    fill(axes, 0, 0, places_.size());
    return std::move(axes_);
  }

 private:
  // Leaves [from, to) agree in their first `depth` steps.
  void fill(const AxisTree& axes, std::size_t depth, std::size_t from, std::size_t to) {
    const auto& [op, option, one, arguments] = said_by_;
    if (!axes.is_list()) {
      std::fill(axes_.begin() + static_cast<std::ptrdiff_t>(from), axes_.begin() + static_cast<std::ptrdiff_t>(to),
                axes.axis());
      return;
    }
    const std::size_t entries = axes.entries().size();
    std::size_t used = 0;
    while (from < to) {
      if (places_[from].size() <= depth)
        throw ShapeError(fmt::format("{}: {} has a list where {} is one array.", op, option, name_at(from, depth)),
                         fmt::format("Give {} there.", one));
      const std::size_t entry = places_[from][depth];
      std::size_t end = from;
      while (end < to && places_[end].size() > depth && places_[end][depth] == entry) ++end;
      if (entry >= entries) {
        const bool top = arguments && depth == 0;
        throw ShapeError(fmt::format("{}: {} has {} {}, but {} has more {}.", op, option, entries,
                                     entries == 1 ? "entry" : "entries", top ? "the function" : name_at(from, depth),
                                     top ? "arguments" : "fields or elements"),
                         fmt::format("Give {} for each of them; or one for all.", one));
      }
      used = std::max(used, entry + 1);
      fill(axes.entries()[entry], depth + 1, from, end);
      from = end;
    }
    for (std::size_t i = used; i < entries; ++i)
      if (axes.entries()[i].is_list() || axes.entries()[i].axis())
        throw ShapeError(fmt::format("{}: {} has {} entries where there are arrays for {}.", op, option, entries, used),
                         "Give an entry for each argument, field or element.");
  }
  std::string name_at(std::size_t leaf, std::size_t depth) const {
    const tree::Place prefix(places_[leaf].begin(), places_[leaf].begin() + static_cast<std::ptrdiff_t>(depth));
    return said_by_.arguments && prefix.empty() ? "the function" : name_of_place(prefix, said_by_.arguments);
  }

  const PrefixOf& said_by_;
  std::span<const tree::Place> places_;
  std::vector<Axis> axes_;
};

}  // namespace

std::string name_of_place(const tree::Place& place, bool argument) {
  std::string path;
  for (std::size_t i = argument ? 1 : 0; i < place.size(); ++i) path += fmt::format(".{}", place[i]);
  const std::string root = argument ? fmt::format("argument {}", place[0]) : "the result";
  return path.empty() ? root : root + ", leaf " + path;
}

std::vector<Axis> axes_of_leaves(const PrefixOf& said_by, const AxisTree& axes, std::span<const tree::Place> places) {
  return Prefix(said_by, places).resolve(axes);
}

}  // namespace tenon::api_detail
