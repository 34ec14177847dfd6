"""Zeros of the dtype float0, tangents and cotangents of integers: in and out of compiled functions, lanes, loops, branches."""

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import lax

X, N = np.arange(3.0), np.arange(3)
ZEROS = np.zeros(3, tn.float0)


def pulled(x, n):
    return tn.vjp(lambda x, n: x * n, x, n)[1](x)


def is_float0(made, shape):
    return type(made) is np.ndarray and made.dtype == tn.float0 and made.shape == shape


@pytest.mark.parametrize("wrapped", [lambda f: f, tn.jit, tn.checkpoint, lambda f: tn.jit(tn.jit(f))])
def test_cotangents_of_integers_come_out(wrapped):
    of_x, of_n = wrapped(pulled)(X, N)
    assert of_x.tolist() == [0, 1, 4] and is_float0(of_n, (3,))
    slopes = wrapped(tn.grad(lambda x, n: tnp.sum(x * n), (0, 1), allow_int=True))(X, N)
    assert slopes[0].tolist() == [0, 1, 2] and is_float0(slopes[1], (3,))
    assert is_float0(wrapped(tn.grad(lambda n: tnp.sum(n * 2.0), allow_int=True))(N), (3,))  # alone


def test_lanes():
    of_x, of_n = tn.vmap(pulled)(X, N)
    assert of_x.shape == (3,) and is_float0(of_n, (3,))
    assert is_float0(tn.jit(tn.vmap(lambda x: np.zeros((2,), tn.float0), out_axes=1))(X), (2, 3))
    assert is_float0(tn.vmap(lambda z: z)(np.zeros((3, 2), tn.float0)), (3, 2))


def test_loops_and_branches():
    def step(c, n):
        return c, tn.grad(lambda n: c * n, allow_int=True)(n)

    assert is_float0(lax.scan(step, 2.0, N)[1], (3,))
    branch = tn.jit(lambda p, n: lax.cond(p, lambda n: tn.grad(lambda n: tnp.sum(2.0 * n), allow_int=True)(n),
                                          lambda n: np.zeros(n.shape, tn.float0), n))
    assert is_float0(branch(True, N), (3,)) and is_float0(branch(False, N), (3,))
    with pytest.raises(ValueError, match="structure"):
        lax.cond(True, lambda n: n > 0, lambda n: np.zeros(n.shape, tn.float0), N)


def test_arguments():
    f = tn.jit(lambda x, n, t: tn.jvp(lambda x, n: x * n, (x, n), (x, t)))
    assert f(X, N, ZEROS)[1].tolist() == [0, 1, 4]
    g = tn.jit(lambda x: x)
    for _ in range(2):  # by what was compiled for either
        assert is_float0(g(ZEROS), (3,)) and g(N > 0).dtype == bool
        assert is_float0(g({"a": ZEROS, "b": X})["a"], (3,))
    assert is_float0(g(np.zeros((2, 2), tn.float0)), (2, 2))
    assert is_float0(tn.jit(lambda x, n: tn.jvp(lambda x, n: n + 1, (x, n), (x, np.zeros(n.shape, tn.float0))))(X, N)[1], (3,))


def test_shapes():
    made = tn.eval_shape(pulled, X, N)
    assert made[1].dtype == tn.float0 and made[1].shape == (3,)


def test_they_have_no_values():
    for call in (lambda: tnp.asarray(ZEROS), lambda: tnp.sin(ZEROS), lambda: tn.jit(lambda z: z + 1)(ZEROS)):
        with pytest.raises(TypeError):
            call()
