// What is noted of the traces of a jitted function: what a new one is made for and the nearest one was not, and whether
// there are too many.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tenon/api/signature.h"
#include "tenon/base/fork.h"
#include "tenon/base/function_ref.h"

namespace tenon::api_detail {

// A jitted function as messages name it.
struct FunctionName {
  std::string name;            // "" where it has none
  Source where;                // where it is written, or where jit was called
  std::string text() const;    // "f (model.py:12)"
  std::string called() const;  // "f", or where it is
};

// What a trace is made for, in a form that is compared with others.
struct TracedForm {
  // What is no leaf: a static value, or with `structure` what decides which leaves there are.
  struct Fixed {
    std::string place, value;
    bool structure = false;
  };
  std::vector<Fixed> fixed;
  std::vector<LeafType> leaves;
};
using LeafNames = FunctionRef<std::vector<std::string>()>;  // "argument x['w']"

// "argument x['w'], axis 0: 128, was 64"; of what is around the call, nothing tells what it was.
struct Difference {
  std::string place, now, was;
  std::string text() const;
};

// The traces of one function. Of the latest forms so many are kept to be compared with the next one, which takes time
// linear in their leaves. Thread-safe; names are asked for under no lock.
class TraceNotes {
 public:
  static constexpr std::size_t many = 20;

  // One trace more. Logs what differs from the nearest form. Returns once, of the first trace that is one too many,
  // what is to be told.
  std::optional<std::string> note(const FunctionName& name, TracedForm form, LeafNames names);
  std::size_t traces() const;

 private:
  static constexpr std::size_t compared = 16, places = 64;
  struct Place {
    std::size_t times = 0;
    Difference latest;
  };
  const TracedForm& nearest_to(const TracedForm& form) const;
  std::string too_many(const FunctionName& name) const;

  mutable ForkMutex mutex_;
  std::size_t traces_ = 0;
  std::vector<TracedForm> latest_;  // a ring
  std::map<std::string, Place> differed_;
  bool told_ = false;
};

// A function that was jitted anew and is traced for the first time. Returns once, where jit was so often given a
// function of the same code, and was called with the same types, what is to be told.
std::optional<std::string> note_new_function(const FunctionName& name, std::uint64_t hash);

}  // namespace tenon::api_detail
