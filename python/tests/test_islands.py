"""What has no native form keeps nothing else from its own: loops, branches and large arrays around it are compiled."""

import numpy as np
import pytest

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


def test_explain_names_them():
    text = str(tn.explain(filtered)(X))
    assert "without native form" in text and "test_islands.py" in text


def test_strict_native():
    strict = tn.jit(filtered, strict_native=True)
    with pytest.raises(tn.errors.CompileError, match="strict_native.*the function has no native form as a whole"):
        strict(X)
    np.testing.assert_allclose(tn.jit(lambda x: tnp.where(x > 0, x, 0).sum(), strict_native=True)(X), X[X > 0].sum())
