// NativeParts as bytes: numbers and texts one behind the other.
#include <cstring>
#include <type_traits>

#include "tenon/base/error.h"
#include "tenon/compile/native/native_executable.h"
#include "tenon/ir/decided_sizes.h"

namespace tenon {
namespace {

class Writer {
 public:
  template <class T>
    requires std::is_arithmetic_v<T>
  void operator()(T value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void operator()(const std::string& text) { (*this)(std::uint64_t(text.size())), bytes += text; }
  void operator()(const Hash128& hash) { (*this)(hash.low), (*this)(hash.high); }
  void operator()(const std::optional<std::size_t>& at) { (*this)(at ? std::int64_t(*at) : std::int64_t(-1)); }
  void operator()(const CodeImage::Symbol& symbol) { (*this)(symbol.name), (*this)(symbol.at); }
  void operator()(const Dim& dim) {
    std::uint64_t count = 0;
    dim.visit_steps([&](const Dim::Step&) { ++count; });
    (*this)(count);
    dim.visit_steps([&](const Dim::Step& step) { (*this)(static_cast<std::uint8_t>(step.kind)), (*this)(step.value); });
  }
  void operator()(const CallSizes::AtLeast& limit) { (*this)(limit.size), (*this)(limit.least); }
  void operator()(const Type& type) {
    (*this)(static_cast<std::uint8_t>(type.is_list()));
    if (type.is_list()) return;
    (*this)(static_cast<std::uint8_t>(type.dtype));
    (*this)(type.shape.dims());
  }
  template <class T>
  void operator()(const std::vector<T>& values) {
    (*this)(std::uint64_t(values.size()));
    for (const T& value : values) (*this)(value);
  }
  std::string bytes;
};

// Of bytes that anything may be in: once they do not fit, everything is empty and `good` is false.
class Reader {
 public:
  Reader(std::string_view bytes, const Program* types) : bytes_(bytes), types_(types) {}

  bool good = true;
  bool at_end() const { return bytes_.empty(); }

  template <class T>
    requires std::is_arithmetic_v<T>
  void operator()(T& value) {
    if (take(sizeof value)) taken_.copy(reinterpret_cast<char*>(&value), sizeof value);
  }
  void operator()(bool& value) {
    std::uint8_t byte = 0;
    (*this)(byte);
    good = good && byte <= 1;
    value = byte == 1;
  }
  void operator()(std::string& text) {
    std::uint64_t size = 0;
    (*this)(size);
    if (take(size)) text = taken_;
  }
  void operator()(Hash128& hash) { (*this)(hash.low), (*this)(hash.high); }
  void operator()(std::optional<std::size_t>& at) {
    std::int64_t value = -1;
    (*this)(value);
    if (value >= 0) at = static_cast<std::size_t>(value);
  }
  void operator()(CodeImage::Symbol& symbol) { (*this)(symbol.name), (*this)(symbol.at); }
  void operator()(Dim& dim) {
    std::uint64_t count = 0;
    (*this)(count);
    std::vector<Dim> values;
    for (std::uint64_t i = 0; i < count && good; ++i) step(values);
    good = good && values.size() == 1;
    if (good) dim = std::move(values[0]);
  }
  void operator()(CallSizes::AtLeast& limit) { (*this)(limit.size), (*this)(limit.least); }
  void operator()(Type& type) {
    std::uint8_t is_list = 0, dtype = 0;
    (*this)(is_list);
    if (is_list != 0) return void(good = good && types_ != nullptr);
    std::vector<Dim> sizes;
    (*this)(dtype), (*this)(sizes);
    good = good && dtype < dtype_count;
    for (const Dim& size : sizes) good = good && size.try_value().value_or(0) >= 0;
    if (good) type = Type::array(static_cast<DType>(dtype), Shape(std::move(sizes)));
  }
  template <class T>
  void operator()(std::vector<T>& values) {
    std::uint64_t size = 0;
    (*this)(size);
    good = good && size <= bytes_.size();  // each has a byte at least
    if (good) values.resize(size);
    for (T& value : values) (*this)(value);
  }

  std::uint64_t sizes = 0;  // variables of Dims are below

 private:
  void step(std::vector<Dim>& values) {
    using Kind = Dim::Step::Kind;
    std::uint8_t kind = 0;
    std::int64_t value = 0;
    (*this)(kind), (*this)(value);
    const bool is_value = kind <= static_cast<std::uint8_t>(Kind::variable);
    const bool is_size =
        kind != static_cast<std::uint8_t>(Kind::variable) || (value >= 0 && static_cast<std::uint64_t>(value) < sizes);
    good = good && kind <= static_cast<std::uint8_t>(Kind::max) && is_size && values.size() >= (is_value ? 0 : 2);
    if (!good) return;
    try {
      if (is_value)
        return values.push_back(static_cast<Kind>(kind) == Kind::number ? Dim(value)
                                                                        : Dim::variable(static_cast<SizeVar>(value)));
      const Dim y = std::move(values.back());
      values.pop_back();
      values.back() = combined(static_cast<Kind>(kind), values.back(), y);
    } catch (const ShapeError&) {  // too large, or divided by 0
      good = false;
    }
  }
  static Dim combined(Dim::Step::Kind kind, const Dim& x, const Dim& y) {
    using Kind = Dim::Step::Kind;
    switch (kind) {
      case Kind::add:
        return x + y;
      case Kind::mul:
        return x * y;
      case Kind::floor_div:
        return floor_div(x, y);
      case Kind::modulo:
        return modulo(x, y);
      case Kind::min:
        return min(x, y);
      default:
        return max(x, y);
    }
  }
  bool take(std::uint64_t size) {
    good = good && size <= bytes_.size();
    if (!good) return false;
    taken_ = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return true;
  }
  std::string_view bytes_, taken_;
  const Program* types_;
};

constexpr std::uint64_t most_found = 1 << 20;  // sizes of results

template <class Parts, class F>
void visit(Parts& p, F&& f) {
  f(p.code.bytes), f(p.code.code_bytes), f(p.code.entry), f(p.code.sizes), f(p.code.relative), f(p.code.symbols);
  f(p.sizes);
  if constexpr (requires { f.sizes; }) f.sizes = p.sizes;
  f(p.limits), f(p.arena_bytes), f(p.largest), f(p.makes_lists), f(p.shared), f(p.inputs), f(p.rooms), f(p.found);
  if constexpr (requires { f.sizes; }) f.sizes += std::min<std::uint64_t>(p.found, most_found);
  f(p.outputs), f(p.given), f(p.finds_memory), f(p.units);
}

// Whether what the image says of itself lies within it.
bool is_sound(const CodeImage& image) {
  const std::uint64_t size = image.bytes.size();
  const auto fits = [&](const std::vector<std::uint64_t>& words) {
    for (const std::uint64_t at : words)
      if (at > size || size - at < sizeof(std::uint64_t)) return false;
    return true;
  };
  bool sound = image.code_bytes <= size && image.code_bytes % CodeImage::page == 0 && image.entry < image.code_bytes &&
               image.sizes.value_or(0) < image.code_bytes && fits(image.relative);
  for (const CodeImage::Symbol& symbol : image.symbols) sound = sound && fits(symbol.at);
  return sound;
}

// Lists are not written: their types are the Program's.
bool agree(std::vector<Type>& read, const std::vector<Type>& types) {
  if (read.size() != types.size()) return false;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i].is_list()) read[i] = types[i];
    if (read[i] != types[i]) return false;
  }
  return true;
}

}  // namespace

std::string to_bytes(const NativeParts& parts) {
  Writer writer;
  visit(parts, writer);
  return std::move(writer.bytes);
}

std::optional<NativeParts> from_bytes(std::string_view bytes, const Program* types_of) {
  NativeParts parts;
  Reader reader(bytes, types_of);
  visit(parts, reader);
  if (!reader.good || !reader.at_end() || !is_sound(parts.code) || parts.shared.size() > parts.outputs.size())
    return {};
  for (const std::optional<std::size_t>& at : parts.shared)
    if (at && *at >= parts.inputs.size()) return {};
  if (parts.found > most_found ||
      (parts.found > 0 && (parts.rooms.size() != parts.outputs.size() || parts.given.size() != parts.outputs.size())))
    return {};
  if ((types_of != nullptr && parts.sizes != types_of->size_params().size()) || parts.sizes > most_found ||
      parts.arena_bytes.try_value().value_or(0) < 0 || (parts.sizes > 0 && !parts.code.sizes))
    return {};
  const auto numbered = [&](const std::vector<Type>& types) {
    const auto given = static_cast<SizeVar>(parts.sizes);
    return renumbered(types, sizes_from(given, types), given);
  };
  if (types_of != nullptr &&
      !(agree(parts.inputs, types_of->input_types()) && agree(parts.outputs, numbered(types_of->output_types()))))
    return {};
  return parts;
}

}  // namespace tenon
