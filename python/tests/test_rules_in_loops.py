"""Rules that look at which arguments are differentiated, in loops and branches: a carry that no derivative reaches has a
SymbolicZero for its tangent, as one has outside of loops."""

import numpy as np
import pytest

import tenon as tn
from tenon import lax
from tenon.custom_derivatives import SymbolicZero

x, y = np.float32(1.5), np.float32(2.0)


@tn.custom_jvp
def product(a, b):
    return a * b


def _rule(primals, tangents):
    (a, b), (da, db) = primals, tangents
    if isinstance(db, SymbolicZero):
        return product(a, b), 10 * b * da
    if isinstance(da, SymbolicZero):
        return product(a, b), 100 * a * db
    return product(a, b), 1000 * (b * da + a * db)


product.defjvp(_rule, symbolic_zeros=True)


def scanned(x, y):
    return lax.scan(lambda c, _: ((product(*c), c[1] + 1), None), (x, y), length=2)[0][0]


def counted(x, y):
    return lax.fori_loop(0, 2, lambda i, c: (product(*c), c[1] + 1), (x, y))[0]


def while_less(x, y):
    return lax.while_loop(lambda c: c[1] < 4, lambda c: (product(*c), c[1] + 1), (x, y))[0]


def along(x, y):
    return lax.scan(lambda c, t: (product(c, t), None), x, tn.numpy.stack([y, y + 1]))[0]


def unrolled(x, y):
    return lax.scan(lambda c, _: ((product(*c), c[1] + 1), None), (x, y), length=2, unroll=2)[0][0]


@pytest.mark.parametrize("f", [scanned, counted, while_less, along, unrolled])
@pytest.mark.parametrize("change", [lambda g: g, tn.jit, lambda g: lambda x, y: tn.vmap(g)(*np.stack([[x, x], [y, y]], 1).T)[0]])
def test_a_carry_that_is_not_differentiated(f, change):
    assert float(change(tn.grad(f))(x, y)) == 10 * 10 * 2 * 3
    assert float(change(lambda x, y: tn.jvp(lambda x: f(x, y), (x,), (x / x,))[1])(x, y)) == 10 * 10 * 2 * 3


def test_a_carry_that_another_makes_differentiated():
    """The second carry has a tangent from the second step on: the rule is for both."""
    f = tn.grad(lambda x, y: lax.scan(lambda c, _: ((product(*c), c[0]), None), (x, y), length=2)[0][0])
    assert float(f(x, y)) == 1000 * (x * 1000 * y + x * y)  # the second step: (xy)·x
    deep = tn.grad(lambda x: lax.scan(lambda c, _: ((product(c[0], c[7]), c[0], *c[1:7]), None), (x, *[y] * 7), length=8)[0][0])
    assert np.isfinite(float(deep(x)))


def test_a_branch():
    f = tn.grad(lambda x, y: lax.cond(y > 0, lambda a, b: product(a, b), lambda a, b: a, x, y))
    assert float(f(x, y)) == 20 and float(tn.jit(f)(x, y)) == 20


def test_behind_a_loop():
    """What a loop makes of a carry that is not differentiated is not differentiated."""
    f = tn.grad(lambda x, y: product(*lax.scan(lambda c, _: ((c[0] * 2, c[1] + 1), None), (x, y), length=2)[0]))
    assert float(f(x, y)) == 4 * 10 * 4


def test_a_rule_that_refuses_tangents():
    @tn.custom_jvp
    def fixed(a):
        return a

    @fixed.defjvp
    def refused(primals, tangents):
        raise RuntimeError("not differentiable")

    f = tn.grad(lambda x, y: lax.scan(lambda c, _: ((c[0] * fixed(c[1]), c[1] + 1), None), (x, y), length=2)[0][0])
    assert float(f(x, y)) == 6
    with pytest.raises(RuntimeError, match="not differentiable"):
        tn.grad(lambda x, y: lax.scan(lambda c, _: ((c[0] * fixed(c[1]), c[0]), None), (x, y), length=3)[0][0])(x, y)
