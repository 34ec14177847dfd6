// TextScanner: the tokens of text forms, and errors that point at a line and column of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tenon/base/error.h"

namespace tenon {

// A place in a text, both counted from 1; columns in bytes.
struct TextPlace {
  unsigned line = 1;
  unsigned column = 1;
};

// "file:line:column: what", then that line of the text with a caret under the column, then the advice.
ParseError error_at(std::string_view text, std::string_view file, TextPlace place, std::string_view what,
                    std::string_view advice = {});

// What an error says, without its kind, place and advice: those are told by the one that shows the caret.
std::string bare_message(const Error& error);

// The line of the text and below it a caret, each behind two spaces; empty where the text has no such line.
std::string caret_lines(std::string_view text, TextPlace place);

// Reads a text from its beginning. White space and comments (// to the end of a line) separate tokens.
class TextScanner {
 public:
  TextScanner(std::string_view text, std::string_view file) : text_(text), file_(file) { skip_blank(); }

  bool at_end() const { return at_ == text_.size(); }
  TextPlace place() const { return place_; }  // of the next token
  char next() const { return peek(0); }       // its first character; 0 at the end
  bool next_is(std::string_view word) const;  // a whole word, or a piece of punctuation
  bool accept(std::string_view token);        // consumes it where it is next
  void expect(std::string_view token, std::string_view why = {});
  std::string word(std::string_view wanted);       // letters, digits, '_' and '.', not starting with a digit
  std::string name(std::string_view wanted);       // the same, or starting with a digit: what stands behind % and @
  std::string number();                            // what a Scalar's text is made of, unchecked
  std::string quoted();                            // "…" with escapes resolved
  std::uint64_t natural(std::string_view wanted);  // decimal digits

  [[noreturn]] void fail(std::string_view what, std::string_view advice = {}) const;  // at the next token
  [[noreturn]] void fail_at(TextPlace place, std::string_view what, std::string_view advice = {}) const;
  std::string found() const;  // the next token, quoted for messages

 private:
  char peek(std::size_t ahead) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  void advance(std::size_t count);
  void skip_blank();
  std::string take(std::size_t count);  // that many characters; then to the next token

  std::string_view text_, file_;
  std::size_t at_ = 0;
  TextPlace place_;
};

}  // namespace tenon
