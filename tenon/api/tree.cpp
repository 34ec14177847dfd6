#include "tenon/api/tree.h"

#include <fmt/format.h>

#include <algorithm>

namespace tenon::tree {

std::string field(const std::string& path, const char* names, std::size_t i) {
  std::string_view left(names);
  if (left.empty()) return path + "." + std::to_string(i);
  for (; i > 0; --i) left.remove_prefix(std::min(left.find(',') + 1, left.size()));
  left = left.substr(0, left.find(','));
  left.remove_prefix(std::min(left.find_first_not_of(' '), left.size()));
  left = left.substr(0, left.find_last_not_of(' ') + 1);
  return path + "." + std::string(left);
}

std::string fixed_text(double value) { return fmt::format("{}", value); }

std::string Held::text() const {
  if (what == What::elements) return fmt::format("{} element{}", count, count == 1 ? "" : "s");
  return what == What::value ? (count == 0 ? "no value" : "a value") : fmt::format("alternative {}", count);
}

std::size_t Structure::leaves() const {
  return static_cast<std::size_t>(std::ranges::count(entries_, "*", [](const auto& e) { return e.second; }));
}

std::string Structure::text() const {
  std::string text;
  for (const auto& [path, what] : entries_)
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", path.empty() ? "" : path + ": ", what);
  return "{" + text + "}";
}

std::string Structure::difference(const Structure& other) const {
  const auto told = [](const std::string& what) { return what == "*" ? "an array" : what; };
  for (std::size_t i = 0; i < std::max(entries_.size(), other.entries_.size()); ++i) {
    if (i >= entries_.size() || i >= other.entries_.size()) {
      const auto& more = i < entries_.size() ? entries_[i] : other.entries_[i];
      return fmt::format("only the {} has {}{}", i < entries_.size() ? "first" : "second", told(more.second),
                         more.first.empty() ? "" : " at " + more.first);
    }
    const auto& [path, what] = entries_[i];
    const auto& [other_path, other_what] = other.entries_[i];
    if (path != other_path) return fmt::format("the first has {} where the second has {}", path, other_path);
    if (what != other_what)
      return fmt::format("{}{} and {}", path.empty() ? "" : "at " + path + ": ", told(what), told(other_what));
  }
  return {};
}

void throw_too_few_leaves(std::size_t given) {
  throw TreeError(fmt::format("a tree cannot be made of {} leaves: it has more.", given),
                  "Give one array for each leaf of the tree.");
}

void throw_difference(std::string_view op, std::string_view what, const Structure& a, const Structure& b) {
  throw TreeError(
      fmt::format("{}: {} differ in structure: {}.", op, what, a.difference(b)),
      "Sizes of containers, keys and fields that are no arrays belong to the structure; they must be equal.");
}

}  // namespace tenon::tree
