"""Runs JAX's own files of tests with Tenon in JAX's place, some at a time, and says what came of each test."""

import collections
import json
import os
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import expectations
from sources import WORK, commit, source

HERE = Path(__file__).parent
RESULTS = WORK / "results" / "jax"
# The longest first, so that they do not come alone at the end.
FILES = """lax_numpy_test lax_test linalg_test random_lax_test lax_control_flow_test lax_numpy_reducers_test api_test custom_api_test
  lax_numpy_indexing_test lax_autodiff_test lax_vmap_test batching_test nn_test mutable_array_test lax_numpy_einsum_test
  lax_numpy_operators_test fft_test tree_util_test python_callback_test debugging_primitives_test lax_numpy_vectorize_test
  lax_numpy_setops_test lax_numpy_ufuncs_test lax_vmap_op_test ode_test polynomial_test generated_fun_test custom_root_test
  custom_linear_solve_test""".split()
SECONDS_A_TEST, SECONDS_A_FILE, MEMORY = 20, 1500, 10 * 2**30
FAILED = ("failed", "crash", "timeout")


def limits():
    os.nice(10)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run_file(name, python, folder):
    """Runs a file; a process that ends before its time is followed by another, which leaves out what has run."""
    results = RESULTS / f"{name}.jsonl"
    results.write_text("")
    environment = os.environ | dict(
        RESULTS=str(results), SECONDS_A_TEST=str(SECONDS_A_TEST), JAX_SOURCE=str(folder), PYTHONDONTWRITEBYTECODE="1",
        PYTHONPATH=os.pathsep.join([str(HERE / "jax_tests"), *filter(None, [os.environ.get("PYTHONPATH")])]))
    command = [python, "-m", "pytest", "-p", "plugin", "-p", "no:cacheprovider", "-p", "no:faulthandler", "-p", "no:xdist", "-q",
               "--no-header", "--tb=no", "-W", "ignore", f"--rootdir={folder}", "-o", "python_files=*_test.py", "--import-mode=importlib",
               f"--timeout={SECONDS_A_TEST}", "--timeout-method=signal", str(folder / "tests" / f"{name}.py")]
    end = time.time() + SECONDS_A_FILE
    with results.with_suffix(".log").open("w") as log:
        while time.time() < end and not finished(results):
            process = subprocess.Popen(command, cwd=RESULTS, env=environment, stdout=log, stderr=log, preexec_fn=limits)
            try:
                process.wait(max(1, end - time.time()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if not lines_of(results):
                raise SystemExit(f"peers-tests: {name} did not start: {results.with_suffix('.log')}")
    counts = collections.Counter(outcome for _, outcome, _ in outcomes(name))
    print(f"{name:32}" + ", ".join(f"{k} {v}" for k, v in counts.most_common()), flush=True)


def lines_of(results):
    return [json.loads(line) for line in results.read_text().splitlines()]


def finished(results):
    lines = lines_of(results)
    return bool(lines) and "finished" in lines[-1]


def tests_of(name):
    """The line of each test of a file; of a test whose process ended, one that says so."""
    lines = lines_of(RESULTS / f"{name}.jsonl")
    tests = {}
    for line in lines:
        if "test" in line and tests.get(line["test"], {}).get("outcome", "passed") == "passed":
            tests[line["test"]] = line
    for line in lines:
        if "start" in line and line["start"] not in tests:
            tests[line["start"]] = dict(test=line["start"], outcome="crash", kind="crash", message="the process ended")
    return tests


def described(name, line):
    """What expectations are matched against."""
    return f"{name} {line['test']} {line.get('test_line', '')} {line.get('kind')}: {line.get('message', '')} {line.get('cause', '')}"


def outcomes(name):
    """(test, outcome, reason) of a file: passed, other words, expected, out of scope, failed, crash or timeout."""
    for test, line in tests_of(name).items():
        outcome, reason = line["outcome"], ""
        if outcome == "skipped":
            outcome = "out of scope"
        elif outcome == "failed":
            found, why = expectations.match("jax", described(name, line))
            outcome, reason = found or outcome, why
        yield test, outcome, reason


def run(python, jobs, only):
    folder = source("jax")
    RESULTS.mkdir(parents=True, exist_ok=True)
    files = [f for f in FILES if not only or f in only]
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda name: run_file(name, python, folder), files))


def section():
    """The section of the document, from what the last run of each file left."""
    rows, reasons, failures = [], collections.Counter(), []
    total = collections.Counter()
    for name in sorted(FILES):
        if not (RESULTS / f"{name}.jsonl").exists():
            continue
        counts = collections.Counter()
        for test, outcome, reason in outcomes(name):
            counts[outcome] += 1
            reasons[outcome, reason] += reason != ""
            if outcome in FAILED:
                failures.append(f"{name} {test}" + ("" if outcome == "failed" else f" ({outcome})"))
        rows.append((name + ("" if finished(RESULTS / f"{name}.jsonl") else ", not finished"), counts))
        total += counts
    yield f"JAX's own files of tests at commit {commit('jax')[:12]}, with modules over Tenon's in place of JAX's (`tests/peers/jax_tests`):"
    yield "at most six cases of each parameterized test, in 32 bits where the test does not say otherwise. *Other words*: an error of JAX's"
    yield "kind with another text. *Expected*: what is known not to hold, with its reason below. *Out of scope*: devices, XLA, text of"
    yield "jaxprs, JAX's flags and internals, names newer than its last release."
    yield ""
    yield "| file | passed | other words | expected | failed | out of scope | holds, % |"
    yield "|---|---|---|---|---|---|---|"
    for name, c in [*rows, ("together", total)]:
        failed = sum(c[k] for k in FAILED)
        holds = c["passed"] + c["other words"]
        share = 100 * holds / max(1, holds + c["expected"] + failed)
        yield f"| {name} | {c['passed']} | {c['other words']} | {c['expected']} | {failed} | {c['out of scope']} | {share:.1f} |"
    yield ""
    for kind, title in (("expected", "Expected failures"), ("out of scope", "Failures that are out of scope")):
        yield f"{title}:"
        yield ""
        yield from (f"- {n} {reason}" for (k, reason), n in reasons.most_common() if k == kind and n)
        yield ""
    if failures:
        yield f"Failed ({len(failures)}):"
        yield ""
        yield from (f"- `{f}`" for f in failures)


if __name__ == "__main__":   # the failures in detail: python jax_files.py [FILE...]
    for name in sys.argv[1:] or FILES:
        for test, outcome, _ in outcomes(name):
            if outcome in FAILED:
                line = tests_of(name)[test]
                print(f"{test}\n    {line.get('test_line', '')}\n    {line.get('kind')}: {line.get('message', '')[:400]}")
