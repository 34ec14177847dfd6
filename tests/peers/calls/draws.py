"""How arguments of calls are drawn: values that are special, shapes, axes, and marks for what only a library can make."""

import random

import ml_dtypes
import numpy as np

BF = np.dtype(ml_dtypes.bfloat16)
INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
EIGHT_BITS = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3", "float8_e3m4", "float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2fnuz",
              "float8_e8m0fnu"]
ALL = ["bool"] + INTS + FLOATS + COMPLEX
REAL = ["bool"] + INTS + FLOATS
COMMON = ["bool", "int8", "uint8", "int32", "uint32", "float16", "bfloat16", "float32", "float64", "complex64"]


def npd(n):
    return BF if n == "bfloat16" else np.dtype(n)


def fin(n):
    return ml_dtypes.finfo(npd(n))


SHAPES = [
    (),
    (),
    (0,),
    (1,),
    (2,),
    (3,),
    (3,),
    (5,),
    (2, 3),
    (2, 3),
    (3, 2),
    (1, 3),
    (0, 3),
    (3, 0),
    (2, 3, 4),
    (2, 1, 3),
    (2, 0, 3),
    (17,),
    (4, 4),
    (67,),
]
NONEMPTY = [s for s in SHAPES if 0 not in s]
SQ = [(1, 1), (2, 2), (3, 3), (4, 4), (2, 3, 3), (0, 0), (0, 2, 2)]


class D(str):
    pass  # a dtype by name


class F(str):
    pass  # a function by name


class K(int):
    pass  # a key


class Raw(tuple):
    pass  # a NumPy value that stays one


class W(tuple):
    pass  # a weakly typed array: (number, shape)


class NT(tuple):
    pass  # (name of a class of lax, kwargs)


class Ix(tuple):
    pass  # an index expression


CASES = []  # (path, arguments, named arguments, kind of values) of each call


def emit(path, args, kw=None, tag="small"):
    CASES.append((path, tuple(args), kw or {}, tag))


def table(g, rooms):
    """(name, a function that draws its arguments) of all rooms, of some names several."""
    drawn = []

    def t(names):
        def add(f):
            drawn.extend((name, f) for name in names.split())
            return f
        return add
    for room in rooms:
        room.add(g, t)
    return drawn


def floats_special(n, sub=False):
    f = fin(n)
    v = [
        np.nan,
        np.inf,
        -np.inf,
        0.0,
        -0.0,
        1,
        -1,
        0.5,
        -0.5,
        1.5,
        2.5,
        -2.5,
        2,
        3,
        -3,
        10.25,
        100,
        -100,
        float(f.max),
        -float(f.max),
        float(f.tiny),
        -float(f.tiny),
        float(f.eps),
        1e-3,
        np.pi,
        1 / 3,
        -0.75,
        20,
        -20,
    ]
    if sub:
        v = [
            float(f.smallest_subnormal),
            -float(f.smallest_subnormal),
            float(f.tiny) / 2,
            -float(f.tiny) / 4,
            1,
            0,
            -1,
            2,
            0.5,
            np.inf,
            1e-3,
            float(f.tiny),
        ]
    return np.array(v).astype(npd(n))


def ints_special(n):
    i = np.iinfo(n)
    v = [0, 1, 2, 3, 5, 7, 10, 31, 32, 33, 63, 64, 8, 16, 15, 100, i.max, i.max - 1, i.max // 2 + 1]
    if i.min:
        v += [-1, -2, -3, -7, -10, -100, i.min, i.min + 1]
    return np.array([x for x in v if i.min <= x <= i.max], dtype=n)


def special(n, sub=False):
    if n == "bool":
        return np.array([False, True])
    if n in INTS:
        return ints_special(n)
    if n in FLOATS:
        return floats_special(n, sub)
    c = [0.0, -0.0, 1, -1, 0.5, np.nan, np.inf, -np.inf, 2.5, -3, 1e20, 30]
    return np.array([complex(a, b) for a in c for b in c], dtype=n)


class G:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.g = np.random.default_rng(seed)
        self.mode = "small"

    def flag(self, p=0.5):
        return self.r.random() < p

    def of(self, *xs):
        return self.r.choice(xs)

    def pick(self, xs):
        return self.r.choice(list(xs))

    def int(self, a, b):
        return self.r.randint(a, b)

    def dt(self, kinds=ALL):
        return self.r.choice(kinds)

    def shape(self, lo=0, hi=3, empty=True):
        return self.r.choice([s for s in (SHAPES if empty else NONEMPTY) if lo <= len(s) <= hi])

    def arr(self, dt=ALL, shape=None, mode=None, pos=False, **k):
        n = self.dt(dt) if isinstance(dt, (list, tuple)) else dt
        if shape is None:
            shape = self.shape(**k)
        mode = mode or self.mode
        size = int(np.prod(shape))
        if mode != "small":
            s = special(n, mode == "sub")
            if pos:
                s = np.abs(s)
            return s[self.g.integers(0, len(s), size)].reshape(shape)
        if n == "bool":
            return self.g.random(shape) < 0.5 if shape else np.array(self.flag())
        if n in INTS:
            return (
                self.g.integers(0 if n[0] == "u" or pos else -5, 6, shape).astype(n)
                if shape
                else np.array(self.int(0 if n[0] == "u" or pos else -5, 6), n)
            )
        x = self.g.normal(size=shape) * 2
        if pos:
            x = np.abs(x) + 0.1
        if n in COMPLEX:
            x = x + 1j * self.g.normal(size=shape)
        return np.asarray(x).astype(npd(n))

    def numbers(self, kind, dt, shape):
        """Numbers of a kind, for functions that are defined there: "any", "positive", "unit" (0 to 1), "sides" (-1 to 1), "near"
        (some units around 0) or "count" (0, 1, 2 ...); where the mode is not small, some are at the ends or special."""
        size = int(np.prod(shape))
        if dt == "bool":
            return self.g.random(shape) < 0.5
        even, normal, wide = self.g.random(size), self.g.normal(size=size), 10.0 ** self.g.uniform(-4, 3, size)
        side = np.where(self.g.random(size) < 0.5, -1, 1)
        x = {"any": np.where(even < 0.5, normal * 3, wide * side), "positive": np.where(even < 0.5, np.abs(normal) * 3 + 1e-3, wide),
             "unit": even ** self.g.choice([0.2, 1, 5], size), "sides": side * even ** self.g.choice([0.2, 1], size), "near": normal * 2,
             "count": np.floor(even**2 * 20)}[kind]
        if kind in ("any", "positive"):   # integers and halves
            x = np.where(self.g.random(size) < 0.25, np.ceil(np.clip(2 * x, -1e4, 1e4)) / 2, x)
        if dt in INTS:
            limit = np.iinfo(dt)
            x = np.clip(np.round(x), max(limit.min, -1e9), min(limit.max, 1e9))
        x = x.astype(npd(dt))
        if self.mode != "small" and dt in FLOATS + INTS:
            ends = special(dt)
            x = np.where(self.g.random(size) < 0.4, ends[self.g.integers(0, len(ends), size)], x)
        return x.astype(npd(dt)).reshape(shape)

    def operands(self, kinds, dts, p=0.08):
        """Arguments of an elementwise function: arrays of numbers of these kinds, most of one shape and dtype; some Python numbers."""
        n = len(kinds)
        shapes = [self.of((17,), (67,))] * n if self.flag(0.7) else self.bshapes(n) if n > 1 else [self.shape()]
        dt = self.dt(dts)
        made = [self.numbers(k, dt if self.flag(0.85) else self.dt(dts), s) for k, s in zip(kinds, shapes)]
        return [x if self.flag(1 - p) or not x.size else x.ravel()[0].item() for x in made]

    def scalar(self):
        return self.of(
            0, 1, -1, 3, 2, 7, 0.5, -1.5, 2.0, True, False, 1 + 2j, 300, 1e10, float("nan"), float("inf"), 100000, 2**31, -7
        )

    def axis(self, nd, bad=0.04):
        if self.flag(bad):
            return self.of(nd, -nd - 1, nd + 3)
        return self.int(-nd, nd - 1) if nd else self.of(0, -1)

    def axes(self, nd):
        if self.flag(0.3) or nd == 0:
            return None if self.flag(0.8) else self.of(0, ())
        if self.flag(0.6):
            return self.axis(nd)
        ks = self.r.sample(range(nd), self.int(0, nd))
        return tuple(k - nd if self.flag(0.4) else k for k in ks)

    def bshapes(self, n=2, bad=0.04, empty=True):
        base = self.shape(empty=empty)
        out = []
        for _ in range(n):
            s = list(base)
            if self.flag(0.3):
                s = s[self.int(0, len(s)) :]
            s = [1 if self.flag(0.15) else d for d in s]
            out.append(tuple(s))
        if self.flag(bad):
            out[0] = (7,)
        return out

    def operand(self, dt, shape):
        p = self.r.random()
        if p < 0.80:
            return self.arr(dt, shape)
        if p < 0.93:
            return self.scalar()
        if p < 0.97:
            return W((self.of(2, 2.5, True, 1 + 1j, -3), shape))
        return Raw((self.arr(dt, self.of((), shape)),))

    def opts(self, **k):
        return {a: f() for a, f in k.items() if self.flag(0.35)}


def red(g, a=None, **k):
    x = g.arr(a or ALL) if not isinstance(a, np.ndarray) else a
    kw = g.opts(keepdims=lambda: True)
    if g.flag(0.7):
        kw["axis"] = g.axes(x.ndim)
    return x, kw


def a_dtype(g):
    """The name of one of the dtypes that are drawn for `dtype=`."""
    return D(g.dt([n for n in ALL if n not in ("int16", "uint16", "uint64")]))


def wh(g, x):
    return g.arr("bool", x.shape if g.flag(0.7) else x.shape[1:])


def mm(g):
    """The operands of a product."""
    i, j, k = g.int(0, 3), g.int(0, 4), g.int(0, 3)
    s = g.of(
        ((i, j), (j, k)),
        ((j,), (j, k)),
        ((i, j), (j,)),
        ((j,), (j,)),
        ((2, i, j), (j, k)),
        ((2, i, j), (2, j, k)),
        ((2, 1, i, j), (3, j, k)),
        ((), (j,)),
        ((i, j), (k, j)),
        ((), ()),
    )
    return [g.arr(shape=s[0]), g.arr(g.of(ALL, ["float32"], ["int8"]), shape=s[1])]
