#include "tenon/api/tables.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <vector>

namespace tenon {
namespace {

constexpr std::string_view white = " \t\r";

std::string_view trimmed(std::string_view text) {
  const std::size_t from = text.find_first_not_of(white);
  return from == std::string_view::npos ? text.substr(0, 0)
                                        : text.substr(from, text.find_last_not_of(white) + 1 - from);
}

// Where a line of a file stands, for messages.
struct Line {
  std::string_view file;
  int number = 0;
  std::string text = {};

  [[noreturn]] void refuse(std::string_view field, const std::string& what, const std::string& advice) const {
    throw ParseError(fmt::format("load_table: {}:{}:{}: {}", file, number, field.data() - text.data() + 1, what),
                     advice);
  }
};

double number_of(std::string_view field, const Line& line) {
  const std::string_view text = trimmed(field);
  if (text.empty()) return std::numeric_limits<double>::quiet_NaN();
  const std::string_view digits = text[0] == '+' ? text.substr(1) : text;
  double value = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (failure == std::errc::result_out_of_range && end == digits.data() + digits.size())
    line.refuse(text, fmt::format("{} lies beyond f64.", text), "Scale the column.");
  if (failure != std::errc() || end != digits.data() + digits.size())
    line.refuse(text, fmt::format("'{}' is not a number.", text),
                line.number == 1 ? "Where the first line names the columns, give {.header_lines = 1}."
                                 : "A missing number is an empty field or nan.");
  return value;
}

std::vector<std::string_view> fields_of(std::string_view line, char separator) {
  std::vector<std::string_view> fields;
  if (separator == ' ') {
    for (std::size_t at = line.find_first_not_of(white); at != std::string_view::npos;) {
      const std::size_t end = std::min(line.find_first_of(white, at), line.size());
      fields.push_back(line.substr(at, end - at));
      at = line.find_first_not_of(white, end);
    }
    return fields;
  }
  for (std::size_t from = 0;;) {
    const std::size_t end = line.find(separator, from);
    if (end == std::string_view::npos) return fields.push_back(line.substr(from)), fields;
    fields.push_back(line.substr(from, end - from));
    from = end + 1;
  }
}

}  // namespace

Array load_table(std::string_view file, const TableOptions& options, const Source& where) {
  const SourceScope place(where, "load_table");
  std::ifstream in{std::filesystem::path(file)};
  if (!in) throw RuntimeError(fmt::format("load_table: {} cannot be read.", file), "Look at its path and its rights.");
  std::vector<double> numbers;
  std::int64_t rows = 0, columns = 0;
  for (Line line{file}; std::getline(in, line.text);) {
    if (++line.number <= options.header_lines || trimmed(line.text).empty()) continue;
    const std::vector<std::string_view> fields = fields_of(line.text, options.separator);
    const auto count = static_cast<std::int64_t>(fields.size());
    if (rows++ == 0) columns = count;
    if (count != columns)
      line.refuse(fields.back(), fmt::format("{} fields, where the first row has {}.", count, columns),
                  fmt::format("Fields are separated by '{}'; name another by {{.separator = …}}.", options.separator));
    for (std::string_view field : fields) numbers.push_back(number_of(field, line));
  }
  Buffer table = Buffer::allocate(DType::f64, {rows, columns});
  std::ranges::copy(numbers, table.as<double>());
  return Array(std::move(table));
}

void save_table(std::string_view file, const Operand& table, const TableOptions& options) {
  const SourceScope place(table.where(), "save_table");
  const Type type = table->type();
  if (type.rank() != 1 && type.rank() != 2)
    throw ShapeError(fmt::format("save_table: {} is no table.", type.text()), "A table has rank 2, or 1: one column.");
  if (is_complex(type.dtype))
    throw DTypeError(fmt::format("save_table: {} has complex numbers.", type.text()), "Save real() and imag() apart.");
  const Buffer values = table->to_buffer().contiguous_copy();
  const std::int64_t columns = type.rank() == 1 ? 1 : values.dims()[1];
  std::string text;
  dispatch(values.dtype(), [&]<class T>(std::type_identity<T>) {
    for (std::int64_t i = 0; i < values.elements(); ++i) {
      const T value = values.as<T>()[i];
      if constexpr (std::is_same_v<T, bool>)
        text += value ? '1' : '0';
      else if constexpr (std::is_arithmetic_v<T>)
        text += fmt::format("{}", value);
      else if constexpr (is_narrow(*dtype_of<T>))
        text += fmt::format("{}", static_cast<float>(value));
      text += (i + 1) % columns == 0 ? '\n' : options.separator;
    }
  });
  std::ofstream out{std::filesystem::path(file)};
  if (!(out << text << std::flush))
    throw RuntimeError(fmt::format("save_table: {} cannot be written.", file),
                       "Look at its folder and the space left.");
}

}  // namespace tenon
