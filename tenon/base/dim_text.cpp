#include "tenon/base/dim_text.h"

#include <fmt/format.h>

#include <limits>

namespace tenon {
namespace {

constexpr int deepest = 100;

class DimReader {
 public:
  DimReader(TextScanner& scan, FunctionRef<Dim(const std::string&, TextPlace)> named) : scan_(scan), named_(named) {}

  Dim sum() {
    const TextPlace at = scan_.place();
    try {
      Dim sum = 0;
      for (bool more = true, first = true; more; first = false) {
        const bool negative = scan_.accept("-");
        if (!negative && !first) scan_.expect("+");
        sum = sum + product(negative);
        more = scan_.next() == '+' || scan_.next() == '-';
      }
      return sum;
    } catch (const ShapeError& error) {
      scan_.fail_at(at, bare_message(error));
    }
  }

 private:
  std::int64_t natural(bool with_sign) {
    const TextPlace at = scan_.place();
    return read_signed(scan_, at, with_sign, scan_.natural("a size"));
  }
  Dim product(bool negative) {
    const auto digits = [&] { return scan_.next() >= '0' && scan_.next() <= '9'; };
    Dim product = negative ? -1 : 1;
    if (digits()) {
      product = natural(negative);
      if (!scan_.accept("*")) return product;
    }
    do product = product * (digits() ? Dim(natural(false)) : atom());
    while (scan_.accept("*"));
    return product;
  }
  Dim atom() {
    const TextPlace at = scan_.place();
    const std::string name = scan_.word("a size");
    if (scan_.next() != '(') return named_(name, at);
    if (++depth_ > deepest) scan_.fail(fmt::format("nested more than {} deep.", deepest));
    scan_.expect("(");
    const Dim a = sum();
    scan_.expect(",");
    const Dim b = sum();
    scan_.expect(")");
    --depth_;
    if (name == "div") return floor_div(a, b);
    if (name == "mod") return modulo(a, b);
    if (name == "min") return min(a, b);
    if (name == "max") return max(a, b);
    scan_.fail_at(at, fmt::format("'{}' is no function of sizes.", name), "There are div, mod, min and max.");
  }

  TextScanner& scan_;
  FunctionRef<Dim(const std::string&, TextPlace)> named_;
  int depth_ = 0;
};

}  // namespace

Dim read_dim(TextScanner& scan, FunctionRef<Dim(const std::string&, TextPlace)> named) {
  return DimReader(scan, named).sum();
}

std::int64_t read_signed(const TextScanner& scan, TextPlace at, bool negative, std::uint64_t magnitude) {
  constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (magnitude > largest + (negative ? 1 : 0)) scan.fail_at(at, "an integer that does not fit in 64 bits.");
  return static_cast<std::int64_t>(negative ? -magnitude : magnitude);
}

}  // namespace tenon
