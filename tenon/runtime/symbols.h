// The functions of the runtime that compiled code calls, by name: whoever adds one says so in its own file.
#pragma once

#include <string_view>

namespace tenon {

// At namespace scope, beside the function: `const RuntimeSymbol sort("tenon_sort", &tenon_sort);`
class RuntimeSymbol {
 public:
  template <class F>
  RuntimeSymbol(const char* name, F* function) : RuntimeSymbol(name, reinterpret_cast<void*>(function), 0) {}
  RuntimeSymbol(const RuntimeSymbol&) = delete;
  RuntimeSymbol& operator=(const RuntimeSymbol&) = delete;

 private:
  RuntimeSymbol(const char* name, void* address, int);
  friend void* address_of_symbol(std::string_view name);

  const char* name_;
  void* address_;
  const RuntimeSymbol* next_;
};

// Of such a function, or of one of the C library; null where there is none.
void* address_of_symbol(std::string_view name);

}  // namespace tenon
