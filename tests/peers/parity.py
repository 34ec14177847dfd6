"""Calls of every function with drawn arguments, beside JAX: values, shapes, dtypes, and kinds of errors; and beside SciPy where JAX
has other numbers or none (calls/third.py).

Arguments are drawn by a seed (calls/of_*.py); each library makes the calls in a process of its own, which is begun again after a
call that ends it.
"""

import collections
import os
import pickle
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent / "calls"
sys.path.insert(0, str(HERE))
import draws
import elementwise_calls
import expectations
import numpy as np
import of_indices
import of_lax_windows
import of_linalg
import of_nn_and_lax
import of_numpy
import of_numpy_more
import of_random
import of_signal
import of_special
import of_stats
import of_the_rest
import third
from agreement import arrays, compare, short, shortr
from sources import WORK

RESULTS = WORK / "results" / "parity"
CASES = RESULTS / "cases.pickle"
ROOMS = (of_numpy, of_numpy_more, of_nn_and_lax, of_linalg, of_random, of_indices, of_special, of_stats, of_signal, of_lax_windows, of_the_rest)
SEED, SHARE = 1, 0.4   # of the number of calls a function, for time
OFTEN = re.compile(r"getitem|at\.|np\.(sum|prod|mean|std|var|max|min|where|clip|take|pad|cumsum|sort|argsort|quantile|einsum|"
                   r"matmul|astype|array|convert|linspace|arange|unique|median)$|lax\.(convert|clamp|scatter|pad|dot)")
SECONDS = {"tenon": 40, "jax": 15}   # a call; some of JAX's do not end
MEMORY = 12 * 2**30
# What a difference may be that is none to a user.
HARMLESS = ("", "weak", "zero sign", "ftz", "kind", "JAX raises", "JAX ends", "JAX alone")


def draw_cases(only):
    g, e = draws.G(SEED), elementwise_calls
    draws.CASES.clear()
    for namespace, unary, binary in (("np", e.NP_UNARY, e.NP_BINARY), ("nn", e.NN_UNARY, []), ("lax", e.LAX_UNARY, e.LAX_BINARY), ("op", [], e.OPS)):
        e.gen_unary(g, namespace, unary, SHARE)
        e.gen_binary(g, namespace, binary, SHARE, strict=namespace == "lax")
    for name, draw in draws.table(g, ROOMS):
        for _ in range(int((45 if OFTEN.match(name) else 22) * SHARE)):
            g.mode = g.of("small", "small", "small", "special")
            try:
                with np.errstate(all="ignore"):
                    args, kwargs = draw()
            except (ValueError, TypeError, IndexError, OverflowError):   # drawn arguments that do not fit together
                continue
            draws.emit(name.rstrip("#"), args, kwargs, g.mode)
    return [c for c in draws.CASES if not only or any(c[0].endswith(o) for o in only)]


def limits():
    import resource
    os.nice(10)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def run_library(python, name, out, count):
    """Makes the calls, and notes those that end the process or do not end."""
    out.unlink(missing_ok=True)
    at, first = Path(f"{out}.at"), 0
    while first < count:
        at.unlink(missing_ok=True)
        with open(f"{out}.err", "w") as err:
            process = subprocess.Popen([python, str(HERE / "library.py"), name, str(CASES), str(out), str(first)], stderr=err,
                                       stdout=subprocess.DEVNULL, preexec_fn=limits)
            last, since = None, time.time()
            while process.poll() is None:
                time.sleep(0.5)
                now = at.read_text() if at.exists() else None
                if now != last:
                    last, since = now, time.time()
                elif time.time() - since > SECONDS[name]:
                    process.kill()
                    process.wait()
        if process.returncode == 0:
            return
        if not at.exists():
            raise SystemExit(f"peers-tests: {name} does not start: {out}.err")
        ended = int(at.read_text())
        with out.open("ab") as results:
            pickle.dump((ended, ("X", f"the process ended, {process.returncode}")), results)
        first = ended + 1


def run(python, jobs, only):
    RESULTS.mkdir(parents=True, exist_ok=True)
    cases = draw_cases(only)
    CASES.write_bytes(pickle.dumps(cases))
    print(f"{len(cases)} calls", flush=True)
    with ThreadPoolExecutor(min(2, jobs)) as pool:
        list(pool.map(lambda name: run_library(python, name, RESULTS / name, len(cases)), ("tenon", "jax")))
    print("\n".join(section()))


def load(path):
    results = {}
    with path.open("rb") as file:
        while True:
            try:
                i, result = pickle.load(file)
            except EOFError:
                return results
            results[i] = result


def differences():
    """(call, our result, JAX's, "" or what differs) of each call that both made."""
    ours, theirs = load(RESULTS / "tenon"), load(RESULTS / "jax")
    for i, case in enumerate(pickle.loads(CASES.read_bytes())):
        if i in ours and i in theirs:
            largest = 1.0
            for a in arrays((case[1], case[2])):
                if a.size and a.dtype.kind in "fciub":
                    with np.errstate(all="ignore"):
                        a = np.abs(a.astype("complex128"))
                    largest = max([largest, *a[np.isfinite(a)]])
            what = compare(ours[i], theirs[i], case[3], largest)
            yield case, ours[i], theirs[i], third.judged(case, ours[i], theirs[i], what, largest)


def section():
    """The section of the document, from what the last run left."""
    counts, reasons, clusters = collections.Counter(), collections.Counter(), collections.defaultdict(list)
    for case, ours, theirs, what in differences():
        counts[what or "same"] += 1
        if what not in HARMLESS:
            text = f"{case[0]}({short(list(case[1]))[:160]}, {short(case[2])[:80]}): {shortr(ours)[:120]}, JAX {shortr(theirs)[:120]}"
            known, reason = expectations.match("parity", f"{case[0]} [{what}] {text}")
            if known:
                reasons[reason] += 1
            else:
                clusters[case[0], what].append(text)
    yield f"{sum(counts.values())} calls with drawn arguments, in 64 bits (`tests/peers/calls`): special values, empty arrays, all dtypes,"
    yield "arguments that do not fit. SciPy is asked where JAX differs (JAX alone: SciPy has our numbers) or refuses a call."
    yield "Results by what differs: " + ", ".join(f"{k} {n}" for k, n in counts.most_common()) + "."
    yield ""
    yield from (f"- {n} {reason}" for reason, n in reasons.most_common())
    for (name, what), texts in sorted(clusters.items(), key=lambda c: -len(c[1])):
        yield f"- {len(texts)} of {name}, {what}: `{min(texts, key=len)}`"
