"""Nothing grows: after many derivatives, traces and errors as many objects and bytes are alive as before."""

import gc
import pathlib

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp

PAGE = 4096


def resident():
    """Bytes of this process in memory."""
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * PAGE


def alive():
    gc.collect()
    return len(gc.get_objects()), resident()


def growth(step, times, warm):
    """How many objects and bytes more there are after a number of steps, and once more after as many."""
    for _ in range(warm):
        step()
    measured = [alive()]
    for _ in range(2):
        for _ in range(times // 2):
            step()
        measured.append(alive())
    return [(b[0] - a[0], b[1] - a[1]) for a, b in zip(measured, measured[1:])]


X = np.linspace(-1, 1, 1000)  # 8 kB: 10,000 of these that stay are 80 MB


def eager_gradient():
    tn.grad(lambda x: tnp.sum(tnp.sin(x) * x))(tnp.asarray(X))


def gradient_with_loops():
    tn.grad(lambda x: tn.lax.fori_loop(0, 3, lambda i, c: c * x[0] + i, x[1]))(tnp.asarray(X))


def update():
    tnp.asarray(X).at[3].set(2.0) @ tnp.asarray(X)


def error():
    with pytest.raises(ValueError):
        tn.grad(lambda x: tnp.sum(tnp.reshape(x, (7, 9))))(tnp.asarray(X))


def error_in_a_trace():
    with pytest.raises(ZeroDivisionError):
        tn.jit(lambda x: x * (1 / 0))(tnp.asarray(X))


def traces():
    """A function of its own each time, which captures an array of its own."""
    captured = tnp.asarray(X) + 1
    tn.jit(lambda x: x * 2 + captured)(tnp.asarray(X))


def programs():
    tn.make_program(tn.vmap(tn.grad(lambda x: x * x * tnp.sum(captured := tnp.asarray(X)) + captured[0])))(tnp.asarray(X))


@pytest.mark.parametrize("step, times", [(eager_gradient, 10_000), (gradient_with_loops, 1_000), (update, 10_000), (error, 1_000),
                                         (error_in_a_trace, 1_000), (traces, 1_000), (programs, 1_000)],
                         ids=lambda v: getattr(v, "__name__", None))
def test_nothing_grows(step, times):
    first, second = growth(step, times, times // 10)
    assert min(first[0], second[0]) < times // 50, f"{first[0]} and {second[0]} objects more"
    assert min(first[1], second[1]) < times * 400, f"{first[1]:,} and {second[1]:,} bytes more"
