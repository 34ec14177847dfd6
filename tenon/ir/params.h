// Params: the static parameters of an eqn, a type-erased described aggregate.
#pragma once

#include <memory>
#include <string>
#include <typeinfo>

#include "tenon/base/dim.h"
#include "tenon/base/error.h"
#include "tenon/base/function_ref.h"
#include "tenon/base/hash.h"
#include "tenon/base/stack.h"

namespace tenon {

class Program;
using ProgramRef = std::shared_ptr<const Program>;

using MapDim = FunctionRef<Dim(const Dim&)>;
using MapProgram = FunctionRef<ProgramRef(const ProgramRef&)>;

// What can be done with the params of one op, derived from the description of their fields (describe_params.h).
struct ParamsOps {
  const std::type_info* type;
  bool (*equal)(const void*, const void*);
  void (*hash)(const void*, Hasher&);
  std::shared_ptr<const void> (*map_dims)(const void*, MapDim);
  std::shared_ptr<const void> (*map_programs)(const void*, MapProgram);
  void (*visit_dims)(const void*, FunctionRef<void(const Dim&)>);
  void (*visit_programs)(const void*, FunctionRef<void(const ProgramRef&)>);
  void (*write)(const void*, class ParamsWriter&);
  std::shared_ptr<const void> (*read)(class ParamsReader&);
  std::string (*names)();  // of the fields: "axes, keep"
};

// Immutable and shared. Equality is by bits: a NaN equals itself, -0 differs from 0.
class Params {
 public:
  Params() = default;  // of ops without parameters
  Params(const ParamsOps& ops, std::shared_ptr<const void> value) : ops_(&ops), value_(std::move(value)) {}

  template <class T>
  const T& as() const {
    if (ops_ == nullptr || *ops_->type != typeid(T)) throw VerifyError("Params: another op's parameters.");
    return *static_cast<const T*>(value_.get());
  }
  bool none() const { return ops_ == nullptr; }
  const ParamsOps* ops() const { return ops_; }
  const void* value() const { return value_.get(); }

  friend bool operator==(const Params& a, const Params& b) {
    if (a.ops_ != b.ops_) return false;
    return a.ops_ == nullptr || a.value_ == b.value_ || a.ops_->equal(a.value_.get(), b.value_.get());
  }
  void hash(Hasher& hasher) const {
    if (ops_ != nullptr) ops_->hash(value_.get(), hasher);
  }
  Params map_dims(MapDim by) const { return ops_ == nullptr ? *this : Params(*ops_, ops_->map_dims(value_.get(), by)); }
  Params map_programs(MapProgram by) const {
    return ops_ == nullptr ? *this : Params(*ops_, ops_->map_programs(value_.get(), by));
  }
  void visit_dims(FunctionRef<void(const Dim&)> seen) const {
    if (ops_ != nullptr) ops_->visit_dims(value_.get(), seen);
  }
  void visit_programs(FunctionRef<void(const ProgramRef&)> seen) const {
    if (ops_ == nullptr) return;
    require_stack();
    ops_->visit_programs(value_.get(), seen);
  }
  bool hold_programs() const {
    bool hold = false;
    visit_programs([&](const ProgramRef& program) { hold = hold || program != nullptr; });
    return hold;
  }

 private:
  const ParamsOps* ops_ = nullptr;
  std::shared_ptr<const void> value_;
};

// The field types that params may have, as the text form sees them. Vectors and optionals nest. print.cpp and parse.cpp
// implement these two.
class ParamsWriter {
 public:
  virtual ~ParamsWriter() = default;
  virtual void field(std::string_view name) = 0;
  virtual void integer(std::int64_t value) = 0;
  virtual void boolean(bool value) = 0;
  virtual void real(double value) = 0;
  virtual void word(std::string_view value) = 0;  // enumerators and dtypes
  virtual void text(std::string_view value) = 0;  // quoted
  virtual void dim(const Dim& value) = 0;
  virtual void scalar(const class Scalar& value) = 0;
  virtual void type(const struct Type& value) = 0;
  virtual void program(const ProgramRef& value) = 0;
  virtual void nothing() = 0;  // an empty optional
  virtual void begin_list() = 0;
  virtual void item() = 0;  // before each item of a list
  virtual void end_list() = 0;
};

class ParamsReader {
 public:
  virtual ~ParamsReader() = default;
  virtual void field(std::string_view name) = 0;  // expects `name=`
  virtual std::int64_t integer() = 0;
  virtual bool boolean() = 0;
  virtual double real() = 0;
  virtual std::string word() = 0;
  virtual std::string text() = 0;
  virtual Dim dim() = 0;
  virtual class Scalar scalar() = 0;
  virtual struct Type type() = 0;
  virtual ProgramRef program() = 0;
  virtual bool nothing() = 0;  // consumes and says so if an empty optional stands here
  virtual void begin_list() = 0;
  virtual bool item() = 0;  // is there another item?
  [[noreturn]] virtual void fail(const std::string& what) = 0;
};

}  // namespace tenon
