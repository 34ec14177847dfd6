"""Runs the array standard's own tests (array-api-tests) on tenon.numpy, without a list of skipped tests."""

import collections
import os
import resource
import subprocess
import xml.etree.ElementTree as xml
from concurrent.futures import ThreadPoolExecutor

import expectations
from sources import WORK, commit, source

RESULTS = WORK / "results" / "array_api"
EXAMPLES = 30   # of each test by hypothesis
MEMORY = 8 * 2**30   # of a process


def limits():
    os.nice(10)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def run_file(python, folder, file, only):
    report = RESULTS / f"{file.stem}.xml"
    report.unlink(missing_ok=True)
    command = [python, "-m", "pytest", f"array_api_tests/{file.name}", "-q", "--tb=line", "--no-header", f"--max-examples={EXAMPLES}",
               "--disable-deadline", "--timeout=120", "-p", "no:cacheprovider", "-p", "no:xdist", f"--junitxml={report}"]
    command += ["-k", " or ".join(only)] if only else []
    environment = os.environ | dict(ARRAY_API_TESTS_MODULE="tenon.numpy", PYTHONDONTWRITEBYTECODE="1")
    with report.with_suffix(".log").open("w") as log:
        subprocess.run(command, cwd=folder, env=environment, stdout=log, stderr=log, preexec_fn=limits)


def run(python, jobs, only):
    RESULTS.mkdir(parents=True, exist_ok=True)
    folder = source("array-api")
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda file: run_file(python, folder, file, only), sorted((folder / "array_api_tests").glob("test_*.py"))))
    print("\n".join(section()))


def outcomes():
    """(test, outcome, reason or message): passed, skipped, expected or failed."""
    cases = (case for report in sorted(RESULTS.glob("*.xml")) for case in xml.parse(report).iter("testcase"))
    for case in cases:
        name = f"{case.get('classname', '').split('.')[-1]}::{case.get('name')}"
        bad = case.find("failure") if case.find("failure") is not None else case.find("error")
        if bad is not None:
            found, reason = expectations.match("array-api", f"{name} {bad.get('message')}")
            yield name, found or "failed", reason or (bad.get("message") or "").split("\n")[0][:160]
        else:
            yield name, "skipped" if case.find("skipped") is not None else "passed", ""


def section():
    """The section of the document, from what the last run left."""
    counts, reasons, failures = collections.Counter(), collections.Counter(), []
    for name, outcome, why in outcomes():
        counts[outcome] += 1
        if outcome == "failed":
            failures.append(f"- `{name}`: {why}")
        elif outcome in ("expected", "out of scope"):
            reasons[why] += 1
    yield f"array-api-tests at commit {commit('array-api')[:12]}, {EXAMPLES} examples a test, on `tenon.numpy`, with no list of skipped tests:"
    yield (f"{counts['passed']} passed, {counts['expected'] + counts['out of scope']} expected to fail, {counts['failed']} failed, "
           f"{counts['skipped']} skipped by the suite itself.")
    yield ""
    yield from (f"- {n} {reason}" for reason, n in reasons.most_common())
    if failures:
        yield f"\nFailed ({len(failures)}):\n"
        yield from failures
