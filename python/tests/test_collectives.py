"""Collectives: what lanes tell each other along a named axis of vmap, beside JAX's results."""

import numpy as np
import pytest

import tenon as tn
from tenon import lax

X = np.arange(1.0, 5.0)
M = np.arange(12.0).reshape(3, 4)


def lanes(f, *args, **options):
    return tn.tree.map(lambda x: np.asarray(x).tolist(), tn.vmap(f, axis_name="i", **options)(*args))


CASES = [
    ("psum", lambda x: lax.psum(x, "i"), X, [10.0] * 4),
    ("psum of a number", lambda x: x * lax.psum(1, "i"), X, [4, 8, 12, 16]),
    ("psum of what is the same", lambda x: x + lax.psum(np.float64(2), "i"), X, [9, 10, 11, 12]),
    ("psum of bools", lambda x: lax.psum(x > 2, "i"), X, [2] * 4),
    ("pmean", lambda x: x - lax.pmean(x, "i"), M, [[-4] * 4, [0] * 4, [4] * 4]),
    ("pmax", lambda x: lax.pmax(x, "i") - lax.pmin(x, "i"), M, [[8] * 4] * 3),
    ("all_gather", lambda x: lax.all_gather(x, "i", axis=1), M, [M.T.tolist()] * 3),
    ("tiled", lambda x: lax.all_gather(x, "i", tiled=True), M, [M.ravel().tolist()] * 3),
    ("ppermute", lambda x: lax.ppermute(x, "i", [(0, 1), (1, 2)]), M, [[0] * 4, M[0].tolist(), M[1].tolist()]),
    ("pshuffle", lambda x: lax.pshuffle(x, "i", [2, 0, 1]), M, M[[2, 0, 1]].tolist()),
    ("pswapaxes", lambda x: lax.pswapaxes(x, "i", 0), M[:, :3], M[:, :3].T.tolist()),
    ("all_to_all", lambda x: lax.all_to_all(x, "i", 0, 1), np.arange(8.0).reshape(2, 2, 2), [[[0, 4], [1, 5]], [[2, 6], [3, 7]]]),
    ("all_to_all, tiled", lambda x: lax.all_to_all(x, "i", 1, 0, tiled=True), np.arange(8.0).reshape(2, 1, 4),
     [[[0, 1], [4, 5]], [[2, 3], [6, 7]]]),
    ("psum_scatter", lambda x: lax.psum_scatter(x, "i"), M[:, :3], [12, 15, 18]),
    ("psum_scatter, tiled", lambda x: lax.psum_scatter(x, "i", tiled=True), np.ones((2, 4)), [[2, 2], [2, 2]]),
    ("axis_index", lambda x: x * 0 + lax.axis_index("i"), X, [0, 1, 2, 3]),
    ("axis_size", lambda x: x * lax.axis_size("i"), X, [4, 8, 12, 16]),
    ("pbroadcast", lambda x: lax.pbroadcast(x, "i", 1), X, [2] * 4),
    ("groups", lambda x: lax.psum(x, "i", axis_index_groups=[[0, 3], [1, 2]]), X, [5] * 4),
    ("groups that gather", lambda x: lax.all_gather(x, "i", axis_index_groups=[[0, 2], [1, 3]]), X, [[1, 3], [2, 4], [1, 3], [2, 4]]),
    # Derivatives within a lane: cotangents are summed over the lanes.
    ("grad", tn.grad(lambda v: lax.psum(v ** 2, "i") * v), X, [50, 70, 90, 110]),
    ("grad of pmean", tn.grad(lambda v: lax.pmean(v ** 2, "i")), X, [2, 4, 6, 8]),
    ("grad of all_gather", tn.grad(lambda v: (lax.all_gather(v, "i") * np.arange(4.0)).sum()), X, [0, 4, 8, 12]),
    ("grad of ppermute", tn.grad(lambda v: lax.ppermute(v, "i", [(0, 1), (1, 2)]) ** 2), X, [2, 4, 0, 0]),
    ("jvp", lambda v: tn.jvp(lambda u: lax.psum(u ** 2, "i") * u, (v,), (1.0,))[1], X, [50, 70, 90, 110]),
    ("checkpoint", tn.grad(tn.checkpoint(lambda v: lax.psum(v ** 2, "i") ** 2)), X, [480, 960, 1440, 1920]),
    # In loops, branches and compiled functions.
    ("scan", lambda v: lax.scan(lambda c, x: (c + lax.psum(c * x, "i"), None), v, np.arange(3.0))[0], X, [111, 112, 113, 114]),
    ("grad of scan", tn.grad(lambda v: lax.scan(lambda c, x: (c * x + lax.psum(c, "i"), None), v, np.arange(3.0))[0]), X, [120] * 4),
    ("while", lambda v: lax.while_loop(lambda c: lax.psum(c, "i") < 100, lambda c: c * 2 + lax.pmax(c, "i"), v), X, [24, 28, 32, 36]),
    ("cond", lambda v: lax.cond(v > 2, lambda u: lax.psum(u, "i"), lambda u: u, v), X, [1, 2, 10, 10]),
    ("cond, one for all", lambda v: lax.cond(lax.psum(v, "i") > 2, lambda u: lax.psum(u, "i"), lambda u: u, v), X, [10] * 4),
    ("jit", tn.jit(lambda v: v * lax.psum(v, "i") + lax.axis_index("i")), X, [10, 21, 32, 43]),
]


@pytest.mark.parametrize("f, x, wanted", [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_results(f, x, wanted):
    batched = tn.vmap(f, axis_name="i")
    for got in (batched(x), tn.jit(batched)(x)):
        assert got.shape == np.shape(wanted)
        assert np.allclose(got, wanted)


def test_the_same_in_every_lane():
    assert lanes(lambda x: lax.psum(x, "i"), X, out_axes=None) == 10
    assert lanes(lambda x: {"a": lax.pmax(x, "i"), "b": x}, X, out_axes={"a": None, "b": 0}) == {"a": 4, "b": [1, 2, 3, 4]}
    with pytest.raises(ValueError, match="out axis"):
        lanes(lambda x: lax.axis_index("i"), X, out_axes=None)


def test_several_axes():
    both = tn.vmap(tn.vmap(lambda x: x / lax.psum(x, ("i", "j")), axis_name="j"), axis_name="i")
    assert np.allclose(both(M), M / 66)
    for name, axis in [("i", 0), ("j", 1)]:
        one = tn.vmap(tn.vmap(lambda x, name=name: lax.psum(x, name), axis_name="j"), axis_name="i")(M)
        assert np.allclose(one, np.broadcast_to(M.sum(axis, keepdims=True), M.shape))
    number = tn.vmap(tn.vmap(lambda x: lax.axis_index(("i", "j")), axis_name="j"), axis_name="i")(M)
    assert np.array_equal(number, M)
    # The inner of two axes of one name counts.
    assert np.allclose(tn.vmap(tn.vmap(lambda x: lax.psum(x, "i"), axis_name="i"), axis_name="i")(M)[:, 0], M.sum(1))


def test_derivatives_from_outside():
    f = tn.vmap(lambda v: v * lax.psum(v ** 2, "i"), axis_name="i")
    wanted = np.sum(X ** 2) * np.eye(4) + 2 * np.outer(X, X)
    for jacobian in (tn.jacfwd, tn.jacrev):
        assert np.allclose(jacobian(f)(X), wanted)
    assert np.allclose(tn.hessian(lambda x: f(x).sum())(X), 2 * (X[:, None] + X) + 2 * np.sum(X) * np.eye(4))


def test_compiled_functions_know_how_many_lanes_there_are():
    f = tn.jit(lambda x: x * lax.psum(1, "i"))
    assert tn.vmap(f, axis_name="i")(X).tolist() == [4, 8, 12, 16]
    assert tn.vmap(f, axis_name="i")(X[:3]).tolist() == [3, 6, 9]
    with pytest.raises(NameError, match="unbound axis name: i"):
        f(1.0)


def test_wrong_calls():
    for call in (lambda: lax.psum(1.0, "k"), lambda: lanes(lambda x: lax.psum(x, "k"), X), lambda: lax.axis_index("k")):
        with pytest.raises(NameError, match="unbound axis name: k"):
            call()
    with pytest.raises(ValueError, match="lanes"):
        lanes(lambda x: lax.all_to_all(x, "i", 0, 0), M)
    with pytest.raises(ValueError, match="twice"):
        lanes(lambda x: lax.ppermute(x, "i", [(0, 1), (0, 2)]), X)
    with pytest.raises(ValueError, match="permutation"):
        lanes(lambda x: lax.pshuffle(x, "i", [0, 0, 1, 2]), X)
    with pytest.raises(ValueError, match="groups"):
        lanes(lambda x: lax.psum(x, "i", axis_index_groups=[[0], [1, 2, 3]]), X)
    assert lanes(lambda: lax.axis_index("i"), axis_size=3) == [0, 1, 2]
