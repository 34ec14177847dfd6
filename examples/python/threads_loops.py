"""Programs of threads.py: loops and their gradients. In NumPy the derivative is that of a complex step: f(z + ih).imag / h."""

import numpy as np

import tenon as tn
import tenon.numpy as tnp
from tenon import lax


def stacked(z, xs):
    def body(c, x):
        c = tnp.sin(tnp.sin(x) * c)
        return c, c

    y, ys = lax.scan(body, z, z * xs)
    return tnp.sum(y * ys)


def in_carry(update):
    """The loop that writes ys[i] by itself; update(xs, ys, new, i) -> (c of the carry, ys)."""

    def f(z, xs):
        def body(carry, _):
            i, c, xs, ys = carry
            c, ys = update(xs, ys, tnp.sin(tnp.sin(xs[i]) * c), i)
            return (i + 1, c, xs, ys), None

        (_, y, _, ys), _ = lax.scan(body, (0, z, z * xs, tnp.zeros(len(xs))), None, length=len(xs))
        return tnp.sum(y * ys)

    return f


def triangular(xs, ys, c, i):
    ys = ys.at[i].set(c)
    return tnp.dot(ys, xs), ys


WRITTEN = in_carry(lambda xs, ys, c, i: (c, lax.dynamic_update_index_in_dim(ys, c, i, 0)))
WHERE = in_carry(lambda xs, ys, c, i: (c, tnp.where(i > -10, ys.at[i].set(c), ys)))
TWICE = in_carry(lambda xs, ys, c, i: (c, ys.at[0].set(c).at[0].set(c * xs[i])))
TRIANGULAR = in_carry(triangular)
LOOPS = {"stacked scan": stacked, "carry alone": WRITTEN, "with where": WHERE, "with dot(ys, xs)": TRIANGULAR,
         "one index twice": TWICE}


def plainly(loop):
    """The same in NumPy, of complex numbers."""

    def f(z, xs):
        c, xs, ys = z, z * xs, np.zeros(len(xs), complex)
        for i, x in enumerate(xs):
            c = np.sin(np.sin(x) * c)
            ys[0 if loop is TWICE else i] = c * x if loop is TWICE else c
            c = ys @ xs if loop is TRIANGULAR else c
        return np.sum(c * ys)

    return f


def by_reference(xs):
    """The loop that writes into an array, as one does in PyTorch."""
    ys = tn.new_ref(tnp.zeros_like(xs))
    for i, x in enumerate(xs):
        ys[i] = x * i ** 0.5
    return tn.freeze(ys).sum()


def by_list(z):
    """As many steps as it takes: a list grows."""
    def body(state):
        z, seen = state
        seen.push(z)
        return 1.5 * z + tnp.sin(z), seen

    _, seen = lax.while_loop(lambda s: s[0] < 100.0, body, (z, tn.List()))
    return tnp.sum(tnp.square(seen.stack()))


def plain_list(z):
    total = 0
    while z.real < 100:
        total, z = total + z * z, 1.5 * z + np.sin(z)
    return total


def programs():
    xs = np.random.default_rng(1).normal(size=(6, 4, 5))
    roots = np.broadcast_to(np.sqrt(np.arange(6))[:, None, None], xs.shape)
    yield "loop: by reference", by_reference(xs), np.sum(xs * roots)
    yield "loop: by reference, gradient", tn.jit(tn.grad(by_reference))(xs), roots
    for name, ours in {**LOOPS, "while with a list": by_list}.items():
        plain, more = (plain_list, ()) if ours is by_list else (plainly(ours), (1 + np.arange(6) / 6,))
        value, slope = tn.jit(tn.value_and_grad(ours))(0.7, *more)
        yield f"loop: {name}", value, plain(0.7 + 0j, *more).real
        yield f"loop: {name}, gradient", slope, plain(0.7 + 1e-30j, *more).imag / 1e-30
