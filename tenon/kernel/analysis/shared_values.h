// Expressions of which equal ones are one node, and what folds of integers.
#pragma once

#include <array>
#include <optional>
#include <unordered_map>
#include <vector>

#include "tenon/kernel/function.h"

namespace tenon::kernel {

// The expression, or the same of a constant: of integers, what constants decide. Floating numbers stay as they are
// written. Looks at one node.
Expr folded(const Expr& e);
// What combines two terms of a reduction.
Binary binary_of(Combine combine);
// The other way round; nothing where there is no such reduction.
std::optional<Combine> combine_of(Binary op);

// Gives equal expressions as one node. Linear in the nodes that are new to it.
class SharedValues {
 public:
  Expr operator()(const Expr& e);
  std::size_t instructions() const { return instructions_; }  // nodes that compute or read, indices aside
  void forget_after(std::size_t instructions) { instructions_ = instructions; }  // of values that are used nowhere

 private:
  struct Key {
    Expr::Kind kind;
    DType dtype;
    Unary unary;
    Binary binary;
    std::array<std::byte, 16> bits;
    std::uint32_t id;
    std::array<const void*, 3> operands;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  std::unordered_map<Key, Expr, KeyHash> known_;
  std::unordered_map<const void*, Expr> same_;  // of nodes that have been asked for; the key is kept alive
  std::vector<Expr> kept_;
  std::size_t instructions_ = 0;
};

}  // namespace tenon::kernel
