"""Arguments for the tests that compare with NumPy: arrays of all dtypes and small shapes, drawn by hypothesis, and JAX's
rules of promotion, written down by themselves."""

import functools

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

try:
    import ml_dtypes

    HALF = [np.dtype("float16"), np.dtype(ml_dtypes.bfloat16)]
except ImportError:
    HALF = [np.dtype("float16")]

DTYPES = {
    "b": [np.dtype("bool")], "i": [np.dtype(f"int{n}") for n in (8, 16, 32, 64)],
    "u": [np.dtype(f"uint{n}") for n in (8, 16, 32, 64)], "h": HALF, "f": [np.dtype("float32"), np.dtype("float64")],
    "c": [np.dtype("complex64"), np.dtype("complex128")],
}

# What stands right above a dtype; int*, float* and complex* are those of Python's numbers.
ABOVE = {
    "bool": ["int*"], "int*": ["uint8", "int8"], "uint8": ["int16", "uint16"], "int8": ["int16"],
    "uint16": ["int32", "uint32"], "int16": ["int32"], "uint32": ["int64", "uint64"], "int32": ["int64"],
    "uint64": ["float*"], "int64": ["float*"], "float*": ["bfloat16", "float16", "complex*"], "bfloat16": ["float32"],
    "float16": ["float32"], "float32": ["float64", "complex64"], "float64": ["complex128"], "complex*": ["complex64"],
    "complex64": ["complex128"], "complex128": [],
}
WEAK = {int: "int*", float: "float*", complex: "complex*"}


@functools.cache
def above(name):
    return frozenset({name}).union(*map(above, ABOVE[name]))


def met(*names):
    """The lowest dtype that stands above all of these."""
    common = frozenset.intersection(*map(above, names))
    return next(n for n in common if above(n) == common)


def name_of(x):
    return WEAK[type(x)] if type(x) in WEAK else np.asarray(x).dtype.name


def strong(name):
    return dtype_of({"int*": "int64", "float*": "float64", "complex*": "complex128"}.get(name, name))


def dtype_of(name):
    return next(d for ds in DTYPES.values() for d in ds if d.name == name)


def meeting(*names):
    """The dtype in which arrays and Python's numbers meet."""
    return strong(met(*names))


def promoted(*xs):
    return meeting(*map(name_of, xs))


def inexact(dtype):
    """The real dtype in which functions of integers are computed."""
    if is_inexact(dtype):
        return dtype
    return np.dtype("float64" if dtype.kind in "iu" and dtype.itemsize == 8 else "float32")


def is_inexact(dtype):
    return dtype.kind in "fc" or dtype in HALF


def real_part(dtype):
    return np.zeros(0, dtype).real.dtype if dtype.kind == "c" else dtype


def widened(dtype):
    """The dtype of sums of integers."""
    if dtype.kind in "bi":
        return np.dtype("int64")
    return np.dtype("uint64") if dtype.kind == "u" else dtype


def limits(dtype):
    return ml_dtypes.finfo(dtype) if dtype.name == "bfloat16" else np.finfo(dtype)


TAME = [0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, 1.5, 7.25, -10.0, 0.125]
SPECIAL = [*TAME, -0.0, np.nan, np.inf, -np.inf]
POOLS = {"tame": TAME, "special": SPECIAL, "positive": [0.25, 0.5, 1.0, 2.0, 3.5], "unit": [0.0, 0.25, 0.5, 1.0],
         "cuts": [0.0, -0.0, 2.0, -2.0, 0.5, -0.5], "inside": [0.0, -0.0, 0.25, -0.5, 0.875], "nonzero": [v for v in TAME if v]}
INTEGERS = {"tame": [0, 1, 2, 3, 5, -1, -4], "positive": [1, 2, 3, 5], "unit": [0, 1], "nonzero": [1, 2, 3, 5, -1, -4]}


def pool(dtype, values):
    """The elements that an array is drawn from. "wild" are the limits of the dtype too."""
    if dtype.kind == "b":
        return [True] if values in ("positive", "nonzero") else [False, True]
    if dtype.kind in "iu":
        some = INTEGERS.get(values, INTEGERS["tame"])
        some = [*some, int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)] if values == "wild" else some
        return [v for v in some if v >= 0 or dtype.kind == "i"]
    if dtype.kind == "c":
        parts = POOLS.get(values if values not in ("wild", "special") else "tame")
        return [complex(a, b) for a in parts[:6] for b in parts[:6] if a or b or values != "nonzero"]
    most, least = float(limits(dtype).max), float(limits(dtype).tiny)
    return [*SPECIAL, 1e-3, 100.0, most, -most, least, -least] if values == "wild" else POOLS[values]


class Draw:
    """Draws arguments of one call."""

    def __init__(self, data):
        self.data = data

    def __call__(self, strategy):
        return self.data.draw(strategy)

    def of(self, *values):
        return self(st.sampled_from(values))

    def flag(self):
        return self(st.booleans())

    def number(self, low, high):
        return self(st.integers(low, high))

    def dtype(self, kinds):
        return self.of(*(d for k in kinds for d in DTYPES[k]))

    def shape(self, least=0, most=3, low=0, high=3):
        return self(hnp.array_shapes(min_dims=least, max_dims=most, min_side=low, max_side=high))

    def array(self, kinds="biuhfc", values="special", shape=None, dtype=None, **shapes):
        dtype = self.dtype(kinds) if dtype is None else np.dtype(dtype)
        shape = self.shape(**shapes) if shape is None else shape
        n = int(np.prod(shape))
        elements = self(st.lists(st.sampled_from(pool(dtype, values)), min_size=n, max_size=n))
        return np.array(elements, dtype).reshape(shape)

    def vector(self, kinds="biuhfc", values="special", low=0, high=5, **options):
        return self.array(kinds, values, least=1, most=1, low=low, high=high, **options)

    def indices(self, n, shape=None, outside=0):
        """Whole numbers from -n to below n, or so many more at both ends."""
        shape = self.shape(0, 2) if shape is None else shape
        if n == 0 and not outside:
            shape = (0,)
        count = int(np.prod(shape))
        made = self(st.lists(st.integers(-n - outside, max(n - 1, -n) + outside), min_size=count, max_size=count))
        return np.array(made, self.of("int32", "int64")).reshape(shape)

    def together(self, n, kinds="biuhfc", values="special", most=3):
        """Arrays whose shapes broadcast; at times of different dtypes."""
        shapes = self(hnp.mutually_broadcastable_shapes(num_shapes=n, max_dims=most, min_side=0, max_side=3)).input_shapes
        one = self.dtype(kinds) if self.flag() else None
        return [self.array(kinds, values, s, one) for s in shapes]

    def alike(self, n, kinds="biuhfc", values="special", **shapes):
        """Arrays of one shape; at times of different dtypes."""
        shape, one = self.shape(**shapes), self.dtype(kinds) if self.flag() else None
        return [self.array(kinds, values, shape, one) for _ in range(n)]

    def axis(self, rank):
        """Of an array of this rank; now and then it is out of bounds."""
        return self.number(-rank - 1, rank) if self.number(0, 5) == 0 or rank == 0 else self.number(-rank, rank - 1)

    def axes(self, rank):
        """None, one axis or several; now and then one is out of bounds or named twice."""
        kind = self.number(0, 3)
        if kind == 0:
            return None
        if kind < 3:
            return self.axis(rank)
        return tuple(self(st.lists(st.integers(-rank, max(rank - 1, -rank)), max_size=rank)))
