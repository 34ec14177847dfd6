"""Examples in comments of headers are found, with what they give; in the namespace that they stand in."""
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools/functions"))
import examples

HEADER = """// A header.
namespace tenon {
class Array;
}
namespace tenon::special {
// The sum.
//   sum(Array{{1, 2},
//              {3, 4}})   // 1 + 2 + 3 + 4 = 10
//   std::cout << x;   // in words
//     what it prints
int f();

// No example.
//  It is indented by less.
}  // namespace tenon::special
"""


class Examples(unittest.TestCase):
    def test_numbers(self):
        for said, expected in {"1 0, 0 2": ["1", "0", "0", "2"], "{{0.5, 0}, {0, -1e-3}}": ["0.5", "0", "0", "-1e-3"],
                               "log 24 = 3.178054": ["3.178054"], "true inf nan": ["1", "INFINITY", "NAN"],
                               "10, -2+2i, i": ["10", "{-2, +2}", "{0, 1}"], "0.5 + 0.25i": ["{0.5, +0.25}"], "-2i": ["{0, -2}"],
                               "2 of them": [], "": []}.items():
            self.assertEqual(examples.numbers(said), expected)

    def test_comments(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "a.h").write_text(HEADER)
            examples.ROOT = Path(folder)
            found = list(examples.comments("a.h"))
        self.assertEqual([(c.space, [(e.line, e.said) for e in c.examples]) for c in found],
                         [("tenon::special", [(7, "1 + 2 + 3 + 4 = 10"), (9, "in words")])])
        self.assertEqual(found[0].examples[0].code, "sum(Array{{1, 2},\n{3, 4}})")


if __name__ == "__main__":
    unittest.main()
