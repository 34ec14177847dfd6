"""Transformations in one another, three deep: programs beside NumPy, with derivatives by finite differences."""

import itertools

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import lax, nn

# Each program takes a vector of three numbers and returns a number: once in tenon, once in NumPy, in which loops are Python's.
A = np.array([[0.5, -0.3, 0.2], [0.1, 0.4, -0.6], [-0.2, 0.7, 0.3]])
B = np.array([0.3, -0.8, 0.6])


def scanned(x):
    def body(carry, w):
        carry = tnp.tanh(carry * w + x)
        return carry, carry * w

    carry, out = lax.scan(body, tnp.zeros(3), tnp.asarray(A))
    return tnp.sum(carry) + tnp.sum(out[0] * out[2])


def scanned_by_hand(x):
    carry, out = np.zeros(3), []
    for w in A:
        carry = np.tanh(carry * w + x)
        out.append(carry * w)
    return carry.sum() + (out[0] * out[2]).sum()


def looped(x):
    return tnp.sum(lax.fori_loop(0, 4, lambda i, c: tnp.sin(c) * x + i * 0.1, x))


def looped_by_hand(x):
    c = x
    for i in range(4):
        c = np.sin(c) * x + i * 0.1
    return c.sum()


def whiled(x):
    return tnp.sum(lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * x + B), (0, x), checkpoints=2)[1])


def whiled_by_hand(x):
    c = x
    for _ in range(3):
        c = c * x + B
    return c.sum()


def branched(x):
    return lax.cond(tnp.sum(x) > 0.2, lambda x: tnp.sum(x ** 3), lambda x: tnp.prod(x) + x[0] ** 2, x)


def branched_by_hand(x):
    return (x ** 3).sum() if x.sum() > 0.2 else x.prod() + x[0] ** 2


def kept(x):
    inner = tn.checkpoint(lambda x: tnp.exp(tnp.sin(x) @ tnp.asarray(A)))
    return tnp.sum(inner(x) * inner(x * 0.5))


def updated(x):
    y = tnp.zeros((3, 3)).at[0].set(x).at[:, 1].add(x * x).at[2, 2].multiply(x[0])
    return tnp.sum(y.at[1].max(x) * tnp.asarray(A))


def updated_by_hand(x):
    y = np.zeros((3, 3))
    y[0] = x
    y[:, 1] += x * x
    y[2, 2] *= x[0]
    y[1] = np.maximum(y[1], x)
    return (y * A).sum()


def inner_gradient(x):
    return tnp.sum(tn.grad(lambda y: tnp.sum(tnp.sin(y) * y * tnp.asarray(B)))(x) ** 2)


def batched(x):
    return tnp.sum(tn.vmap(lambda row, b: tnp.tanh(row @ x) * b)(tnp.asarray(A), tnp.asarray(B)))


def compiled_inside(x):
    f = tn.jit(lambda x, y: tnp.sum(x * y) + tnp.max(x))
    return f(x, tnp.cos(x)) * f(x + 1, x)


def solved(x):
    a = tnp.asarray(A) + 3 * tnp.eye(3) + tnp.outer(x, x)
    return tnp.sum(tnp.linalg.solve(a, x)) + tnp.linalg.cholesky(a @ a.T)[2, 2]


def solved_by_hand(x):
    a = A + 3 * np.eye(3) + np.outer(x, x)
    return np.linalg.solve(a, x).sum() + np.linalg.cholesky(a @ a.T)[2, 2]


@tn.custom_vjp
def scaled(x):
    return x * 2.5


scaled.defvjp(lambda x: (x * 2.5, None), lambda _, g: (g * 2.5,))


@tn.custom_jvp
def cubed(x):
    return x ** 3


cubed.defjvp(lambda x, dx: (x[0] ** 3, 3 * x[0] ** 2 * dx[0]))


def accumulated(x):
    return tnp.sum(lax.associative_scan(tnp.multiply, tnp.concatenate([x, x + 1])) * 0.5)


def logsumexp_by_hand(x):
    return np.log(np.exp(x @ A).sum()) + (np.exp(x) / np.exp(x).sum())[0]


PROGRAMS = {  # name: (in tenon, in NumPy)
    "polynomial": (lambda x: x[0] ** 3 * x[1] + x[2] ** 2 * x[0], lambda x: x[0] ** 3 * x[1] + x[2] ** 2 * x[0]),
    "product": (lambda x: tnp.sin(x) @ tnp.asarray(A) @ x, lambda x: np.sin(x) @ A @ x),
    "softmax": (lambda x: nn.logsumexp(x @ tnp.asarray(A)) + nn.softmax(x)[0], logsumexp_by_hand),
    "scan": (scanned, scanned_by_hand),
    "fori_loop": (looped, looped_by_hand),
    "while_loop": (whiled, whiled_by_hand),
    "cond": (branched, branched_by_hand),
    "checkpoint": (kept, lambda x: (np.exp(np.sin(x) @ A) * np.exp(np.sin(x * 0.5) @ A)).sum()),
    "updates": (updated, updated_by_hand),
    "grad": (inner_gradient, lambda x: ((B * (np.cos(x) * x + np.sin(x))) ** 2).sum()),
    "vmap": (batched, lambda x: (np.tanh(A @ x) * B).sum()),
    "jit": (compiled_inside, lambda x: ((x * np.cos(x)).sum() + x.max()) * (((x + 1) * x).sum() + (x + 1).max())),
    "solve": (solved, solved_by_hand),
    "custom_vjp": (lambda x: tnp.sum(scaled(tnp.sin(x)) ** 2), lambda x: ((2.5 * np.sin(x)) ** 2).sum()),
    "custom_jvp": (lambda x: tnp.sum(cubed(x) * x[0]), lambda x: (x ** 3 * x[0]).sum()),
    "indexing": (lambda x: tnp.sum(x[tnp.array([0, 2, 2])] * x[::-1]) + x[-1] ** 2, lambda x: (x[[0, 2, 2]] * x[::-1]).sum() + x[-1] ** 2),
    "sort": (lambda x: tnp.sort(x) @ tnp.asarray(B) + tnp.median(x) ** 2, lambda x: np.sort(x) @ B + np.median(x) ** 2),
    "cumulative": (lambda x: tnp.sum(tnp.cumsum(x) * tnp.cumprod(x)), lambda x: (np.cumsum(x) * np.cumprod(x)).sum()),
    "where": (lambda x: tnp.sum(tnp.where(x > 0.1, tnp.log(tnp.where(x > 0.1, x, 1.0)), x * x)),
              lambda x: np.where(x > 0.1, np.log(np.where(x > 0.1, x, 1)), x * x).sum()),
    "statistics": (lambda x: tnp.var(x) * tnp.mean(x ** 2) + tnp.linalg.norm(x), lambda x: x.var() * (x ** 2).mean() + np.linalg.norm(x)),
    "einsum": (lambda x: tnp.einsum("i,ij,j,kj->k", x, tnp.asarray(A), x, tnp.asarray(A))[1], lambda x: np.einsum("i,ij,j,kj->k", x, A, x, A)[1]),
    "associative_scan": (accumulated, lambda x: np.cumprod(np.concatenate([x, x + 1])).sum() * 0.5),
    "map": (lambda x: tnp.sum(lax.map(lambda v: tnp.exp(v) * v, x) * tnp.asarray(B)), lambda x: (np.exp(x) * x * B).sum()),
}
POINTS = np.array([[0.4, -0.7, 0.9], [0.25, 0.6, -0.35]])


def slope(f, step):
    """The derivative by central differences of the fourth order: of every element of f(x), along a last axis more."""
    def derivative(x):
        parts = []
        for e in np.eye(len(x)) * step:
            parts.append((8 * (f(x + e) - f(x - e)) - (f(x + 2 * e) - f(x - 2 * e))) / (12 * step))
        return np.stack(parts, -1)

    return derivative


def directional(f):
    return lambda x: tn.jvp(f, (x,), (tnp.asarray(B),))[1]


# Transformations: how they change a function, how often they differentiate, and along what.
DERIVATIVES = {"grad": tn.grad, "jacfwd": tn.jacfwd, "jacrev": tn.jacrev, "jvp": directional}
OTHERS = {"jit": tn.jit, "checkpoint": tn.checkpoint, "vmap": lambda f: lambda x: tn.vmap(f)(tnp.stack([x, x * 1.0]))[1],
          "loop": lambda f: lambda x: lax.map(f, x[None])[0]}
KINDS = {**DERIVATIVES, **OTHERS, "hessian": tn.hessian}


def nestings():
    """Three deep: grad only of numbers, three derivatives at most."""
    for chain in itertools.product(KINDS, repeat=3):  # the first is the innermost
        order = sum(2 if k == "hessian" else k in DERIVATIVES for k in chain)
        scalar = True
        for k in chain:
            if k == "grad" and not scalar:
                break
            scalar = scalar and k not in ("grad", "jacfwd", "jacrev", "hessian")
        else:
            if 1 <= order <= 3 and len({*chain}) > 1:
                yield chain


CHAINS = list(nestings())


def by_differences(chain, f):
    for i, k in enumerate(chain):
        step = 2e-3 if sum(2 if c == "hessian" else c in DERIVATIVES for c in chain) < 3 else 1e-2
        for _ in range(2 if k == "hessian" else k in DERIVATIVES):
            f = (lambda g: lambda x: slope(g, step)(x) @ B)(f) if k == "jvp" else slope(f, step)
    return f


@pytest.mark.parametrize("name", PROGRAMS)
def test_three_deep(name):
    """Every program under chains of its own: all chains are used, each by some program."""
    ours, theirs = PROGRAMS[name]
    start = list(PROGRAMS).index(name)
    for point in POINTS:
        assert np.allclose(ours(tnp.asarray(point)), theirs(point), 1e-12)
    for number, chain in enumerate(CHAINS[start::len(PROGRAMS)]):
        f = ours
        for k in chain:
            f = KINDS[k](f)
        x = POINTS[number % 2]
        order = sum(2 if k == "hessian" else k in DERIVATIVES for k in chain)
        wanted, got = by_differences(chain, theirs)(x), np.asarray(f(tnp.asarray(x)))
        assert got.shape == np.shape(wanted), (name, chain)
        tolerance = {1: 1e-8, 2: 1e-6, 3: 1e-3}[order]
        assert np.allclose(got, wanted, tolerance, tolerance), (name, chain, got, wanted)
