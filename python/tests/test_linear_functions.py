"""What vjp() and linearize() return, as values: returned from jit, mapped, passed in, carried, told apart."""

import numpy as np

import tenon as tn
import tenon.numpy as tnp
from tenon import lax


def f(x, y):
    return tnp.sin(x) * y


X, Y = np.arange(3.0), np.full(3, 2.0)


def test_returned_from_jit_and_passed_in():
    value, pull = tn.jit(lambda x, y: tn.vjp(f, x, y))(X, Y)
    assert np.allclose(value, np.sin(X) * Y)
    of_x, of_y = pull(np.ones(3))
    assert np.allclose(of_x, np.cos(X) * Y) and np.allclose(of_y, np.sin(X))
    assert np.allclose(tn.jit(lambda p, t: p(t))(pull, 2 * np.ones(3))[0], 2 * np.cos(X) * Y)
    _, push = tn.jit(lambda x: tn.linearize(tnp.sin, x))(X)
    assert np.allclose(push(Y), np.cos(X) * 2) and np.allclose(tn.jit(lambda p, t: p(t))(push, Y), np.cos(X) * 2)


def test_mapped():
    _, pulls = tn.vmap(lambda x, y: tn.vjp(f, x, y))(X, Y)
    of_x, _ = tn.vmap(lambda pull, ct: pull(ct))(pulls, np.ones(3))
    assert np.allclose(of_x, np.cos(X) * Y)
    _, pulls = tn.jit(tn.vmap(lambda x: tn.vjp(tnp.sin, x)))(X)
    assert np.allclose(tn.vmap(lambda pull: pull(1.0)[0])(pulls), np.cos(X))


def test_stacked_by_loops_and_chosen_by_branches():
    _, pulls = lax.scan(lambda c, x: (c, tn.vjp(tnp.sin, x)[1]), 0.0, X)
    total, _ = lax.scan(lambda c, pull: (c + pull(1.0)[0], None), 0.0, pulls)
    assert np.isclose(total, np.cos(X).sum())
    pull = lax.cond(True, lambda x: tn.vjp(tnp.sin, x)[1], lambda x: tn.vjp(tnp.sin, x + 1)[1], 2.0)
    assert np.isclose(pull(1.0)[0], np.cos(2))


def test_trees():
    _, pull = tn.vjp(f, X, Y)
    leaves, structure = tn.tree.flatten(pull)
    assert all(isinstance(leaf, tn.Array) for leaf in leaves) and structure == tn.tree.structure(tn.vjp(f, Y, X)[1])
    assert structure != tn.tree.structure(tn.vjp(lambda x, y: x * y * y, X, Y)[1])
    doubled = tn.tree.map(lambda r: r * 1.0, pull)
    assert np.allclose(doubled(np.ones(3))[0], np.cos(X) * Y)


def test_differentiated_and_with_auxiliary_results():
    assert np.isclose(tn.grad(lambda x: tn.vjp(tnp.sin, x)[1](1.0)[0])(2.0), -np.sin(2))
    _, pull, aux = tn.jit(lambda x: tn.vjp(lambda x: (x * x, x + 1), x, has_aux=True))(3.0)
    assert pull(1.0)[0] == 6 and aux == 4
    assert tn.grad(lambda c: pull(c)[0])(1.0) == 6
