#include "tenon/api/tree.h"

#include <fmt/format.h>

#include <algorithm>

namespace tenon::tree {

std::string Path::element_text(std::size_t number, const void*) { return fmt::format("[{}]", number); }
std::string Path::item_text(std::size_t number, const void*) { return fmt::format("<{}>", number); }

std::string Path::field_text(std::size_t number, const void* names) {
  std::string_view left(static_cast<const char*>(names));
  if (left.empty()) return fmt::format(".{}", number);
  for (; number > 0; --number) left.remove_prefix(std::min(left.find(',') + 1, left.size()));
  left = left.substr(0, left.find(','));
  left.remove_prefix(std::min(left.find_first_not_of(' '), left.size()));
  left = left.substr(0, left.find_last_not_of(' ') + 1);
  return fmt::format(".{}", left);
}

std::string Path::text() const { return before_ == nullptr ? "" : before_->text() + text_(number_, detail_); }

Place Path::place() const {
  if (before_ == nullptr) return {};
  Place place = before_->place();
  place.push_back(number_);
  return place;
}

std::string number_text(double value) { return fmt::format("{}", value); }

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

Arrays leaves(const View& tree) {
  Arrays result;
  tree.visit([&](const Array& a) { result.push_back(a); });
  return result;
}

std::size_t count(const View& tree) {
  std::size_t leaves = 0;
  tree.visit([&](const Array&) { ++leaves; });
  return leaves;
}

std::vector<Place> places(const View& tree) {
  std::vector<Place> result;
  tree.visit([&](const Array&, const Path& path) { result.push_back(path.place()); });
  return result;
}

std::vector<std::string> paths(const View& tree) {
  std::vector<std::string> result;
  tree.visit([&](const Array&, const Path& path) { result.push_back(path.text()); });
  return result;
}

std::size_t assign(const MutableView& tree, std::span<const Array> leaves) {
  std::size_t at = 0;
  tree.visit([&](Array& a) {
    if (at == leaves.size())
      throw TreeError(fmt::format("a tree cannot be made of {} leaves: it has more.", leaves.size()),
                      "Give one array for each leaf of the tree.");
    a = leaves[at++];
  });
  return at;
}

void hash_structure(const View& tree, Hasher& hasher) {
  tree.visit([&](const Array&) { hasher(1); }, [&](const Static& fixed) { fixed.hash(hasher); });
}

Structure structure(const View& tree) {
  Structure result;
  tree.visit([&](const Array&, const Path& path) { result.add(path.text(), "*"); },
             [&](const Static& fixed, const Path& path) { result.add(path.text(), fixed.text()); });
  return result;
}

void require_same(std::string_view op, std::string_view what, const View& a, const View& b) {
  Hasher first, second;
  hash_structure(a, first);
  hash_structure(b, second);
  if (first.finish() == second.finish()) return;
  throw TreeError(
      fmt::format("{}: {} differ in structure: {}.", op, what, structure(a).difference(structure(b))),
      "Sizes of containers, keys and fields that are no arrays belong to the structure; they must be equal.");
}

}  // namespace tenon::tree
