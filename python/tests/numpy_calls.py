"""How functions of tenon.numpy that compute are called in tests, and what NumPy says of the same call: a line or a
strategy a name."""

import numpy as np
from calls import ANY, CASES, REAL, call, case, counting, dims, either, flags, no_such_axis, of, real_inexact, same, to
from drawn import inexact, is_inexact, promoted, widened

# --- functions of each element ---

for names, kinds, values in (
        ("exp sin cos tan sinh cosh tanh", REAL + "c", "special"), ("sqrt", REAL + "c", "wild"), ("log", REAL + "c", "nonzero"), ("log log2 log10 cbrt", REAL, "wild"), ("exp2 sinc deg2rad radians rad2deg degrees", REAL, "special"),
        ("reciprocal", "biuhfc", "nonzero")):
    case(names, rule=inexact, operands=(0,))(of(kinds, values))
for names, values in (("arctan atan arcsinh asinh expm1", "special"), ("arcsin asin arccos acos arctanh atanh", "inside"),
                      ("arccosh acosh log1p", "positive")):
    case(names, rule=inexact, operands=(0,))(either(of(REAL, values), of("c", "cuts")))
case("fabs", rule=inexact, operands=(0,))(of(REAL, "wild"))
CASES["reciprocal"] = CASES["reciprocal"]._replace(reference=lambda x: 1 / x)
case("floor ceil trunc positive negative conj conjugate")(of("iuhf", "wild"))
case("square", rule=same, operands=(0,))(of("iuhfc", "tame"))
case("abs absolute")(of("biuhf", "wild"))
case("sign")(of("iuhfc", "special"))
case("real imag")(of("biuhfc", "wild"))
case("rint", reference=lambda x: np.rint(x.astype("complex128")).astype(x.dtype) if x.dtype.kind == "c" else
     np.rint(x.astype("float64")).astype(x.dtype if is_inexact(x.dtype) else "float64"))(of("iuhfc", "wild"))
case("angle", rule=real_inexact, operands=(0,))(lambda d: call(d.array("hfc", "tame"), **flags(d, deg=d.flag)))
case("isnan isinf isfinite iscomplex isreal logical_not")(of("biuhfc", "wild"))
case("signbit")(of("iuhf", "wild"))
case("isposinf isneginf", refuses=lambda x: x.dtype.kind == "c")(of("biuhfc", "wild"))
case("invert bitwise_not bitwise_invert")(of("biu", "wild"))
case("bitwise_count")(of("iu", "wild"))
case("nan_to_num")(lambda d: call(d.array("iuhf", "special"), **flags(
    d, nan=lambda: 7.0, posinf=lambda: 9.0, neginf=lambda: -9.0)))
case("round around", rule=same, operands=(0,))(lambda d: call(d.array("hf", "special"), *[d.number(-2, 3)] * d.flag()))
case("frexp")(of("hf", "special"))
case("modf", rule=inexact, operands=(0,))(of("iuhf", "special"))

for names, kinds, values in (("add multiply", "biuhfc", "wild"), ("subtract", "iuhfc", "wild")):
    case(names, rule=same, operands=(0, 1), terms=1)(lambda d, kinds=kinds: call(*d.together(2, kinds, "tame" if d.flag() else "special")))
case("maximum minimum fmax fmin", operands=(0, 1))(lambda d: call(*d.together(2, ANY, "wild")))
case("equal not_equal less less_equal greater greater_equal", operands=(0, 1))(lambda d: call(*d.together(2, ANY, "wild")))
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
case("nextafter")(lambda d: call(*d.together(2, "f", "special")))
case("spacing")(of("f", "tame"))
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


def of_enough(f):
    """NumPy divides by 0 where `ddof` leaves no elements: JAX says NaN."""
    def reference(*args, **options):
        made = f(*args, **options)
        return np.where(np.isinf(made), np.nan, made)
    return reference


case("sum nansum", refuses=no_such_axis, rule=widened, operands=(0,), terms=27)(reduction("biuhfc", "special", "where", "initial"))
case("prod nanprod", refuses=no_such_axis, rule=widened, operands=(0,))(reduction("biufc", "unit", "where", "initial"))
case("all any", refuses=no_such_axis)(reduction("biuhfc", "special", "where"))
case("max min amax amin", refuses=no_such_axis)(reduction(ANY, "special", "where", "initial", "extreme"))
case("nanmax nanmin", refuses=no_such_axis)(reduction(ANY, "special", low=1))
case("ptp", refuses=no_such_axis)(reduction("iuhfc", "tame"))
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
case("argpartition", reference=lambda x, kth, axis: np.argsort(x, axis, kind="stable").astype("int32"))(
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


# --- products ---


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
    shapes = dims(d, left)
    if len(shapes) > 1:  # now and then a size is 1 that broadcasts
        shapes = [tuple(1 if n > 0 and part.count(c) == 1 and d.number(0, 5) == 0 else n for c, n in zip(part, s))
                  for part, s in zip(left.split(","), shapes)]
    return call(text, *(d.array("iuhfc", "tame", s) for s in shapes))


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


@case("insert", takes=lambda x, index, values: True)
def inserted(d):
    x = d.vector("iuhfc", "tame")
    n = x.size
    return call(x, d.of(0, -1, n, n + 1, [0, n], [1] if n else [0]), d.array(dtype=x.dtype, values="tame", shape=d.of((), (1,))))
