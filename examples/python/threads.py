"""Programs that users of other systems asked about in public, each beside NumPy. Here: reductions, sizes, contractions; in
threads_inner.py functions traced once; in threads_loops.py loops and gradients. usage: threads.py [PICTURE.png]"""

import sys
from statistics import NormalDist

import numpy as np

import tenon as tn
import tenon.numpy as tnp
from tenon import lax, random

import threads_inner
import threads_loops
import threads_picture

R = np.random.default_rng(0)


def reductions():
    """A mean over what a scan stacks, written in either way; a sum over pairs."""
    x1, x2, y = R.normal(size=(10, 5, 8)), R.normal(size=(30, 15, 12)), R.normal(size=(30, 15, 12))

    def loss(x1, x2, y):
        return tnp.square(y - lax.scan(lambda c, x: (tnp.sin(c), tnp.cos(x)), x1, x2)[1]).mean()

    value, slope = tn.jit(tn.value_and_grad(loss, 1))(x1, x2, y)
    yield "mean over a scan", value, np.mean((y - np.cos(x2)) ** 2)
    yield "mean over a scan, gradient", slope, 2 * (y - np.cos(x2)) * np.sin(x2) / y.size
    by_carry = tn.jit(lambda x: lax.scan(lambda s, _: ((tnp.sin(s[0]), s[1] + tnp.sin(s[0]).mean() / 10), None),
                                         (x, 0.0), None, length=10)[0][1])
    stacked = tn.jit(lambda x: lax.scan(lambda c, _: (tnp.sin(c), tnp.sin(c)), x, None, length=10)[1].mean())
    c, means = x1, []
    for _ in range(10):
        c = np.sin(c)
        means.append(c.mean())
    yield "a mean summed in the carry", by_carry(x1), np.mean(means)
    yield "the same, stacked first", stacked(x1), np.mean(means)
    p, q, b = R.normal(size=(300, 3)), R.normal(size=(200, 3)), R.normal(size=200)
    pairs = tn.jit(lambda p, q, b: (b * tnp.exp(-tnp.square(p[:, None] - q[None]).sum(-1))).sum(-1))
    yield "a sum over pairs", pairs(p, q, b), [sum(b[j] * np.exp(-sum((u - q[j]) ** 2)) for j in range(200)) for u in p]


def threefry_normal(n):
    """Normal numbers of key 0, from the definition of Threefry 2x32."""
    word, key = lambda v: np.uint32(v & 0xFFFFFFFF), (0, 0, 0x1BD11BDA)
    for i in range(n):
        a, b = 0, i
        for turn in range(5):
            for r in ((13, 15, 26, 6), (17, 29, 16, 24))[turn % 2]:
                a = word(int(a) + int(b))
                b = word(int(b) << r | int(b) >> 32 - r) ^ a
            a, b = word(int(a) + key[(turn + 1) % 3]), word(int(b) + key[(turn + 2) % 3] + turn + 1)
        yield NormalDist().inv_cdf((int(a) << 20 | int(b) >> 12) / 2 ** 52)


def sizes():
    """Shapes that are arguments, that come from other arrays, and that data decide."""
    x, z = np.arange(6.0), np.ones((2, 3))
    yield "reshape to an argument", tn.jit(tnp.reshape, static_argnums=1)(x, (2, 3)), x.reshape(2, 3)
    yield "reshape to a shape", tn.jit(lambda x, z: tnp.reshape(x, z.shape))(x, z), x.reshape(2, 3)
    normal = tn.jit(lambda k: random.normal(k, np.array([10])))
    yield "normal of a captured shape", normal(random.key(0)), [*threefry_normal(10)]
    yield "roll by a number", tn.jit(tnp.roll)(x, 4), np.roll(x, 4)
    yield "what a mask lets through", tn.jit(lambda x: tnp.cumsum(x[x % 2 > 0]))(x), [1, 4, 9]


def contractions():
    """Batched products of a matrix and vectors, in many spellings."""
    w, a = R.normal(size=(60, 82)), R.normal(size=(32, 10, 82))
    expected = np.stack([[w @ v for v in vs] for vs in a])
    twice = tn.vmap(tn.vmap(lambda w, a: w @ a, in_axes=(None, 0)), in_axes=(None, 0))
    inside_out = tn.vmap(tn.vmap(lambda w, a: w @ a, in_axes=(None, 0)), in_axes=(None, 1), out_axes=1)
    for name, f in {"double vmap": twice, "einsum": lambda w, a: tnp.einsum("ab,...b->...a", w, a),
                    "einsum, swapped": lambda w, a: tnp.einsum("...b,ab->...a", a, w), "vmap, other order": inside_out,
                    "matmul": lambda w, a: a @ w.T,
                    "dot, transposed": lambda w, a: tnp.tensordot(w, a, ((1,), (2,))).transpose(1, 2, 0)}.items():
        yield f"contraction: {name}", tn.jit(f)(w, a), expected


GROUPS = {"reductions": reductions, "sizes": sizes, "inner functions": threads_inner.programs, "contractions": contractions,
          "loops": threads_loops.programs}


def main(picture=None):
    differences = {}
    for group, programs in GROUPS.items():
        for name, ours, expected in programs():
            expected = np.asarray(expected)
            assert np.shape(ours) == expected.shape, name
            differences[group, name] = float(np.max(np.abs(np.asarray(ours) - expected)) / np.max(np.abs(expected)))
            print(f"{name:42} differs from NumPy by {differences[group, name]:.1e} of the largest element")
    if picture:
        threads_picture.draw(picture, differences)
    return differences


if __name__ == "__main__":
    main(*sys.argv[1:])
