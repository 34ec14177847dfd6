"""Processes made by fork and by spawn of one that has used threads: calls work there too."""

import contextlib
import itertools
import multiprocessing
import os
import signal
import threading
import time

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp

N = 1 << 21  # elements enough that the threads share the work


@tn.jit
def summed(x):
    return tnp.sum(tnp.exp(-x * x))


def wanted(x):
    return float(np.sum(np.exp(-x * x)))


def in_child(act, seconds=60):
    """What act() returns in a forked child, as text; fails where it does not end or dies."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(seconds)  # whoever started it may be gone
        status = 1
        try:
            os.close(read)
            os.write(write, repr(act()).encode())
            status = 0
        except BaseException as e:
            os.write(write, repr(e).encode())
        finally:
            os._exit(status)
    os.close(write)
    end = time.monotonic() + seconds
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        if time.monotonic() > end:
            os.kill(child, 9), os.waitpid(child, 0)
            pytest.fail("the child did not end")
        time.sleep(0.01)
    with os.fdopen(read) as told:
        text = told.read()
    assert status == 0, text
    return text


def close(text, value):
    return abs(float(text) - value) <= 1e-9 * abs(value)


@contextlib.contextmanager
def busy(act, count=2):
    """Threads that do the same again and again; what they raise comes out in the end."""
    ends, raised = threading.Event(), []

    def work():
        try:
            while not ends.is_set():
                act()
        except BaseException as e:
            raised.append(e)

    threads = [threading.Thread(target=work) for _ in range(count)]
    [t.start() for t in threads]
    try:
        yield
    finally:
        ends.set()
        [t.join() for t in threads]
    assert raised == []


numbers = itertools.count()


def compile_what_is_new(size=None):
    """Functions that were never traced, with memory of NumPy's and functions of Python's, in all that compiles them."""
    number = next(numbers)
    k, x = 1 + number * 1e-3, np.arange(1 + number % 97 if size is None else size) * 0.1
    kept = tnp.asarray(np.full(x.shape, k))
    slope = tn.jit(tn.grad(lambda v: tnp.sum(tnp.sin(v * kept) * v)))(x)
    assert np.allclose(slope, np.cos(k * x) * k * x + np.sin(k * x))
    assert np.allclose(tn.jit(tn.vmap(lambda v: tnp.exp(-v) * k))(x), np.exp(-x) * k)
    assert np.allclose(tnp.asarray(x) * x + k, x * x + k)
    called = tn.jit(lambda v: tn.pure_callback(lambda u: u * k, v, v) + k)(tnp.asarray(x))
    assert np.allclose(called, x * k + k)


def test_what_was_compiled_runs_in_a_child():
    x = np.linspace(0, 3, N)
    assert np.isclose(float(summed(x)), wanted(x))
    for _ in range(3):
        assert close(in_child(lambda: float(summed(x))), wanted(x))
    assert np.isclose(float(summed(x)), wanted(x))  # and here


def test_a_child_compiles():
    x = np.linspace(0, 3, N)
    summed(x)
    assert close(in_child(lambda: float(tn.jit(lambda v: tnp.sum(tnp.cos(v) ** 2))(x))), float(np.sum(np.cos(x) ** 2)))
    assert close(in_child(lambda: float(tn.grad(lambda k: tnp.sum(tnp.sin(k * x)))(1.0))), float(np.sum(x * np.cos(x))))


def test_products_and_eager_ops_in_a_child():
    a = np.random.default_rng(0).normal(size=(700, 700))
    float(tnp.sum(tnp.asarray(a) @ a))
    assert close(in_child(lambda: float(tnp.sum(tnp.asarray(a) @ a))), float(np.sum(a @ a)))


def test_a_child_of_a_child():
    x = np.linspace(0, 3, N)
    assert close(in_child(lambda: float(in_child(lambda: float(summed(x))))), wanted(x))


def test_while_another_thread_runs():
    x = np.linspace(0, 3, N)
    summed(x)
    with busy(lambda: summed(x)):
        for _ in range(5):
            assert close(in_child(lambda: float(summed(x))), wanted(x))


FORKS = 50


def test_while_other_threads_compile():
    compile_what_is_new()
    with busy(compile_what_is_new):
        for _ in range(FORKS):
            in_child(compile_what_is_new)


def test_a_child_of_a_child_while_threads_compile():
    def act():
        with busy(compile_what_is_new, count=1):
            for _ in range(3):
                in_child(compile_what_is_new)

    with busy(compile_what_is_new):
        for _ in range(3):
            in_child(act)


def fork_within(call):
    """Forks where call(fork) asks for it; the child goes on there, and both come to the same end."""
    here = os.getpid()
    child = None

    def fork():
        nonlocal child
        child = os.fork()
        if child == 0:
            signal.alarm(60)

    try:
        call(fork)
        if os.getpid() != here:
            compile_what_is_new()
            os._exit(0)
    finally:
        if os.getpid() != here:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


def test_inside_of_a_trace_while_threads_compile():
    def call(fork):
        def f(x):
            y = x * x
            fork()
            return tnp.sum(y * 2)

        assert float(tn.jit(f)(np.arange(4.0))) == 28

    with busy(compile_what_is_new):
        for _ in range(FORKS // 2):
            fork_within(call)


def test_inside_of_a_callback_while_threads_compile():
    def call(fork):
        def f(x):
            fork()
            return x * 2

        assert float(tn.jit(lambda x: tnp.sum(tn.pure_callback(f, x, x)))(tnp.arange(4.0))) == 12

    with busy(compile_what_is_new):
        for _ in range(FORKS // 2):
            fork_within(call)


class Same:
    """Static values that are equal, which it takes Python to find out, and long enough that other threads run."""

    def __hash__(self):
        return 1

    def __eq__(self, other):
        time.sleep(1e-4)
        return isinstance(other, Same)


def test_static_values_are_compared_under_no_lock():
    f = tn.jit(lambda x, s: x + 1, static_argnums=1)
    x = tnp.arange(3.0)
    sizes = itertools.count(1)

    def act():
        assert f(x, Same()).tolist() == [1, 2, 3]
        f(tnp.zeros(next(sizes) % 50 + 1), Same())

    signal.alarm(120)  # threads that wait for each other would wait for ever
    try:
        with busy(act, count=4):
            for _ in range(5):
                in_child(compile_what_is_new)
    finally:
        signal.alarm(0)


def work(n):
    x = np.linspace(0, 3, n)
    return float(summed(x)), float(tn.grad(lambda k: tnp.sum(k * x))(1.0))


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(method):
    work(N)
    with multiprocessing.get_context(method).Pool(2) as pool:
        results = pool.map_async(work, [N, 1000, N // 2]).get(timeout=120)
    for n, (value, slope) in zip((N, 1000, N // 2), results):
        x = np.linspace(0, 3, n)
        assert np.isclose(value, wanted(x)) and np.isclose(slope, x.sum())


def test_arrays_go_to_other_processes():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        out = pool.apply_async(double, (tnp.arange(5.0),)).get(timeout=120)
    assert isinstance(out, tn.Array) and out.tolist() == [0, 2, 4, 6, 8]


def double(x):
    return x * 2


@pytest.mark.parametrize("method", ["fork", "forkserver"])
def test_multiprocessing_while_threads_compile(method):
    with busy(compile_what_is_new):
        for _ in range(3):
            with multiprocessing.get_context(method).Pool(2) as pool:
                pool.map_async(compile_what_is_new, range(1, 9)).get(timeout=120)
