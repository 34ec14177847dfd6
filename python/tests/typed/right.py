"""Typical code, with the types that a checker should find; test_types.py checks and runs it."""

from typing import Any, assert_type

import numpy as np

import tenon as tn
import tenon.numpy as tnp
from tenon import lax, nn, random


def loss(w: tn.Array, xs: tn.Array) -> tn.Array:
    return ((xs @ w - 1) ** 2).mean() + 2 * abs(w).sum(axis=0, keepdims=False)


@tn.jit
def step(w: tn.Array, xs: tn.Array) -> tuple[tn.Array, tn.Array]:
    value, slope = tn.value_and_grad(loss)(w, xs)
    assert_type(value, tn.Array)
    return value, w - 0.1 * slope


@tn.jit(static_argnames="n", donate_argnums=0)
def power(x: tn.Array, n: int = 2) -> tn.Array:
    return x ** n


@tn.custom_vjp
def twice(x: tn.Array) -> tn.Array:
    return 2 * x


twice.defvjp(lambda x: (2 * x, None), lambda kept, ct: (2 * ct,))


@tn.checkpoint
def frugal(x: tn.Array) -> tn.Array:
    return tnp.sin(tnp.sin(x))


def collect(n: tn.Array) -> Any:
    def body(state: tuple[tn.Array, tn.List]) -> tuple[tn.Array, tn.List]:
        i, items = state
        items.push(i)
        return i + 1, items

    _, items = lax.while_loop(lambda s: s[0] < n, body, (tnp.array(0), tn.List()))
    return items.stack()


def with_parts(x: tn.Array) -> tuple[tn.Array, dict[str, tn.Array]]:
    return x.sum(), {"twice": 2 * x}


w: tn.Array = tnp.array([1.0, 2.0])
xs: tn.Array = tnp.asarray(np.ones((3, 2)))
assert_type(step(w, xs), tuple[tn.Array, tn.Array])
assert_type(step(w, xs=xs)[1].at[0].set(1).reshape(2, 1).T, tn.Array)
assert_type(power(w, n=3), tn.Array)
assert_type(twice(xs[0, ...]), tn.Array)
assert_type(frugal(xs), tn.Array)
assert_type(tn.vmap(loss, in_axes=(None, 0))(tnp.ones(2), xs[:, None]), tn.Array)
assert_type(tn.jvp(frugal, (xs,), (xs,)), tuple[tn.Array, tn.Array])
value, pull = tn.vjp(frugal, xs)
assert_type(value, tn.Array)
assert_type(pull, tn.LinearFunction)
slope, parts = tn.grad(with_parts, has_aux=True)(tnp.ones(2))
assert_type(parts, dict[str, tn.Array])
assert_type(tn.make_program(loss)(tnp.ones(2), xs).text(lines=True), str)
assert_type(tn.explain(loss)(tnp.ones(2), xs), str)
carry, ys = lax.scan(lambda c, x: (c + x, c * x), 0.0, xs[:, 0], checkpoint=tn.every(2))
assert_type(xs.shape, tuple[int, ...])
assert_type(xs.nonzero(), tuple[tn.Array, ...])
assert_type(float(value.sum()) + int(xs.size) + len(xs), float)
assert_type(np.asarray(xs).shape, tuple[Any, ...])
assert_type(1 + xs > np.zeros(2), tn.Array)
ref = tn.new_ref(xs)
ref[0] = 1.0
assert_type(tn.freeze(ref), tn.Array)
assert collect(tnp.array(3)).tolist() == [0, 1, 2]
with tn.disable_jit():
    pass
assert_type(tnp.sum(xs, axis=0, keepdims=True) + tnp.concatenate([xs, xs]).mean(), tn.Array)
assert_type(tnp.array_split(xs, 2), list[tn.Array])
assert_type(tnp.linalg.norm(xs) * nn.gelu(xs), tn.Array)
assert_type(random.normal(random.key(0), (2, 3)), tn.Array)
assert_type(lax.top_k(xs, 1), tuple[tn.Array, tn.Array])
