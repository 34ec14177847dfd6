// Trees in NumPy's files: save("x.npz", params), load<Params>("x.npz"); one array also as .npy.
#pragma once

#include <charconv>
#include <string>
#include <string_view>

#include "tenon/api/tree.h"

namespace tenon {

namespace api_detail {

void save_leaves(std::string_view file, const std::vector<std::string>& paths, const Arrays& leaves);

// A file that was read: its arrays by name.
class LoadedLeaves {
 public:
  explicit LoadedLeaves(std::string_view file);
  // The arrays for these places, which must be all that the file has. Where `like` has an array, dtype and shape must
  // be the same.
  Arrays at(const std::vector<std::string>& paths, const Arrays& like) const;

  // What the file has below a place: how many elements of a vector, which keys of a map, whether anything.
  std::size_t elements(const std::string& path) const;
  struct Key {
    std::string text, array;  // as written, with the quotes; the array in whose name it stands
  };
  std::vector<Key> keys(const std::string& path) const;
  bool any(const std::string& path) const;
  [[noreturn]] void throw_no_key(const Key& key, std::string_view wanted) const;

 private:
  void read(bool one);
  const Array* find(const std::string& path, std::string& name) const;
  std::string names() const;

  std::string file_;
  std::vector<std::pair<std::string, Array>> arrays_;
};

// Gives the containers of a default-constructed tree the elements that a file has.
struct Grow {
  const LoadedLeaves& loaded;

  void leaf(const Array&, const tree::Path&) const {}
  template <class Static>
  void fixed(const Static&, const tree::Path&) const {}
  template <class Container>
  void container(Container& c, const tree::Path& place) const {
    namespace d = tree_detail;
    const std::string path = place.text();
    if constexpr (d::is_vector<Container>) {
      if constexpr (std::is_default_constructible_v<typename Container::value_type>)
        if (loaded.any(path)) c.resize(loaded.elements(path));
    } else if constexpr (d::is_optional<Container>) {
      if constexpr (std::is_default_constructible_v<typename Container::value_type>)
        if (!c && loaded.any(path)) c.emplace();
    } else if constexpr (d::is_map<Container>) {
      using Key = typename Container::key_type;
      if constexpr (std::is_same_v<Key, std::string>) {
        for (const auto& key : loaded.keys(path)) {
          if (key.text.size() < 2 || key.text[0] != '"') loaded.throw_no_key(key, "text in quotes");
          c[key.text.substr(1, key.text.size() - 2)];
        }
      } else if constexpr (std::is_integral_v<Key>) {
        using Whole = std::conditional_t<std::is_signed_v<Key>, std::int64_t, std::uint64_t>;
        for (const auto& key : loaded.keys(path)) {
          Whole value = 0;
          const char* end = key.text.data() + key.text.size();
          const auto read = std::from_chars(key.text.data(), end, value);
          if (read.ec != std::errc() || read.ptr != end || static_cast<Whole>(static_cast<Key>(value)) != value)
            loaded.throw_no_key(key, "a whole number that fits their type");
          c[static_cast<Key>(value)];
        }
      }
    }
  }
};

}  // namespace api_detail

// The arrays of a tree under the names of their places: "weights", "layers[2].bias"; of a lone array "arr_0". What is
// static in the tree is not saved. The file is replaced as a whole. Throws RuntimeError where it cannot be written.
//   tn::save(file, params);   // file: "params.npz"
//   tn::load<Params>(file)   // 1 2, 3
template <class T>
void save(std::string_view file, const T& tree, const Source& where = std::source_location::current()) {
  const SourceScope place(where, "save");
  api_detail::save_leaves(file, tree::paths(tree), tree::leaves(tree));
}

// The tree that was saved. Static fields are those of T(); vectors, maps and optionals get the elements that the file
// has, variants keep the alternative of T(). What numpy.savez wrote is a tree, too: arrays with names load into a
// std::map<std::string, Array> or a struct whose fields are described, those without, arr_0, arr_1 and so on, into a
// vector, an array, a tuple or a struct. Throws TreeError, which names the leaf, where the file has more or less
// than the tree; ParseError where it is damaged; RuntimeError where it cannot be read.
//   tn::save(file, params);
//   tn::load<Params>(file).w   // 1 2
template <class T>
T load(std::string_view file, const Source& where = std::source_location::current()) {
  const SourceScope place(where, "load");
  const api_detail::LoadedLeaves loaded(file);
  T tree{};
  const api_detail::Grow grow{loaded};
  tree::walk(tree, grow, tree::Path());
  const Arrays leaves = loaded.at(tree::paths(tree), {});
  return tree::with_leaves(std::move(tree), leaves);
}
// The same with the structure and static fields of another tree. Also the dtypes and shapes must be those of its
// arrays.
//   tn::save(file, Array{1.f, 2.f});
//   tn::load(file, tn::zeros({2}))   // 1 2
template <class T>
T load(std::string_view file, const T& like, const Source& where = std::source_location::current()) {
  const SourceScope place(where, "load");
  return tree::with_leaves(like, api_detail::LoadedLeaves(file).at(tree::paths(like), tree::leaves(like)));
}

}  // namespace tenon
