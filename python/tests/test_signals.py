"""Handlers of signals have their turn while a program runs on the main thread, and what they raise stops it."""

import subprocess
import sys
import textwrap

import pytest

HEAD = """
    import signal
    import threading
    import time
    import numpy as np
    import tenon as tn
    from tenon import lax

    def steps(c, n):   # steps of a loop: about a nanosecond each, compiled
        return lax.while_loop(lambda s: s[1] < n, lambda s: (s[0] * 0.5 + 1.0, s[1] + 1), (c, 0))[0]

    compiled = tn.jit(steps)
    wide = tn.jit(lambda x, n: lax.fori_loop(0, n, lambda i, x: tn.numpy.sin(x) + 1.0, x))
    with_nan = tn.jit(lambda x, n: tn.numpy.log(-1.0 - lax.fori_loop(0, n, lambda i, x: abs(x * 0.5 + 1.0), x)))

    def evaluated(x, n):   # which op made the NaN is found by the evaluator, op by op
        with tn.debug_nans():
            try:
                return with_nan(x, n)
            except FloatingPointError:
                return n

    runs = {   # of so many tenths of a second, about; evaluated: op by op
        "compiled": lambda tenths: compiled(1.0, 100_000_000 * tenths),
        "evaluated": lambda tenths: evaluated(tn.numpy.asarray(1.0), 13_000 * tenths),
        "blocks": lambda tenths: wide(np.ones(1_000_000), 20 * tenths),
    }
    for warm in runs.values():
        warm(0)
"""


def run(kind, text):
    code = textwrap.dedent(HEAD) + textwrap.dedent(text).replace("KIND", repr(kind))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("kind", ["compiled", "evaluated", "blocks"])
def test_what_a_handler_raises_stops_the_program(kind):
    run(kind, """
        class Enough(Exception):
            pass

        def stop(*_):
            raise Enough("of it")

        signal.signal(signal.SIGALRM, stop)
        for _ in range(2):
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            start = time.monotonic()
            try:
                runs[KIND](100)
                raise SystemExit("not stopped")
            except Enough as error:
                assert str(error) == "of it" and 0.25 < time.monotonic() - start < 3, time.monotonic() - start
        assert compiled(1.0, 5) == 1.96875   # and nothing is left of it
    """)


@pytest.mark.parametrize("kind", ["compiled", "evaluated", "blocks"])
def test_a_handler_has_its_turn_and_the_program_goes_on(kind):
    run(kind, """
        turns, undisturbed = [], np.asarray(runs[KIND](5))

        def note(*_):
            turns.append(float(compiled(1.0, 5)))   # it may call programs
            signal.setitimer(signal.ITIMER_REAL, 0.05)

        signal.signal(signal.SIGALRM, note)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        start = time.monotonic()
        while len(turns) < 2 and time.monotonic() - start < 60:
            assert np.array_equal(runs[KIND](5), undisturbed)
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert len(turns) >= 2 and set(turns) == {1.96875}, turns
    """)


def test_after_a_fork():
    run("compiled", """
        import os
        runs[KIND](3)
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGALRM, lambda *_: os._exit(7))
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            runs[KIND](100)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    """)


def test_other_threads_of_python():
    # The main thread waits in Python, which runs the handler at once; the program of the other thread goes on.
    run("compiled", """
        results = []
        worker = threading.Thread(target=lambda: results.append(float(compiled(1.0, 500_000_000))))
        noted = []
        signal.signal(signal.SIGALRM, lambda *_: noted.append(worker.is_alive()))
        worker.start()
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        while worker.is_alive():
            time.sleep(0.01)
        worker.join()
        assert results == [2.0] and noted, (results, noted)
    """)
