#include "tenon/base/error.h"

#include <fmt/format.h>

namespace tenon {
namespace {

// A name without the namespaces, or the modules of Python's, in front.
std::string_view inner(std::string_view name) { return name.substr(name.find_last_of(":.") + 1); }

// "op: …" as told to somebody who called `function`.
std::string addressed(std::string_view what, std::string_view function) {
  if (function.empty() || what.starts_with(std::string(function) + ": ")) return std::string(what);
  const std::size_t colon = what.find(": ");
  const std::string_view op = what.substr(0, colon == std::string_view::npos ? 0 : colon);
  const bool named = !op.empty() && op.find_first_of(" '\"[(") == std::string_view::npos;
  if (!named) return fmt::format("{}: {}", function, what);
  if (inner(op) == inner(function))  // one name, told with what it belongs to in front
    return op.ends_with(function) ? std::string(what) : fmt::format("{}{}", function, what.substr(colon));
  return fmt::format("{} ({}){}", function, op, what.substr(colon));
}

std::string compose(std::string_view kind, std::string_view what, std::string_view advice, const Source& where) {
  std::string text = fmt::format("{}: {}", kind, addressed(what, SourceScope::function()));
  if (where.known()) text += fmt::format("\n  at {}", where.text());
  if (!advice.empty()) text += fmt::format("\n  {}", advice);
  return text;
}

}  // namespace

Error::Error(std::string_view kind, std::string_view what, std::string_view advice, const Source& where)
    : std::runtime_error(compose(kind, what, advice, where)), asked_(what), advice_(advice), where_(where) {}

}  // namespace tenon
