"""The programs that bench/python measures run, at small sizes."""

import json
import math
import pathlib
import subprocess
import sys

import numpy as np

PEERS = pathlib.Path(__file__).resolve().parents[2] / "bench" / "python" / "peers.py"


def test_programs(tmp_path):
    command = [sys.executable, str(PEERS), "--run", "tenon", "--small", "--budget", "0"]
    done = subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) > 100
    assert [row for row in rows if "error" in row] == []
    assert all(row["seconds"] > 0 and math.isfinite(row["sum"]) for row in rows)


def test_table_of_functions(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(PEERS.parent))
    import function_table as table

    monkeypatch.setattr(table, "DOCS", tmp_path)
    x = np.arange(4.0)
    section = table.Section("Sums", None, {"best": 1.05, "scipy": 0.5})
    calls = {"tenon": lambda: x, "numpy": lambda: (x, None), "jax": lambda: x[::-1], "torch": table.Unlike(lambda: x[:1]),
             "scipy": lambda: 1 / 0}
    row = table.measured(section, "sum", calls, 0, 1)
    assert [*row["seconds"]] == ["tenon", "numpy", "jax", "torch"]
    assert row["differ"] == ["jax"]
    assert row["failed"] == {"scipy": "ZeroDivisionError: division by zero"}

    row["seconds"] = {"tenon": 1e-3, "numpy": 2e-3, "jax": 0.8e-3, "scipy": 4e-3, "tenon float32": 1e-9}
    assert table.ratios(row, section.wanted) == {"best": (1.25, 1.05), "scipy": (0.25, 0.5)}
    assert table.ratios(row, {"seconds": 5e-4}) == {"seconds": (2, 1)}
    table.document([section], [row], "M", "V", 1, 1)
    text = (tmp_path / "functions-speed.md").read_text()
    assert "Of 2 ratios 1 are as wanted." in text
    assert "| 1 ms | 2 ms | 4 ms | 800 µs |" in text and "| **1.25** | 0.25 |" in text

    others = [dict(row, section=name) for name in ("A", "B")]
    assert table.kept(others, {"A": ["sum"], "B": ["sum"]}, ["A", "B"]) == others
    new = dict(others[1], case="new")
    assert table.kept([new], {"B": ["new", "sum"]}, ["A", "B"]) == [others[0], new, others[1]]  # the file's others stay
    assert table.kept([], {"B": ["new"]}, ["A", "B"]) == [others[0], new]
