"""custom_vmap: a batch rule of the user's, under vmap of vmap, jit, grad, jvp, loops; and sequential_vmap."""

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import lax
from tenon.custom_batching import custom_vmap, sequential_vmap

XS = np.arange(3.0)


def cosine_in_lanes():
    seen = []

    @custom_vmap
    def f(x):
        return tnp.sin(x)

    @f.def_vmap
    def rule(axis_size, in_batched, xs):
        seen.append((axis_size, in_batched, xs.shape))
        return tnp.cos(xs), in_batched[0]

    return f, seen


def test_rule_is_for_batches():
    f, seen = cosine_in_lanes()
    assert f(1.0) == tnp.sin(1.0) and tn.jit(f)(1.0) == tnp.sin(1.0) and seen == []
    assert np.allclose(tn.vmap(f)(XS), np.cos(XS)) and seen == [(3, [True], (3,))]
    assert np.allclose(tn.jit(tn.vmap(f))(XS), np.cos(XS))
    assert np.allclose(tn.vmap(tn.jit(f))(XS), np.cos(XS))
    assert np.allclose(tn.vmap(lambda _: f(2.0))(XS), np.sin(2))  # the same for all lanes


def test_batch_of_batches():
    f, seen = cosine_in_lanes()
    both = np.arange(6.0).reshape(2, 3)
    assert np.allclose(tn.vmap(tn.vmap(f))(both), np.cos(both)) and [s[0] for s in seen] == [3]
    outer = tn.vmap(lambda x: tn.vmap(lambda y: f(x) + y)(tnp.ones(3)))(tnp.asarray(XS[:2]))
    assert np.allclose(outer, (np.cos(XS[:2]) + 1)[:, None]) and seen[-1][0] == 2


def test_trees_and_what_is_one_for_all():
    seen = []

    @custom_vmap
    def dot(u, v):
        return {"dot": u["x"] @ v, "v": v}

    @dot.def_vmap
    def rule(axis_size, in_batched, u, v):
        seen.append(in_batched)
        return {"dot": (u["x"] * v).sum(-1), "v": v}, {"dot": True, "v": in_batched[1]}

    u, v = np.arange(12.0).reshape(4, 3), np.ones(3)
    out = tn.vmap(dot, in_axes=({"x": 0}, None), out_axes={"dot": 0, "v": None})({"x": u}, v)
    assert np.allclose(out["dot"], u.sum(1)) and out["v"].shape == (3,) and seen[-1] == [{"x": True}, False]
    assert np.allclose(tn.vmap(dot, in_axes=(1, 0))({"x": u.T}, u)["dot"], (u * u).sum(1)) and seen[-1] == [{"x": True}, True]


def test_derivatives():
    f, _ = cosine_in_lanes()
    slope = tn.grad(lambda x: tnp.sum(tn.vmap(f)(x)))(XS)
    assert np.allclose(slope, -np.sin(XS))  # of the rule
    value, tangent = tn.jvp(tn.vmap(f), (XS,), (2 * XS,))
    assert np.allclose(value, np.cos(XS)) and np.allclose(tangent, -np.sin(XS) * 2 * XS)
    value, tangent = tn.vmap(lambda x, t: tn.jvp(f, (x,), (t,)))(XS, 2 * XS)
    assert np.allclose(value, np.cos(XS)) and np.allclose(tangent, -np.sin(XS) * 2 * XS)
    honest = sequential_vmap(lambda x: tnp.sin(x) * x)
    expected = np.cos(XS) * XS + np.sin(XS)
    assert np.allclose(tn.vmap(tn.grad(honest))(XS), expected)
    assert np.allclose(tn.grad(lambda x: tnp.sum(tn.vmap(honest)(x)))(XS), expected)
    assert np.allclose(tn.jacfwd(lambda x: honest(x))(2.0), np.cos(2) * 2 + np.sin(2))


def test_in_loops():
    f, _ = cosine_in_lanes()

    def steps(x):
        return lax.scan(lambda c, y: (f(c) + y, None), x, tnp.ones(2))[0]

    assert np.allclose(tn.vmap(steps)(XS), np.cos(np.cos(XS) + 1) + 1)
    assert np.allclose(steps(1.0), np.sin(np.sin(1) + 1) + 1)


def test_in_branches_and_loops_whose_lanes_part():
    f, seen = cosine_in_lanes()

    def branch(x):
        return lax.cond(x > 0.5, f, lambda v: v, x)

    def until(f):
        return lambda x: lax.while_loop(lambda c: c < 2.0, lambda c: c + abs(f(c)) + 0.1, x)

    for run in (tn.vmap, lambda f: tn.jit(tn.vmap(f))):
        assert np.allclose(run(branch)(XS), np.where(XS > 0.5, np.cos(XS), XS))
        assert np.allclose(run(until(f))(XS), tn.vmap(until(tnp.cos))(XS))
    slopes = tn.grad(lambda x: tnp.sum(tn.vmap(branch)(x)))(XS)
    assert np.allclose(slopes, np.where(XS > 0.5, -np.sin(XS), 1)) and {lanes for lanes, _, _ in seen} == {3}


def test_sequential():
    g = sequential_vmap(lambda x, y: (x * y, y + 1))
    ys = np.array([1.0, 2.0, 3.0])
    a, b = tn.vmap(g)(XS, ys)
    assert np.allclose(a, XS * ys) and np.allclose(b, ys + 1)
    a, b = tn.vmap(g, (0, None))(XS, 2.0)
    assert np.allclose(a, XS * 2) and np.allclose(b, 3)


def test_errors():
    f = custom_vmap(tnp.sin)
    with pytest.raises(AttributeError, match="def_vmap"):
        f(1.0)
    f.def_vmap(lambda n, b, x: ([x, x], b))
    with pytest.raises(ValueError, match="which of them are batched"):
        tn.vmap(f)(XS)
    f.def_vmap(lambda n, b, x: ([x], b))
    with pytest.raises(ValueError, match="structure"):
        tn.vmap(f)(XS)
    f.def_vmap(lambda n, b, x: (x[:2], True))
    with pytest.raises(tn.errors.ShapeError, match="what the rule returns"):
        tn.vmap(f)(XS)
    f.def_vmap(lambda n, b, x: x)
    with pytest.raises(ValueError, match="returns a pair"):
        tn.vmap(f)(XS)
