"""Sizes that data decide, of masks and of lists, are found in native code: within loops, and in loops and branches around."""

import numpy as np

import tenon as tn
from tenon import lax, numpy as tnp

X = np.sin(np.arange(600.0)).reshape(20, 30)


def filtered(x):
    def step(c, row):
        b = tnp.exp(-tnp.sin(c * row) ** 2)
        large = tnp.sum(b[b > 0.5])
        return tnp.tanh(b * 0.3 + large * 0.01), large
    end, larges = lax.scan(step, tnp.zeros(30), x)
    return tnp.sum(end) + tnp.sum(larges)


def by_numpy(x):
    c, total = np.zeros(30), 0.0
    for row in x:
        b = np.exp(-np.sin(c * row) ** 2)
        large = b[b > 0.5].sum()
        total += large
        c = np.tanh(b * 0.3 + large * 0.01)
    return c.sum() + total


def test_in_a_loop():
    np.testing.assert_allclose(tn.jit(filtered)(X), by_numpy(X), rtol=1e-12)
    step = 1e-6 * np.cos(np.arange(600.0)).reshape(20, 30)
    slope = np.sum(np.asarray(tn.jit(tn.grad(filtered))(X)) * step)
    np.testing.assert_allclose(slope, (by_numpy(X + step) - by_numpy(X - step)) / 2, rtol=1e-4)


def halved(x):
    """How many halves a list collects its data decide."""
    def body(state):
        value, halves = state
        halves.push(value)
        return value * 0.5, halves

    value, halves = lax.while_loop(lambda state: state[0] > 1e-3, body, (tnp.abs(x).sum(), tn.List()))
    return tnp.sum(tnp.sin(halves.stack()) ** 2)


def halved_by_numpy(x):
    value, halves = np.abs(x).sum(), []
    while value > 1e-3:
        halves.append(value)
        value = value * 0.5
    return np.sum(np.sin(halves) ** 2)


def test_a_list_is_an_array_as_long_as_it_is():
    text = str(tn.explain(halved)(X))
    assert "native code:" in text and "without native form" not in text
    np.testing.assert_allclose(tn.jit(halved, strict_native=True)(X), halved_by_numpy(X), rtol=1e-12)
    np.testing.assert_allclose(tn.jit(halved, strict_native=True)(X * 0.0), 0.0)
    step = 1e-6 * np.cos(np.arange(600.0)).reshape(20, 30)
    x = X + 0.01  # nowhere 0
    slope = np.sum(np.asarray(tn.jit(tn.grad(halved))(x)) * step)
    np.testing.assert_allclose(slope, (halved_by_numpy(x + step) - halved_by_numpy(x - step)) / 2, rtol=1e-4)


def test_sums_up_to_each_of_what_a_mask_chooses():
    for x in (X[3], X[3] - 2.0, X[3] + 2.0, X[3, :1]):
        def sums(x):
            some = x[x > 0.2]
            return tnp.cumsum(some), tnp.cumprod(some), tnp.sort(some)

        some = x[x > 0.2]
        for got, want in zip(tn.jit(sums, strict_native=True)(x), (np.cumsum(some), np.cumprod(some), np.sort(some))):
            np.testing.assert_allclose(got, want, rtol=1e-12)


def test_strict_native():
    np.testing.assert_allclose(tn.jit(lambda x: tnp.where(x > 0, x, 0).sum(), strict_native=True)(X), X[X > 0].sum())
