#include "tenon/api/files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "tenon/runtime/npy.h"

namespace tenon::api_detail {
namespace {

constexpr std::string_view lone = "arr_0";  // as NumPy calls what was given no name

// The name of a place: ".weights[2]" is "weights[2]".
std::string name_of(const std::string& path) {
  if (path.empty()) return std::string(lone);
  return path[0] == '.' ? path.substr(1) : path;
}
std::string prefix_of(const std::string& path) { return path.empty() ? path : name_of(path); }

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
    // "ParseError: load (zip): what\n  at …": the file is named, the rest is the same.
    const std::string_view told(e.what());
    const std::size_t from = told.find("): "), to = told.find('\n');
    throw ParseError(fmt::format("load: {}: {}", file, told.substr(from + 3, to - from - 3)),
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

Arrays LoadedLeaves::at(const std::vector<std::string>& paths, const Arrays& like) const {
  Arrays result;
  std::vector<std::string> wanted;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::string name = wanted.emplace_back(name_of(paths[i]));
    const auto found = std::ranges::find(arrays_, name, [](const auto& a) { return a.first; });
    if (found == arrays_.end()) {
      std::vector<std::string> there;
      for (const auto& each : arrays_) there.push_back(each.first);
      throw TreeError(fmt::format("load: {} has no array {}, a leaf of the tree.", file_, name),
                      fmt::format("It has {}. Load it into a tree of the type that was saved.",
                                  there.empty() ? "none" : fmt::format("{}", fmt::join(there, ", "))));
    }
    const Type type = found->second.type();
    if (i < like.size() && !like[i].empty()) {
      const Type expected = like[i].type();
      const std::string what =
          fmt::format("load: {} is {} in {}, {} in the tree.", name, type.text(), file_, expected.text());
      constexpr auto advice = "Load it without a tree to compare with, load<T>(file), where it may differ.";
      if (type.dtype != expected.dtype) throw DTypeError(what, advice);
      if (type != expected) throw ShapeError(what, advice);
    }
    result.push_back(found->second);
  }
  for (const auto& each : arrays_)
    if (std::ranges::find(wanted, each.first) == wanted.end())
      throw TreeError(fmt::format("load: {} has an array {}, which is no leaf of the tree.", file_, each.first),
                      "Load it into a tree of the type that was saved.");
  return result;
}

std::size_t LoadedLeaves::elements(const std::string& path) const {
  const std::string before = prefix_of(path) + "[";
  std::size_t count = 0;
  for (const auto& each : arrays_) {
    if (!each.first.starts_with(before)) continue;
    std::size_t index = 0;
    const char *from = each.first.data() + before.size(), *end = each.first.data() + each.first.size();
    if (const auto [after, failure] = std::from_chars(from, end, index); failure == std::errc() && *after == ']')
      if (index < arrays_.size()) count = std::max(count, index + 1);  // as many as there are names, at most
  }
  return count;
}

std::vector<std::string> LoadedLeaves::keys(const std::string& path) const {
  const std::string before = prefix_of(path) + "[";
  std::vector<std::string> keys;
  for (const auto& each : arrays_) {
    if (!each.first.starts_with(before)) continue;
    const std::size_t from = before.size() + (each.first.substr(before.size(), 1) == "\"" ? 1 : 0);
    const std::size_t to = each.first.find(from > before.size() ? "\"]" : "]", from);
    if (to != std::string::npos) keys.push_back(each.first.substr(from, to - from));
  }
  return keys;
}

bool LoadedLeaves::any(const std::string& path) const {
  const std::string name = prefix_of(path);
  return std::ranges::any_of(arrays_, [&](const auto& each) {
    return path.empty() || each.first == name ||
           (each.first.starts_with(name) && std::string_view(".[<").find(each.first[name.size()]) != std::string::npos);
  });
}

}  // namespace tenon::api_detail
