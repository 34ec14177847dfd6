// A function of Python's, at given arguments, as one of flat arrays: what every transformation starts from.
#pragma once

#include <memory>
#include <utility>

#include "array.h"
#include "operands.h"
#include "tenon/api/arguments.h"
#include "trees.h"

namespace tenon::python {

// The leaves of a tree as arrays; an error names op and leaf.
struct FlatTree {
  TreeRef tree;
  Arrays leaves;
};
FlatTree flat_arrays(std::string_view op, const char* what, nb::handle tree);
// The same of cotangents and tangents: an empty array for zeros of the dtype float0, which integers have.
FlatTree flat_tangents(std::string_view op, const char* what, nb::handle tree);

// The tree of so many arrays that `run` puts in these places: those of objects, which are made first.
PyObject* tree_of_results(const TreeDef& tree, std::size_t count, Array** places, FunctionRef<void()> run);
nb::object unflatten_arrays(const TreeDef& tree, std::span<const Array> leaves);
// Empty arrays become zeros of NumPy's dtype float0, in the shapes of `like`.
nb::object unflatten_tangents(const TreeDef& tree, std::span<const Array> leaves, std::span<const Type> like);

// Throws TreeError where there is a tn.Ref in a tree that can hold values alone.
void refuse_references(std::string_view op, const char* what, const TreeDef& tree);

// Throws TreeError where the structures differ.
void require_same_tree(std::string_view op, const char* what, const TreeDef& a, const TreeDef& b);

// What a function returned as a tuple of two; else a TypeError: "op: who a tuple of two, parts, not …".
std::pair<nb::object, nb::object> pair_of(std::string_view op, const char* who, const char* parts, nb::handle result);

// f(*args, **kwargs), of which some arguments are arrays that a transformation knows of; the others are passed on as
// they are.
class FlatCall {
 public:
  // `traced`: numbers of the arguments that are flattened, ascending; with `keywords`, also those by keyword.
  FlatCall(std::string_view op, nb::object f, nb::tuple args, nb::dict kwargs, std::vector<std::size_t> traced,
           bool keywords);
  FlatCall(const FlatCall&) = delete;
  FlatCall& operator=(const FlatCall&) = delete;

  const Arrays& leaves() const { return leaves_; }
  const TreeDef& argument(std::size_t i) const { return *arguments_[i]; }  // of the traced ones, in order
  std::size_t arguments() const { return arguments_.size(); }
  // Calls f, and keeps the structure of what it returned. What Python raises comes out as it is.
  Arrays operator()(std::span<const Array> leaves) const;
  nb::object call(std::span<const Array> leaves) const;
  // Once f has been called:
  const TreeRef& result() const { return result_->tree; }
  const std::vector<Type>& result_types() const { return result_->types; }
  // Where f returns (result, auxiliary): the structures of both.
  TreeRef first_of_pair() const { return result()->child(0); }
  TreeRef second_of_pair() const { return result()->child(1); }
  void returns_pair() { pair_ = true; }

  FunctionRef<std::vector<std::string>()> paths() const { return paths_; }  // as argument_name() wants them
  api_detail::Arguments all() const;                                        // every leaf is chosen
  std::vector<std::vector<std::size_t>> places() const;  // of the leaves: argument, then child by child

 private:
  struct Paths {
    const FlatCall& of;
    std::vector<std::string> operator()() const;
  };
  std::string op_;
  nb::object f_;
  nb::tuple args_;
  nb::dict kwargs_;
  std::vector<std::size_t> traced_;
  bool keywords_, pair_ = false;
  std::vector<TreeRef> arguments_;  // with the keywords' dict last
  Arrays leaves_;
  Paths paths_{*this};
  struct Result {
    TreeRef tree;
    std::vector<Type> types;
  };
  std::shared_ptr<Result> result_ = std::make_shared<Result>();
};

std::vector<std::vector<std::size_t>> places_of(const TreeDef& tree);

std::vector<std::size_t> every_argument(const nb::tuple& args);  // the numbers of all arguments
std::vector<Type> types(std::span<const Array> arrays);
TreeRef tuple_of_arguments(const FlatCall& call);

}  // namespace tenon::python
