#include "tenon/api/files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "tenon/runtime/files/npy.h"

namespace tenon::api_detail {
namespace {

constexpr std::string_view lone = "arr_0";  // as NumPy calls what was given no name
constexpr auto same_tree =
    "Load it into a tree of the type that was saved; what NumPy saved with names, into std::map<std::string, Array>.";

// The name of a place: ".weights[2]" is "weights[2]".
std::string name_of(const std::string& path) {
  if (path.empty()) return std::string(lone);
  return path[0] == '.' ? path.substr(1) : path;
}
std::string prefix_of(const std::string& path) { return path.empty() ? path : name_of(path); }

// What numpy.savez calls a leaf that stands directly in a tree: "a" where it was named, which is the place ["a"];
// "arr_1" where it was not, which is the place [1], <1> or .1. Empty for other places.
std::string plain_name_of(std::string_view path) {
  if (path.size() > 4 && path.starts_with("[\"") && path.ends_with("\"]"))
    return std::string(path.substr(2, path.size() - 4));
  if (path.size() < 2) return {};
  const std::size_t end = path[0] == '.' ? path.size() : path.size() - 1;
  const std::string_view number = path.substr(1, end - 1);
  const bool closed =
      path[0] == '.' || (path[0] == '[' && path.back() == ']') || (path[0] == '<' && path.back() == '>');
  if (!closed || number.empty() || number.find_first_not_of("0123456789") != std::string_view::npos) return {};
  return fmt::format("arr_{}", number);
}

// The number between `before` and `after` at the head of a name.
std::optional<std::size_t> number_in(std::string_view name, std::string_view before, std::string_view after) {
  if (!name.starts_with(before)) return std::nullopt;
  const char *from = name.data() + before.size(), *end = name.data() + name.size();
  std::size_t number = 0;
  const auto [rest, failure] = std::from_chars(from, end, number);
  if (failure != std::errc() || !std::string_view(rest, end).starts_with(after)) return std::nullopt;
  if (after.empty() && rest != end) return std::nullopt;
  return number;
}

bool single(std::string_view file) {
  if (file.ends_with(".npy")) return true;
  if (file.ends_with(".npz")) return false;
  throw ParseError(fmt::format("{} is neither .npz nor .npy.", file),
                   "Name the file by its format: .npz for a tree, .npy for one array.");
}

}  // namespace

void save_leaves(std::string_view file, const std::vector<std::string>& paths, const Arrays& leaves) {
  if (single(file)) {
    if (leaves.size() != 1)
      throw TreeError(fmt::format("save: a tree of {} arrays does not go into {}.", leaves.size(), file),
                      "An .npy file holds one array; save a tree as .npz.");
    return write_npy(std::filesystem::path(file), leaves[0].to_buffer());
  }
  NamedBuffers named;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i].empty())
      throw TreeError(fmt::format("save: the leaf {} holds no array.", name_of(paths[i])), "Give it a value first.");
    named.emplace_back(name_of(paths[i]), leaves[i].to_buffer());
  }
  write_npz(std::filesystem::path(file), named);
}

LoadedLeaves::LoadedLeaves(std::string_view file) : file_(file) {
  const bool one = single(file);
  try {
    read(one);
  } catch (const ParseError& e) {
    std::string_view told(e.asked());  // "zip: what"
    for (const std::string_view name : {"npy: ", "zip: "})
      if (told.starts_with(name)) told.remove_prefix(name.size());
    throw ParseError(fmt::format("load: {}: {}", file, told),
                     e.advice().empty() ? "The file is damaged, or none of NumPy's: save it again." : e.advice());
  }
}

void LoadedLeaves::read(bool one) {
  if (one) {
    arrays_.emplace_back(lone, read_npy(std::filesystem::path(file_)));
    return;
  }
  for (auto& [name, buffer] : read_npz(std::filesystem::path(file_))) arrays_.emplace_back(name, std::move(buffer));
}

std::string LoadedLeaves::names() const {
  std::vector<std::string> there;
  for (const auto& each : arrays_) there.push_back(each.first);
  return there.empty() ? "none" : fmt::format("{}", fmt::join(there, ", "));
}

// The array for a place, and its name; null where there is none.
const Array* LoadedLeaves::find(const std::string& path, std::string& name) const {
  for (const std::string& each : {name_of(path), plain_name_of(path)}) {
    const auto found = std::ranges::find(arrays_, each, [](const auto& a) { return a.first; });
    if (each.empty() || found == arrays_.end()) continue;
    name = each;
    return &found->second;
  }
  return nullptr;
}

Arrays LoadedLeaves::at(const std::vector<std::string>& paths, const Arrays& like) const {
  Arrays result;
  std::vector<std::string> taken(paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const Array* found = find(paths[i], taken[i]);
    if (found == nullptr)
      throw TreeError(fmt::format("load: {} has no array {}, a leaf of the tree.", file_, name_of(paths[i])),
                      fmt::format("It has {}. {}", names(), same_tree));
    const Type type = found->type();
    if (i < like.size() && !like[i].empty()) {
      const Type expected = like[i].type();
      const std::string what =
          fmt::format("load: {} is {} in {}, {} in the tree.", taken[i], type.text(), file_, expected.text());
      constexpr auto advice = "Load it without a tree to compare with, load<T>(file), where it may differ.";
      if (type.dtype != expected.dtype) throw DTypeError(what, advice);
      if (type != expected) throw ShapeError(what, advice);
    }
    result.push_back(*found);
  }
  for (const auto& each : arrays_)
    if (std::ranges::find(taken, each.first) == taken.end())
      throw TreeError(fmt::format("load: {} has an array {}, which is no leaf of the tree.", file_, each.first),
                      fmt::format("It has {}. {}", names(), same_tree));
  return result;
}

std::size_t LoadedLeaves::elements(const std::string& path) const {
  const std::string before = prefix_of(path) + "[";
  std::size_t count = 0;
  for (const auto& each : arrays_) {
    auto index = number_in(each.first, before, "]");
    if (!index && path.empty()) index = number_in(each.first, "arr_", "");
    if (index && *index < arrays_.size()) count = std::max(count, *index + 1);  // as many as there are names, at most
  }
  return count;
}

std::vector<LoadedLeaves::Key> LoadedLeaves::keys(const std::string& path) const {
  const std::string before = prefix_of(path) + "[";
  std::vector<Key> keys;
  for (const auto& [name, array] : arrays_) {
    if (!name.starts_with(before)) {
      if (path.empty() && file_.ends_with(".npz")) keys.push_back({'"' + name + '"', name});
      continue;
    }
    const bool quoted = name.substr(before.size(), 1) == "\"";
    const std::size_t end = name.find(quoted ? "\"]" : "]", before.size() + (quoted ? 1 : 0));
    // A name that is not closed is no key; at() tells.
    if (end != std::string::npos) keys.push_back({name.substr(before.size(), end - before.size() + quoted), name});
  }
  return keys;
}

void LoadedLeaves::throw_no_key(const Key& key, std::string_view wanted) const {
  throw TreeError(fmt::format("load: {} has an array {}, where the keys of a map are {}.", file_, key.array, wanted),
                  fmt::format("It has {}. {}", names(), same_tree));
}

bool LoadedLeaves::any(const std::string& path) const {
  const std::string name = prefix_of(path), plain = plain_name_of(path);
  return std::ranges::any_of(arrays_, [&](const auto& each) {
    return path.empty() || each.first == name || each.first == plain ||
           (each.first.starts_with(name) && std::string_view(".[<").find(each.first[name.size()]) != std::string::npos);
  });
}

}  // namespace tenon::api_detail
