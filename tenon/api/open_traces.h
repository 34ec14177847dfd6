// The jitted functions that are being traced on this thread, each called by the one before: where one of them is called
// for the same types again, its trace would never end.
#pragma once

#include "tenon/api/trace.h"
#include "tenon/api/trace_notes.h"

namespace tenon::api_detail {

class OpenTrace {
 public:
  // `function`: whose trace it is; `call`: what tells whether two calls of it are alike, with the hash of that. Throws
  // NestingError, which names the functions of the cycle, where this call is within a trace of an alike one, of as many
  // derivatives and lanes or fewer; and where they nest deeper than the stack.
  OpenTrace(const void* function, const FunctionName& name, std::uint64_t hash, const void* call,
            std::span<const Array> arguments, FunctionRef<bool(const void* open_call)> alike);
  ~OpenTrace();
  OpenTrace(const OpenTrace&) = delete;
  OpenTrace& operator=(const OpenTrace&) = delete;

  // Throws NestingError that says `what` and names the open traces, where some function is among them twice: what calls
  // itself without end.
  static void refuse_recursion(std::string_view what);

 private:
  bool within(const OpenTrace& open) const;
  [[noreturn]] void throw_cycle(const OpenTrace& first) const;

  const void* function_;
  const FunctionName& name_;
  std::uint64_t hash_;
  const void* call_;
  TracedFor for_;
  OpenTrace* outer_;
};

}  // namespace tenon::api_detail
