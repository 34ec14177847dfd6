"""References that functions write while they are differentiated or batched, and that the backward of a custom_vjp reads and
writes, beside numbers by hand."""

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import lax

modes = pytest.mark.parametrize("mode", [lambda f: f, tn.jit], ids=["eager", "jit"])


@tn.custom_vjp
def stash(r, x):
    return x


def put(r, g):
    r[...] = g
    return None, g


stash.defvjp(lambda r, x: (x, r), put)


@tn.custom_vjp
def counted(r, x):
    return x


def add_one(r, g):
    r[...] = r[...] + 1
    return None, g


counted.defvjp(lambda r, x: (x, r), add_one)


@modes
def test_cotangents_are_written_from_the_last_call_to_the_first(mode):
    def f(r, x):
        return stash(r, tnp.sin(stash(r, tnp.sin(x))))

    r = tn.new_ref(0.0)
    assert np.isclose(tn.grad(mode(f), 1)(r, 1.0), np.cos(np.sin(1)) * np.cos(1))
    assert np.isclose(r[...], np.cos(np.sin(1)))
    r[...] = 0.0
    mode(f)(r, 1.0)
    value, pull = tn.vjp(lambda x: mode(f)(r, x), 1.0)
    assert r[...] == 0
    assert np.isclose(pull(3.0)[0], 3 * np.cos(np.sin(1)) * np.cos(1)) and np.isclose(r[...], 3 * np.cos(np.sin(1)))
    s = tn.new_ref(0.0)
    tn.grad(mode(f), 1)(s, 1.0)  # compiled code is for the other reference too
    assert np.isclose(s[...], np.cos(np.sin(1))) and np.isclose(r[...], 3 * np.cos(np.sin(1)))


@modes
@pytest.mark.parametrize("start", [np.int64(2**62 + 3), np.int64(-5), np.uint64(2**63), np.int8(7), np.float32(1), np.complex64(2j),
                                   np.array([2**40, -1])])
def test_of_any_dtype_in_loops(mode, start):
    r = tn.new_ref(start)

    def f(x):
        return lax.scan(lambda c, _: (counted(r, tnp.sin(c)), None), x, None, length=5)[0]

    for _ in range(2):
        assert np.isclose(mode(tn.grad(f))(1.0), tn.grad(lambda x: lax.fori_loop(0, 5, lambda i, c: tnp.sin(c), x))(1.0))
    assert np.array_equal(r[...], start + np.asarray(10, start.dtype)) and r.dtype == start.dtype
    tn.grad(mode(tn.checkpoint(f)))(1.0)
    assert np.array_equal(r[...], start + np.asarray(15, start.dtype))


@modes
def test_only_calls_that_reverse_mode_runs(mode):
    r = tn.new_ref(0)

    def branches(x):
        return lax.cond(x > 0, lambda y: counted(r, y * 2), lambda y: y, x)

    assert tn.grad(mode(branches))(1.0) == 2 and r[...] == 1
    assert tn.grad(mode(branches))(-1.0) == 1 and r[...] == 1

    def unused(x):
        counted(r, x)
        return counted(r, 2 * x) * x

    assert tn.grad(mode(unused))(3.0) == 12 and r[...] == 2
    outer = mode(lambda x: tn.grad(lambda y: counted(r, y * x) * y)(2.0) * x)
    assert outer(3.0) == 36 and r[...] == 3
    assert tn.grad(outer)(3.0) == 24 and r[...] == 4


@modes
def test_a_history_that_scales(mode):
    @tn.custom_vjp
    def scaled(x, r):
        return x

    def backward(r, g):
        r[...] = tnp.roll(r[...], 1).at[0].set(tnp.max(tnp.abs(g)))
        return g / tnp.max(r[...]), None

    scaled.defvjp(lambda x, r: (x, r), backward)
    history = tn.new_ref(np.zeros(3))
    loss = mode(lambda x, k: tnp.sum(k * scaled(x, history)))
    for k, expected in ((2.0, 1.0), (8.0, 1.0), (4.0, 0.5)):
        assert np.allclose(tn.grad(loss)(tnp.ones(2), k), expected)
    assert history[...].tolist() == [4, 8, 2]


@modes
def test_lanes(mode):
    r = tn.new_ref(0)
    assert tn.grad(mode(lambda x: tnp.sum(tn.vmap(lambda y: counted(r, y * y))(x))))(tnp.ones(3)).tolist() == [2, 2, 2]
    assert r[...] == 1  # a call for all lanes
    each = tn.new_ref(np.zeros(3))
    with pytest.raises(ValueError, match="made in the function that is differentiated"):
        tn.grad(mode(lambda x: tnp.sum(x * tn.vmap(stash)(each, x))))(np.arange(3.0))
    one = tn.new_ref(0.0)
    for f in (lambda x: tnp.sum(tn.vmap(lambda y: y * stash(one, y))(x)), lambda x: tn.vmap(tn.grad(lambda y: y * stash(one, y)))(x)[0]):
        with pytest.raises(RuntimeError, match="differs from lane to lane"):
            tn.grad(mode(f))(np.arange(3.0))
    assert one[...] == 0
    with pytest.raises(RuntimeError, match="several at once"):
        tn.jacrev(mode(lambda x: counted(r, x)))(tnp.ones(3))
    # Forward mode does nothing to references; there is none where backward reads them for cotangents.
    assert tn.jvp(mode(lambda x: counted(r, x * x)), (3.0,), (1.0,)) == (9, 6) and tn.jacfwd(mode(lambda x: counted(r, x * x)))(3.0) == 6
    assert tn.grad(lambda x: tn.jvp(mode(lambda y: counted(r, y ** 3)), (x,), (1.0,))[1])(2.0) == 12 and r[...] == 1
    scaled = tn.custom_vjp(lambda x: x)
    scaled.defvjp(lambda x: (x, None), lambda _, g: (g * one[...],))
    with pytest.raises(TypeError, match="custom_vjp"):
        tn.jvp(mode(scaled), (1.0,), (1.0,))


@modes
def test_written_while_values_are_computed(mode):
    r = tn.new_ref(0.0)

    def f(x):
        r[...] = r[...] + 1 + (x > 0)
        lax.fori_loop(0, 2, lambda i, c: (r.addupdate(1), c)[1], 0)
        return x * x

    g = mode(f)
    transformations = [lambda: tn.grad(g)(3.0), lambda: tn.jvp(g, (3.0,), (1.0,))[1], lambda: tn.jacfwd(g)(3.0), lambda: tn.jacrev(g)(3.0),
                       lambda: tn.vjp(g, 3.0)[1](1.0)[0], lambda: tn.linearize(g, 3.0)[1](1.0), lambda: tn.grad(tn.grad(g))(3.0) * 3,
                       lambda: tn.value_and_grad(g)(3.0)[1]]
    for count, transformed in enumerate(transformations, 1):
        assert transformed() == 6 and r[...] == 4 * count
    r[...] = 0.0
    assert tn.vmap(mode(lambda x: (r.addupdate(2), x)[1]))(tnp.ones(3)).tolist() == [1, 1, 1] and r[...] == 2


def test_a_derivative_is_not_lost():
    r, stopped = tn.new_ref(0.0), tn.new_ref(0.0, kind="no_grad_no_remat")

    def f(x, q):
        q[...] = 2 * x
        return x * q[...]

    for call in (lambda: tn.grad(f)(1.0, r), lambda: tn.jvp(lambda x: f(x, r), (1.0,), (1.0,)), lambda: tn.vjp(lambda x: f(x, r), 1.0)):
        with pytest.raises(TypeError, match="depends on what is differentiated"):
            call()
    assert r[...] == 0
    assert tn.grad(f)(3.0, stopped) == 6 and stopped[...] == 6
    assert tn.grad(lambda x: f(lax.stop_gradient(x), r) + x)(3.0) == 1 and r[...] == 6


def test_references_that_are_differentiated():
    @tn.custom_vjp
    def f(r, x):
        return r[...] * x

    f.defvjp(lambda r, x: (f(r, x), (r[...], x)), lambda kept, g: (10 * g * kept[1], g * kept[0]))
    assert f(tn.new_ref(2.0), 3.0) == 6
    assert tn.grad(lambda x: f(tn.new_ref(x), 3.0))(2.0) == 30
    assert tn.grad(lambda x: f(tn.new_ref(2.0), x))(3.0) == 2
    _, pull = tn.vjp(lambda r, x: r[...] * x, tn.new_ref(2.0), 3.0)
    assert pull(1.0) == (3, 2)
    total = tn.new_ref(1.0)
    pull.with_refs(total, tn.ad.DontWant())(1.0)
    assert total[...] == 4

    def written(r, x):
        r[...] = tnp.sin(r[...])
        return r[...] ** 2, x

    r = tn.new_ref(2.0)
    value, pull, aux = tn.vjp(written, r, 5.0, has_aux=True)
    assert np.isclose(r[...], np.sin(2)) and np.isclose(value, np.sin(2) ** 2) and aux == 5
    assert np.isclose(pull(1.0)[0], 2 * np.sin(2) * np.cos(2)) and pull(1.0)[1] == 0
    writes = tn.custom_vjp(written)
    writes.defvjp(lambda r, x: (written(r, x), None), lambda _, g: (None, None))
    with pytest.raises(RuntimeError, match="writes to a reference"):
        tn.grad(lambda x: writes(tn.new_ref(x), 1.0)[0])(2.0)


def test_wrong_uses():
    @tn.custom_vjp
    def f(x, r):
        return x

    f.defvjp(lambda x, r: (x, tn.new_ref(0.0)), lambda kept, g: (g, None))
    r = tn.new_ref(1.0)
    with pytest.raises(ValueError, match="custom_vjp fwd function returned a mutable array"):
        tn.grad(f)(1.0, r)
    same = tn.custom_vjp(lambda a, b: a)
    same.defvjp(lambda a, b: (a, None), lambda _, g: (g, None))
    with pytest.raises(ValueError, match="returned a mutable array"):
        same(r, 1.0)
    for call in (lambda: same(r, r), lambda: tn.vmap(lambda a, b: 1.0)(tn.new_ref(tnp.ones(2)), r), lambda: tn.grad(lambda x: same(r, r) * x)(1.0)):
        with pytest.raises(ValueError):
            call()

    def inside(x):
        q = tn.new_ref(x)
        return stash(q, x * x)

    with pytest.raises(ValueError, match="made in the function that is differentiated"):
        tn.grad(inside)(1.0)


def test_parts_and_functions_of_references():
    r = tn.new_ref(np.arange(6.0))
    r.at[1:4][0] = 10.0
    r.at[2:].at[1:3][...] += 100
    assert r[...].tolist() == [0, 10, 2, 103, 104, 5]
    assert tn.ref.swap(r, 0, 7.0) == 0 and tn.ref.get(r, 0) == 7 and r.swap(1.0, 0) == 7
    tn.ref.addupdate(r, slice(0, 2), 1.0)
    r.addupdate(1.0)
    assert r[...].tolist() == [3, 12, 3, 104, 105, 6] and r.at[2:5].shape == (3,)
    with pytest.raises(ValueError, match="kind"):
        tn.new_ref(1.0, kind="other")


def test_residuals_are_told_and_nothing_is_written():
    r = tn.new_ref(0)

    def f(x):
        r[...] = r[...] + 1
        return tnp.sum(counted(r, tnp.sin(x)) ** 2)

    text = tn.saved_residuals(f, np.ones(3))
    assert "argument 0" in text
    assert r[...] == 0
