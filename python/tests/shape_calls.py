"""How functions of tenon.numpy that make, move and choose elements are called in tests, and what NumPy says of the
same call: a line or a strategy a name."""

import numpy as np
from calls import ANY, call, case, flags, no_such_axis, of, same
from drawn import promoted, widened
from hypothesis import strategies as st

# --- shapes ---


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


case("ix_", reference=lambda *xs: np.ix_(*(x if x.size or x.dtype == bool else x.astype("int64") for x in xs)))(lambda d: call(*(d.vector("b") if d.flag() else d.indices(3, (d.number(0, 3),)) for _ in range(d.number(1, 3)))))

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
case("tri", reference=lambda N, M=None, k=0, dtype="float32": np.tri(N, M, k, dtype))(lambda d: call(d.number(0, 4), *[d.number(0, 4), d.number(-3, 3)][:d.number(0, 2)], **flags(d, dtype=lambda: d.of(*NAMES))))
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
