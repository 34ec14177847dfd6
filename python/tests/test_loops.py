"""Loops and branches against Python's own."""

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import lax


def test_scan():
    xs = {"a": tnp.arange(5.0), "b": tnp.arange(10.0).reshape(5, 2)}

    def step(carry, x):
        s, n = carry
        return (s + x["a"] * tnp.sum(x["b"]), n + 1), {"s": s, "b": x["b"] * 2}

    (s, n), ys = lax.scan(step, (0.0, 0), xs)
    expected, rows = 0.0, []
    for a, b in zip(np.arange(5.0), np.arange(10.0).reshape(5, 2)):
        rows.append(expected)
        expected += a * b.sum()
    assert float(s) == expected and int(n) == 5 and ys["s"].tolist() == rows
    assert ys["b"].tolist() == (2 * np.arange(10.0).reshape(5, 2)).tolist()


@pytest.mark.parametrize("options", [{}, {"unroll": 2}, {"unroll": True}, {"reverse": True}, {"reverse": True, "unroll": 3}])
def test_scan_options(options):
    _, ys = lax.scan(lambda c, x: (2 * c + x, c), 1.0, tnp.arange(7.0), **options)
    order, c, expected = (reversed(range(7)) if options.get("reverse") else range(7)), 1.0, [0.0] * 7
    for i in order:
        expected[i], c = c, 2 * c + i
    assert ys.tolist() == expected


def test_scan_of_nothing():
    carry, ys = lax.scan(lambda c, _: (c + 1, None), 0, None, length=4)
    assert int(carry) == 4 and ys is None
    carry, ys = lax.scan(lambda c, x: (c + x, c), 1.0, tnp.zeros((0,)))
    assert float(carry) == 1 and ys.shape == (0,)


def test_scan_refuses():
    with pytest.raises(TypeError, match="carry"):
        lax.scan(lambda c, x: ((c, c), x), 0.0, tnp.ones(3))
    with pytest.raises(TypeError, match="tuple of two"):
        lax.scan(lambda c, x: c, 0.0, tnp.ones(3))
    with pytest.raises(TypeError, match="dtype|i32|f64"):
        lax.scan(lambda c, x: (c + x, x), tnp.int32(0), tnp.ones(3))
    with pytest.raises(ValueError):
        lax.scan(lambda c, x: (c, x), 0.0, (tnp.ones(3), tnp.ones(4)))
    with pytest.raises(ValueError):
        lax.scan(lambda c, x: (c, x), 0.0, tnp.ones(3), length=5)


def test_while_and_fori():
    assert lax.while_loop(lambda s: s["x"] < 100, lambda s: {"x": s["x"] * 2, "n": s["n"] + 1}, {"x": 1, "n": 0})["n"] == 7
    assert lax.fori_loop(0, 10, lambda i, c: c + i, 0) == 45
    assert lax.fori_loop(0, 10, lambda i, c: c + i, 0).dtype == np.int64
    assert tn.jit(lambda n: lax.fori_loop(0, n, lambda i, c: c + i, 0))(10) == 45
    with pytest.raises(TypeError, match="bool"):
        lax.while_loop(lambda x: x, lambda x: x, 1.0)


def test_branches():
    for f in (lambda g: g, tn.jit):
        h = f(lambda p, x: lax.cond(p, lambda a: {"y": a + 1}, lambda a: {"y": a - 1}, x))
        assert h(True, 1.0)["y"] == 2 and h(False, 1.0)["y"] == 0
        k = f(lambda i, x: lax.switch(i, [lambda a: a, lambda a: a * 10, lambda a: a * 100], x))
        assert [float(k(i, 2.0)) for i in (-1, 0, 1, 2, 5)] == [2, 2, 20, 200, 200]
    with pytest.raises(TypeError, match="structure"):
        lax.cond(True, lambda: (1.0,), lambda: 1.0)
    with pytest.raises(TypeError):
        lax.cond(tnp.array([True, False]), lambda: 1.0, lambda: 2.0)


def test_map_and_associative_scan():
    x = tnp.arange(7.0)
    assert lax.map(lambda a: a * a, x).tolist() == [float(i * i) for i in range(7)]
    assert lax.map(lambda a: a * a, x, batch_size=3).tolist() == [float(i * i) for i in range(7)]
    assert lax.associative_scan(tnp.add, x).tolist() == np.cumsum(np.arange(7.0)).tolist()
    assert lax.associative_scan(tnp.multiply, x + 1, reverse=True).tolist() == np.cumprod((np.arange(7.0) + 1)[::-1])[::-1].tolist()


def test_derivatives_of_loops():
    def power(x, n):
        return lax.fori_loop(0, n, lambda i, c: c * x, 1.0)

    assert np.isclose(float(tn.grad(power)(2.0, 5)), 80)

    def power_of_few_carries(x, n, checkpoint):
        return lax.fori_loop(0, n, lambda i, c: c * x, 1.0, checkpoint=checkpoint)

    assert np.isclose(float(tn.grad(power_of_few_carries)(2.0, 5, tn.every(2))), 80)
    assert np.isclose(float(tn.jit(lambda n: tn.grad(power_of_few_carries)(2.0, n, tn.binomial(2)))(5)), 80)
    kept = [tn.saved_residuals(lambda x: power_of_few_carries(x, 100, c), 2.0) for c in (None, tn.every(10))]
    assert [int(text.split()[0]) for text in kept] == [800, 88], kept  # one loop index beside them

    def newton(a):
        return lax.while_loop(lambda x: abs(x * x - a) > 1e-12, lambda x: 0.5 * (x + a / x), a, checkpoints=4)

    assert np.isclose(float(tn.grad(newton)(2.0)), 0.5 / np.sqrt(2.0))

    def model(w, xs):
        return tnp.sum(lax.scan(lambda h, x: (tnp.tanh(w * h + x),) * 2, 0.0, xs, checkpoint=tn.every(2))[1])

    w, xs = 0.7, np.linspace(-1, 1, 9)

    def by_hand(w):
        h, total = 0.0, 0.0
        for x in xs:
            h = np.tanh(w * h + x)
            total += h
        return total

    numeric = (by_hand(w + 1e-6) - by_hand(w - 1e-6)) / 2e-6
    assert np.isclose(float(tn.grad(model)(w, xs)), numeric, 1e-7)
    assert np.allclose(np.asarray(tn.vmap(tn.grad(model), in_axes=(0, None))(np.array([w, w]), xs)), numeric, 1e-7)


def test_updates_in_loops():
    n = 50
    fill = tn.jit(lambda: lax.fori_loop(0, n, lambda i, a: a.at[i].set(i * i), tnp.zeros(n, tnp.int64)))
    assert fill().tolist() == [i * i for i in range(n)]


def updates(body, steps, shape, init, start=0):
    """A function of xs and c whose loop writes what c becomes: body(i) says where."""
    def f(xs, c):
        xs = tnp.asarray(xs)

        def step(i, s):
            c = tnp.tanh(s[0] + xs[i])
            return c, s[1].at[body(i)].set(c)
        return lax.fori_loop(start, start + steps, step, (c, init(shape)))
    return f


def updates_by_numpy(body, steps, shape, init, start, xs, c):
    ys = np.array(init(shape))
    for i in range(start, start + steps):
        c = np.tanh(c + xs[i])
        ys[body(i)] = c
    return c, ys


UPDATES = {
    "all": (lambda i: i, 6, (6, 3), tnp.zeros),
    "backwards": (lambda i: 5 - i, 6, (6, 3), tnp.zeros),
    "from the end": (lambda i: i - 6, 6, (6, 3), tnp.ones),
    "with an offset": (lambda i: i + 2, 6, (9, 3), tnp.ones),
    "some": (lambda i: i, 4, (6, 3), tnp.ones, 1),
    "columns": (lambda i: (slice(None), i), 6, (3, 6), tnp.zeros),
    "every second": (lambda i: 2 * i, 6, (12, 3), tnp.ones),
}


@pytest.mark.parametrize("case", UPDATES)
def test_rows_written_one_after_the_other(case):
    body, steps, shape, init, *start = UPDATES[case]
    f = updates(body, steps, shape, init, *start)
    random = np.random.default_rng(3)
    xs, c, weights = random.normal(size=(6, 3)), random.normal(size=3), random.normal(size=shape)

    def by_numpy(xs, c):
        return updates_by_numpy(body, steps, shape, init, *(start or [0]), xs, c)

    expected = by_numpy(xs, c)
    for g in (f, tn.jit(f), tn.jit(f, sizes="symbolic") if case == "all" else f):
        for got, want in zip(g(xs, c), expected):
            np.testing.assert_allclose(got, want, rtol=1e-13)
    lanes = np.stack([xs, -xs])
    for got, *want in zip(tn.jit(tn.vmap(f, in_axes=(0, None)))(lanes, c), expected, by_numpy(-xs, c)):
        np.testing.assert_allclose(got, want, rtol=1e-13)

    def loss(xs, c):
        end, ys = f(xs, c)
        return tnp.sum(ys * weights) + tnp.sum(end * end)

    def loss_by_numpy(xs, c):
        end, ys = by_numpy(xs, c)
        return (ys * weights).sum() + (end * end).sum()

    step = 1e-6
    slopes = np.zeros_like(xs)
    for at in np.ndindex(xs.shape):
        moved = np.zeros_like(xs)
        moved[at] = step
        slopes[at] = (loss_by_numpy(xs + moved, c) - loss_by_numpy(xs - moved, c)) / (2 * step)
    for g in (tn.grad(loss), tn.jit(tn.grad(loss)), tn.grad(tn.jit(loss))):
        np.testing.assert_allclose(g(xs, c), slopes, atol=1e-8)
    both = tn.jit(tn.vmap(tn.grad(loss), in_axes=(0, None)))(lanes, c)
    np.testing.assert_allclose(both[0], slopes, atol=1e-8)
    np.testing.assert_allclose(both[1], tn.grad(loss)(-xs, c), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(tn.jacrev(loss)(xs, c), slopes, atol=1e-8)
    np.testing.assert_allclose(tn.jacfwd(loss)(xs, c), slopes, atol=1e-8)


def test_rows_written_into_two_arrays_that_are_summed_too():
    def f(xs, c):
        xs = tnp.asarray(xs)

        def step(i, s):
            c, a, b = s
            new = tnp.sin(c * xs[i])
            return new, a.at[i].set(new), b.at[5 - i].set(c)
        c, a, b = lax.fori_loop(0, 6, step, (c, tnp.zeros((6, 3)), tnp.full((6, 3), 7.0)))
        return a, tnp.sum(a * b), tnp.max(b)

    xs, c = np.linspace(0.1, 2, 18).reshape(6, 3), np.ones(3)
    a, b, x = np.zeros((6, 3)), np.zeros((6, 3)), c
    for i in range(6):
        a[i], b[5 - i], x = np.sin(x * xs[i]), x, np.sin(x * xs[i])
    for g in (f, tn.jit(f)):
        for got, want in zip(g(xs, c), (a, (a * b).sum(), b.max())):
            np.testing.assert_allclose(got, want, rtol=1e-13)


def test_rows_written_into_a_donated_array():
    def f(ys, xs):
        return lax.fori_loop(0, 6, lambda i, ys: ys.at[i].set(2 * xs[i]), ys)

    xs = np.arange(18.0).reshape(6, 3)
    g = tn.jit(f, donate_argnums=0)
    ys = tnp.ones((6, 3))
    for _ in range(3):
        ys = g(ys, xs)
        assert ys.tolist() == (2 * xs).tolist()
