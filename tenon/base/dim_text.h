// Sizes in text forms: sums of products of integers, names, and div, mod, min and max of two sizes.
#pragma once

#include <string>

#include "tenon/base/dim.h"
#include "tenon/base/text_scanner.h"

namespace tenon {

// Reads what Dim::text writes. `named` says what a name stands for. Throws ParseError, at the place in the text.
Dim read_dim(TextScanner& scan, FunctionRef<Dim(const std::string& name, TextPlace at)> named);

// Of an integer whose digits have been read; `at` is where it began.
std::int64_t read_signed(const TextScanner& scan, TextPlace at, bool negative, std::uint64_t magnitude);

}  // namespace tenon
