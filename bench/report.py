#!/usr/bin/env python3
"""Runs our benchmarks beside the hand-written limits and, with --peers, other libraries; prints a table and writes rows.

    python3 bench/report.py --build build [--peers PYTHON] [--json FILE] [--rounds N] [--only NAME]...

All programs run on the same two processors, in turns, every one N times (twice unless told): each figure of each of them is its
least, since on a shared machine memory alone may have half its speed for minutes. Ours and other libraries have two threads, and so
has a limit, unless its name or bench/limits/README.md says that it has one. Our programs that figures.json lists under "one
thread" run with one thread too: the cases of that run end in ", one thread".

With --only, the programs whose name has a NAME in it, and the cases that begin with one: those are measured, and a FILE that is there
already keeps its other rows.

bench/figures.json says which figures there are. Each names our row by case and figure; the rows of limit programs (the least of them is the limit; a name that
ends in * stands for all that begin so); the rows of other libraries (case and metric; the least is the rival); and its targets:
at_most times the limit, the rival or our own figure of that name in the same case (one of the figures, or of the baselines, which
have no targets of their own), or at_most as it stands. A target holds, fails, or is unmeasured; a figure holds when all its targets do, fails when one does, and is missing else.

Where one of our programs and a limit print a checksum of one case and name, they have to agree: else the run fails.
"""
import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
os.environ["TENON_CACHE"] = "off"  # what is timed is compiled anew
THREADS = 2
SCALES = {"s": ("time", 1), "ms": ("time", 1e-3), "us": ("time", 1e-6), "ns": ("time", 1e-9), "ns/iter": ("time/iter", 1e-9),
          "us/iter": ("time/iter", 1e-6), "bytes": ("memory", 1), "exponent": ("exponent", 1), "count": ("count", 1),
          "ratio": ("ratio", 1)}


def lines_of(program, one_thread=False):
    """The JSON lines a program prints; and what went wrong, or None."""
    name = program[-1] if len(program) > 1 else program[0]
    environment = {**os.environ, "TENON_NUM_THREADS": "1"} if one_thread else None
    try:
        done = subprocess.run(program, stdout=subprocess.PIPE, text=True, timeout=1800, cwd=HERE.parent, env=environment)
    except (OSError, subprocess.TimeoutExpired) as failure:
        return [], f"{name}: {failure}"
    rows = []
    for line in done.stdout.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict) and isinstance(row.get("value"), (int, float)):
            rows.append({**row, "case": row["case"] + ONE_THREAD} if one_thread else row)
    return rows, f"{name}: exit status {done.returncode}" if done.returncode else None


def convert(row, unit):
    """A row's value in this unit; ValueError where it measures something else."""
    (kind, scale), (own_kind, own_scale) = SCALES[unit], SCALES.get(row["unit"], (row["unit"], 1))
    if kind != own_kind:
        raise ValueError(f"{row['case']}: {row['unit']} where {unit} is wanted")
    return row["value"] * own_scale / scale


def matches(pattern, name):
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


def least_limit(figure, limits):
    values = [convert(row, figure["unit"]) for case, pattern in figure["limits"] for row in limits
              if row["case"] == case and matches(pattern, row["figure"])]
    return min(values, default=None)


def least_rival(figure, peers):
    """(value, its name) of the best other library; 'a + b' as a metric is the sum of both."""
    best = (None, None)
    for case, metric in figure["rivals"]:
        parts = metric.split(" + ")
        for peer in sorted({row["peer"] for row in peers if row["case"] == case and not row["peer"].startswith("C++")}):
            found = [[convert(row, figure["unit"]) for row in peers if (row["case"], row["peer"], row["metric"]) == (case, peer, part)]
                     for part in parts]
            if all(found):
                value = sum(min(rounds) for rounds in found)
                if best[0] is None or value < best[0]:
                    best = (value, peer)
    return best


CHECKSUM = "checksum "
ONE_THREAD = ", one thread"  # ends cases of programs that have run with one
AGREEMENT = 1e-3  # of the larger: sums of many f32 in another order


def disagreements(ours, limits):
    """What our programs compute and the limits compute otherwise, a line each."""
    expected = {(row["case"], row["figure"]): row["value"] for row in limits if row["figure"].startswith(CHECKSUM)}
    found = {}
    for row in ours:
        want = expected.get((row["case"], row["figure"]))
        if want is None or abs(row["value"] - want) <= AGREEMENT * max(abs(row["value"]), abs(want)):
            continue  # also false of NaN
        found[row["case"], row["figure"]] = f"{row['case']}: {row['figure']} = {row['value']:.9g}, of the limit {want:.9g}"
    return list(found.values())


def judge(targets, value, known):
    """True when every target is measured and holds, False when a measured one fails, None otherwise."""
    verdicts = []
    for target in targets:
        base = known.get(target["of"]) if "of" in target else 1.0
        verdicts.append(None if value is None or base is None else value <= target["at_most"] * base)
    if False in verdicts:
        return False
    return True if verdicts and None not in verdicts else None


def say_target(target, unit):
    return f"<= {target['at_most']:g} x {target['of']}" if "of" in target else f"<= {target['at_most']:g} {unit}"


def make_rows(figures, ours, limits, peers):
    """One row a figure, measured or not."""
    own, told = {}, {(figure["case"], figure["figure"]) for figure in figures}
    for row in ours:
        key = (row["case"], row["figure"])
        if key not in own or row["value"] < own[key]["value"]:
            own[key] = row
    rows = []
    for figure in figures:
        case, unit = figure["case"], figure["unit"]
        mine = {name: convert(row, unit) for (c, name), row in own.items()
                if c == case and SCALES.get(row["unit"], ("?",))[0] == SCALES[unit][0]}
        value, limit = mine.get(figure["figure"]), least_limit(figure, limits)
        rival, rival_name = least_rival(figure, peers)
        known = {**mine, "limit": limit, "rival": rival}
        wanted = {"value": value, **{t["of"]: known.get(t["of"]) for t in figure["targets"] if "of" in t}}
        # What a target is of, where that is no limit, no rival and no row itself.
        beside = {t["of"]: known.get(t["of"]) for t in figure["targets"]
                  if t.get("of", "limit") not in ("limit", "rival") and (case, t["of"]) not in told}
        rows.append({"case": case, "figure": figure["figure"], "beside": beside, "value": value, "unit": unit, "limit": limit, "rival": rival,
                     "rival_name": rival_name, "target": ", ".join(say_target(t, unit) for t in figure["targets"]),
                     "holds": judge(figure["targets"], value, known),
                     "missing": [name for name, measured in wanted.items() if measured is None]})
    return rows


def show(rows):
    number = lambda v: "-" if v is None else f"{v:.4g}"
    table = [("case", "figure", "value", "unit", "limit", "x limit", "rival", "", "target", "holds")]
    for r in rows:
        ratio = r["value"] / r["limit"] if r["value"] is not None and r["limit"] else None
        holds = {True: "yes", False: "NO", None: "missing " + ", ".join(r["missing"])}[r["holds"]]
        table.append((r["case"], r["figure"], number(r["value"]), r["unit"], number(r["limit"]), number(ratio), number(r["rival"]),
                      r["rival_name"] or "", r["target"], holds))
    widths = [max(len(line[i]) for line in table) for i in range(len(table[0]))]
    for line in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
    count = lambda verdict: sum(r["holds"] is verdict for r in rows)
    print(f"\n{len(rows)} figures: {count(True)} hold, {count(False)} do not, {count(None)} are missing a measurement")


def core_of(processor):
    """What tells the physical core of a processor from another; the processor itself where the system does not say."""
    topology = Path(f"/sys/devices/system/cpu/cpu{processor}/topology")
    try:
        return tuple((topology / part).read_text() for part in ("physical_package_id", "core_id"))
    except OSError:
        return processor


def hold_to_two_threads():
    """Everything started from here on has two processors, of two cores where there are two, and two threads."""
    cores = {}
    for processor in sorted(os.sched_getaffinity(0)):
        cores.setdefault(core_of(processor), processor)
    chosen = (sorted(cores.values()) + sorted(os.sched_getaffinity(0) - set(cores.values())))[:THREADS]
    os.sched_setaffinity(0, chosen)
    for variable in ("TENON_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = str(THREADS)
    if len(chosen) < THREADS:
        print("one processor only: the limits, which have two workers, will show times far from theirs", file=sys.stderr)


def chosen(name, only):
    return not only or any(word in name for word in only)


def run_all(description, build, python, rounds, only):
    """Rows of ours, of the limits and of the peers, in turns; of the programs of some names alone, where these are given."""
    hold_to_two_threads()
    rows, failures = {"ours": [], "limits": [], "peers": []}, []
    programs = [("ours", [str(p)]) for p in sorted(Path(build, "bench").glob("bench_*")) if p.is_file() and os.access(p, os.X_OK)]
    limits = [("limits", [str(p)]) for name in description["limits"] if (p := Path(build, "bench/limits", f"limit_{name}")).exists()]
    if os.getloadavg()[0] > 0.7:
        print("the machine is busy: programs whose two workers meet will show times far from what they take alone", file=sys.stderr)
    if not limits:
        print("no limit programs were built (they need AVX-512): their figures are missing", file=sys.stderr)
    turns = [p for pair in zip(programs, limits) for p in pair]
    turns += programs[len(limits):] + limits[len(programs):]
    if python:
        turns += [("peers", [python, str(HERE / "peers" / f"{name}.py")]) for name in description["peers"]]
    alone = {f"bench_{name}" for name in description["one thread"]}
    turns = [(kind, command, False) for kind, command in turns]
    turns += [(kind, command, True) for kind, command, _ in turns if Path(command[-1]).stem in alone]
    for kind, command, one_thread in [turn for turn in turns if chosen(Path(turn[1][-1]).stem, only)] * rounds:
        print(f"# {Path(command[-1]).name}{ONE_THREAD if one_thread else ''}", file=sys.stderr, flush=True)
        found, failure = lines_of(command, one_thread)
        rows[kind] += found
        failures += [failure] if failure else []
    return rows, failures


def kept(rows, path, figures):
    """The rows that were measured, and the file's of the other figures, in the order of all figures."""
    try:
        old = json.loads(Path(path).read_text())["rows"]
    except FileNotFoundError:
        old = []
    known = {(row["case"], row["figure"]): row for row in [*rows, *old, *(row for row in rows if row["value"] is not None)]}
    return [known[key] for figure in figures if (key := (figure["case"], figure["figure"])) in known]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--peers", metavar="PYTHON", help="a Python that has the other libraries")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--rounds", type=int, default=2, metavar="N")
    parser.add_argument("--only", metavar="NAME", action="append", default=[], help="these programs and cases alone; may be repeated")
    options = parser.parse_args()
    description = json.loads((HERE / "figures.json").read_text())
    every = description["figures"]
    if options.only:
        description["figures"] = [figure for figure in every if figure["case"].startswith(tuple(options.only))]
    measured, failures = run_all(description, Path(options.build).absolute(), options.peers and str(Path(options.peers).absolute()),
                                 options.rounds, options.only)
    rows = make_rows(description["figures"], measured["ours"], measured["limits"], measured["peers"])
    show(rows)
    failures += disagreements(measured["ours"], measured["limits"])
    known = {(f["case"], f["figure"]) for f in description["figures"]}
    others = {}
    for row in measured["ours"]:
        if (row["case"], row["figure"]) not in known and not row["figure"].startswith(CHECKSUM):
            others.setdefault((row["case"], row["figure"], row["unit"]), []).append(row["value"])
    for (case, figure, unit), values in others.items():
        print(f"also: {case}: {figure} = {min(values):g} {unit}")
    for failure in failures:
        print(f"failed: {failure}", file=sys.stderr)
    if options.json:
        rows = kept(rows, options.json, every) if options.only else rows
        lines = ",\n".join(json.dumps(row) for row in rows)
        Path(options.json).write_text(f'{{"rows": [\n{lines}\n]}}\n')
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
