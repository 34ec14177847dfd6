// Trees: any aggregate, container or tuple of Arrays, without macros. Arrays are the leaves; all else is static. What
// is asked of them here is compiled once for all types.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/api/walk.h"

namespace tenon::tree {

// What is called in a tree of whatever type.
class Visitor {
 public:
  virtual void leaf(Array& a, const Path& path) = 0;
  virtual void fixed(const Static& value, const Path& path) = 0;

 protected:
  ~Visitor() = default;
};

struct Ignored {
  void operator()(const Static&) const {}
};

// A tree of any type, to be read (Leaf is const Array) or given other leaves (Leaf is Array): what functions take that
// are compiled once for all trees. It refers to the tree.
template <class Leaf>
class BasicView {
 public:
  template <class T>
    requires(std::is_const_v<Leaf> && !std::is_same_v<T, BasicView>)
  BasicView(const T& tree)
      : tree_(const_cast<void*>(static_cast<const void*>(std::addressof(tree)))), walks_(&walks_of<const T>) {}
  template <class T>
    requires(!std::is_const_v<Leaf> && !std::is_same_v<std::remove_const_t<T>, BasicView>)
  BasicView(T& tree) : tree_(std::addressof(tree)), walks_(&walks_of<T>) {}

  // leaf(array) or leaf(array, path) of each leaf in order; fixed(value) or fixed(value, path) of what is static.
  template <class OnLeaf, class OnFixed = Ignored>
  void visit(OnLeaf&& leaf, OnFixed&& fixed = {}) const {
    Calls<OnLeaf, OnFixed> calls(leaf, fixed);
    walks_->visit(tree_, calls);
  }

  // The addresses of the leaves, as many as there is room for; returns how many leaves there are. For calls, which have
  // no time to visit each.
  template <class OnFixed>
  std::size_t addresses(Leaf** at, std::size_t room, OnFixed&& fixed) const {
    const auto nothing = [](Leaf&) {};
    Calls<decltype(nothing), OnFixed> calls(nothing, fixed);
    return walks_->addresses(tree_, at, room, &calls);
  }
  std::size_t addresses(Leaf** at) const { return walks_->addresses(tree_, at, static_cast<std::size_t>(-1), nullptr); }

 private:
  template <class OnLeaf, class OnFixed>
  struct Calls final : Visitor {
    Calls(OnLeaf& leaf, OnFixed& fixed) : on_leaf(leaf), on_fixed(fixed) {}
    void leaf(Array& a, const Path& path) override {
      if constexpr (std::is_invocable_v<OnLeaf&, Leaf&, const Path&>)
        on_leaf(a, path);
      else
        on_leaf(static_cast<Leaf&>(a));
    }
    void fixed(const Static& value, const Path& path) override {
      if constexpr (std::is_invocable_v<OnFixed&, const Static&, const Path&>)
        on_fixed(value, path);
      else
        on_fixed(value);
    }
    OnLeaf& on_leaf;
    OnFixed& on_fixed;
  };
  struct Told {
    Visitor& visitor;
    void leaf(const Array& a, const Path& path) { visitor.leaf(const_cast<Array&>(a), path); }
    template <class T>
    void fixed(const T& value, const Path& path) {
      visitor.fixed(Static(value), path);
    }
  };
  struct Noted {
    Leaf** at;
    std::size_t room;
    Visitor* visitor;
    std::size_t count = 0;
    void leaf(Leaf& a, NoPath) {
      if (count < room) at[count] = &a;
      ++count;
    }
    template <class T>
    void fixed(const T& value, NoPath) {
      if (visitor != nullptr) visitor->fixed(Static(value), Path());
    }
  };
  struct Walks {
    void (*visit)(void* tree, Visitor& visitor);
    std::size_t (*addresses)(void* tree, Leaf** at, std::size_t room, Visitor* visitor);
  };
  template <class T>
  static constexpr Walks walks_of{[](void* tree, Visitor& visitor) {
                                    Told told{visitor};
                                    walk(*static_cast<T*>(tree), told, Path());
                                  },
                                  [](void* tree, Leaf** at, std::size_t room, Visitor* visitor) {
                                    Noted noted{at, room, visitor};
                                    walk(*static_cast<T*>(tree), noted, NoPath());
                                    return noted.count;
                                  }};

  void* tree_;
  const Walks* walks_;
};
using View = BasicView<const Array>;
using MutableView = BasicView<Array>;

Arrays leaves(const View& tree);
std::size_t count(const View& tree);  // of leaves
std::vector<Place> places(const View& tree);
std::vector<std::string> paths(const View& tree);

// Gives the tree other leaves, taken from `leaves` on; static fields stay. Returns how many were taken. Throws
// TreeError where there are too few.
std::size_t assign(const MutableView& tree, std::span<const Array> leaves);

template <class T>
T with_leaves(T value, std::span<const Array> leaves) {
  assign(value, leaves);
  return value;
}

// What is static in a tree, as a hash: equal for trees of one structure.
void hash_structure(const View& tree, Hasher& hasher);

// What a tree is without the arrays in its leaves: places, each with what is static there. Trees of one structure are
// equal in it.
class Structure {
 public:
  void add(std::string path, std::string what) { entries_.emplace_back(std::move(path), std::move(what)); }
  bool operator==(const Structure&) const = default;
  std::size_t leaves() const;
  std::string text() const;  // "{.w: *, .layers[0].b: *, .rate: 0.5}"
  // Where they first differ, as in "at .rate: 0.5 and 0.25"; empty where they do not.
  std::string difference(const Structure& other) const;

 private:
  std::vector<std::pair<std::string, std::string>> entries_;
};
Structure structure(const View& tree);

// Throws TreeError, which names the place, where the trees differ in structure: "op: what differ …".
void require_same(std::string_view op, std::string_view what, const View& a, const View& b);

// f of each leaf (of the leaves in the same place of several trees of one structure). Of more than five trees the
// caller gives the place, which a function of any number of arguments cannot find by itself.
template <class F, class T, class... More>
T map(const Source& where, F&& f, T first, const More&... more) {
  {
    const SourceScope place(where, "tree::map");
    (require_same("tree::map", "the trees", first, more), ...);
  }
  const std::array<Arrays, sizeof...(More)> others{leaves(more)...};
  std::size_t at = 0;
  MutableView(first).visit([&](Array& a) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      a = f(a, others[I][at]...);
    }(std::index_sequence_for<More...>());
    ++at;
  });
  return first;
}
template <class F, class T>
T map(F&& f, T first, const Source& where = std::source_location::current()) {
  return map(where, std::forward<F>(f), std::move(first));
}
template <class F, class T, class A>
T map(F&& f, T first, const A& a, const Source& where = std::source_location::current()) {
  return map(where, std::forward<F>(f), std::move(first), a);
}
template <class F, class T, class A, class B>
T map(F&& f, T first, const A& a, const B& b, const Source& where = std::source_location::current()) {
  return map(where, std::forward<F>(f), std::move(first), a, b);
}
template <class F, class T, class A, class B, class C>
T map(F&& f, T first, const A& a, const B& b, const C& c, const Source& where = std::source_location::current()) {
  return map(where, std::forward<F>(f), std::move(first), a, b, c);
}
template <class F, class T, class A, class B, class C, class D>
T map(F&& f, T first, const A& a, const B& b, const C& c, const D& d,
      const Source& where = std::source_location::current()) {
  return map(where, std::forward<F>(f), std::move(first), a, b, c, d);
}

// f(f(f(initial, leaf 0), leaf 1), …), in the order of the leaves.
template <class F, class Result, class T>
Result reduce(F&& f, Result initial, const T& tree) {
  View(tree).visit([&](const Array& a) { initial = f(std::move(initial), a); });
  return initial;
}

}  // namespace tenon::tree
