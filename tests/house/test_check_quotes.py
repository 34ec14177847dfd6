"""The checker of documents finds paths that are not there and quoted code that has changed, in a small tree made for it."""
import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import check_quotes

SOURCE = "#include <cmath>\n\nnamespace n {\n  int f() {\n    return 1;\n  }\n}\n"


def block(code, name="src/a.cpp"):
    return f"Text.\n\n<!-- {name} -->\n```cpp\n{code}```\n"


class CheckQuotes(unittest.TestCase):
    def check(self, readme):
        """(exit status, what was printed) for a tree of a document and a source."""
        with tempfile.TemporaryDirectory() as root:
            Path(root, "src").mkdir()
            Path(root, "src/a.cpp").write_text(SOURCE)
            Path(root, "README.md").write_text(readme)
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                status = check_quotes.main(Path(root))
            return status, out.getvalue()

    def test_paths(self):
        for there in ("`src/a.cpp`", "`a.cpp`", "`src/`", "`src/*.cpp`", "`src/NAME.cpp`", "`build/x.o`", "`x / y`", "`./run test`",
                      "```\n`src/b.cpp`\n```"):
            self.assertEqual(self.check(there), (0, "quotes: 1 documents, 0 errors\n"), there)
        for absent in ("`src/b.cpp`", "`b.cpp`", "`c/a.cpp`", "`lib/`", "`src/*.h`"):
            status, out = self.check(f"First.\nSee {absent}.\n")
            self.assertEqual(status, 1, absent)
            self.assertIn(f"README.md:2: names {absent}", out)

    def test_quotes(self):
        self.assertEqual(self.check(block("int f() {\n  return 1;\n}\n"))[0], 0)
        self.assertEqual(self.check(block("int f() { return 1;\n\n}\n"))[0], 0)
        self.assertEqual(self.check("```sh\nint g();\n```\n")[0], 0, "another language is only shown")
        for alone in ("```cpp\nint g();\n```\n", "Text\n\n```cpp\nint f();\n```\n", "```c++\nint f();\n```\n"):
            status, out = self.check(alone)
            self.assertEqual(status, 1, alone)
            self.assertIn(f"README.md:{3 if alone[0] == 'T' else 1}: a block of C++ without the file", out)
        for changed in ("int f() {\n  return 2;\n}\n", "int f() {\n}\n", "return 1;\nint f() {\n"):
            status, out = self.check(block(changed))
            self.assertEqual(status, 1, changed)
            self.assertIn("README.md:3: the quoted code is not in src/a.cpp", out)
        self.assertIn("quotes src/b.cpp, which is not there", self.check(block("", "src/b.cpp"))[1])

    def test_the_documents_of_this_repository(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            status = check_quotes.main(ROOT)
        self.assertEqual(status, 0, out.getvalue())


if __name__ == "__main__":
    unittest.main()
