"""Branches and steps that return arrays of a size of their own, beside the same in NumPy."""

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import lax

DTYPES = ["bool", "int8", "uint16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"]


def drawn(seed, dtype="float64", shape=(20,)):
    return (np.random.default_rng(seed).normal(size=shape) * 3).astype(dtype)


def branches(np_):
    return [
        lambda a: a[np_.real(a) > 0],
        lambda a: np_.concatenate([a, a[np_.real(a) < 0]]),
        lambda a: a[::-1],
        lambda a: a[:3],
        lambda a: np_.unique(a),
    ]


@pytest.mark.parametrize("dtype", DTYPES)
def test_each_branch_has_its_size(dtype):
    a = drawn(1, dtype)
    functions = branches(tnp)
    if "complex" in dtype:
        functions = functions[:4]  # unique of complex numbers sorts them
    choose = tn.jit(lambda i, a: lax.switch(i, functions, a))
    for i in range(len(functions)):
        want = branches(np)[i](a)
        for got in (choose(i, a), lax.switch(i, functions, tnp.asarray(a))):
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(np.asarray(got), want)


@pytest.mark.parametrize("seed", range(12))
def test_steps_that_shrink_and_grow(seed):
    random = np.random.default_rng(seed)
    order = random.integers(0, 4, size=5)
    a = drawn(seed, "float64", (int(random.integers(0, 30)),))

    def step(a, i):
        if isinstance(a, np.ndarray):
            return branches(np)[i](a) * 0.75 + 0.25
        return lax.switch(i, branches(tnp)[:4], a) * 0.75 + 0.25

    want = a
    sums = []
    for i in order:
        want = step(want, i)
        sums.append(want.sum())

    def scanned(a, order):
        def body(a, i):
            a = step(a, i)
            return a, tnp.sum(a)

        return lax.scan(body, a, order)

    for run in (scanned, tn.jit(scanned)):
        end, told = run(tnp.asarray(a), tnp.asarray(order))
        np.testing.assert_allclose(np.asarray(end), want, rtol=1e-12)
        np.testing.assert_allclose(np.asarray(told), sums, rtol=1e-12, atol=1e-12)

    grad = tn.jit(tn.grad(lambda a: tnp.sum(scanned(a, tnp.asarray(order))[0] ** 2)))(a)
    for k in range(len(a)):  # a step is linear where no element changes its sign
        small = np.zeros_like(a)
        small[k] = 1e-7
        ends = []
        for moved in (a - small, a + small):
            for i in order:
                moved = step(moved, i)
            ends.append(moved)
        if len(ends[0]) == len(ends[1]):
            assert abs(((ends[1] ** 2).sum() - (ends[0] ** 2).sum()) / 2e-7 - grad[k]) < 1e-4


def test_both_axes_vary():
    m = drawn(3, "float32", (8, 6))

    def smaller(m, np_):
        rows = m[np_.sum(m, axis=1) > np_.min(np_.sum(m, axis=1))]
        return rows[:, np_.sum(rows, axis=0) < np_.max(np_.sum(rows, axis=0))]

    want = m
    while want.shape[1] > 2:
        want = smaller(want, np)
    loop = lambda m: lax.while_loop(lambda m: tnp.asarray(m.shape[1]) > 2, lambda m: smaller(m, tnp), m)
    for run in (loop, tn.jit(loop)):
        got = run(tnp.asarray(m))
        assert got.shape == want.shape
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-6)


def test_a_carry_that_is_a_tree():
    a, w = drawn(5), drawn(6)

    def body(state):
        keep = state["a"] > tnp.min(state["a"])
        return {"a": state["a"][keep], "w": state["w"][keep], "n": state["n"] + 1}

    end = tn.jit(
        lambda a, w: lax.while_loop(lambda s: tnp.asarray(s["a"].shape[0]) > 3, body, {"a": a, "w": w, "n": 0})
    )(a, w)
    assert end["n"] == 17
    order = np.argsort(a)[-3:]
    np.testing.assert_array_equal(np.sort(np.asarray(end["w"])), np.sort(w[order]))


def test_sizes_of_arguments_vary_too():
    f = tn.jit(lambda p, a: lax.cond(p, lambda a: a[a > 0], lambda a: a, a), sizes="symbolic")
    for n in (5, 9, 1, 0):
        a = drawn(n, "float32", (n,))
        np.testing.assert_array_equal(np.asarray(f(True, a)), a[a > 0])
        np.testing.assert_array_equal(np.asarray(f(False, a)), a)


def test_what_is_refused():
    with pytest.raises(tn.errors.ShapeError, match="lanes"):
        tn.vmap(lambda a: lax.cond(True, lambda a: a[a > 0], lambda a: a, a))(tnp.ones((2, 3)))
    with pytest.raises(tn.errors.ShapeError, match="branch 0 gives f32"):
        lax.cond(True, lambda a: a[a > 0], lambda a: a.astype("float32"), tnp.ones(3, "float64"))
    with pytest.raises(tn.errors.ShapeError, match="enters a step as f64\\[3\\] and leaves it as f64\\[6\\]"):
        lax.fori_loop(0, 2, lambda i, a: tnp.concatenate([a, a]), tnp.ones(3, "float64"))
    with pytest.raises(tn.errors.ConcretizationError, match="asarray"):
        tn.jit(lambda a: lax.while_loop(lambda a: a.shape[0] > 1, lambda a: a[a > a[0]], a))(tnp.arange(3.0))


def test_elements_of_an_empty_array():
    empty, mask = np.zeros(0, "float32"), np.array([False, False])
    for run in (lambda f: f, tn.jit):
        assert run(lambda a: a[a > 0])(empty).shape == (0,)
        assert run(lambda a: tnp.nonzero(a)[0])(empty).shape == (0,)
        assert run(lambda a, m: a[tnp.nonzero(m)[0]])(empty, mask).shape == (0,)
        assert run(tn.grad(lambda a, m: tnp.sum(a[tnp.nonzero(m)[0]])))(empty, mask).shape == (0,)
        with pytest.raises((IndexError, tn.errors.ShapeError), match="axis 0"):
            run(lambda a, m: a[tnp.nonzero(m)[0]])(empty, ~mask)
