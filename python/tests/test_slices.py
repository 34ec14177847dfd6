"""lax.gather, lax.scatter and their kin against loops over their meaning; lax.reduce, and what tells a compiler things."""

import itertools

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import lax

# shape, shape of the indices, axes, sizes: of rows, windows, batches, single elements, nothing.
PLANS = [
    ((5, 3), (4, 1), lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 3)),
    ((5, 6), (2, 3, 2), lax.GatherDimensionNumbers((0, 2), (), (1, 0)), (2, 3)),
    ((4, 5, 3), (6, 2), lax.GatherDimensionNumbers((1,), (0, 2), (0, 2)), (1, 5, 1)),
    ((3, 4), (3, 2, 1), lax.GatherDimensionNumbers((), (1,), (1,), (0,), (0,)), (1, 1)),
    ((2, 3, 4), (3, 5, 1), lax.GatherDimensionNumbers((2,), (2,), (2,), (1,), (0,)), (2, 1, 1)),
    ((6,), (0, 1), lax.GatherDimensionNumbers((), (0,), (0,)), (1,)),
    ((7,), (1,), lax.GatherDimensionNumbers((0,), (), (0,)), (3,)),
]


def windows(shape, indices, axes, sizes):
    """For each element of the result: (its place, the place in the array or None, the nearest one inside)."""
    lanes = indices.shape[:-1]
    window = [i for i in range(len(shape)) if i not in axes.collapsed_slice_dims and i not in axes.operand_batching_dims]
    rank = len(lanes) + len(window)
    lane_axes = [i for i in range(rank) if i not in axes.offset_dims]
    for lane in np.ndindex(lanes):
        start = [0] * len(shape)
        for number, axis in zip(indices[lane], axes.start_index_map):
            start[axis] = int(number)
        for axis, of_indices in zip(axes.operand_batching_dims, axes.start_indices_batching_dims):
            start[axis] = lane[of_indices]
        clipped = [min(max(s, 0), n - k) for s, n, k in zip(start, shape, sizes)]
        for inside in itertools.product(*(range(sizes[i]) for i in window)):
            place = [0] * rank
            for axis, i in zip(lane_axes, lane):
                place[axis] = i
            for axis, i in zip(axes.offset_dims, inside):
                place[axis] = i
            at = list(clipped)
            for axis, i in zip(window, inside):
                at[axis] += i
            yield tuple(place), clipped == start, tuple(at)


def result_shape(shape, indices, axes, sizes):
    lanes = list(indices.shape[:-1])
    window = [sizes[i] for i in range(len(shape)) if i not in axes.collapsed_slice_dims and i not in axes.operand_batching_dims]
    made = lanes
    for axis, n in zip(axes.offset_dims, window):
        made = made[:axis] + [n] + made[axis:]
    return tuple(made)


def case(number, outside):
    shape, of_indices, axes, sizes = PLANS[number]
    rng = np.random.default_rng(number)
    low, high = (-2, max(shape) + 1) if outside else (0, 1 + min(n - k for n, k in zip(shape, sizes)))
    indices = rng.integers(low, max(high, 1), of_indices)
    return rng.normal(size=shape), indices, axes, sizes


def plain_gather(x, indices, axes, sizes, mode, fill):
    made = np.zeros(result_shape(x.shape, indices, axes, sizes), x.dtype)
    for place, inside, at in windows(x.shape, indices, axes, sizes):
        made[place] = x[at] if inside or mode == "clip" else fill
    return made


UPDATES = {
    "scatter": lambda a, b: b, "scatter_add": lambda a, b: a + b, "scatter_sub": lambda a, b: a - b,
    "scatter_mul": lambda a, b: a * b, "scatter_min": min, "scatter_max": max,
}


def plain_scatter(name, x, indices, updates, axes, sizes, mode):
    made = x.copy()
    for place, inside, at in sorted(windows(x.shape, indices, axes, sizes)):  # in row-major order of the updates
        if inside or mode == "clip":
            made[at] = UPDATES[name](made[at], updates[place])
    return made


@pytest.mark.parametrize("mode", ["clip", "fill", None, lax.GatherScatterMode.CLIP])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "uint8", "complex128", "bool"])
@pytest.mark.parametrize("number", range(len(PLANS)))
def test_gather(number, dtype, mode):
    x, indices, axes, sizes = case(number, True)
    x = (10 * x).astype(dtype)
    missing = {"f": np.nan, "i": np.iinfo("int32").min, "u": 255, "c": np.nan, "b": True}[x.dtype.kind]
    wanted = plain_gather(x, indices, axes, sizes, mode or "clip", missing)
    for f in (lax.gather, tn.jit(lax.gather, static_argnames=("dimension_numbers", "slice_sizes", "mode"))):
        got = f(x, indices, dimension_numbers=axes, slice_sizes=sizes, mode=mode)
        assert got.dtype == x.dtype and np.array_equal(got, wanted, equal_nan=x.dtype.kind in "fc"), (got, wanted)
    filled = lax.gather(x, indices.astype("int8"), axes, sizes, mode=mode, fill_value=1)
    assert np.array_equal(filled, plain_gather(x, indices, axes, sizes, mode, 1))


@pytest.mark.parametrize("number", range(len(PLANS)))
def test_gather_in_batches_and_derivatives(number):
    x, indices, axes, sizes = case(number, True)
    several = np.stack([x, 2 * x])
    got = tn.vmap(lambda x: lax.gather(x, indices, axes, sizes, fill_value=0))(several)
    assert np.array_equal(got[1], plain_gather(2 * x, indices, axes, sizes, "fill", 0))
    moved = np.stack([indices, indices[::-1]])
    got = tn.vmap(lambda i: lax.gather(x, i, axes, sizes, mode="clip"))(moved)
    assert np.array_equal(got[1], plain_gather(x, moved[1], axes, sizes, "clip", 0))
    weights = np.random.default_rng(9).normal(size=got.shape[1:])
    gradient = tn.grad(lambda x: tnp.sum(lax.gather(x, indices, axes, sizes, fill_value=0) * weights))(x)
    wanted = np.zeros_like(x)
    for place, inside, at in windows(x.shape, indices, axes, sizes):
        wanted[at] += weights[place] * inside
    assert np.allclose(gradient, wanted)


@pytest.mark.parametrize("mode", ["clip", "drop"])
@pytest.mark.parametrize("name", list(UPDATES))
@pytest.mark.parametrize("number", range(len(PLANS)))
def test_scatter(number, name, mode):
    x, indices, axes, sizes = case(number, True)
    updates = np.random.default_rng(5).normal(size=result_shape(x.shape, indices, axes, sizes))
    f, at = getattr(lax, name), lax.ScatterDimensionNumbers(*axes)
    wanted = plain_scatter(name, x, indices, updates, axes, sizes, mode)
    assert np.allclose(f(x, indices, updates, at, mode=mode), wanted)
    assert np.allclose(tn.jit(lambda *a: f(*a, at, mode=mode))(x, indices, updates), wanted)
    lanes = tn.vmap(lambda x, u: f(x, indices, u, at, mode=mode))(np.stack([x, -x]), np.stack([updates, 2 * updates]))
    assert np.allclose(lanes[1], plain_scatter(name, -x, indices, 2 * updates, axes, sizes, mode))
    if name in ("scatter_add", "scatter_sub"):
        weights = np.random.default_rng(6).normal(size=x.shape)
        of_x, of_updates = tn.grad(lambda x, u: tnp.sum(f(x, indices, u, at, mode=mode) * weights), (0, 1))(x, updates)
        sign = 1 if name == "scatter_add" else -1
        assert np.allclose(of_x, weights)
        assert np.allclose(of_updates, sign * plain_gather(weights, indices, axes, sizes, mode, 0))


def test_scatter_apply():
    x, at = np.array([0.5, 2.0, 3.0]), lax.ScatterDimensionNumbers((), (0,), (0,))
    indices = np.array([[1], [2], [2], [9], [-1]])
    for f in (lambda x: lax.scatter_apply(x, indices, tnp.square, at, update_shape=(5,)),):
        for g in (f, tn.jit(f)):
            assert g(x).tolist() == [0.5, 4.0, 81.0]
        assert tn.vmap(f)(np.stack([x, x + 1]))[1].tolist() == [1.5, 9.0, 256.0]
    once = lax.scatter_apply(x, indices[:2], tnp.square, at, update_shape=(2,), unique_indices=True)
    assert once.tolist() == [0.5, 4.0, 9.0]
    slope = tn.grad(lambda x: tnp.sum(lax.scatter_apply(x, indices[:2], tnp.square, at, update_shape=(2,), unique_indices=True)))(x)
    assert slope.tolist() == [1, 4, 6]
    rows = lax.ScatterDimensionNumbers((1,), (0,), (0,))
    assert lax.scatter_apply(np.ones((2, 3)), np.array([[1]]), lambda v: -v, rows, update_shape=(1, 3)).tolist() == [[1] * 3, [-1] * 3]


def test_slices_refuse():
    rows = lax.GatherDimensionNumbers((), (0,), (0,))
    with pytest.raises(TypeError, match="indices are integers"):
        lax.gather(np.ones(3), np.array([[0.0]]), rows, (1,))
    with pytest.raises(ValueError, match='Unknown gather mode "wrap"'):
        lax.gather(np.ones(3), np.array([[0]]), rows, (1,), mode="wrap")
    with pytest.raises(TypeError, match="same dtypes"):
        lax.scatter(np.ones(3), np.array([[0]]), np.ones(1, "int32"), lax.ScatterDimensionNumbers(*rows))
    with pytest.raises(ValueError):
        lax.gather(np.ones(3), np.array([[0]]), lax.GatherDimensionNumbers((0,), (0,), (0,)), (1,))
    assert lax.GatherScatterMode.from_any(None) is lax.GatherScatterMode.FILL_OR_DROP
    assert tnp.arange(3).at[5].get(mode=lax.GatherScatterMode.CLIP) == 2


@pytest.mark.parametrize("n", [0, 1, 2, 5, 8])
def test_reduce(n):
    x = np.random.default_rng(n).integers(0, 100, (n, 3))
    f = lambda x: lax.reduce(x, 7, lambda a, b: a * 3 % 101 * b % 101, (0,))  # noqa: E731
    for axes in ((0,), (1,), (0, 1)):
        for known, plain in ((lax.add, np.sum), (lax.mul, np.prod), (lax.bitwise_or, np.bitwise_or.reduce)):
            wanted = plain(x, axes) if known is not lax.bitwise_or else plain(plain(x, 1), 0) if axes == (0, 1) else plain(x, axes[0])
            assert np.array_equal(lax.reduce(x, 1 if known is lax.mul else 0, known, axes), wanted)
    # Associative, and in the operands' order.
    step = lambda a, b: (a[0] * b[0] % 101, (a[1] * b[0] + b[1]) % 101)  # noqa: E731
    g = lambda x, y: lax.reduce((x, y), (1, 0), step, (0,))  # noqa: E731
    p, q = np.ones(3, int), np.zeros(3, int)
    y = np.random.default_rng(n + 1).integers(0, 100, (n, 3))
    for a, b in zip(x, y):
        p, q = p * a % 101, (q * a + b) % 101
    for made in (g(x, y), tn.jit(g)(x, y)):
        assert np.array_equal(made[0], p) and np.array_equal(made[1], q)
    lanes = tn.vmap(g)(np.stack([y, x]), np.stack([x, y]))
    assert np.array_equal(lanes[1][1], q)
    assert f(x).shape == (3,)
    if n:
        slope = tn.grad(lambda x: tnp.sum(lax.reduce(x, 1.0, lambda a, b: a * b, (0,))))(1.0 + x)
        assert np.allclose(slope, np.prod(1.0 + x, 0) / (1.0 + x))


def test_reduce_elsewhere():
    x = np.array([3.0, np.nan, 1.0])
    assert np.isnan(lax.reduce(x, -np.inf, lax.max, (0,))) and lax.reduce(x[::2], 9.0, lax.max, (0,)) == 9
    largest = lax.reduce({"a": np.ones((2, 0))}, {"a": 2.0}, lambda p, q: {"a": p["a"] + q["a"]}, (1,))
    assert largest["a"].tolist() == [2, 2]
    assert lax.reduce(np.array([True, False]), False, lambda a, b: a | b, (0,)) == True  # noqa: E712
    assert lax.reduce(x.astype("float32"), 0, lax.add, (0,)).dtype == np.float32
    with pytest.raises(ValueError, match="one structure"):
        lax.reduce((x, x), 0.0, lax.add, (0,))
    with pytest.raises(TypeError, match="one shape"):
        lax.reduce((x, x[1:]), (0.0, 0.0), lambda a, b: a, (0,))
    with pytest.raises(TypeError, match="a tree like its arguments"):
        lax.reduce((x, x), (0.0, 0.0), lambda a, b: a[0], (0,))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "int64"])
def test_reduce_xor(dtype):
    x = np.random.default_rng(0).integers(0, 100, (5, 3)).astype(dtype)
    for axis in (0, 1):
        assert np.array_equal(lax.reduce_xor(x, (axis,)), np.bitwise_xor.reduce(x, axis))
        assert np.array_equal(tn.jit(lambda x: lax.reduce_xor(x, (axis,)))(x), np.bitwise_xor.reduce(x, axis))
    assert lax.reduce_xor(x[:0], (0,)).tolist() == [0, 0, 0] and lax.reduce_xor(x, (0, 1)).dtype == np.dtype(dtype)
    with pytest.raises(TypeError, match="float64"):
        lax.reduce_xor(np.ones(2), (0,))


def test_counted_bits():
    for dtype in ("int8", "uint8", "int16", "uint32", "int64", "uint64"):
        kind, width = np.iinfo(dtype), 8 * np.dtype(dtype).itemsize
        x = np.array([0, 1, 2, 3, 100, kind.max, kind.min], dtype)
        wanted = [width - (int(v) % 2 ** width).bit_length() for v in x]
        got = lax.clz(x)
        assert got.tolist() == wanted == tn.jit(lax.clz)(x).tolist() and got.dtype == np.dtype(dtype)


def test_parts_and_products():
    x = np.arange(6.0).reshape(2, 3)
    assert np.array_equal(lax.stack([x, -x], 1), np.stack([x, -x], 1)) and len(lax.unstack(x, 1)) == 3
    with pytest.raises(TypeError, match="one shape"):
        lax.stack([x, x[0]])
    for k, (f, order) in itertools.product((1, 3), ((lax.approx_max_k, -1), (lax.approx_min_k, 1))):
        values, at = f(x, k, reduction_dimension=1)
        assert np.array_equal(values, np.sort(x, 1)[:, ::order][:, :k]) and at.dtype == np.int32
    i = np.array([[100, 100]], "int8")
    contracted = (((1,), (1,)), ((), ()))
    assert lax.dot_general(i, i, contracted, preferred_element_type=tnp.int32).tolist() == [[20000]]
    exact = lax.dot_general(np.array([[1.0, 2.0 ** -12]], "float32"), np.array([[1.0, 1.0]], "float32"), contracted,
                            lax.Precision.HIGHEST, tnp.float16)
    assert exact.dtype == np.float16 and exact == 1
    assert lax.dot(x, x, dimension_numbers=contracted).tolist() == (x @ x.T).tolist()


def test_what_tells_a_compiler_things():
    assert lax.optimization_barrier({"a": 1}) == {"a": 1} and lax.dce_sink(1) is None and lax.stage(3) == 3
    assert tn.jit(lambda x: lax.composite(lambda x, *, k: x * k, "times")(x, k=3))(2.0) == 6
    assert lax.platform_dependent(1, 2, default=lambda a, b: a + b, cuda=lambda a, b: a) == 3
    with pytest.raises(NotImplementedError, match="no branch for 'cpu'"):
        lax.platform_dependent(1, cuda=lambda a: a)
    with pytest.raises(ValueError, match="'cuda' or 'rocm'"):
        lax.platform_dependent(1, gpu=lambda a: a, cpu=lambda a: a)
    with pytest.raises(TypeError, match="'cpu' branch"):
        lax.platform_dependent(1, cpu=3)
    assert lax.shape_as_value(()).shape == (0,) and lax.shape_as_value((4,)).tolist() == [4]
    for n, w, s in itertools.product((1, 5, 8), (1, 2, 3), (1, 2, 3)):
        (low, high), = lax.padtype_to_pads((n,), (w,), (s,), "same")
        assert high - low in (0, 1) and (n + low + high - w) // s + 1 == -(-n // s) or low + high == 0
        assert lax.padtype_to_pads((n,), (w,), (s,), "SAME_LOWER") == [(high, low)]
    assert lax.padtype_to_pads((5,), (3,), (1,), "VALID") == [(0, 0)]
    with pytest.raises(RuntimeError, match="Unrecognized padding"):
        lax.padtype_to_pads((5,), (3,), (1,), "FULL")


def test_linear_solve_with_more():
    a, b = np.array([[3.0, 1.0], [1.0, 2.0]]), np.array([1.0, 2.0])

    def solved(a, b):
        return lax.custom_linear_solve(lambda x: a @ x, b, lambda _, b: (tnp.linalg.solve(a, b), tnp.sum(b) + 1),
                                       lambda _, b: (tnp.linalg.solve(a.T, b), 0.0), has_aux=True)

    for f in (solved, tn.jit(solved)):
        x, more = f(tnp.asarray(a), b)
        assert np.allclose(x, np.linalg.solve(a, b)) and more == 4
    gradient = tn.grad(lambda a, b: tnp.sum(solved(a, b)[0]), (0, 1))(a, b)
    cotangent = np.linalg.solve(a.T, np.ones(2))
    assert np.allclose(gradient[1], cotangent) and np.allclose(gradient[0], -np.outer(cotangent, np.linalg.solve(a, b)))


def test_broadcast_like():
    x = np.arange(3.0)
    for like in (np.zeros((2, 3)), np.zeros((0, 3)), x):
        assert np.array_equal(lax.broadcast_like(x, like), np.broadcast_to(x, like.shape))
        assert np.array_equal(tn.jit(lax.broadcast_like)(x, like), np.broadcast_to(x, like.shape))
    with pytest.raises(ValueError):
        lax.broadcast_like(x, np.zeros((3, 2)))


def test_names_of_types_and_settings():
    of_matrices: lax.DotDimensionNumbers = (((1,), (0,)), ((), ()))
    exact: lax.PrecisionLike = "highest"
    a = np.arange(6.0).reshape(2, 3)
    assert np.array_equal(lax.dot_general(a, a.T, of_matrices, precision=exact), a @ a.T)
    halves = np.array([0.5, 1.5, -2.5])
    assert lax.round(halves, lax.RoundingMethod.AWAY_FROM_ZERO).tolist() == [1, 2, -3]
    assert lax.round(halves, lax.RoundingMethod.TO_NEAREST_EVEN).tolist() == [0, 2, -2]
