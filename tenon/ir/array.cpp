#include "tenon/ir/array.h"

#include <fmt/format.h>

#include "tenon/ir/bind.h"

namespace tenon {
namespace {

Shape shape_of(const Buffer& buffer) { return Shape(buffer.dims()); }

std::string maker_text(const Array& array) {
  const Traced& traced = *array.traced();
  const Scope& scope = Scope::of(traced);
  const Eqn* maker = scope.maker(traced.var);
  if (maker == nullptr) return "an argument of the traced function";
  std::string text = fmt::format("the result of {}", maker->op->name);
  if (maker->where.known()) text += fmt::format(" at {}", maker->where.text());
  return text;
}

}  // namespace

Type type_of(const Value& value) {
  if (const auto* buffer = std::get_if<Buffer>(&value)) return Type::array(buffer->dtype(), shape_of(*buffer));
  return Type::list(std::get<ListValue>(value).element);
}

Array::Array() noexcept = default;
Array::Array(const Array&) = default;
Array::Array(Array&&) noexcept = default;
Array& Array::operator=(const Array&) & = default;
Array& Array::operator=(Array&&) & noexcept = default;
Array::~Array() = default;

Array::Array(Buffer buffer, bool weak) : form_(std::move(buffer)), weak_(weak) {}
Array::Array(Scalar value, bool weak) : form_(value), weak_(weak) {}
Array::Array(Traced traced, bool weak) : form_(traced), weak_(weak) {}
Array::Array(ListValue list) : form_(std::make_shared<const ListValue>(std::move(list))) {}

void Array::throw_no_value() const {
  if (const Donated* d = donated())
    throw RuntimeError(
        fmt::format("Array: this array was donated to the jitted call at {}, which has reused its memory.",
                    d->where.known() ? d->where.text() : "another place"),
        "Use what that call returned, pass a copy, or leave this argument out of the option donate.");
  throw TreeError("Array: this array was default-constructed and holds nothing.", "Give it a value before using it.");
}

Buffer Array::donate(const Source& where) {
  Buffer held = std::move(std::get<Buffer>(form_));
  form_ = Donated{where, Buffer::borrow(held.data(), held.dtype(), held.dims(), held.strides(), nullptr, false)};
  return held;
}

Type Array::type() const {
  if (const Traced* t = traced()) return Scope::of(*t).type(t->var);
  if (const Scalar* n = number()) return Type::array(n->dtype(), {});
  if (const Buffer* b = buffer()) return Type::array(b->dtype(), shape_of(*b));
  if (const ListValue* l = list()) return Type::list(l->element);
  throw_no_value();
}

DType Array::dtype() const {
  if (const Scalar* n = number()) return n->dtype();
  if (const Buffer* b = buffer()) return b->dtype();
  return type().dtype;
}

Shape Array::shape() const { return type().shape; }

Dim Array::dim(std::int64_t axis, const Source& where) const {
  const SourceScope place(where, "dim");
  const Type t = type();
  return t.shape[normalize_axis(axis, t, "dim")];
}

std::int64_t Array::size(std::int64_t axis, const Source& where) const {
  const SourceScope place(where, "size");
  const Type t = type();
  const Dim d = t.shape[normalize_axis(axis, t, "size")];
  if (!d.known()) {
    d.visit_variables([](SizeVar v) { sizes_asked_for().push_back(v); });
    throw ShapeError(fmt::format("size: axis {} of {} is symbolic.", axis, type().text()),
                     "Use dim() to compute with it.");
  }
  return d.value();
}

Value Array::value(const Source& where) const {
  const SourceScope place(where, "value");
  if (const Buffer* b = buffer()) return *b;
  if (const ListValue* l = list()) return *l;
  if (const Scalar* n = number()) {
    Buffer cell = Buffer::allocate(n->dtype(), {});
    std::memcpy(cell.data(), n->data(), size_of(n->dtype()));
    return cell;
  }
  if (const Traced* t = traced()) {
    Scope& scope = Scope::of(*t);
    if (scope.knows(t->var)) return scope.evaluate(t->var);
    throw ConcretizationError(
        fmt::format("the value of {} was asked for while tracing; it is {}.", type().text(), maker_text(*this)),
        "Under jit, vmap and inside loop bodies values are not known yet: use where(), cond() or while_loop() instead "
        "of "
        "if and while on values, or take the decision outside the traced function.");
  }
  throw_no_value();
}

void Array::throw_no_span() const {
  if (empty() || donated()) throw_no_value();
  if (traced())
    throw ConcretizationError(
        fmt::format("span: {} has no elements in memory while tracing; it is {}.", type().text(), maker_text(*this)),
        "Take the span of a result, outside of the traced function.");
  if (number())
    throw RuntimeError("span: a number is no array in memory.", "Use item(), or to_buffer() for an array of it.");
  throw RuntimeError(
      fmt::format("span: {} is not contiguous, so that its elements do not stand side by side.", type().text()),
      "Use to_buffer() for a contiguous copy, or elements<T>() for access by index.");
}

Buffer Array::to_buffer(const Source& where) const {
  const SourceScope place(where, "to_buffer");
  const Value held = value(where);
  const auto* b = std::get_if<Buffer>(&held);
  if (b == nullptr) throw DTypeError("to_buffer: this is a list, not an array.", "Stack it first.", where);
  return b->contiguous() ? *b : b->contiguous_copy();
}

Scalar Array::item_scalar(const Source& where) const {
  const SourceScope place(where, "item");
  if (const Scalar* n = number()) return *n;
  const Type t = type();
  if (!t.is_array() || (t.shape.known() && t.shape.elements() != Dim(1)))
    throw ShapeError(fmt::format("item: {} does not have exactly one element.", t.text()),
                     "Index it first: x(i, j).item<T>().", where);
  const Buffer held = to_buffer(where);
  if (held.elements() != 1)
    throw ShapeError(fmt::format("item: an array of {} elements does not have exactly one.", held.elements()),
                     "Index it first: x(i, j).item<T>().", where);
  return dispatch(held.dtype(), [&]<class T>(std::type_identity<T>) { return Scalar(*held.as<T>()); });
}

Array array_from_rows(DType dtype, std::vector<std::int64_t> dims, const void* data) {
  Buffer buffer = Buffer::allocate(dtype, dims);
  if (buffer.bytes() > 0) std::memcpy(buffer.data(), data, buffer.bytes());
  return buffer;
}

void throw_ragged(std::size_t expected, std::size_t length, const Source& where) {
  throw ShapeError(fmt::format("Array: rows of a nested initialiser have {} and {} elements.", expected, length),
                   "Give every row the same number of elements.", where);
}

}  // namespace tenon
