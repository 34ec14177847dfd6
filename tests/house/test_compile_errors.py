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
    "branches of different trees": (
        "auto x = tn::cond(Array(true), [](Array c) { return c; }, [](Array c) { return std::pair(c, c); }, Array(1.f));",
        "cond: the branches return different types of trees"),
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
