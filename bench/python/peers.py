#!/usr/bin/env python3
"""Runs the programs of cases.py with tenon and with JAX, which they name alike, and prints a table of ratios.

    python3 bench/python/peers.py --tenon PYTHON --jax PYTHON [--only WORDS] [--rounds N] [--small] [--json FILE]

PYTHON is that of an environment that has the library. Both run on the same two processors, in turns, every program N
times (three times unless told); a figure is the least. Both have 32-bit data where nothing else is said. Results are
compared by the sum of their squares. A ratio is tenon's time divided by JAX's.
"""
import argparse
import importlib
import itertools
import json
import math
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent


def least(call, budget):
    """Seconds of the fastest turn, and what a call returned first."""
    start = time.perf_counter()
    result = call()
    first = time.perf_counter() - start
    start = time.perf_counter()
    call()
    turns = max(1, min(2000, int(0.01 / max(time.perf_counter() - start, 1e-7))))
    best, end = math.inf, time.perf_counter() + budget
    while True:
        start = time.perf_counter()
        for _ in range(turns):
            call()
        best = min(best, (time.perf_counter() - start) / turns)
        if time.perf_counter() > end:
            return best, first, result


def checksum(jx, result):
    import numpy as np

    return float(sum(np.sum(np.abs(np.asarray(leaf).astype(np.float64)) ** 2) for leaf in jx.tree.leaves(result)))


def measured(jx, function, args, how, budget):
    """(seconds of a call, of the first call, the result)."""
    args = jx.tree.map(jx.numpy.asarray, args)
    called = jx.jit(function) if how != "call" else function
    if how != "trace":
        return least(lambda: jx.block_until_ready(called(*args)), budget)
    constants = itertools.count(time.time_ns() % 2 ** 20)

    def anew():  # with another constant, lest code of the same program be found
        constant = float(next(constants))
        jx.block_until_ready(jx.jit(lambda *a: function(*a) + constant)(*args))

    best, first, _ = least(anew, budget)
    return best, first, called(*args)


def run_one(library, words, full, budget):
    """In a process of its own: prints a row for each case."""
    import cases

    jx = importlib.import_module(library)
    importlib.import_module(library + ".numpy")
    if library == "tenon":
        jx.config.x64 = False
    for group in cases.GROUPS:
        for name, function, args, how in group(jx, full):
            if not all(word in f"{group.__name__} {name}" for word in words):
                continue
            row = {"group": group.__name__, "case": name}
            try:
                best, first, result = measured(jx, function, args, how, budget)
                row.update(seconds=best, first=first if how == "jit" else None, sum=checksum(jx, result))
            except Exception as failure:  # what a library cannot do is said in the table
                row["error"] = f"{type(failure).__name__}: {failure}".split("\n")[0]
            print(json.dumps(row), flush=True)


def rows_of(python, library, options):
    command = [python, __file__, "--run", library, "--budget", str(options.budget)]
    command += ["--small"] if options.small else []
    command += ["--only", *options.only] if options.only else []
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True,
                          env={**os.environ, "JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "2"})
    return {(row["group"], row["case"]): row for row in map(json.loads, done.stdout.splitlines())}


def joined(rounds):
    """The least of each figure over the rounds."""
    result = {}
    for rows in rounds:
        for key, row in rows.items():
            old = result.setdefault(key, dict(row))
            for figure in ("seconds", "first"):
                if row.get(figure) is not None:
                    old[figure] = min(old[figure], row[figure])
    return result


def fresh(python, library):
    """Seconds until a process has imported the library, and until it has a first result."""
    code = f"import {library} as jx, {library}.numpy as jnp"
    first = f"{code}; jx.block_until_ready(jx.jit(lambda x: jnp.sin(x) + 1)(jnp.arange(8.0)))"
    times = []
    for program in (code, first):
        start = time.perf_counter()
        subprocess.run([python, "-c", program], check=True, env={**os.environ, "JAX_PLATFORMS": "cpu"})
        times.append(time.perf_counter() - start)
    return {("process", name): {"group": "process", "case": name, "seconds": t, "sum": 0.0}
            for name, t in zip(("import", "first result"), times)}


def said(seconds):
    for unit, scale in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1 or unit == "µs":
            return f"{seconds * scale:.3g} {unit}"


def table(ours, theirs):
    """The lines of the table, and the cases whose results differ."""
    lines, differ = [], []
    group = None
    for key, mine in ours.items():
        rival = theirs[key]
        if key[0] != group:
            group = key[0]
            lines += ["", f"**{group.replace('_', ' ')}**", ""]
            lines += ["| program | tenon | JAX | ratio | of first calls |", "|---|---|---|---|---|"]
        failures = [f"{name}: {row['error']}" for name, row in (("tenon", mine), ("JAX", rival)) if "error" in row]
        if failures:
            lines.append(f"| {key[1]} | {'; '.join(failures)[:120]} ||||")
            continue
        if not math.isclose(mine["sum"], rival["sum"], rel_tol=2e-3, abs_tol=1e-6):
            differ.append(f"{key[1]}: {mine['sum']:g} and {rival['sum']:g}")
        first = f"{mine['first'] / rival['first']:.2f}" if mine.get("first") else ""
        lines.append(f"| {key[1]} | {said(mine['seconds'])} | {said(rival['seconds'])} | "
                     f"{mine['seconds'] / rival['seconds']:.2f} | {first} |")
    return lines, differ


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tenon", default=sys.executable)
    parser.add_argument("--jax", default=sys.executable)
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--budget", type=float, default=0.5)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        return run_one(options.run, options.only, not options.small, options.budget)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    pythons = {"tenon": options.tenon, "jax": options.jax}
    rounds = {"tenon": [], "jax": []}
    for _ in range(options.rounds):
        for library, python in pythons.items():
            rows = rows_of(python, library, options)
            rounds[library].append(rows if options.only else {**rows, **fresh(python, library)})
    ours, theirs = (joined(rounds[library]) for library in ("tenon", "jax"))
    lines, differ = table(ours, theirs)
    print("\n".join(lines))
    if options.json:
        rows = {"tenon": [*ours.values()], "jax": [*theirs.values()]}
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1))
    for line in differ:
        print("results differ:", line, file=sys.stderr)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
