"""Processes made by fork and by spawn of one that has used threads: calls work there too."""

import multiprocessing
import os
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
    ends = threading.Event()

    def work():
        while not ends.is_set():
            summed(x)

    busy = [threading.Thread(target=work) for _ in range(2)]
    [t.start() for t in busy]
    try:
        for _ in range(5):
            assert close(in_child(lambda: float(summed(x))), wanted(x))
    finally:
        ends.set()
        [t.join() for t in busy]


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
