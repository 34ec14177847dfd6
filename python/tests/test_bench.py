"""The programs that bench/python measures run, at small sizes; what is not there yet is named."""

import json
import math
import pathlib
import subprocess
import sys

PEERS = pathlib.Path(__file__).resolve().parents[2] / "bench" / "python" / "peers.py"
ABSENT = {"fft", "svd", "eigh", "convolution"}


def test_programs(tmp_path):
    command = [sys.executable, str(PEERS), "--run", "tenon", "--small", "--budget", "0"]
    done = subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) > 100
    assert {row["case"] for row in rows if "error" in row} == ABSENT
    assert all(row["seconds"] > 0 and math.isfinite(row["sum"]) for row in rows if "error" not in row)
