// Mutations of printed programs: each is refused with a ParseError, or parses to a program that prints and parses back.
#include <gtest/gtest.h>

#include "tenon/ir/parse.h"
#include "tenon/ir/print.h"
#include "tenon/tenon.h"
#include "tests/fuzzing.h"
#include "tests/ops/cases.h"

namespace tenon::sample {
namespace {

// Programs of every op, of derivatives, and of regions: what the mutations start from.
std::vector<std::string> seeds() {
  std::vector<std::string> texts;
  for (const Case& c : cases([](DType d) { return d == DType::f32 || d == DType::i32; })) {
    const ProgramRef p = program_of(*c.op, c.sample.params, c.sample.types);
    texts.push_back(print(*p));
    if (c.op->batch) {
      Mask batched;  // all but those whose data decide a size
      for (Var v : p->inputs())
        batched.push_back(std::ranges::none_of(p->size_facts(), [&](const SizeFact& fact) { return fact.of == v; }));
      texts.push_back(print(*vmap(p, batched, Mask(p->outputs().size(), true), Dim(2))));
    }
  }
  const auto f = [](Array c, Array xs) {
    auto [end, ys] = scan(
        [&](Array c, Array x) {
          const Array y = while_loop([](Array y) { return y < 9.f; }, [](Array y) { return y * y + 1.f; }, c + x);
          return std::pair(y, c * x);
        },
        c, xs);
    return sum(ys) + end;
  };
  const Array c = 0.5f, xs = {1.f, 2.f, 3.f}, m = {true, false, true};
  texts.push_back(print(*trace(f)(c, xs)));
  texts.push_back(print(*trace(grad(f))(c, xs)));
  texts.push_back(print(*trace([](Array x, Array m) { return sum(compress(x, m) * compress(sin(x), m)); })(xs, m)));
  texts.push_back(
      "program @sizes[s0, s1](%0: f32[s0,2*s0*s1+3], %1: list<f32[min(s0,s1),max(s0,s1)]>, %2: i32[div(s0,2)]) {\n"
      "  %3: f32[2*s0*s1+3] = sum %0 {axes=[0]} strict recompute[3]\n  return %0, %2, %3, %1\n}\n");
  return texts;
}

class Mutation {
 public:
  Mutation(const std::vector<std::string>& texts, std::uint64_t seed) : texts_(texts), random_(seed) {}

  std::string next() {
    std::string text = pick(texts_);
    for (std::size_t n = 1 + below(3); n > 0; --n) change(text);
    return text;
  }

 private:
  std::size_t below(std::size_t n) { return n == 0 ? 0 : random_() % n; }
  const std::string& pick(const std::vector<std::string>& from) { return from[below(from.size())]; }
  void change(std::string& text) {
    static const std::vector<std::string> pieces{"%0",
                                                 "%1",
                                                 "%7",
                                                 "f32",
                                                 "i32",
                                                 "bool",
                                                 "c64",
                                                 "[",
                                                 "]",
                                                 "{",
                                                 "}",
                                                 "(",
                                                 ")",
                                                 ",",
                                                 "=",
                                                 "-1",
                                                 "0",
                                                 "1",
                                                 "2",
                                                 "9223372036854775807",
                                                 "-9223372036854775808",
                                                 "none",
                                                 "true",
                                                 "false",
                                                 "s0",
                                                 "s1",
                                                 "s0*s0",
                                                 "div(s0,s1)",
                                                 "list<f32[2]>",
                                                 "f32[]",
                                                 "program @_() {\n return\n}",
                                                 "return",
                                                 "new[s0]",
                                                 "strict",
                                                 "\"",
                                                 "//",
                                                 "nan",
                                                 "1e400",
                                                 "loop",
                                                 "cond",
                                                 "call",
                                                 "sum",
                                                 "dot",
                                                 "gather",
                                                 "[0]",
                                                 "[]",
                                                 "[1, 0]",
                                                 "[5]",
                                                 ":",
                                                 "\n",
                                                 "\xff",
                                                 std::string(1, '\0')};
    const std::size_t at = below(text.size() + 1), length = below(1 + below(30));
    switch (below(6)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, pick(pieces));
        break;
      case 2:
        if (at < text.size()) text[at] = static_cast<char>(random_());
        break;
      case 3: {  // a piece of another program
        const std::string& other = pick(texts_);
        text.insert(at, other.substr(below(other.size()), below(60)));
        break;
      }
      case 4: {  // one number or word by another piece
        std::size_t from = text.find_first_of("0123456789", at);
        if (from == std::string::npos) break;
        std::size_t to = text.find_first_not_of("0123456789", from);
        text.replace(from, std::min(to, text.size()) - from, std::to_string(below(6)));
        break;
      }
      default: {  // one op by another
        const std::size_t from = text.find("= ", at);
        if (from == std::string::npos) break;
        const auto ops = all_ops();
        const std::size_t end = text.find_first_of(" \n", from + 2);
        text.replace(from + 2, std::min(end, text.size()) - from - 2, ops[below(ops.size())]->name);
      }
    }
  }

  const std::vector<std::string>& texts_;
  std::mt19937_64 random_;
};

TEST(ParseFuzz, MutatedProgramsAreRefusedOrComeBack) {
  SCOPED_TRACE(fuzzing::repeat_with());
  const std::vector<std::string> texts = seeds();
  Mutation mutation(texts, fuzzing::seed());
  std::int64_t parsed = 0;
  const std::int64_t count = 100 * fuzzing::cases(100);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string text = mutation.next();
    ProgramRef p;
    try {
      p = parse(text);
    } catch (const ParseError& error) {
      EXPECT_TRUE(std::string_view(error.what()).starts_with("ParseError: text:")) << error.what() << "\n" << text;
      continue;
    } catch (const std::exception& error) {
      ADD_FAILURE() << "case " << i << ": " << error.what() << "\n" << text;
      return;
    }
    ++parsed;
    const std::string printed = print(*p);
    const ProgramRef again = parse(printed);
    ASSERT_EQ(again->hash(), p->hash()) << text << "\n" << printed;
    ASSERT_EQ(print(*again), printed);
  }
  EXPECT_GT(parsed, count / 100);  // the mutations are not all nonsense
}

}  // namespace
}  // namespace tenon::sample
