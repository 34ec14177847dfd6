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
