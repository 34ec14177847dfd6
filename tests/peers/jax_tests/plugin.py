"""A pytest plugin: puts the shim in JAX's place, takes few cases of each parameterized test, and writes a line of JSON a test.

RESULTS names the file of lines: a test that has a line there is left out, so that a file whose process ended is taken up again.
"""

import collections
import faulthandler
import inspect
import json
import os
import random
import re
import sys
import traceback
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.setrecursionlimit(1100)   # so that endless recursion ends soon

import holes
import shim

shim.install()
import test_case

RESULTS = Path(os.environ["RESULTS"])
CASES_A_TEST = 6
SECONDS_A_TEST = float(os.environ["SECONDS_A_TEST"])
log = RESULTS.open("a", buffering=1)
stacks = RESULTS.with_suffix(".stacks").open("a")


def write(**line):
    log.write(json.dumps(line) + "\n")


def name_of(item):
    return item.nodeid.split("::", 1)[1]


def function_of(item):
    return inspect.unwrap(item.function)


def line_of(item):
    return getattr(getattr(function_of(item), "__code__", None), "co_firstlineno", 0)


def pytest_collection_modifyitems(config, items):
    # A test that classes inherit, to run it under other flags of JAX's, runs once: in the class that has it.
    owners = {}
    for item in items:
        own = function_of(item).__qualname__.split(".")[0]
        if line_of(item) not in owners or item.cls and item.cls.__name__ == own:
            owners[line_of(item)] = item.cls
    groups = collections.defaultdict(list)
    for item in items:
        if owners[line_of(item)] is item.cls:
            groups[line_of(item)].append(item)
    chosen = set()
    for group in groups.values():
        draw = random.Random(len(group))
        chosen.update(map(id, group if len(group) <= CASES_A_TEST else draw.sample(group, CASES_A_TEST)))
    lines = map(json.loads, RESULTS.read_text().splitlines())
    done = {line["test"] for line in lines if "test" in line}
    items[:] = [item for item in items if id(item) in chosen and name_of(item) not in done]
    write(collected=len(items))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item, nextitem):
    write(start=name_of(item))
    faulthandler.dump_traceback_later(SECONDS_A_TEST + 12, exit=True, file=stacks)   # where a signal is not heard
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    holes.RUNNING[0] = True
    test_case.NOTES.clear()
    yield
    holes.RUNNING[0] = False


def causes(error):
    chain = []
    while error is not None and len(chain) < 8:
        chain.append(error)
        error = error.__cause__ or error.__context__
    return chain


def place(frames):
    """The last line of the test itself, and the last of Tenon's."""
    test = tenon = ""
    for frame in traceback.extract_tb(frames):
        if "/tenon/" in frame.filename:
            tenon = f"{frame.filename.split('/tenon/')[-1]}:{frame.lineno}"
        elif "_test.py" in frame.filename:
            test = f"{Path(frame.filename).name}:{frame.lineno}: {frame.line}"
    return test, tenon


def failure(outcome, info):
    """What a line says of an exception."""
    error, chain = info.value, causes(info.value)
    test, tenon = place(info.tb)
    line = dict(outcome=outcome, kind=type(error).__name__, message=str(error)[:700], test_line=test, tenon_line=tenon)
    hidden = [e for e in chain if isinstance(e, holes.OutOfScope)]
    if "Timeout" in str(error)[:40]:
        line["outcome"] = "timeout"
    elif outcome == "failed" and hidden:
        line |= dict(outcome="skipped", message=str(hidden[0]))
    elif outcome == "failed" and isinstance(error, AssertionError) and re.match(r'"(?s:.*)" does not match "', str(error)):
        line["outcome"] = "other words"   # of unittest's own assertRaisesRegex, which has found the kind
    elif outcome == "failed" and len(chain) > 1:
        line["cause"] = f"{type(chain[1]).__name__}: {str(chain[1])[:300]}"
    return line


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if call.when != "call" and report.outcome == "passed" or call.when == "teardown" and report.outcome == "skipped":
        return
    line = dict(test=name_of(item), outcome=report.outcome, seconds=round(call.duration, 2))
    if call.excinfo is not None:
        line |= failure(report.outcome, call.excinfo)
    elif report.outcome == "skipped":
        line["message"] = str(report.longrepr)[:200]
    elif test_case.NOTES:
        line |= dict(outcome="other words", message=" | ".join(test_case.NOTES)[:900])
    write(**line)


def pytest_sessionfinish(session, exitstatus):
    write(finished=int(exitstatus))
