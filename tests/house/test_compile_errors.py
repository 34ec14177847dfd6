"""What the compiler refuses is told in a sentence, as the first of its errors (CXX says by which compiler)."""
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).parents[2]
HEAD = "#include <tenon/tenon.h>\nnamespace tn = tenon;\nusing tn::Array;\n"
FIELDS = " ".join(f"Array a{i};" for i in range(65))
CASES = {
    "more fields than can be counted": (
        f"struct Wide {{ {FIELDS} }};\nauto x = tn::tree::leaves(Wide());",
        "an aggregate with more than 64 fields: describe it with TENON_TREE, or nest it"),
    "a field that is no tree": (
        "struct Odd { Array a; Odd* next = nullptr; };\nauto x = tn::tree::leaves(Odd());",
        "describe its type with TENON_TREE, or leave it out"),
    "a scan that returns no pair": (
        "auto x = tn::scan([](Array c, Array) { return c; }, Array(1.f), Array{1.f});",
        "scan: the function takes (carry, x) and returns std::pair(carry, y)"),
    "checkpoints between steps": (
        "auto x = tn::every(2.5);",
        "every: the number of steps between carries is an integer"),
    "half a checkpoint": (
        "auto x = tn::binomial(0.5);",
        "binomial: the number of carries that are kept is an integer"),
    "a batch rule of other arguments": (
        "auto f = tn::custom_vmap([](Array x) { return x; }, [](Array x) { return std::pair(x, true); });\nauto x = f(Array(1.f));",
        "custom_vmap: the rule takes the number of lanes, a Dim, which leaves are batched, a BatchedTree, then"),
    "a batch rule that says not what is batched": (
        "auto f = tn::custom_vmap([](Array x) { return x; }, [](const tn::Dim&, const tn::BatchedTree&, Array x) { return x; });\n"
        "auto x = f(Array(1.f));",
        "custom_vmap: the rule returns a std::pair of a tree like the function's result and of which of its leaves"),
    "branches of different trees": (
        "auto x = tn::cond(Array(true), [](Array c) { return c; }, [](Array c) { return std::pair(c, c); }, Array(1.f));",
        "cond: the branches return different types of trees"),
    "a base that is not described": (
        "struct Base { Array w; }; struct Model : Base { Array b; };\nauto x = tn::tree::leaves(Model());",
        "an aggregate with a base: list its fields and those of its base with TENON_TREE in it"),
    "a base without fields": (
        "struct Tag {}; struct Model : Tag { Array b; };\nauto x = tn::tree::leaves(Model());",
        "an aggregate with a base: list its fields"),
    "a const array": (
        "struct Model { const Array w; };\nauto x = tn::grad([](const Model& m) { return m.w; })(Model());",
        "a const field of a tree cannot be given other arrays: take its const away"),
    "a const field of a result": (
        "struct Model { Array w; const int n = 3; };\n"
        "auto x = tn::jit([](const Model& m) { return Model{m.w, m.n}; })(Model());",
        "a function returns a tree that cannot be copied and assigned: make its const fields plain or static"),
    "a move-only field of an argument": (
        "struct Model { Array w; std::unique_ptr<int> p; };\n"
        "auto x = tn::grad([](const Model& m) { return m.w; })(Model());",
        "an argument is a tree that cannot be copied: hold its move-only fields by std::shared_ptr"),
    "a move-only field of a carry": (
        "struct Model { Array w; std::unique_ptr<int> p; };\n"
        "auto x = tn::scan([](const Model& m, Array x) { return std::pair(m.w, x); }, Model(), Array{1.f});",
        "an argument is a tree that cannot be copied: hold its move-only fields by std::shared_ptr"),
    "a move-only field of a result": (
        "struct Model { Array w; std::unique_ptr<int> p; };\nauto x = tn::jit([](Array) { return Model(); })(Array(1.f));",
        "a function returns a tree that cannot be copied and assigned"),
    "an index that is no whole number": ("auto x = Array{1.f}(0.5);", "deleted function"),
    "an element that is assigned to": (
        "void f(Array m) { m(0, 1) = 7.f; }",
        "x(i) is a new array, and assigning to it changes nothing: write x = x.at(i).set(y)"),
    "a row that is assigned to": (
        "void f(Array m, Array row) { m(0) = row; }",
        "x(i) is a new array, and assigning to it changes nothing: write x = x.at(i).set(y)"),
    "a gradient of a function of double": (
        "double f(double x) { return x * x; }\nauto x = tn::grad(f)(3.0);",
        "the function does not take these arguments"),
    "a jitted function of double": (
        "double f(double x) { return x * x; }\nauto x = tn::jit(f)(Array(3.0));",
        "and tn::Array, not float or double, for what is traced"),
    "lanes of a function of double": (
        "double f(double x) { return x * x; }\nauto x = tn::vmap(f)(Array{3.0});",
        "the function does not take these arguments"),
    "a class with a constructor": (
        "struct Model { explicit Model(int n) : w(tn::ones({n})) {} Array w; };\n"
        "auto x = tn::grad([](const Model& m) { return tn::sum(m.w); })(Model(3));",
        "a class with constructors, private fields or virtual functions, whose fields cannot be seen"),
    "an array from strings": (
        'auto x = tn::from(std::vector<std::string>{"a"});',
        "from: numbers or bools, or rows of them, become an array"),
    "an array from arrays": (
        "auto x = tn::from(std::vector<Array>{});",
        "put arrays together with tn::stack"),
}

# What changes nothing because its result is dropped.
DROPPED = ("x.at(0).set(1.f);", "x.at(0).add(1.f);", "x.at(0);", "x(0);")

# Options by name, the others left as they are, under the warnings that users switch on.
OPTIONS = """
void f(Array x, float* memory) {
  auto pair = [](Array c, Array x) { return std::pair(c, x); };
  auto same = [](Array x) { return x; };
  auto a = tn::scan(pair, x, x, {.reverse = true});
  auto b = tn::scan(pair, x, x, {.checkpoint = tn::every(2)});
  auto c = tn::borrow(memory, {1}, {.writable = true});
  auto d = tn::vmap(same, {.out_axes = 1});
  auto e = tn::jit(same, {.strict_in_place = true});
  auto g = tn::sort(x, 0, {.descending = true});
  auto h = tn::triangular_solve(x, x, {.lower = true});
  auto i = tn::associative_scan([](Array a, Array b) { return a + b; }, x, {.axis = 1});
  auto j = x(tn::Slice{.step = 2});
  auto k = x.at(0).get({.fill = tn::Scalar(1)});
  auto l = x.at(0).set(1.f, {.hints = {.unique = true}});
}
"""


def compiler(*flags, code=None):
    return subprocess.run([os.environ.get("CXX", "g++"), "-std=c++20", "-I", ROOT, *flags], input=code, capture_output=True, text=True)


def compiled(code, *flags):
    return compiler("-fsyntax-only", *flags, "-x", "c++", "-", code=HEAD + code)


class CompileErrors(unittest.TestCase):
    def test_first_error_teaches(self):
        with tempfile.TemporaryDirectory() as folder:
            head = Path(folder) / "head.h"  # precompiled, once for all cases
            head.write_text(HEAD)
            made = compiler("-x", "c++-header", head, "-o", f"{head}.gch")
            self.assertEqual(made.returncode, 0, made.stderr)
            for name, (code, sentence) in CASES.items():
                with self.subTest(name):
                    run = compiler("-fsyntax-only", "-include", head, "-x", "c++", "-", code=code)
                    self.assertNotEqual(run.returncode, 0)
                    first = next(line for line in run.stderr.splitlines() if " error: " in line)
                    self.assertIn(sentence, first)

    def test_dropped_results_warn(self):
        run = compiled("void f(Array x) {\n" + "\n".join(DROPPED) + "\n}", "-Wall")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stderr.count("[-Wunused-result]"), len(DROPPED), run.stderr)

    def test_options_do_not_warn(self):
        run = compiled(OPTIONS, "-Wall", "-Wextra", "-Wpedantic", "-Wno-unused-variable", "-Wno-unused-but-set-variable")
        self.assertEqual((run.returncode, run.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
