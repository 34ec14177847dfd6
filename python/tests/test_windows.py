"""Reductions over windows: beside sums, products and choices as they are written, with every padding and dilation; derivatives,
batches, dtypes, functions of the user's, pooling, errors."""

import functools

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import _core, lax
from test_linalg import near


def elements_of(x, window, strides, pads, spread, dilation):
    """Of each window the places of its elements in x, in order."""
    apart = [0 if n == 0 else (n - 1) * d + 1 for n, d in zip(x.shape, spread)]
    outputs = [max((n + low + high - (w - 1) * d - 1) // s + 1, 0) for n, (low, high), w, d, s in zip(apart, pads, window, dilation, strides)]
    for at in np.ndindex(*outputs):
        found = []
        for k in np.ndindex(*window):
            place = [a * s + i * d - low for a, s, i, d, (low, _) in zip(at, strides, k, dilation, pads)]
            if all(0 <= p < n and p % d == 0 for p, n, d in zip(place, apart, spread)):
                found.append(tuple(p // d for p, d in zip(place, spread)))
        yield at, found
    if 0 in outputs:
        yield tuple(outputs), None


def plain(x, combine, init, *options):
    made = {at: None if found is None else functools.reduce(combine, (x[i] for i in found), init) for at, found in elements_of(x, *options)}
    last = list(made)[-1]
    if made[last] is None:
        return np.zeros(last, x.dtype)
    return np.array(list(made.values()), x.dtype).reshape([n + 1 for n in last])


def given_back(x, ct, first, *options):
    """The gradient of Σ ct · y where each window's y is the element that `first` keeps."""
    made = np.zeros(x.shape)
    for at, found in elements_of(x, *options):
        best = None
        for i in found or ():
            best = i if best is None or not first(x[best], x[i]) else best
        if best is not None:
            made[best] += ct[at]
    return made


CASES = [  # x, window, strides, pads, spread, dilation
    ((7,), (3,), (1,), [(0, 0)], (1,), (1,)),
    ((2, 6, 5, 3), (1, 3, 2, 1), (1, 2, 2, 1), [(0, 0), (0, 1), (1, 0), (0, 0)], (1,) * 4, (1,) * 4),
    ((5, 6), (2, 3), (1, 2), [(2, 0), (-1, 3)], (1, 1), (2, 1)),
    ((4, 3), (2, 2), (1, 1), [(1, 1), (0, 2)], (2, 3), (1, 2)),
    ((2, 40), (1, 19), (1, 3), [(0, 0), (2, 4)], (1, 1), (1, 1)),
    ((60, 2), (20, 1), (20, 1), [(0, 0), (0, 0)], (1, 1), (1, 1)),
    ((3, 18), (2, 18), (2, 1), [(0, 1), (0, 0)], (1, 1), (1, 1)),
    ((4, 5, 3), (3, 4, 3), (1, 1, 2), [(1, 1)] * 3, (1,) * 3, (1,) * 3),
    ((), (), (), [], (), ()),
    ((3, 2), (5, 1), (1, 1), [(0, 0)] * 2, (1, 1), (1, 1)),
    ((0, 4), (1, 2), (1, 1), [(0, 0)] * 2, (1, 1), (1, 1)),
    ((2, 2), (1, 1), (1, 2), [(2, 0), (0, 3)], (1, 1), (1, 1)),
]
KINDS = {"add": (lax.add, np.add, 0), "max": (lax.max, np.maximum, -np.inf), "min": (lax.min, np.minimum, np.inf), "mul": (lax.mul, np.multiply, 1)}


def numbers(shape, whole=False, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(-2, 3, shape).astype(float) if whole else rng.normal(size=shape)


def reduced(combine, init, case):
    _, window, strides, pads, spread, dilation = case
    return lambda x: lax.reduce_window(x, init, combine, window, strides, pads, spread, dilation)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", KINDS)
def test_values_and_gradients(name, case):
    ours, theirs, init = KINDS[name]
    for whole in (False, True):
        x = numbers(case[0], whole)
        f = reduced(ours, init, case)
        wanted = plain(x, theirs, init, *case[1:])
        near(f(x), wanted), near(tn.jit(f)(x), wanted)
        ct = numbers(wanted.shape, seed=1)
        gradient = tn.jit(tn.grad(lambda x, f=f, ct=ct: tnp.sum(ct * f(x))))(x)
        if name in ("max", "min"):
            near(gradient, given_back(x, ct, np.greater_equal if name == "max" else np.less_equal, *case[1:]))
        tangent = numbers(case[0], seed=2)
        pushed = tn.jit(lambda x, t, f=f: tn.jvp(f, (x,), (t,))[1])(x, tangent)
        near(np.sum(np.asarray(pushed) * ct), np.sum(np.asarray(gradient) * tangent))


@pytest.mark.parametrize("name", KINDS)
def test_batches_and_second_derivatives(name):
    ours, _, init = KINDS[name]
    case = CASES[2]
    f = reduced(ours, init, case)
    xs = numbers((3, *case[0]))
    near(tn.vmap(f)(xs), np.stack([f(x) for x in xs]))
    g = tn.grad(lambda x: tnp.sum(tnp.sin(f(x))))
    near(tn.jit(tn.vmap(g))(xs), np.stack([g(x) for x in xs]))
    t = numbers(case[0], seed=3)
    step = 1e-5
    wanted = (np.asarray(g(xs[0] + step * t)) - np.asarray(g(xs[0] - step * t))) / (2 * step)
    near(tn.jvp(g, (xs[0],), (t,))[1], wanted, 1e4)
    near(tn.jit(tn.grad(lambda x: tnp.sum(g(x) * t)))(xs[0]), wanted, 1e4)
    equal = numbers(case[0], True)  # where several elements are the largest, both go by the first
    near(tn.jvp(g, (equal,), (t,))[1], tn.grad(lambda x: tnp.sum(g(x) * t))(equal))


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float16", "bfloat16", "float32", "complex64", "bool"])
def test_dtypes(dtype):
    case = CASES[1]
    x = tnp.asarray(numbers(case[0], True) * 3).astype(dtype)
    plainly = np.asarray(x.astype("float32" if dtype in ("float16", "bfloat16") else dtype))
    kind = np.dtype(x.dtype).kind if dtype != "bfloat16" else "f"
    some = {"b": ("and", "or", "xor", "max", "min"), "i": (*KINDS, "and", "or", "xor"), "u": (*KINDS, "and", "or", "xor"), "c": ("add", "mul"), "f": tuple(KINDS)}[kind]
    bits = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
    for name in some:
        made = _core.tn.reduce_window(name, x, list(case[1]), strides=list(case[2]), padding=case[3], base_dilation=[], window_dilation=[])
        assert made.dtype == x.dtype
        of = bits.get(name) or KINDS[name][1]
        if kind in "iub":
            low, high = (False, True) if kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
            init = {"add": 0, "mul": 1, "max": low, "min": high, "and": high if kind != "i" else -1, "or": 0, "xor": 0}[name]
            init = plainly.dtype.type(init)
        else:
            init = KINDS[name][2]
        with np.errstate(over="ignore"):
            wanted = plain(plainly, of, init, *case[1:])
        near(np.asarray(made.astype(plainly.dtype)), wanted, 500 if dtype in ("float16", "bfloat16") else 1)


def test_functions_of_the_users():
    case = CASES[3]
    x = numbers(case[0])
    f = reduced(lambda a, b: a + b + 0.5 * a * b, 0.25, case)
    wanted = plain(x, lambda a, b: a + b + 0.5 * a * b, 0.25, *case[1:])
    near(f(x), wanted), near(tn.jit(f)(x), wanted)
    near(reduced(lax.max, 0.1, case)(x), plain(x, np.maximum, 0.1, *case[1:]))
    # Which element is the largest, of a pair of arrays.
    x, places = numbers((9,)), np.arange(9)
    later = lambda a, b: tuple(tnp.where(a[0] >= b[0], p, q) for p, q in zip(a, b))  # noqa: E731
    values, at = lax.reduce_window((x, places), (-np.inf, -1), later, (4,), (2,))
    np.testing.assert_array_equal(at, [2 * i + np.argmax(x[2 * i: 2 * i + 4]) for i in range(3)])
    near(values, x[np.asarray(at)])
    # A long window of a function that does not commute: products of 2x2 matrices, of which only the order is right.
    m = tuple(numbers((40,), seed=i) * 0.3 + (i in (0, 3)) for i in range(4))
    product = lambda a, b: (a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3])  # noqa: E731
    made = lax.reduce_window(m, (1.0, 0.0, 0.0, 1.0), product, (21,), (2,))
    matrices = np.stack(m, 1).reshape(40, 2, 2)
    wanted = np.stack([functools.reduce(np.matmul, matrices[i: i + 21]) for i in range(0, 20, 2)])
    near(np.stack(made, 1).reshape(-1, 2, 2), wanted)


def test_shapes():
    for (shape, window, strides, pads, spread, dilation) in CASES:
        made = lax.reduce_window(np.zeros(shape), 0.0, lax.add, window, strides, pads, spread, dilation).shape
        assert lax.reduce_window_shape_tuple(shape, window, strides, pads, spread, dilation) == made


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64"])
def test_gradients_keep_the_dtype(dtype):
    x = tnp.asarray(numbers((6, 5), True)).astype(dtype)
    for combine, init in ((lax.add, 0), *([] if dtype == "complex64" else [(lax.max, -np.inf)])):
        f = lambda x: tnp.real(lax.reduce_window(x, init, combine, (3, 2), (2, 1)))  # noqa: B023, E731
        gradient = tn.jit(tn.grad(lambda x: tnp.sum(f(x))))(x)  # noqa: B023
        assert gradient.dtype == x.dtype and float(tnp.sum(tnp.real(gradient))) == (8 if combine is lax.max else 48)


def test_special_values():
    x = np.array([np.nan, 1.0, -np.inf, -np.inf, np.inf, 2.0])
    np.testing.assert_array_equal(lax.reduce_window(x, -np.inf, lax.max, (2,)), [np.nan, 1, -np.inf, np.inf, np.inf])
    gradient = tn.grad(lambda x: tnp.sum(lax.reduce_window(x, -np.inf, lax.max, (2,), (2,))))(np.array([-np.inf, -np.inf, 3.0, 3.0]))
    assert gradient.tolist() == [1, 0, 1, 0]  # the first one
    assert lax.reduce_window(np.ones(3), 0.0, lax.add, (2,), padding=[(3, 0)]).tolist() == [0, 0, 1, 2, 2]


def test_selection():
    x, ct = numbers((5, 6), True), numbers((2, 3))
    options = ([2, 3], [2, 2], [(0, 0), (1, 1)])
    wanted = given_back(x, ct, np.less_equal, *options, (1, 1), (1, 1))
    named = dict(zip(("window", "strides", "padding"), options))
    near(_core.tn.select_and_scatter_add("min", x, ct, **named), wanted)
    near(_core.tn.select_and_gather_add("min", x, x, **named), plain(x, np.minimum, np.inf, *options, (1, 1), (1, 1)))
    largest = _core.select_and_scatter(lambda a, b: a <= b, lambda a, b: a + b, x, ct, 1.0, *options)
    near(largest, wanted + 1)


def test_pooling():
    x = numbers((2, 6, 7, 3))
    options = ((1, 2, 3, 1), (1, 2, 2, 1), [(0, 0), (0, 0), (1, 1), (0, 0)], (1,) * 4, (1,) * 4)
    near(tn.nn.max_pool(x, (2, 3), (2, 2), "SAME"), plain(x, np.maximum, -np.inf, *options))
    near(tn.nn.min_pool(x, (2, 3), (2, 2), [(0, 0), (1, 1)]), plain(x, np.minimum, np.inf, *options))
    sums, counts = plain(x, np.add, 0, *options), plain(np.ones_like(x), np.add, 0, *options)
    near(tn.nn.avg_pool(x, (2, 3), (2, 2), "SAME"), sums / 6)
    near(tn.nn.avg_pool(x, (2, 3), (2, 2), "SAME", count_include_pad=False), sums / counts)
    assert tn.nn.avg_pool(np.ones((4, 2), "float16"), (2,)).dtype == np.float16
    assert tn.nn.avg_pool(np.ones((4, 2), "int32"), (2,)).tolist() == [[1, 1]] * 3


def test_large_windows():
    x = numbers((150, 130))
    made = tn.jit(lambda x: lax.reduce_window(x, 0.0, lax.add, (70, 50)))(x)
    cumulative = np.pad(x, ((1, 0), (1, 0))).cumsum(0).cumsum(1)
    near(made, cumulative[70:, 50:] - cumulative[:-70, 50:] - cumulative[70:, :-50] + cumulative[:-70, :-50], 100)
    gradient = tn.jit(tn.grad(lambda x: tnp.sum(lax.reduce_window(x, 0.0, lax.add, (70, 50), (3, 2)))))(x)
    near(tnp.sum(gradient), 70.0 * 50 * 27 * 41)


@pytest.mark.parametrize("call, error, text", [
    (lambda: lax.reduce_window(np.ones((2, 3)), 0.0, lax.add, (2,)), ValueError, "a window of 1 sizes over f64\\[2,3\\]"),
    (lambda: lax.reduce_window(np.ones(3), 0.0, lax.add, (2,), (0,)), ValueError, "0 is among the strides"),
    (lambda: lax.reduce_window(np.ones(3), 0.0, lax.add, (0,)), ValueError, "0 is among the sizes of the window"),
    (lambda: lax.reduce_window(np.ones(3), 0.0, lax.add, (2,), padding=[(0, 0)] * 2), ValueError, "2 pairs of padding for f64\\[3\\]"),
    (lambda: lax.reduce_window(np.ones(3), 0.0, lax.add, (2,), padding="FULL"), ValueError, "padding is 'FULL'; it is one of 'VALID', 'SAME'"),
    (lambda: lax.reduce_window((np.ones(3), np.ones(4)), (0.0, 0.0), lambda a, b: a, (2,)), ValueError, "All arrays have one shape"),
    (lambda: lax.reduce_window((np.ones(3),), 0.0, lax.add, (2,)), ValueError, "trees of one structure"),
    (lambda: tn.nn.max_pool(np.ones(3), (2,)), ValueError, "max_pool: a window of 1 sizes over f64\\[3\\]"),
    (lambda: _core.tn.reduce_window("max", np.ones(2, complex), [1], strides=[], padding="VALID", base_dilation=[], window_dilation=[]), TypeError, "c128\\[2\\] has no order"),
    (lambda: _core.tn.reduce_window("add", np.ones(2, bool), [1], strides=[], padding="VALID", base_dilation=[], window_dilation=[]), TypeError, "has no sums and products"),
    (lambda: _core.tn.reduce_window("and", np.ones(2), [1], strides=[], padding="VALID", base_dilation=[], window_dilation=[]), TypeError, "has no bits"),
])
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()
