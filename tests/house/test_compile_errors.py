"""What the compiler refuses is told in a sentence, as the first of its errors (CXX says by which compiler)."""
import os
import subprocess
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
}


class CompileErrors(unittest.TestCase):
    def test_first_error_teaches(self):
        for name, (code, sentence) in CASES.items():
            with self.subTest(name):
                run = subprocess.run([os.environ.get("CXX", "g++"), "-std=c++20", "-I", ROOT, "-fsyntax-only", "-x", "c++", "-"],
                                     input=HEAD + code, capture_output=True, text=True)
                self.assertNotEqual(run.returncode, 0)
                first = next(line for line in run.stderr.splitlines() if " error: " in line)
                self.assertIn(sentence, first)


if __name__ == "__main__":
    unittest.main()
