"""The programs that bench/python measures run, at small sizes."""

import json
import math
import pathlib
import subprocess
import sys

PEERS = pathlib.Path(__file__).resolve().parents[2] / "bench" / "python" / "peers.py"


def test_programs(tmp_path):
    command = [sys.executable, str(PEERS), "--run", "tenon", "--small", "--budget", "0"]
    done = subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) > 100
    assert [row for row in rows if "error" in row] == []
    assert all(row["seconds"] > 0 and math.isfinite(row["sum"]) for row in rows)
