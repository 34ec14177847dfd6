"""How each function of tenon.numpy is called in tests, and what NumPy says of the same call: a line or a strategy a name."""

from typing import Any, Callable, NamedTuple

import numpy as np
from drawn import Draw, inexact, is_inexact, promoted, real_part, widened
from hypothesis import strategies as st


class Call(NamedTuple):
    args: tuple
    options: dict = {}


class Case(NamedTuple):
    draw: Callable[[Draw], Call]
    reference: Callable
    rule: Any              # the result's dtype from those of the operands that meet; None: NumPy's, computed in the same dtypes
    operands: tuple        # which arguments meet in one dtype
    terms: int             # how large errors of rounding are beside the operands: 0 beside the result alone
    refuses: Callable      # calls that NumPy takes and JAX does not
    takes: Callable        # calls that JAX takes and NumPy does not


CASES = {}


def case(names, *, reference=None, rule=None, operands=(), terms=0, refuses=lambda *a, **k: False,
         takes=lambda *a, **k: False, table=CASES):
    """Enters a strategy under several names; the reference is NumPy's function of that name where no other is given."""
    def enter(draw):
        for name in names.split():
            table[name] = Case(draw, reference or getattr(np, name), rule, operands, terms, refuses, takes)
        return draw

    return enter


def call(*args, **options):
    return Call(args, options)


def of(kinds, values="special", **shapes):
    return lambda d: call(d.array(kinds, values, **shapes))


def same(dtype):
    return dtype


def to(name):
    return lambda dtype: np.dtype(name)


def counting(function):
    """NumPy's function, whose counts and places are i32, as JAX's."""
    return lambda *args, **options: np.int32(function(*args, **options))


def real_inexact(dtype):
    return real_part(inexact(dtype))


def flags(d, **more):
    """Options that are now and then given."""
    return {name: make() for name, make in more.items() if d.flag()}


# --- functions of each element ---

REAL = "biuhf"
for names, kinds, values in (
        ("exp sin cos tan sinh cosh tanh", REAL + "c", "special"), ("sqrt", REAL + "c", "wild"), ("arctan atan arcsinh asinh expm1", REAL, "special"),
        ("arcsin asin arccos acos arctanh atanh", REAL, "inside"), ("arccosh acosh log1p", REAL, "positive"),
        ("log", REAL + "c", "nonzero"), ("log log2 log10 cbrt", REAL, "wild"), ("exp2 sinc deg2rad radians rad2deg degrees", REAL, "special"),
        ("reciprocal", "biuhfc", "nonzero")):
    case(names, rule=inexact, operands=(0,))(of(kinds, values))
case("fabs", rule=inexact, operands=(0,))(of(REAL, "wild"))
CASES["reciprocal"] = CASES["reciprocal"]._replace(reference=lambda x: 1 / x)
case("floor ceil trunc positive negative conj conjugate")(of("iuhf", "wild"))
case("square", rule=same, operands=(0,))(of("iuhfc", "tame"))
case("abs absolute")(of("biuhf", "wild"))
case("sign")(of("iuhfc", "special"))
case("real imag")(of("biuhfc", "wild"))
case("rint", reference=lambda x: np.rint(x.astype("float64")).astype(x.dtype if is_inexact(x.dtype) else "float64"))(of("iuhf", "wild"))
case("angle", rule=real_inexact, operands=(0,))(lambda d: call(d.array("hfc", "tame"), **flags(d, deg=d.flag)))
case("isnan isinf isfinite iscomplex isreal logical_not")(of("biuhfc", "wild"))
case("signbit")(of("iuhf", "wild"))
case("isposinf isneginf", refuses=lambda x: x.dtype.kind == "c")(of("biuhfc", "wild"))
case("invert bitwise_not bitwise_invert")(of("biu", "wild"))
case("bitwise_count")(of("iu", "wild"))
case("nan_to_num")(lambda d: call(d.array("iuhf", "special"), **flags(
    d, nan=lambda: 7.0, posinf=lambda: 9.0, neginf=lambda: -9.0)))
case("round around", rule=same, operands=(0,))(lambda d: call(d.array("hf", "special"), *[d.number(-2, 3)] * d.flag()))
case("modf", rule=inexact, operands=(0,))(of("iuhf", "special"))

for names, kinds, values in (("add multiply", "biuhfc", "wild"), ("subtract", "iuhfc", "wild")):
    case(names, rule=same, operands=(0, 1), terms=1)(lambda d, kinds=kinds: call(*d.together(2, kinds, "tame" if d.flag() else "special")))
case("maximum minimum fmax fmin", operands=(0, 1))(lambda d: call(*d.together(2, "biuhf", "wild")))
case("equal not_equal less less_equal greater greater_equal", operands=(0, 1))(lambda d: call(*d.together(2, "biuhf", "wild")))
case("logical_and logical_or logical_xor")(lambda d: call(*d.together(2, "biuhfc", "wild")))
case("bitwise_and bitwise_or bitwise_xor", operands=(0, 1))(lambda d: call(*d.together(2, "bi" if d.flag() else "bu", "wild")))
case("divide true_divide", rule=inexact, operands=(0, 1))(
    lambda d: call(*(d.together(2, "iuhf", "special") if d.flag() else d.together(2, "iuhfc", "nonzero"))))


@case("floor_divide remainder mod fmod", operands=(0, 1))
def divided(d):
    x, y = d.together(2, "iu" if d.flag() else "f", "nonzero")
    return call(x, y)


case("divmod", operands=(0, 1))(divided)
case("arctan2 atan2", rule=inexact, operands=(0, 1))(lambda d: call(*d.together(2, "iuhf", "special")))
case("copysign", rule=inexact, operands=(0, 1))(lambda d: call(*d.together(2, "iuhf", "special")))
case("hypot logaddexp logaddexp2 heaviside", rule=inexact, operands=(0, 1))(lambda d: call(*d.together(2, "iuhf", "special")))
case("float_power", rule=inexact, operands=(0, 1))(lambda d: call(*d.together(2, "iuhf", "positive")))
case("gcd lcm", operands=(0, 1))(lambda d: call(*d.together(2, "iu", "tame")))
case("left_shift bitwise_left_shift right_shift bitwise_right_shift", operands=(0, 1))(
    lambda d: call(*d.together(2, d.of("i", "u"), "positive")))
case("ldexp", rule=inexact, operands=(0,), reference=lambda x, n: np.ldexp(x, np.asarray(n, "int32")))(
    lambda d: call(d.array("hf", "special"), d.array("i", "tame", ())))


@case("power pow", rule=same, operands=(0, 1))
def powers(d):
    if d.flag():
        return call(*d.together(2, d.of("i", "u"), "positive"))
    return call(*d.together(2, "hf", "positive") if d.flag() else [d.array("hfc", "nonzero"), d.of(2, 3, -1, 0)])


@case("clip", operands=(0, 1, 2))
def clipped(d):
    x, low, high = d.together(3, "iuhf", "special")
    return call(x, low if d.flag() else None, high if d.flag() else None)


def close(f):
    return lambda x, y, **options: f(*(a.astype("complex128" if a.dtype.kind == "c" else "float64") for a in (x, y)), **options)


for name in ("isclose", "allclose"):
    case(name, reference=close(getattr(np, name)))(
        lambda d: call(*d.together(2, "biufc", "special"), **flags(d, rtol=lambda: 0.2, atol=lambda: 0.6, equal_nan=d.flag)))
case("array_equal")(lambda d: call(*(d.alike if d.flag() else d.together)(2, "biuf", "special"), **flags(d, equal_nan=d.flag)))
case("array_equiv")(lambda d: call(*d.together(2, "biufc", "tame")))

# --- reductions ---


def reduction(kinds, values="special", *more, low=0):
    """An array, and at times axis, keepdims, where and initial."""
    def draw(d):
        x = d.array(kinds, values, low=low)
        options = flags(d, axis=lambda: d.axes(x.ndim), keepdims=d.flag)
        if "where" in more:
            options |= flags(d, where=lambda: d.array("b", shape=x.shape))
        if "initial" in more:
            options |= flags(d, initial=lambda: d.of(2, 3))
            if "where" in options and "extreme" in more:
                options["initial"] = 3
        if "ddof" in more:
            options |= flags(d, ddof=lambda: d.of(0, 1, 0.5))
        return call(x, **options)

    return draw


def no_such_axis(x, *args, axis=None, **options):
    """NumPy's reductions take axis 0 of an array that has none."""
    return x.ndim == 0 and axis in (0, -1)


def of_enough(f):
    """NumPy divides by 0 where `ddof` leaves no elements: JAX says NaN."""
    def reference(*args, **options):
        made = f(*args, **options)
        return np.where(np.isinf(made), np.nan, made)
    return reference


case("sum nansum", refuses=no_such_axis, rule=widened, operands=(0,), terms=27)(reduction("biuhfc", "special", "where", "initial"))
case("prod nanprod", refuses=no_such_axis, rule=widened, operands=(0,))(reduction("biufc", "unit", "where", "initial"))
case("all any", refuses=no_such_axis)(reduction("biuhfc", "special", "where"))
case("max min amax amin", refuses=no_such_axis)(reduction("biuhf", "special", "where", "initial", "extreme"))
case("nanmax nanmin", refuses=no_such_axis)(reduction("biuhf", "special", low=1))
case("ptp", refuses=no_such_axis)(reduction("iuhf", "tame"))
case("count_nonzero", refuses=no_such_axis)(reduction("biuhfc"))
case("mean", refuses=no_such_axis, rule=inexact, operands=(0,), terms=27)(reduction("biuhfc", "tame", "where"))
case("nanmean", refuses=no_such_axis, rule=inexact, operands=(0,), terms=27)(reduction("biuhf", "special", "where"))
for name in ("var", "nanvar", "std", "nanstd"):
    case(name, rule=real_inexact, operands=(0,), terms=100, refuses=no_such_axis, reference=of_enough(getattr(np, name)))(
        reduction("biuhfc", "tame", "where", "ddof"))


@case("argmax argmin", refuses=no_such_axis, rule=to("int64"))
def place(d):
    x = d.array("biuhf", "special")
    return call(x, **flags(d, axis=lambda: d.axis(x.ndim), keepdims=d.flag))


def nan_place(f):
    def reference(x, **options):
        try:
            return f(x, **options)
        except ValueError as e:
            if "All-NaN" not in str(e):
                raise
            axis, keepdims = options.get("axis"), options.get("keepdims", False)
            found = (np.argmax if f is np.nanargmax else np.argmin)(
                np.where(np.isnan(x), -np.inf if f is np.nanargmax else np.inf, x), axis=axis, keepdims=keepdims)
            return np.where(np.isnan(x).all(axis=axis, keepdims=keepdims), -1, found)
    return reference


for name in ("nanargmax", "nanargmin"):
    case(name, refuses=no_such_axis, reference=nan_place(getattr(np, name)))(lambda d: place(d))


@case("average", rule=inexact, operands=(0,), terms=27, reference=lambda x, **o: np.average(x, **o))
def average(d):
    x = d.array("iuf", "tame", low=1)
    axis = d.of(None, *range(x.ndim))
    options = flags(d, weights=lambda: d.array("f", "positive", x.shape, inexact(x.dtype)), keepdims=d.flag)
    return call(x, axis=axis, **options)


def cumulative(f):
    return lambda x, **o: f(x, **{"dtype": "int64" if x.dtype.kind == "b" else x.dtype} | o)


for name, values in (("cumsum", "special"), ("nancumsum", "special"), ("cumprod", "unit"), ("nancumprod", "unit")):
    case(name, reference=cumulative(getattr(np, name)), rule=lambda t: np.dtype("int64") if t.kind == "b" else t, operands=(0,), terms=27)(
        lambda d, values=values: (lambda x: call(x, **flags(d, axis=lambda: d.axis(x.ndim))))(d.array("biuhfc", values)))
for name, values in (("cumulative_sum", "special"), ("cumulative_prod", "unit")):
    case(name, rule=widened, operands=(0,), terms=27)(
        lambda d, values=values: (lambda x: call(x, axis=d.axis(x.ndim), **flags(d, include_initial=d.flag)))(d.array("iuhf", values, least=1)))

# --- in order, sets, statistics ---

case("sort")(lambda d: (lambda x: call(x, **flags(d, axis=lambda: d.of(None, d.axis(x.ndim)))))(d.array("biuhfc", least=1)))
case("argsort", reference=lambda x, **o: np.argsort(x, kind="stable", **o))(
    lambda d: (lambda x: call(x, **flags(d, axis=lambda: d.of(None, d.axis(x.ndim)))))(d.array("biuhf", least=1)))
case("partition", reference=lambda x, kth, axis: np.sort(x, axis))(
    lambda d: (lambda x, axis: call(x, 0, axis))(d.array("biuhf", least=1, low=1), -1))
case("argpartition", reference=lambda x, kth, axis: np.argsort(x, axis, kind="stable"))(
    lambda d: (lambda x, axis: call(x, 0, axis))(d.array("biuhf", least=1, low=1), -1))
case("sort_complex", reference=lambda x: np.sort(x.astype("complex64" if x.dtype.itemsize < 8 else "complex128") if x.dtype.kind != "c" else x))(
    of("hfc", "tame", least=1))
case("lexsort")(lambda d: (lambda keys: call(tuple(keys), **flags(d, axis=lambda: d.axis(keys[0].ndim))))(d.alike(d.number(1, 3), "biuf", "tame", least=1)))

case("median", refuses=no_such_axis, rule=inexact, operands=(0,), terms=1)(reduction("biuhf", "tame", low=1))
case("nanmedian", refuses=no_such_axis, rule=inexact, operands=(0,), terms=1)(reduction("biuhf", "special", low=1))


def quantiles(scale, kinds, values):
    def draw(d):
        x = d.array(kinds, values, low=1)
        q = d.of(0.0, 0.25, 1.0, 0.3) * scale if d.flag() else d.array("f", "unit", (d.number(1, 3),), "float64") * scale
        return call(x, q, **flags(d, axis=lambda: d.axes(x.ndim), keepdims=d.flag,
                                  method=lambda: d.of("linear", "lower", "higher", "midpoint", "nearest")))
    return draw


case("quantile", refuses=lambda x, q, **o: no_such_axis(x, **o), rule=inexact, operands=(0,), terms=1)(quantiles(1, "iuf", "tame"))
case("percentile", refuses=lambda x, q, **o: no_such_axis(x, **o), rule=inexact, operands=(0,), terms=1)(quantiles(100, "iuf", "tame"))
case("nanquantile", refuses=lambda x, q, **o: no_such_axis(x, **o), rule=inexact, operands=(0,), terms=1)(quantiles(1, "f", "tame"))
case("nanpercentile", refuses=lambda x, q, **o: no_such_axis(x, **o), rule=inexact, operands=(0,), terms=1)(quantiles(100, "f", "tame"))


@case("searchsorted", reference=counting(np.searchsorted), operands=(0, 1))
def searched(d):
    x = d.vector("biuhf")
    return call(np.sort(x), d.array("biuhf"), **flags(d, side=lambda: d.of("left", "right")))


@case("digitize", reference=counting(np.digitize), operands=(0, 1))
def digitized(d):
    bins = np.unique(d.vector("iuf", "tame", low=1))
    return call(d.array("iuf"), bins if d.flag() else bins[::-1], **flags(d, right=d.flag))


@case("bincount", reference=lambda x, **o: np.bincount(np.asarray(x, "int64"), **o))
def counted(d):
    x = np.abs(d.vector("iu", "tame", low=1))
    return call(x, **flags(d, weights=lambda: d.array("f", "tame", x.shape, "float64"), minlength=lambda: d.number(0, 8)))


def counts(a, bins, **options):
    made, edges = np.histogram(a, bins, **options)
    return made.astype("float64"), edges


@case("histogram", reference=counts, rule=inexact, operands=(0,), terms=1)
def counted_in_bins(d):
    x = d.array("iuf", "tame", low=1, dtype=d.of("int64", "float64"))
    return call(x, d.of(1, 3, [-3.0, 0.0, 0.5, 8.0]), **flags(d, density=lambda: False, range=lambda: (-3.0, 4.0)))


case("histogram_bin_edges", rule=inexact, operands=(0,), terms=1)(lambda d: counted_in_bins(d)._replace(options={}))
case("unique")(lambda d: call(d.array("biuf"), **flags(d, return_index=d.flag, return_inverse=d.flag, return_counts=d.flag)))
case("unique_values", reference=lambda x: np.unique(x, equal_nan=False))(of("biuf"))
case("union1d", operands=(0, 1))(lambda d: call(d.array("biuf", "tame"), d.array("biuf", "tame")))
case("setdiff1d", reference=lambda x, y: np.setdiff1d(x.astype(promoted(x, y)), y.astype(promoted(x, y))).astype(x.dtype))(
    lambda d: call(d.array("biuf", "tame"), d.array("biuf", "tame")))
case("intersect1d setxor1d", operands=(0, 1))(lambda d: call(d.array("biuf", "tame"), d.array("biuf", "tame")))
case("isin", operands=(0, 1))(lambda d: call(d.array("biuf"), d.array("biuf"), **flags(d, invert=d.flag)))


@case("cov corrcoef", rule=inexact, operands=(0,), terms=60)
def covariances(d):
    x = d.array("iufc", "tame", least=1, most=2, low=2)
    return call(x, **flags(d, rowvar=d.flag))


# --- shapes ---

ANY = "biuhfc"


@case("reshape")
def reshaped(d):
    x = d.array(ANY)
    shape = d.of((-1,), -1, (x.size,), (1, x.size), x.shape[::-1], (x.size, -1, 1), (2, -1), (x.size + 1,))
    return call(x, shape, **flags(d, order=lambda: d.of("C", "F")))


case("ravel")(lambda d: call(d.array(ANY), **flags(d, order=lambda: d.of("C", "F"))))
case("transpose permute_dims")(lambda d: (lambda x: call(x, **flags(d, axes=lambda: d(st.permutations(range(x.ndim))) if d.flag() else (d.axes(x.ndim) or None))))(d.array(ANY)))
case("matrix_transpose")(of(ANY))
case("swapaxes")(lambda d: (lambda x: call(x, d.axis(x.ndim), d.axis(x.ndim)))(d.array(ANY)))
case("moveaxis")(lambda d: (lambda x: call(x, *((d.axis(x.ndim), d.axis(x.ndim)) if d.flag() else (list(range(x.ndim)), d(st.permutations(range(x.ndim)))))))(d.array(ANY)))
case("rollaxis")(lambda d: (lambda x: call(x, d.axis(x.ndim), *[d.number(-x.ndim, x.ndim)] * d.flag()))(d.array(ANY)))
case("expand_dims")(lambda d: (lambda x: call(x, d.axis(x.ndim + 1) if d.flag() else tuple(d(st.lists(st.integers(-x.ndim - 2, x.ndim + 1), max_size=2)))))(d.array(ANY)))
case("squeeze", refuses=no_such_axis)(lambda d: (lambda x: call(x, **flags(d, axis=lambda: d.axes(x.ndim))))(d.array(ANY, low=0, high=2)))
case("broadcast_to")(lambda d: call(d.array(ANY, most=2), d.of((2,), (2, 3), (3, 2, 1), (0,), (2, 0), ())))
case("broadcast_arrays")(lambda d: call(*d.together(d.number(1, 3), ANY)))
case("broadcast_shapes")(lambda d: call(*(d.shape(0, 2) for _ in range(d.number(1, 3)))))
case("atleast_1d atleast_2d atleast_3d")(lambda d: call(*(d.array(ANY) for _ in range(d.number(1, 2)))))
case("flip")(lambda d: (lambda x: call(x, **flags(d, axis=lambda: d.axes(x.ndim))))(d.array(ANY)))
case("fliplr flipud")(of(ANY))
case("rot90")(lambda d: (lambda x: call(x, d.number(-3, 4), **flags(d, axes=lambda: (d.axis(x.ndim), d.axis(x.ndim)))))(d.array(ANY, least=2)))
case("roll")(lambda d: (lambda x: call(x, d.number(-4, 4), *[d.axes(x.ndim)] * d.flag()))(d.array(ANY)))
case("tile")(lambda d: call(d.array(ANY), d.number(0, 2) if d.flag() else tuple(d(st.lists(st.integers(0, 2), max_size=3)))))
case("ndim shape")(of(ANY))
case("size")(lambda d: (lambda x: call(x, *[d.axis(x.ndim)] * (d.flag() and x.ndim > 0)))(d.array(ANY)))


@case("repeat")
def repeated(d):
    x = d.array(ANY)
    axis = d.of(None, d.axis(x.ndim))
    n = x.size if axis is None else x.shape[axis] if -x.ndim <= axis < x.ndim else 1
    return call(x, d.number(0, 2) if d.flag() else [d.number(0, 2) for _ in range(n)], axis)


@case("resize", reference=lambda x, shape: np.resize(x, shape))
def resized(d):
    return call(d.array(ANY), d.of(3, (2, 2), (0, 2), (), (3, 1)))


@case("pad")
def padded(d):
    mode = d.of("constant", "edge", "wrap", "reflect", "symmetric", "maximum", "minimum", "empty")
    x = d.array("biuf", "tame", low=0 if mode in ("constant",) else 1, **({"least": 1} if mode != "constant" else {}))
    widths = d.of(1, (0, 2), [(d.number(0, 2), d.number(0, 2)) for _ in range(x.ndim)] or 1, -1)
    if mode == "empty":
        widths = 0
    return call(x, widths, mode, **(flags(d, constant_values=lambda: d.of(2, (3, 1))) if mode == "constant" else {}))


def several(d, joined, least=0, most=3):
    """Arrays that agree in all axes but the one along which they are joined."""
    rank = d.number(least, most)
    shape = list(d.shape(rank, rank))
    axis = min(joined if joined >= 0 else rank + joined, rank - 1) if rank else 0
    made, one = [], d.dtype(ANY) if d.flag() else None
    for _ in range(d.number(1, 3)):
        here = list(shape)
        if rank and axis >= 0:
            here[axis] = d.number(0, 3)
        made.append(d.array(ANY, "tame", tuple(here), one))
    return made


ONE = {"operands": (0,)}
case("concatenate concat", **ONE)(lambda d: (lambda axis: call(several(d, axis, d.number(0, 2)), axis=axis))(d.number(-2, 2)))
case("stack", **ONE)(lambda d: (lambda xs: call(xs, axis=d.axis(xs[0].ndim + 1)))(d.alike(d.number(1, 3), ANY)))
case("vstack", **ONE)(lambda d: call(several(d, 0)))
case("hstack", **ONE)(lambda d: (lambda rank: call(several(d, 1, rank, rank)))(d.number(0, 3)))
case("dstack", **ONE)(lambda d: call(d.alike(d.number(1, 3), ANY)))
case("column_stack", **ONE)(lambda d: call(several(d, 1, 2, 2) if d.flag() else d.alike(2, ANY, least=1, most=1)))
case("append", operands=(0, 1))(lambda d: (lambda x: call(x, d.array(ANY, "tame", x.shape), *[d.axis(x.ndim)] * d.flag()))(d.array(ANY, "tame")))
case("block", reference=lambda xs: np.block(xs))(lambda d: (lambda x, y: call([[x, y], [y, x]]))(*d.alike(2, "f", least=0, most=2, low=1)))
case("unstack", reference=lambda x, **o: np.unstack(x, **o))(
    lambda d: (lambda x: call(x, **flags(d, axis=lambda: d.axis(x.ndim))))(d.array(ANY)))
case("split array_split")(lambda d: (lambda x: call(x, d.of(1, 2, 3, 0, [1], [1, 2], [0, 3, 5]), d.axis(x.ndim)))(d.array(ANY)))
case("vsplit hsplit dsplit", takes=lambda x, n: x.ndim == 1)(lambda d: call(d.array(ANY), d.of(1, 2, 3, [1], [1, 2])))

# --- places ---


@case("take", takes=lambda *a, **k: True, refuses=lambda x, at, axis, **o: no_such_axis(x, axis=axis))
def taken(d):
    x = d.array(ANY, "tame")
    axis = d.of(None, d.axis(x.ndim))
    n = x.size if axis is None else x.shape[axis] if -x.ndim <= axis < x.ndim else 1
    mode = d.of(None, "clip", "wrap")
    return call(x, d.indices(n, outside=0 if mode is None else 2), axis, **({} if mode is None else {"mode": mode}))


@case("take_along_axis")
def taken_along(d):
    x = d.array(ANY, "tame", least=1)
    axis = d.number(-x.ndim, x.ndim - 1)
    shape = list(x.shape)
    shape[axis] = d.number(0, 3)
    return call(x, d.indices(x.shape[axis], tuple(shape)) if x.shape[axis] else np.zeros([0 if i == axis % x.ndim else n for i, n in enumerate(x.shape)], int), axis)


def in_place(f):
    """NumPy's function that writes into its first argument, on a copy that is returned."""
    def reference(x, *args, **options):
        options.pop("inplace")
        made = x.copy()
        f(made, *args, **options)
        return made
    return reference


@case("put_along_axis", reference=in_place(np.put_along_axis))
def put_along(d):
    x = d.array(ANY, "tame", least=1, low=1)
    axis = d.number(-x.ndim, x.ndim - 1)
    shape = list(x.shape)
    shape[axis] = 1
    return call(x, d.indices(x.shape[axis], tuple(shape)), d.array(dtype=x.dtype, values="tame", shape=tuple(shape)), axis, inplace=False)


@case("put", reference=in_place(np.put))
def put(d):
    x = d.array(ANY, "tame", low=1)
    at = np.unique(d.indices(x.size, (d.number(0, 3),)) % x.size)
    return call(x, at, d.array(dtype=x.dtype, values="tame", shape=(max(at.size, 1),)), inplace=False)


@case("place", reference=in_place(np.place))
def placed(d):
    x = d.array(ANY, "tame")
    return call(x, d.array("b", shape=x.shape), d.vector(dtype=x.dtype, values="tame", low=1), inplace=False)


case("fill_diagonal", reference=in_place(np.fill_diagonal))(
    lambda d: (lambda n: (lambda x: call(x, d.array(dtype=x.dtype, values="tame", shape=()), inplace=False))(d.array(ANY, "tame", (n,) * d.number(2, 3))))(d.number(1, 3)))
case("where", operands=(1, 2))(lambda d: call(d.array("b", shape=d.of((), (3,), (2, 1))), *(d.array(ANY, shape=d.of((), (3,), (2, 3), (1, 1))) for _ in range(2))))
case("nonzero")(of(ANY))
case("argwhere flatnonzero")(of(ANY))
case("extract", reference=lambda c, x: np.extract(c, x))(lambda d: (lambda x: call(d.array("b", shape=x.shape), x))(d.array(ANY)))


@case("compress")
def compressed(d):
    x = d.array(ANY, least=1)
    axis = d.of(None, *range(x.ndim))
    n = x.size if axis is None else x.shape[axis]
    return call(d.array("b", shape=(d.number(0, n),)), x, axis)


@case("choose", operands=(1,))
def chosen(d):
    choices = d.alike(3, "biuf", "tame", most=2)
    mode = d.of("raise", "wrap", "clip")
    at = d.indices(3, choices[0].shape, outside=0 if mode == "raise" else 3)
    return call(np.where(at < 0, at % 3, at) if mode == "raise" else at, choices, mode=mode)


@case("select", operands=(1,))
def selected(d):
    choices = d.alike(d.number(1, 3), "biuf", "tame", most=2)
    return call([d.array("b", shape=c.shape) for c in choices], choices, **flags(d, default=lambda: 0))


@case("piecewise")
def pieces(d):
    x = d.array("if", "tame")
    return call(x, [x < 1, x > 1], [d.of(2, lambda v: v * 2), d.of(-1, lambda v: -v)] + [7] * d.flag())


case("diag diagflat")(lambda d: call(d.array(ANY, least=1, most=2), **flags(d, k=lambda: d.number(-2, 2))))
case("diagonal")(lambda d: (lambda x: call(x, d.number(-2, 2), *((d.axis(x.ndim), d.axis(x.ndim)) if d.flag() else ())))(d.array(ANY, least=2)))
case("trace", rule=widened, operands=(0,), terms=4)(lambda d: (lambda x: call(x, d.number(-2, 2), *((d.axis(x.ndim), d.axis(x.ndim)) if d.flag() else ())))(d.array("iuhfc", "tame", least=2)))
case("tril triu", refuses=lambda x, **k: x.ndim < 2)(lambda d: call(d.array(ANY), **flags(d, k=lambda: d.number(-2, 2))))
case("tril_indices triu_indices")(lambda d: call(d.number(0, 4), d.number(-2, 2), *[d.number(0, 4)] * d.flag()))
case("tril_indices_from triu_indices_from")(lambda d: call(d.array("f", least=2, most=2), **flags(d, k=lambda: d.number(-2, 2))))
case("mask_indices", reference=lambda n, f, k: np.mask_indices(n, np.triu, k))(lambda d: call(d.number(0, 4), _upper, d.number(-1, 1)))
case("diag_indices")(lambda d: call(d.number(0, 4), *[d.number(1, 3)] * d.flag()))
case("diag_indices_from")(lambda d: (lambda n: call(d.array("f", shape=(n,) * d.number(1, 3))))(d.number(0, 3)))


def _upper(x, k):
    import tenon.numpy as tnp

    return tnp.triu(x, k)


@case("unravel_index", reference=lambda at, shape: [np.asarray(i).astype(np.asarray(at).dtype) for i in np.unravel_index(at, shape)])
def unraveled(d):
    shape = d.shape(1, 3, low=1)
    return call(np.abs(d.indices(int(np.prod(shape)))) % int(np.prod(shape)), shape)


@case("ravel_multi_index", reference=lambda at, shape, **o: np.asarray(np.ravel_multi_index(at, shape, **o)).astype(promoted(*at)))
def raveled(d):
    shape, at, mode = d.shape(1, 3, low=1), d.shape(0, 2), d.of("raise", "clip", "wrap")
    return call(tuple(d.indices(n, at, 0 if mode == "raise" else 2) if mode != "raise" else d.indices(n, at) % n for n in shape), shape,
                mode=mode, **flags(d, order=lambda: d.of("C", "F")))


case("ix_")(lambda d: call(*(d.vector("b") if d.flag() else d.indices(3, (d.number(0, 3),)) for _ in range(d.number(1, 3)))))

# --- products ---


def dims(d, text):
    """Shapes by letters of axes, each with one size."""
    sizes = {c: d.number(0, 3) for c in set(text) if c.isalpha()}
    return [tuple(sizes[c] for c in part) for part in text.split(",")]


def product(texts, kinds="biuhfc"):
    def draw(d):
        one = d.dtype(kinds) if d.flag() else None
        return [d.array(kinds, "tame", s, one) for s in dims(d, d.of(*texts.split()))]
    return draw


TERMS = {"rule": same, "operands": (0, 1), "terms": 300}
case("matmul", **TERMS)(lambda d: call(*product("ij,jk i,ij ij,j i,i aij,jk ij,ajk aij,ajk ij,kj i,ji")(d)))
case("dot", **TERMS)(lambda d: call(*product(",i ij, i,i ij,jk aij,jk i,aij ij,ajk ij,kj")(d)))
case("vdot", **TERMS)(lambda d: call(*product("i,i ij,ij i,j")(d)))
case("inner", **TERMS)(lambda d: call(*product(",i i,i ij,kj aij,j ij,jk")(d)))
case("outer", **TERMS)(lambda d: call(d.array("iuhfc", "tame", most=2), d.array("iuhfc", "tame", most=2)))
case("vecdot", **TERMS)(lambda d: call(*product("i,i ij,ij ij,j aij,ij i,j")(d)))
case("matvec", **TERMS)(lambda d: call(*product("ij,j aij,j aij,aj ij,i")(d)))
case("vecmat", **TERMS)(lambda d: call(*product("i,ij ai,aij i,aij j,ij")(d)))
case("kron", **TERMS)(lambda d: call(d.array("iuhfc", "tame", most=2), d.array("iuhfc", "tame", most=2)))
case("tensordot", **TERMS)(lambda d: call(*product("ij,ij ij,jk aij,ij")(d), d.of(0, 1, 2, ((0,), (0,)), (-1, 0), ([0, 1], [1, 0]), 4)))
case("cross", **TERMS)(lambda d: call(d.array("ihfc", "tame", (2, 3)), d.array("ihfc", "tame", d.of((2, 3), (3,)))))


@case("einsum", rule=same, operands=(1, 2), terms=300)
def summed_products(d):
    text = d.of("ij,jk->ik", "ij,jk", "i,i->", "ij,ij->j", "ij,k->kij", "...i,i->...", "ii->i", "ij->", "ij->ji", "i...->...i", "ij,jj->i")
    left = text.split("->")[0].replace("...", "a")
    return call(text, *(d.array("iuhfc", "tame", s) for s in dims(d, left)))


case("trapezoid", rule=inexact, operands=(0,), terms=30)(
    lambda d: (lambda y: call(y, **flags(d, dx=lambda: 0.5, axis=lambda: d.axis(y.ndim))))(d.array("iuhf", "tame", least=1)))
case("convolve correlate", rule=inexact, operands=(0, 1), terms=300)(lambda d: call(*(d.vector("iuhfc", "tame") for _ in range(2)), **flags(d, mode=lambda: d.of("full", "same", "valid"))))
case("vander", rule=same, operands=(0,))(lambda d: call(d.vector("iuf", "tame"), *[d.number(0, 4)] * d.flag(), **flags(d, increasing=d.flag)))
case("polyval", **TERMS)(lambda d: call(d.vector("iuhfc", "tame"), d.array("iuhfc", "tame")))
case("polyadd polysub", **TERMS)(lambda d: call(d.vector("iuhfc", "tame", low=1), d.vector("iuhfc", "tame", low=1)))
case("polymul", rule=inexact, operands=(0, 1), terms=300, reference=np.convolve)(lambda d: call(d.vector("iuf", "tame", low=1), d.vector("iuf", "tame", low=1)))
case("polyder", rule=inexact, operands=(0,))(lambda d: call(d.vector("iuhfc", "tame", low=1), *[d.number(0, 3)] * d.flag()))
case("polyint", rule=inexact, operands=(0,))(lambda d: call(d.vector("iuhfc", "tame", low=1), *[d.number(0, 3)] * d.flag()))
case("poly", rule=inexact, operands=(0,), terms=10**4)(lambda d: call(d.vector("iuf", "positive", low=1)))

# --- neighbours ---


@case("diff", rule=same, operands=(0,), terms=16)
def differences(d):
    x = d.array("biuhfc", "tame", least=1)
    return call(x, **flags(d, n=lambda: d.number(0, 3), axis=lambda: d.axis(x.ndim)))


case("ediff1d", rule=same, operands=(0,), terms=2)(lambda d: (lambda x: call(x, **flags(
    d, to_end=lambda: d.array(dtype=x.dtype, values="tame", shape=()), to_begin=lambda: d.array(dtype=x.dtype, values="tame", shape=(2,)))))(d.array("iuhf", "tame")))


@case("gradient", rule=inexact, operands=(0,), terms=8)
def slopes(d):
    x = d.array("ihfc", "tame", least=1, low=1)
    return call(x, *[2.0] * d.flag(), **flags(d, axis=lambda: d.axis(x.ndim)))


case("interp", rule=inexact, operands=(0, 1, 2), terms=30)(
    lambda d: (lambda xp: call(d.array("", "tame", dtype=xp.dtype), xp, d.array("", "tame", xp.shape, xp.dtype), **flags(d, left=lambda: -9.0, right=lambda: 9.0)))(np.unique(d.vector("if", "tame", low=1))))
case("trim_zeros")(lambda d: call(d.vector("iuf", "unit"), *[d.of("f", "b", "fb")] * d.flag()))
case("unwrap", rule=inexact, operands=(0,), terms=10)(lambda d: (lambda x: call(x, **flags(d, axis=lambda: d.axis(x.ndim), discont=lambda: 4.0)))(d.array("f", "tame", least=1)))


@case("delete")
def deleted(d):
    x = d.array(ANY, least=1)
    axis = d.of(None, d.axis(x.ndim))
    n = x.size if axis is None else x.shape[axis] if -x.ndim <= axis < x.ndim else 1
    return call(x, d.of(0, -1, n, slice(0, 2), slice(None, None, 2), [0, n - 1] if n else [], []), axis)


@case("insert")
def inserted(d):
    x = d.vector("iuhfc", "tame")
    n = x.size
    return call(x, d.of(0, -1, n, n + 1, [0, n], [1] if n else [0]), d.array(dtype=x.dtype, values="tame", shape=d.of((), (1,))))


# --- arrays out of nothing ---

NAMES = ["bool", "int8", "int64", "uint16", "float32", "float64", "complex64", "complex128"]
SIZES = [(), 3, (0,), (2, 3), (2, 0, 1), [1, 2]]
case("zeros ones")(lambda d: call(d.of(*SIZES, -1), *[d.of(*NAMES)] * d.flag()))
case("empty", reference=np.zeros)(lambda d: call(d.of(*SIZES), *[d.of(*NAMES)] * d.flag()))
case("full")(lambda d: call(d.of(*SIZES), d.of(2, 2.5, True, 1j)))
case("zeros_like ones_like")(lambda d: call(d.array(ANY), **flags(d, dtype=lambda: d.of(*NAMES), shape=lambda: d.of(*SIZES))))
case("empty_like", reference=np.zeros_like)(lambda d: call(d.array(ANY), **flags(d, dtype=lambda: d.of(*NAMES), shape=lambda: d.of(*SIZES))))
case("full_like")(lambda d: call(d.array(ANY), d.of(0, 1, True), **flags(d, dtype=lambda: d.of(*NAMES), shape=lambda: d.of(*SIZES))))
case("eye")(lambda d: call(d.number(0, 4), *[d.number(0, 4), d.number(-3, 3)][:d.number(0, 2)], **flags(d, dtype=lambda: d.of(*NAMES))))
case("identity")(lambda d: call(d.number(0, 4), **flags(d, dtype=lambda: d.of(*NAMES))))
case("tri")(lambda d: call(d.number(0, 4), *[d.number(0, 4), d.number(-3, 3)][:d.number(0, 2)], **flags(d, dtype=lambda: d.of(*NAMES))))
case("arange")(lambda d: call(*[d.number(-5, 5), d.number(-5, 9), d.of(1, 2, -1, -3)][:d.number(1, 3)]) if d.flag() else
               call(d.of(0.0, -1.5), d.of(2.0, 5, -3.25), d.of(0.5, 0.3, -1.0)))
case("linspace logspace", rule=same, terms=4)(lambda d: call(d.of(0, 1.5, -2), d.of(3, 0.5, -2), d.number(0, 5), **flags(d, endpoint=d.flag)))
case("geomspace", rule=same, terms=4)(lambda d: call(d.of(1, 1.5), d.of(3, 0.5), d.number(0, 5), **flags(d, endpoint=d.flag)))
case("meshgrid")(lambda d: call(*(d.vector("biuf") for _ in range(d.number(0, 3))), **flags(d, sparse=d.flag, indexing=lambda: d.of("xy", "ij"))))
case("indices")(lambda d: call(d.shape(0, 3), **flags(d, dtype=lambda: d.of("int32", "float64"), sparse=d.flag)))
case("fromfunction", reference=lambda f, shape, dtype: np.fromfunction(f, shape, dtype=dtype))(
    lambda d: call(lambda i, j: i + j * 2, d.shape(2, 2), dtype=d.of("int32", "float64")))
case("frombuffer")(lambda d: call(d.array("f", shape=(3,)).tobytes(), d.of("float32", "uint8", "int16"), **flags(d, offset=lambda: 4)))
case("fromiter")(lambda d: call(d(st.lists(st.integers(0, 9), max_size=4)), d.of("int32", "float64")))
case("fromstring")(lambda d: call("1 2 3", d.of("int32", "float64"), sep=" "))
case("array asarray copy")(of(ANY))
case("astype", reference=lambda x, t: x.astype(t))(lambda d: call(d.array("biuhf", "tame"), d.of(*NAMES[1:])) if d.flag() else call(d.array(ANY, "positive"), "bool"))
case("bartlett blackman hamming hanning")(lambda d: call(d.number(0, 6)))
case("kaiser")(lambda d: call(d.number(0, 6), d.of(0.0, 3.0)))

# --- functions of functions ---

case("apply_along_axis", reference=lambda f, axis, x: np.cumsum(x, axis))(lambda d: (lambda x: call(_running, d.number(-x.ndim, x.ndim - 1), x))(d.array("f", "tame", least=1, low=1)))
case("apply_over_axes", reference=lambda f, x, axes: np.apply_over_axes(np.sum, x, axes), terms=27, rule=same, operands=(1,))(
    lambda d: (lambda x: call(_total, x, list(range(d.number(0, x.ndim)))))(d.array("f", "tame", least=1)))


def _running(x):
    import tenon.numpy as tnp

    return tnp.cumsum(x)


def _total(x, axis):
    import tenon.numpy as tnp

    return tnp.sum(x, axis)
