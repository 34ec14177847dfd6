// Texts that are no Programs: the messages, with line, column and caret.
#include <gtest/gtest.h>

#include "tenon/ir/parse.h"
#include "tests/error_message.h"

namespace tenon {
namespace {

std::string error_of(std::string_view text) {
  return message_of<ParseError>([&] { parse(text, "bad.tn"); });
}

struct BadText {
  const char* name;
  const char* text;
  const char* message;
};
void PrintTo(const BadText& c, std::ostream* out) { *out << c.name; }

class Bad : public testing::TestWithParam<BadText> {};
TEST_P(Bad, SaysWhereAndWhat) { EXPECT_EQ(error_of(GetParam().text), GetParam().message); }

INSTANTIATE_TEST_SUITE_P(
    Texts, Bad,
    testing::ValuesIn(std::vector<BadText>{
        {"Empty", "", "ParseError: bad.tn:1:1: expected 'program', found the end of the text.\n  \n  ^"},
        {"UnknownOp", "program @f(%x: f32[3]) {\n  %y: f32[3] = sine %x\n  return %y\n}",
         "ParseError: bad.tn:2:16: there is no op 'sine'.\n    %y: f32[3] = sine %x\n                 ^"},
        {"UndefinedVariable", "program @f(%x: f32[3]) {\n  return %y\n}",
         "ParseError: bad.tn:2:10: %y is not defined before this.\n    return %y\n           ^"},
        {"OwnResult", "program @f(%x: f32[]) {\n  %y: f32[] = add %x, %y\n  return %y\n}",
         "ParseError: bad.tn:2:23: %y is not defined before this.\n    %y: f32[] = add %x, %y\n                        "
         "^"},
        {"TwiceDefined", "program @f(%x: f32[], %x: f32[]) {\n  return %x\n}",
         "ParseError: bad.tn:1:23: %x is defined twice.\n  program @f(%x: f32[], %x: f32[]) {\n                        "
         "^"},
        {"UnknownDType", "program @f(%x: f33[3]) {\n  return %x\n}",
         "ParseError: bad.tn:1:16: 'f33' is not a dtype.\n  program @f(%x: f33[3]) {\n                 ^"},
        {"UnknownSize", "program @f[T](%x: f32[S]) {\n  return %x\n}",
         "ParseError: bad.tn:1:23: the size 'S' is not known here.\n  program @f[T](%x: f32[S]) {\n"
         "                        ^\n  Size parameters stand behind the Program's name, sizes that data decide behind "
         "'new'."},
        {"TypesOfAnOp", "program @f(%x: f32[3], %y: i32[3]) {\n  %z: f32[3] = add %x, %y\n  return %z\n}",
         "ParseError: bad.tn:2:16: add: operands f32[3] and i32[3] differ in dtype.\n    %z: f32[3] = add %x, %y\n"
         "                 ^\n  Convert one of them."},
        {"ResultType", "program @f(%x: f32[3]) {\n  %y: f32[4] = sin %x\n  return %y\n}",
         "ParseError: bad.tn:2:16: sin: result 0 is f32[3] by its rule, f32[4] in the Program.\n"
         "    %y: f32[4] = sin %x\n                 ^"},
        {"ParameterLeftOut", "program @f(%x: f32[2,3]) {\n  %y: f32[3,2] = transpose %x {}\n  return %y\n}",
         "ParseError: bad.tn:2:32: expected the parameter 'permutation', found '}'.\n"
         "    %y: f32[3,2] = transpose %x {}\n                                 ^\n"
         "  Parameters stand in the order in which they are printed, none left out."},
        {"ParametersLeftOut", "program @f(%x: f32[2,3]) {\n  %y: f32[3,2] = transpose %x\n  return %y\n}",
         "ParseError: bad.tn:2:18: transpose takes parameters behind its operands, in {…}: permutation.\n"
         "    %y: f32[3,2] = transpose %x\n                   ^"},
        {"NoParameters", "program @f(%x: f32[]) {\n  %y: f32[] = sin %x {axis=1}\n  return %y\n}",
         "ParseError: bad.tn:2:22: sin has no parameters.\n    %y: f32[] = sin %x {axis=1}\n                       ^"},
        {"Number", "program @f() {\n  %y: i8[] = literal {value=i8:300}\n  return %y\n}",
         "ParseError: bad.tn:2:32: '300' is not a i8.\n    %y: i8[] = literal {value=i8:300}\n"
         "                                 ^"},
        {"UnfinishedList", "program @f(%x: f32[2]) {\n  %y: f32[] = sum %x {axes=[0}\n  return %y\n}",
         "ParseError: bad.tn:2:30: expected ',' or ']', found '}'.\n    %y: f32[] = sum %x {axes=[0}\n"
         "                               ^"},
        {"SizeTooLarge", "program @f(%x: f32[99999999999999999999]) {\n  return %x\n}",
         "ParseError: bad.tn:1:20: 99999999999999999999 does not fit in 64 bits.\n"
         "  program @f(%x: f32[99999999999999999999]) {\n                     ^"},
        {"DividedByZero", "program @f[T](%x: f32[div(T,0)]) {\n  return %x\n}",
         "ParseError: bad.tn:1:23: a size is divided by 0.\n  program @f[T](%x: f32[div(T,0)]) {\n"
         "                        ^"},
        {"Behind", "program @f() {\n  return\n}\nprogram",
         "ParseError: bad.tn:4:1: expected the end of the text, found 'program'.\n  program\n  ^"},
        {"ControlCharacter", "program @f() {\n\x1b[0m return\n}",
         "ParseError: bad.tn:2:1: expected an op, found '\\x1b'.\n  \\x1b[0m return\n  ^"},
        {"LoopWithoutBody",
         "program @f(%x: f32[]) {\n  %y: f32[] = loop %x {body=none, cond=none, length=2, reverse=false, consts=0,"
         " carries=1, lanes=false, body_sizes=[], cond_sizes=[], checkpoints=none}\n  return %y\n}",
         "ParseError: bad.tn:2:15: loop: there is no body.\n    %y: f32[] = loop %x {body=none, cond=none, length=2,"
         " reverse=false, consts=0, carries=1, lanes=false, body_sizes=[], c\n                ^"},
    }),
    [](const auto& info) { return std::string(info.param.name); });

// An eqn of a nested Program is shown where it stands.
TEST(Bad, InsideARegion) {
  const std::string message = error_of(
      "program @f(%x: f32[]) {\n  %y: f32[] = call %x {program=program @g(%a: f32[]) {\n    %b: f32[] = not %a\n"
      "    return %b\n  }, sizes=[]}\n  return %y\n}");
  EXPECT_TRUE(
      message.starts_with("ParseError: bad.tn:3:17: not: not defined for f32[].\n      %b: f32[] = not %a\n"
                          "                  ^\n"))
      << message;
}

TEST(Bad, SizesDoNotExplode) {
  std::string size = "s0", sizes = "s0", shape;
  for (int i = 1; i < 20; ++i) size += "+s" + std::to_string(i), sizes += ",s" + std::to_string(i);
  for (int i = 0; i < 12; ++i) shape += (i > 0 ? "," : "") + size;
  const std::string message = error_of("program @f[" + sizes + "](%x: f32[" + shape +
                                       "]) {\n  %y: f32[1] = reshape %x {shape=[1]}\n  return %y\n}");
  EXPECT_TRUE(message.starts_with("ParseError: bad.tn:2:16: a symbolic size grows beyond 1000 terms.")) << message;
}

TEST(Bad, DeepNestingIsRefused) {
  std::string type;
  for (int i = 0; i < 100000; ++i) type += "list<";
  EXPECT_NE(error_of("program @f(%x: " + type + "f32[]) {").find("nested more than 100 deep."), std::string::npos);
  std::string size;
  for (int i = 0; i < 100000; ++i) size += "min(";
  EXPECT_NE(error_of("program @f(%x: f32[" + size).find("nested more than 100 deep."), std::string::npos);
}

}  // namespace
}  // namespace tenon
