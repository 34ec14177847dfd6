"""The bench report: what is not measured never holds, the least limit counts, units are converted and never mixed."""
import json
import sys
import tempfile
import unittest
from pathlib import Path

BENCH = Path(__file__).parents[2] / "bench"
sys.path.insert(0, str(BENCH))
import report


def ours(figure, value, unit="ms"):
    return {"case": "gelu", "figure": figure, "value": value, "unit": unit}


def limit(figure, value, unit="ms"):
    return {"case": "P9", "figure": figure, "value": value, "unit": unit}


def peer(name, metric, value, unit="ms"):
    return {"case": "P9", "peer": name, "metric": metric, "value": value, "unit": unit}


FIGURE = {"case": "gelu", "figure": "forward", "unit": "ms", "limits": [["P9", "forward*"]], "rivals": [["P9", "fwd"]],
          "targets": [{"at_most": 1.2, "of": "limit"}, {"at_most": 1.05, "of": "rival"}]}


class Report(unittest.TestCase):
    def row(self, figure, mine=(), limits=(), peers=()):
        (row,) = report.make_rows([figure], mine, limits, peers)
        return row

    def test_nothing_measured_is_missing(self):
        row = self.row(FIGURE)
        self.assertIsNone(row["holds"])
        self.assertEqual(row["missing"], ["value", "limit", "rival"])

    def test_one_target_unmeasured_is_missing_but_a_failing_one_fails(self):
        self.assertIsNone(self.row(FIGURE, [ours("forward", 1.1)], [limit("forward", 1)])["holds"])
        self.assertIs(self.row(FIGURE, [ours("forward", 1.3)], [limit("forward", 1)])["holds"], False)

    def test_all_measured(self):
        rows = [ours("forward", 1.1)], [limit("forward, reused", 1), limit("forward, malloc", 3), limit("gradient", 0.1)]
        self.assertIs(self.row(FIGURE, *rows, [peer("jax", "fwd", 1.2), peer("torch", "fwd", 1.06)])["holds"], True)
        row = self.row(FIGURE, *rows, [peer("jax", "fwd", 1.2), peer("torch", "fwd", 1.0), peer("C++ 2 threads", "fwd", 0.1)])
        self.assertIs(row["holds"], False)
        self.assertEqual((row["limit"], row["rival"], row["rival_name"]), (1, 1.0, "torch"))

    def test_units(self):
        row = self.row(FIGURE, [ours("forward", 1100, "us")], [limit("forward", 1e-3, "s")], [peer("jax", "fwd", 2e6, "ns")])
        self.assertAlmostEqual(row["value"], 1.1)
        self.assertIs(row["holds"], True)
        self.assertIsNone(self.row(FIGURE, [ours("forward", 1, "bytes")], [limit("forward", 1)])["value"])
        with self.assertRaises(ValueError):
            self.row(FIGURE, [ours("forward", 1)], [limit("forward", 1, "ns/iter")])

    def test_own_figure_absolute_and_sum(self):
        ratio = dict(FIGURE, figure="gradient", targets=[{"at_most": 2.2, "of": "forward"}])
        self.assertIs(self.row(ratio, [ours("forward", 1), ours("gradient", 2.1)])["holds"], True)
        self.assertIs(self.row(ratio, [ours("forward", 1), ours("gradient", 2.3)])["holds"], False)
        self.assertIsNone(self.row(ratio, [ours("gradient", 2.1)])["holds"])
        self.assertIs(self.row(dict(FIGURE, targets=[{"at_most": 60}]), [ours("forward", 59)])["holds"], True)
        total = dict(FIGURE, rivals=[["P9", "lower + compile"]])
        self.assertEqual(self.row(total, peers=[peer("jax", "lower", 1), peer("jax", "compile", 2)])["rival"], 3)
        self.assertIsNone(self.row(total, peers=[peer("jax", "lower", 1)])["rival"])

    def test_checksums_have_to_agree(self):
        def sums(value, figure="checksum sum", case="chain"):
            return [{"case": case, "figure": figure, "value": value, "unit": ""}]
        self.assertEqual(report.disagreements(sums(2.0001), sums(2)), [])
        self.assertEqual(len(report.disagreements(sums(2.1), sums(2))), 1)
        self.assertEqual(len(report.disagreements(sums(2) + sums(float("nan")), sums(2))), 1)
        self.assertEqual(len(report.disagreements(sums(-2), sums(2))), 1)
        self.assertEqual(report.disagreements(sums(2.1, "forward"), sums(2, "forward")), [])
        self.assertEqual(report.disagreements(sums(2.1, case="another"), sums(2)), [])

    def test_parts_keep_the_other_rows(self):
        figures = [dict(FIGURE, case=case) for case in ("a", "b", "c")]
        row = lambda case, value: {"case": case, "figure": "forward", "value": value}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "rows.json")
            self.assertEqual(report.kept([row("c", 1), row("a", None)], path, figures), [row("a", None), row("c", 1)])
            path.write_text(json.dumps({"rows": [row("a", 1), row("b", 2), row("gone", 3)]}))
            self.assertEqual(report.kept([row("b", 4), row("a", None)], path, figures), [row("a", 1), row("b", 4)])

    def test_what_a_target_is_of_stands_beside(self):
        figure = dict(FIGURE, targets=[{"at_most": 1.1, "of": "fastest"}])
        self.assertEqual(self.row(figure, [ours("forward", 1.1), ours("fastest", 1)])["beside"], {"fastest": 1})

    def test_figures_file(self):
        description = json.loads((BENCH / "figures.json").read_text())
        figures = description["figures"]
        names = {(f["case"], f["figure"]) for f in figures}
        self.assertEqual(len(names), len(figures))
        names |= {(case, figure) for case, all_of_case in description["baselines"].items() for figure in all_of_case}
        for figure in figures:
            self.assertLessEqual({"case", "figure", "unit", "limits", "rivals", "targets"}, set(figure), figure)
            self.assertIn(figure["unit"], report.SCALES)
            self.assertTrue(figure["targets"])
            for target in figure["targets"]:
                of = target.get("of", "limit")
                self.assertTrue(of in ("limit", "rival") or (figure["case"], of) in names, figure)


if __name__ == "__main__":
    unittest.main()
