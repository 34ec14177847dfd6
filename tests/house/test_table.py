"""The table of figures in README: forward and gradient share a line, what is missing is shown so, misses are told."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
import table


def row(case, figure, value, limit=None, rival=None, holds=True, unit="ms"):
    return {"case": case, "figure": figure, "value": value, "unit": unit, "limit": limit, "rival": rival,
            "rival_name": "jax" if rival else None, "target": "<= 1.2 x limit", "holds": holds}


class Table(unittest.TestCase):
    def test_forward_and_gradient_share_a_line(self):
        text = table.whole([row("a", "forward", 1.234, 2, 3), row("a", "gradient", 5, 6), row("b", "step", 1234.5, unit="us")], "M")
        self.assertIn("| a | ms | 1.23 / 5 | 2 / 6 | 3 jax / – |\n", text)
        self.assertIn("| b: step | µs | 1,234 | – | – |\n", text)
        self.assertIn("Of 3 targets 3 hold.\n", text)
        self.assertIn("Measured on M", text)

    def test_a_gradient_of_another_case_stands_alone(self):
        text = table.whole([row("a", "forward", 1), row("b", "gradient", 2)], "M")
        self.assertIn("| b: gradient | ms | 2 |", text)

    def test_misses_and_the_unmeasured_are_told(self):
        text = table.whole([row("a", "forward", 3, 2, 1, holds=False), row("b", "step", None, holds=None)], "M")
        self.assertIn("Of 2 targets 0 hold, 1 are unmeasured. Those that do not:\n\n"
                      "- a, forward: 1.50 of the limit, 3.00 of jax; wanted: ≤ 1.2 × limit.\n", text)

    def test_exponents_are_one_sentence_and_their_misses_are_told(self):
        text = table.whole([row("a", "forward", 1, 2), row("a", "gradient, exponent of time", 1.08, holds=False, unit="exponent"),
                               row("a", "gradient, exponent of memory", 1, unit="exponent")], "M")
        self.assertNotIn("| a: gradient", text)
        self.assertIn("2 exponents say how time and memory grow with the steps of loops (`docs/cost.md`): 1 of them are at most", text)
        self.assertIn("- a, gradient, exponent of time: 1.08; wanted:", text)

    def test_only_what_stands_between_the_marks_is_replaced(self):
        self.assertEqual(table.replaced(f"a\n{table.BEGIN}old\n{table.END}b\n", "new\n"), f"a\n{table.BEGIN}new\n{table.END}b\n")
        with self.assertRaises(SystemExit):
            table.replaced("no marks", "new")


if __name__ == "__main__":
    unittest.main()
