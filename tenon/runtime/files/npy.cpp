// The format: NumPy Enhancement Proposal 1, "A Simple File Format for NumPy Arrays", and numpy.lib.format.
#include "tenon/runtime/files/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string_view>

#include "tenon/base/error.h"
#include "tenon/runtime/files/byte_stream.h"
#include "tenon/runtime/files/zip.h"

namespace tenon {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t longest_header = 1 << 20, most_axes = 64;

struct Code {
  std::string_view code;  // without the byte order
  DType dtype;
};
constexpr std::array codes{Code{"b1", DType::bool_}, Code{"i1", DType::i8},   Code{"i2", DType::i16},
                           Code{"i4", DType::i32},   Code{"i8", DType::i64},  Code{"u1", DType::u8},
                           Code{"u2", DType::u16},   Code{"u4", DType::u32},  Code{"u8", DType::u64},
                           Code{"f2", DType::f16},   Code{"V2", DType::bf16}, Code{"f4", DType::f32},
                           Code{"f8", DType::f64},   Code{"c8", DType::c64},  Code{"c16", DType::c128}};

struct Header {
  DType dtype = DType::f32;
  bool swapped = false, fortran = false;
  std::vector<std::int64_t> dims;
};

// Reads the one Python literal that a header is: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class HeaderText {
 public:
  explicit HeaderText(std::string_view text) : rest_(text) {}

  Header parse() {
    Header header;
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr" && !std::exchange(descr, true))
        parse_descr(header);
      else if (key == "fortran_order" && !std::exchange(order, true))
        header.fortran = truth();
      else if (key == "shape" && !std::exchange(shape, true))
        header.dims = tuple();
      else
        fail(fmt::format("the key {:?} is unknown or occurs twice", key));
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    space();
    if (!rest_.empty()) fail("something follows its end");
    if (!descr || !order || !shape) fail("descr, fortran_order or shape is missing");
    return header;
  }

 private:
  [[noreturn]] static void fail(const std::string& why) {
    throw ParseError(fmt::format("npy: the header is not valid: {}.", why));
  }
  void space() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n' || rest_[0] == '\t' || rest_[0] == '\r'))
      rest_.remove_prefix(1);
  }
  bool accept(char c) {
    space();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(fmt::format("{:?} was expected", c));
  }
  std::string_view quoted() {
    space();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) fail("a quoted word was expected");
    const auto end = rest_.find(rest_[0], 1);
    if (end == std::string_view::npos) fail("a quote is not closed");
    const auto word = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return word;
  }
  bool truth() {
    space();
    for (const auto& [word, value] : {std::pair{std::string_view("True"), true}, {std::string_view("False"), false}})
      if (rest_.starts_with(word)) {
        rest_.remove_prefix(word.size());
        return value;
      }
    fail("True or False was expected");
  }
  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> values;
    expect('(');
    while (!accept(')')) {
      space();
      std::int64_t value = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
      if (error != std::errc() || value < 0) fail("a size was expected");
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      if (!rest_.empty() && rest_[0] == 'L') rest_.remove_prefix(1);  // as Python 2 wrote long integers
      values.push_back(value);
      if (values.size() > most_axes) fail(fmt::format("it has more than {} axes", most_axes));
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return values;
  }
  void parse_descr(Header& header) {
    space();
    if (!rest_.empty() && rest_[0] == '[')
      throw ParseError("npy: the array has named fields.", "Save each field as an array of its own.");
    const std::string_view descr = quoted();
    const char order = descr.empty() ? '?' : descr[0];
    for (const auto& [code, dtype] : codes)
      if (std::string_view("<>|=").find(order) != std::string_view::npos && descr.substr(1) == code) {
        header.dtype = dtype;
        header.swapped = order == '>';
        return;
      }
    throw ParseError(fmt::format("npy: the element type {:?} has no counterpart here.", descr),
                     "Convert the array with astype before it is saved.");
  }
  std::string_view rest_;
};

Header read_header(ByteStream& in) {
  std::array<std::byte, 8> start;
  in.read(start);
  if (std::memcmp(start.data(), magic.data(), magic.size()) != 0) throw ParseError("npy: not an .npy file.");
  const int version = std::to_integer<int>(start[6]);
  if (version < 1 || version > 3) throw ParseError(fmt::format("npy: version {} of the format is unknown.", version));
  std::array<std::byte, 4> length{};
  in.read(std::span(length).first(version == 1 ? 2 : 4));
  std::uint32_t size;
  std::memcpy(&size, length.data(), 4);
  if (size > longest_header || size > in.left())
    throw ParseError(fmt::format("npy: a header of {} bytes cannot be.", size));
  std::string text(size, '\0');
  in.read(std::as_writable_bytes(std::span(text)));
  return HeaderText(text).parse();
}

void swap_bytes(std::byte* data, std::size_t count, std::size_t size) {
  for (std::size_t i = 0; i < count; ++i) std::reverse(data + i * size, data + (i + 1) * size);
}

Buffer read_array(ByteStream& in) {
  const Header header = read_header(in);
  std::int64_t bytes = static_cast<std::int64_t>(size_of(header.dtype));
  const bool empty = std::ranges::find(header.dims, 0) != header.dims.end();
  for (const std::int64_t d : header.dims)
    if (!empty && __builtin_mul_overflow(bytes, d, &bytes)) throw ParseError("npy: the sizes overflow.");
  if (!empty && static_cast<std::uint64_t>(bytes) > in.left())
    throw ParseError(fmt::format("npy: {} bytes of elements were announced, {} are there.", bytes, in.left()));
  std::vector<std::int64_t> dims = header.dims;
  if (header.fortran) std::ranges::reverse(dims);
  Buffer array = Buffer::allocate(header.dtype, dims);
  if (!empty) in.read({array.data(), static_cast<std::size_t>(bytes)});
  if (header.swapped) {
    const std::size_t part = size_of(real_part_of(header.dtype));
    swap_bytes(array.data(), array.bytes() / part, part);
  }
  if (header.dtype == DType::bool_)  // any other byte would not be a bool
    for (std::size_t i = 0; i < array.bytes(); ++i) array.data()[i] = std::byte(array.data()[i] != std::byte(0));
  if (!header.fortran || dims.size() < 2) return array;
  std::vector<std::int64_t> strides(array.strides().begin(), array.strides().end());
  std::ranges::reverse(strides);
  return array.view(header.dtype, header.dims, strides, 0).contiguous_copy();
}

NamedBuffers read_archive(const ByteSource& archive) {
  constexpr std::string_view ending = ".npy";
  NamedBuffers arrays;
  for (const ZipMember& member : zip_members(archive)) {
    if (!member.name.ends_with(ending)) continue;
    const auto in = open_member(archive, member);
    arrays.emplace_back(member.name.substr(0, member.name.size() - ending.size()), read_array(*in));
  }
  return arrays;
}

// Magic, version 1, length, and the header filled up with spaces so that the elements are 64-byte aligned.
std::string header_of(const Buffer& array) {
  const auto known = std::ranges::find(codes, array.dtype(), &Code::dtype);
  if (known == codes.end())
    throw DTypeError(fmt::format("npy: {} has no name in files of NumPy's.", name(array.dtype())),
                     "Save the bits, bitcast(x, DType::u8), or the numbers in bf16, which holds all of them.");
  std::string shape;
  for (const std::int64_t d : array.dims()) shape += fmt::format("{}, ", d);
  if (array.rank() > 1) shape.resize(shape.size() - 2);
  if (array.rank() == 1) shape.resize(shape.size() - 1);
  std::string text = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                 size_of(array.dtype()) == 1 ? '|' : '<', known->code, shape);
  text.resize((magic.size() + 4 + text.size() + 1 + 63) / 64 * 64 - magic.size() - 4, ' ');
  text.back() = '\n';
  std::string all(magic);
  all += {'\1', '\0', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return all + text;
}

std::span<const std::byte> bytes_of(const Buffer& contiguous) { return {contiguous.data(), contiguous.bytes()}; }

Buffer saved_form(const Buffer& array) {
  if (!array) throw RuntimeError("npy: an empty handle was to be written.", "Give an array.");
  return array.contiguous() ? array : array.contiguous_copy();
}

}  // namespace

Buffer read_npy(const std::filesystem::path& path) {
  const auto file = open_file(path);
  return read_array(*stream(*file, 0, file->size()));
}
Buffer read_npy(std::span<const std::byte> bytes) {
  const auto file = open_bytes(bytes);
  return read_array(*stream(*file, 0, file->size()));
}
NamedBuffers read_npz(const std::filesystem::path& path) { return read_archive(*open_file(path)); }
NamedBuffers read_npz(std::span<const std::byte> file) { return read_archive(*open_bytes(file)); }

void write_npy(const std::filesystem::path& path, const Buffer& array) {
  const Buffer saved = saved_form(array);
  write_file(path, [&](Append append) {
    const std::string header = header_of(saved);
    append(std::as_bytes(std::span(header)));
    append(bytes_of(saved));
  });
}

void write_npz(const std::filesystem::path& path, const NamedBuffers& arrays) {
  Buffer saved;  // of the member whose turn it is
  std::string header;
  std::vector<ZipInput> members;
  for (const auto& [name, array] : arrays) {
    if (!array) saved_form(array);  // refuses before anything is written
    members.push_back({name + ".npy", [&, source = array] {
                         saved = saved_form(source);
                         header = header_of(saved);
                         return std::vector<std::span<const std::byte>>{std::as_bytes(std::span(header)),
                                                                        bytes_of(saved)};
                       }});
  }
  write_file(path, [&](Append append) { write_zip(append, members); });
}

}  // namespace tenon
