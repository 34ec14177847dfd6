#include "tenon/base/error.h"

#include <fmt/format.h>

namespace tenon {
namespace {

std::string compose(std::string_view kind, const std::string& what, const std::string& advice, const Source& where) {
  std::string text = fmt::format("{}: {}", kind, what);
  if (where.known()) text += fmt::format("\n  at {}", where.text());
  if (!advice.empty()) text += fmt::format("\n  {}", advice);
  return text;
}

}  // namespace

Error::Error(std::string_view kind, std::string what, std::string advice, const Source& where)
    : std::runtime_error(compose(kind, what, advice, where)), advice_(std::move(advice)), where_(where) {}

}  // namespace tenon
