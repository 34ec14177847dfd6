#include "tenon/base/text_scanner.h"

#include <fmt/format.h>

#include <charconv>

namespace tenon {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '.'; }

// Characters that would disturb a terminal, by their number.
std::string visible(std::string_view text) {
  std::string out;
  for (char c : text) {
    const auto code = static_cast<unsigned char>(c);
    out += code < 0x20 || code == 0x7f ? fmt::format("\\x{:02x}", code) : std::string(1, c);
  }
  return out;
}

}  // namespace

std::string caret_lines(std::string_view text, TextPlace place) {
  std::size_t start = 0;
  for (unsigned line = 1; line < place.line; ++line) {
    start = text.find('\n', start);
    if (start == std::string_view::npos) return {};
    ++start;
  }
  const std::string_view line = text.substr(start, text.substr(start).find('\n'));
  // A long line is cut to what stands around the caret.
  constexpr std::size_t before = 80, width = 120;
  const std::size_t at = std::min<std::size_t>(place.column - 1, line.size());
  const std::size_t from = at > before ? at - before : 0;
  const std::string left = visible(line.substr(from, at - from)), right = visible(line.substr(at, width - (at - from)));
  const std::string cut = from > 0 ? "…" : "";
  return fmt::format("  {}{}{}\n  {:>{}}^", cut, left, right, "", left.size() + (from > 0 ? 1 : 0));
}

std::string bare_message(const Error& error) {
  std::string text = error.what();
  if (const auto kind = text.find(": "); kind != std::string::npos) text = text.substr(kind + 2);
  if (!error.advice().empty()) text = text.substr(0, text.rfind("\n  " + error.advice()));
  if (error.where().known()) text = text.substr(0, text.rfind("\n  at " + error.where().text()));
  return text;
}

ParseError error_at(std::string_view text, std::string_view file, TextPlace place, std::string_view what,
                    std::string_view advice) {
  std::string message = fmt::format("{}:{}:{}: {}", file, place.line, place.column, what);
  if (const std::string lines = caret_lines(text, place); !lines.empty()) message += "\n" + lines;
  return ParseError(message, std::string(advice), Source());
}

void TextScanner::advance(std::size_t count) {
  for (; count > 0 && at_ < text_.size(); --count) {
    const bool ends_line = text_[at_++] == '\n';
    place_ = ends_line ? TextPlace{place_.line + 1, 1} : TextPlace{place_.line, place_.column + 1};
  }
}

void TextScanner::skip_blank() {
  while (!at_end()) {
    if (const char c = peek(0); c == ' ' || c == '\t' || c == '\r' || c == '\n')
      advance(1);
    else if (c == '/' && peek(1) == '/')
      advance(text_.substr(at_).find('\n') == std::string_view::npos ? text_.size() - at_
                                                                     : text_.substr(at_).find('\n'));
    else
      return;
  }
}

std::string TextScanner::take(std::size_t count) {
  std::string taken(text_.substr(at_, count));
  advance(count);
  skip_blank();
  return taken;
}

bool TextScanner::next_is(std::string_view token) const {
  if (text_.substr(at_, token.size()) != token) return false;
  return !is_word(token.back()) || !is_word(peek(token.size()));
}

bool TextScanner::accept(std::string_view token) {
  if (!next_is(token)) return false;
  take(token.size());
  return true;
}

void TextScanner::expect(std::string_view token, std::string_view why) {
  if (!accept(token)) fail(fmt::format("expected '{}'{}, found {}.", token, why, found()));
}

std::string TextScanner::word(std::string_view wanted) {
  if (!is_letter(peek(0))) fail(fmt::format("expected {}, found {}.", wanted, found()));
  return name(wanted);
}

std::string TextScanner::name(std::string_view wanted) {
  std::size_t length = 0;
  while (is_word(peek(length))) ++length;
  if (length == 0) fail(fmt::format("expected {}, found {}.", wanted, found()));
  return take(length);
}

std::string TextScanner::number() {
  std::size_t length = 0;
  if (peek(0) == '(') {
    while (peek(length) != ')' && peek(length) != '\n' && at_ + length < text_.size()) ++length;
    if (peek(length) != ')') fail("a complex number that does not end; write (re,im).");
    return take(length + 1);
  }
  while (is_word(peek(length)) || peek(length) == '-' || peek(length) == '+' || peek(length) == ':') ++length;
  if (length == 0) fail(fmt::format("expected a number, found {}.", found()));
  return take(length);
}

std::string TextScanner::quoted() {
  if (peek(0) != '"') fail(fmt::format("expected a text in quotes, found {}.", found()));
  std::string text;
  std::size_t length = 1;
  for (; peek(length) != '"'; ++length) {
    if (at_ + length >= text_.size() || peek(length) == '\n') fail("a text in quotes that does not end.");
    if (peek(length) != '\\') {
      text += peek(length);
      continue;
    }
    const char escape = peek(++length);
    if (escape == 'x') {
      unsigned code = 0;
      const std::string_view digits = text_.substr(at_ + length + 1, 2);
      const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
      if (failure != std::errc() || digits.size() != 2 || end != digits.data() + 2)
        fail("an escape in quotes that is none of \\\", \\\\ and \\xNN.");
      text += static_cast<char>(code);
      length += 2;
    } else if (escape == '"' || escape == '\\') {
      text += escape;
    } else {
      fail("an escape in quotes that is none of \\\", \\\\ and \\xNN.");
    }
  }
  take(length + 1);
  return text;
}

std::uint64_t TextScanner::natural(std::string_view wanted) {
  std::size_t length = 0;
  while (is_digit(peek(length))) ++length;
  if (length == 0) fail(fmt::format("expected {}, found {}.", wanted, found()));
  std::uint64_t value = 0;
  const char* first = text_.data() + at_;
  if (std::from_chars(first, first + length, value).ec != std::errc())
    fail(fmt::format("{} does not fit in 64 bits.", text_.substr(at_, length)));
  take(length);
  return value;
}

std::string TextScanner::found() const {
  if (at_end()) return "the end of the text";
  std::size_t length = 0;
  while (is_word(peek(length)) && length < 40) ++length;
  return "'" + visible(text_.substr(at_, std::max<std::size_t>(length, 1))) + "'";
}

void TextScanner::fail(std::string_view what, std::string_view advice) const { fail_at(place_, what, advice); }
void TextScanner::fail_at(TextPlace place, std::string_view what, std::string_view advice) const {
  throw error_at(text_, file_, place, what, advice);
}

}  // namespace tenon
