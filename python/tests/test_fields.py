"""image, scipy.ndimage, scipy.interpolate, scipy.cluster and scipy.spatial: beside SciPy's and formulas; derivatives, sizes that
vary, errors."""

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import image
from tenon.scipy import ndimage
from tenon.scipy.cluster.vq import vq
from tenon.scipy.interpolate import RegularGridInterpolator
from tenon.scipy.spatial.transform import Rotation, Slerp
from test_linalg import difference, forms, matrices, near

METHODS = ["linear", "cubic", "cubic-pytorch", "lanczos3", "lanczos5", "area"]


def kernel(method, x):
    x = abs(x)
    if method == "linear":
        return np.maximum(1 - x, 0)
    if method.startswith("lanczos"):
        r = int(method[-1])
        return np.sinc(x) * np.sinc(x / r) * (x <= r)
    a = -0.75 if method == "cubic-pytorch" else -0.5
    return np.where(x < 1, (a + 2) * x ** 3 - (a + 3) * x ** 2 + 1, np.where(x < 2, a * (x ** 3 - 5 * x ** 2 + 8 * x - 4), 0))


def weights(n, m, method, antialias, scale=None, shift=0.0):
    """What n elements weigh in m, rows of the result."""
    scale = m / n if scale is None else scale
    ends = method == "cubic-pytorch" and not antialias
    method = "cubic" if method == "cubic-pytorch" and antialias else method
    centre = (np.arange(m)[:, None] + 0.5 - shift) / scale - 0.5
    at = np.arange(-2, n + 2) if ends else np.arange(n)
    if method == "area":
        left = (np.arange(m)[:, None] - shift) / scale
        w = np.maximum(np.minimum(left + 1 / scale, at + 1) - np.maximum(left, at), 0)
    else:
        w = kernel(method, (centre - at) / (max(1 / scale, 1) if antialias else 1))
    if ends:
        w = np.stack([w[:, np.clip(at, 0, n - 1) == i].sum(1) for i in range(n)], 1)
    total = w.sum(1, keepdims=True)
    w = np.where(abs(total) > 1e-4, w / np.where(total == 0, 1, total), 0)
    return w if ends else np.where((centre >= -0.5) & (centre <= n - 0.5), w, 0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("antialias", [True, False])
def test_resize(method, antialias):
    for shape, to in [((5,), (9,)), ((4, 6), (4, 3)), ((6, 4, 3), (3, 9, 3)), ((1,), (4,)), ((12,), (1,)), ((33, 20), (8, 41))]:
        x = matrices(*shape)
        wanted = x
        for i, (n, m) in enumerate(zip(shape, to)):
            if n != m:
                wanted = np.moveaxis(np.tensordot(weights(n, m, method, antialias), wanted, (1, i)), 0, i)
        near(image.resize(x, to, method, antialias), wanted)
        near(image.resize(x.astype("float32"), to, image.ResizeMethod.from_string(method), antialias), wanted.astype("float32"))
    x = matrices(6, 4, 3)
    for got in forms(lambda x: image.resize(x, (9, 2, 3), method, antialias), x):
        near(got, image.resize(x, (9, 2, 3), method, antialias))
    if antialias:
        near(tn.jit(lambda x: image.resize(x, (2 * x.shape[0], 3), method), sizes="symbolic")(x[:, 0]), image.resize(x[:, 0], (12, 3), method))
    for n, m, scale, shift in [(7, 5, 0.6, 0.5), (4, 9, 2.5, -1.5), (5, 5, 1.0, 2.0)]:
        x = matrices(3, n)
        near(image.scale_and_translate(x, (3, m), (-1,), [scale], [shift], method, antialias), x @ weights(n, m, method, antialias, scale, shift).T, 10)
    near(tn.vmap(lambda x: image.scale_and_translate(x, (m,), (0,), [scale], [shift], method, antialias))(x), x @ weights(n, m, method, antialias, scale, shift).T, 10)


def test_nearest_and_dtypes():
    for n, m in [(5, 9), (9, 4), (1, 3), (8, 8), (10, 5)]:
        for dtype in ("bool", "int8", "float16", "complex64"):
            x = (3 * matrices(2, n)).astype(dtype)
            near(tn.jit(lambda x: image.resize(x, (2, m), "nearest"))(x), x[:, (np.arange(m) * 2 + 1) * n // (2 * m)])
    for dtype, made in [("bool", "float32"), ("int8", "float32"), ("int64", "float64"), ("float16", "float16"), ("bfloat16", "bfloat16"), ("complex64", "complex64")]:
        assert image.resize(tnp.ones((4, 4), dtype), (2, 3), "bilinear").dtype == made
    x = matrices(4, 4)
    x[1, 1] = np.inf
    assert np.isfinite(image.resize(x, (8, 8), "linear")).sum() >= 32 and image.resize(np.ones((3, 2)), (0, 5), "linear").shape == (0, 5)
    assert image.resize(x, (4, 4), "cubic").tolist() == x.tolist()


def test_derivatives_of_images():
    x = matrices(5, 4)
    for method in ("linear", "cubic-pytorch", "area"):
        def loss(x):
            return tnp.sum(tnp.sin(image.resize(x, (3, 7), method, antialias=False)))

        near(tn.jit(tn.grad(loss))(x), difference(loss, x), 1e3)
        near(tn.jit(tn.hessian(loss))(x), tn.jacrev(tn.jacrev(loss))(x))

    def moved(s, t):
        return tnp.sum(image.scale_and_translate(x, (6, 6), (0, 1), s, t, "cubic") ** 2)

    s, t = np.array([1.3, 0.8]), np.array([0.2, -0.3])
    near(tn.jit(tn.grad(moved))(s, t), difference(lambda s: moved(s, t), s), 1e4)
    near(tn.grad(moved, 1)(s, t), difference(lambda t: moved(s, t), t), 1e4)


MODES = {"constant": "grid-constant", "nearest": "nearest", "wrap": "grid-wrap", "mirror": "mirror", "reflect": "reflect"}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("order", [0, 1])
def test_map_coordinates(mode, order):
    theirs = pytest.importorskip("scipy.ndimage")
    rng = np.random.default_rng(0)
    for shape in [(5,), (4, 6), (3, 4, 5), (1, 3)]:
        at = rng.uniform(-2.4, 2.9, (len(shape), 4, 10)) * np.array(shape)[:, None, None]
        at[:, 0, :3] = [[-1.0, 0.0, 1.0]] * len(shape)
        for dtype in ("float64", "float32", "complex128", "int32") if shape == (4, 6) else ("float64",):
            x = (5 * matrices(*shape, dtype="complex128" if dtype == "complex128" else "float64")).astype(dtype)
            cval = 2 if dtype == "int32" else 1.5
            wide = x.astype("float64") if dtype == "int32" else x
            wanted = theirs.map_coordinates(wide, at, order=order, mode=MODES[mode], cval=cval, prefilter=False)
            if dtype == "int32":
                wanted = np.sign(wanted) * np.floor(abs(wanted) + 0.5)
            near(ndimage.map_coordinates(x, at, order, mode, cval), wanted.astype(dtype), 1 if dtype != "float32" else 10)
    near(tn.vmap(lambda at: ndimage.map_coordinates(x, list(at), order, mode, cval))(at[None]), ndimage.map_coordinates(x, at, order, mode, cval)[None])
    x = matrices(4, 5)
    whole = tn.jit(lambda x: ndimage.map_coordinates(x, at[:2], order, mode), sizes="symbolic")(x)
    near(whole, ndimage.map_coordinates(x, at[:2], order, mode))


def test_derivatives_of_map_coordinates():
    x, at = matrices(4, 5), np.random.default_rng(1).uniform(0.1, 3.0, (2, 6))
    for mode in MODES:
        def loss(x, at):
            return tnp.sum(tnp.sin(ndimage.map_coordinates(x, at, 1, mode)))

        near(tn.grad(loss)(x, at), difference(lambda x: loss(x, at), x), 1e3)
        near(tn.jit(tn.grad(loss, 1))(x, at), difference(lambda at: loss(x, at), at), 1e4)
    near(tn.jit(tn.hessian(loss, 1))(x, at), tn.jacfwd(tn.grad(loss, 1), 1)(x, at))
    near(tn.grad(lambda c: ndimage.map_coordinates(x, [9.0, 9.0], 1, cval=c))(2.0), 1.0)
    near(tn.grad(lambda at: tnp.sum(ndimage.map_coordinates(x, at, 0)))(at), np.zeros_like(at))


def test_edges_of_map_coordinates():
    x = np.arange(12).reshape(3, 4)
    assert ndimage.map_coordinates(x, [np.ones(3, int), np.ones((2, 3))], 1).dtype == np.int64
    assert ndimage.map_coordinates(x.astype(bool), [[0.0, 0.2], [0.0, 1.0]], 1).tolist() == [False, True]
    assert np.isnan(ndimage.map_coordinates(x * 1.0, [np.nan, 0.0], 1))
    assert ndimage.map_coordinates(np.zeros((0, 2)), [[1.0], [0.0]], 1, cval=3.0).tolist() == [3.0]
    assert ndimage.map_coordinates(np.float64(3), [], 1) == 3
    assert ndimage.map_coordinates(np.array([1.0, 2.0, 4.0]), [[0.5, 1.5, -0.5, 0.49999999999999994]], 0).tolist() == [2.0, 4.0, 0.0, 1.0]


@pytest.mark.parametrize("method", ["linear", "nearest"])
def test_grids(method):
    theirs = pytest.importorskip("scipy.interpolate")
    grid = (np.array([0.0, 1, 3, 4]), np.array([-1.0, 0, 0.5]))
    values, at = matrices(4, 3, 2), np.random.default_rng(0).uniform(-2, 5, (6, 5, 2))
    for fill in (np.nan, None, 3.0):
        wanted = theirs.RegularGridInterpolator(grid, values, method, False, fill)(at)
        f = RegularGridInterpolator(grid, values, method, fill_value=fill)
        near(f(at), wanted)
    for got in (tn.jit(lambda f, at: f(at))(f, at), tn.vmap(f)(at)):
        near(got, wanted)
    near(f((at[..., 0], at[0, ..., 1])), f(tnp.stack([at[..., 0], np.broadcast_to(at[0, ..., 1], (6, 5))], -1)))
    inside = at[0, :, :] * 0 + [[0.4, -0.3], [1.2, 0.2], [3.6, 0.4], [1.9, -0.7], [0.1, 0.1]]

    def loss(values, at):
        return tnp.sum(tnp.sin(RegularGridInterpolator(grid, values, method)(at)))

    near(tn.grad(loss)(values, inside), difference(lambda v: loss(v, inside), values), 1e3)
    near(tn.grad(loss, 1)(values, inside), difference(lambda at: loss(values, at), inside), 1e4)
    one = RegularGridInterpolator(([2.0],), [5.0], method)
    assert one([[2.0]]).tolist() == [5.0] and np.isnan(one([[2.5]])[0])
    assert RegularGridInterpolator(grid, np.ones((4, 3), "int32"))([0.5, 0.0]).dtype == np.float64


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_codes(dtype):
    rows, book = matrices(7, 3, dtype=dtype), matrices(4, 3, dtype=dtype, seed=1)
    distances = np.linalg.norm(rows[:, None] - book, axis=-1)
    for codes, least in (vq(rows, book), tn.jit(vq)(rows, book)):
        assert codes.tolist() == distances.argmin(1).tolist() and codes.dtype == np.int32
        near(least, distances.min(1))
    assert vq([1.0, 5.0], [0.0, 4.0])[0].tolist() == [0, 1]
    near(tn.grad(lambda x: tnp.sum(vq(x, np.eye(2))[1]))(np.array([[1.0, 0.0], [1.0, 2.0]])), np.array([[0, 0], [1, 1]]) / np.array([[1], [np.sqrt(2)]]))


def euler_angles():
    yield from np.random.default_rng(0).uniform(-1.4, 1.4, (4, 3))
    yield from [[0.3, 0.0, 0.0], [0.0, 0.0, 0.0]]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rotations(dtype):
    theirs = pytest.importorskip("scipy.spatial.transform").Rotation
    q = matrices(5, 4, dtype=dtype)
    ours, other = Rotation.from_quat(q), theirs.from_quat(q)

    def as_theirs(x):
        return np.asarray(x).astype(dtype)

    for name, args in [("as_matrix", ()), ("as_mrp", ()), ("as_rotvec", ()), ("as_rotvec", (True,)), ("magnitude", ()),
                       *(("as_euler", (seq, seq == "xyz")) for seq in ("xyz", "ZYX", "zxz", "XYX", "yzx", "XZY"))]:
        wanted = as_theirs(getattr(other, name)(*args))
        near(getattr(ours, name)(*args), wanted, 1e2)
        if args in ((), ("xyz", True)):
            near(tn.jit(lambda r: getattr(r, name)(*args))(ours), wanted, 1e2)
    near(ours.as_quat(canonical=True), as_theirs(other.as_quat(canonical=True)))
    near(ours.as_quat(scalar_first=True), np.asarray(ours.quat)[:, [3, 0, 1, 2]])
    vectors = matrices(5, 3, dtype=dtype, seed=1)
    near(ours.apply(vectors), as_theirs(other.apply(vectors)))
    near(ours.apply(vectors, inverse=True), as_theirs(other.apply(vectors, inverse=True)))
    near((ours * ours[:1].inv()).as_matrix(), as_theirs((other * other[0].inv()).as_matrix()))
    near(ours.mean().as_matrix(), as_theirs(other.mean().as_matrix()), 1e2)
    near(ours.mean(np.arange(5)).as_matrix(), as_theirs(other.mean(np.arange(5)).as_matrix()), 1e2)
    near(Rotation.from_matrix(ours.as_matrix()).as_matrix(), as_theirs(other.as_matrix()))
    near(Rotation.from_matrix(np.stack([np.diag(d) for d in ([1.0, -1, -1], [-1, 1, -1], [-1, -1, 1])]).astype(dtype)).magnitude(), np.full(3, np.pi, dtype))
    for scale in (1.0, 1e-2, 1e-4, 0.0):
        near(Rotation.from_rotvec(vectors * scale).as_matrix(), as_theirs(theirs.from_rotvec(vectors * scale).as_matrix()))
        near(Rotation.from_rotvec(vectors * scale).as_rotvec(), vectors * scale, 10)
    near(Rotation.from_mrp(vectors).as_matrix(), as_theirs(theirs.from_mrp(vectors).as_matrix()))
    for seq in ("x", "yx", "xyz", "ZXZ", "zyz"):
        for angles in euler_angles():
            angles = np.asarray(angles[:len(seq)], dtype)
            wanted = theirs.from_euler(seq, angles if len(seq) > 1 else angles[0], degrees=False).as_matrix()
            near(Rotation.from_euler(seq, angles).as_matrix(), as_theirs(wanted).reshape(3, 3))
            if len(seq) == 3:
                near(Rotation.from_euler(seq, Rotation.from_euler(seq, angles).as_euler(seq)).as_matrix(), as_theirs(wanted), 50)
    assert len(ours) == 5 and not ours.single and Rotation.concatenate([ours, ours[:2]]).quat.shape == (7, 4)
    near(Rotation.identity().as_rotvec(), np.zeros(3))


def test_paths_of_rotations():
    theirs = pytest.importorskip("scipy.spatial.transform")
    times, q = np.array([0.0, 1, 2.5, 4]), matrices(4, 4)
    ours, other = Slerp.init(times, Rotation.from_quat(q)), theirs.Slerp(times, theirs.Rotation.from_quat(q))
    at = np.array([0.0, 0.5, 1, 2.7, 3.9, 4])
    near(tn.jit(lambda s, t: s(t))(ours, at).as_matrix(), other(at).as_matrix())
    near(tn.vmap(lambda t: ours(t).as_matrix())(at), other(at).as_matrix())
    speed = tn.jvp(lambda t: ours(t).as_rotvec(), (0.5,), (1.0,))[1]
    near(speed, (np.asarray(ours(0.5 + 1e-6).as_rotvec()) - np.asarray(ours(0.5 - 1e-6).as_rotvec())) / 2e-6, 1e4)


def test_derivatives_of_rotations():
    v = np.array([0.3, -0.2, 0.5])
    for f in (lambda r: Rotation.from_rotvec(r).apply(v), lambda r: Rotation.from_mrp(r).as_euler("xyz"),
              lambda r: Rotation.from_euler("ZYX", r).as_rotvec(), lambda r: Rotation.from_rotvec(r).magnitude()[None]):
        near(tn.jacobian(f)(v), np.stack([difference(lambda r, i=i: f(r)[i], v) for i in range(f(v).shape[0])]), 1e4)
    near(tn.jacfwd(tn.jacrev(f))(v), tn.jacrev(tn.jacfwd(f))(v), 10)
    for f in (lambda r: Rotation.from_rotvec(r).apply(v), lambda r: Rotation.from_rotvec(r).as_rotvec(), lambda r: Rotation.from_rotvec(r).magnitude()):
        assert np.isfinite(tn.jacobian(f)(np.zeros(3))).all()
    near(tn.jacobian(lambda r: Rotation.from_rotvec(r).as_rotvec())(np.zeros(3)), np.eye(3))
    near(tn.jacobian(lambda r: Rotation.from_rotvec(r).apply(v))(np.zeros(3)), np.cross(np.eye(3), v).T)


def test_errors():
    x = np.ones((3, 4))
    for call, message in [
        (lambda: image.resize(x, (3,), "linear"), "resize: f64.3,4. in the shape"),
        (lambda: image.resize(x, (3, 4), "best"), "'best' is none of nearest, linear"),
        (lambda: image.resize(np.ones((0, 2)), (1, 2), "linear"), "resize: 1 elements of axis 0"),
        (lambda: image.resize(np.ones((0, 2)), (1, 2), "nearest"), "resize: 1 elements of axis 0"),
        (lambda: image.scale_and_translate(x, (3, 4), (0,), [1.0, 2.0], [1.0], "linear"), "of 1 axes"),
        (lambda: image.scale_and_translate(x, (3, 5), (0,), [1.0], [1.0], "linear"), "axis 1 is not among those that change"),
        (lambda: image.scale_and_translate(x, (3, 5), (1, -1), [1.0] * 2, [1.0] * 2, "linear"), "axis 1 is named twice"),
        (lambda: ndimage.map_coordinates(x, [1.0], 1), "1 coordinates for the axes of f64.3,4."),
        (lambda: ndimage.map_coordinates(x, [1.0, 2.0], 1, mode="torus"), "mode is 'torus'"),
        (lambda: ndimage.map_coordinates(np.ones(0), [1.0], 1, mode="wrap"), "has no elements"),
        (lambda: RegularGridInterpolator(([0.0, 1.0],), x, method="spline"), "method is 'spline'"),
        (lambda: RegularGridInterpolator(([0.0, 1.0],), x)([[0.5]]), "points .* of axis 0 of values"),
        (lambda: RegularGridInterpolator(([0.0, 1.0, 2.0],), x)([[0.5, 1.0]]), "coordinates of 1 axes"),
        (lambda: RegularGridInterpolator(([0.0], [0.0], [0.0]), x), "3 vectors of points"),
        (lambda: vq(x, np.ones((2, 3))), "vq: observations f64.3,4. and a code book f64.2,3."),
        (lambda: Rotation.from_quat(x[:, :3]), "has not 4 numbers along its last axis"),
        (lambda: Rotation.from_euler("xxy", np.ones(3)), "of which one follows itself"),
        (lambda: Rotation.from_euler("xYz", np.ones(3)), "axes \"xYz\""),
        (lambda: Rotation.from_quat(x).as_euler("xy"), "three letters"),
        (lambda: Rotation.from_matrix(np.ones((2, 3))), "no matrix of three rows"),
        (lambda: Slerp.init([0.0, 1.0], Rotation.from_quat(x)), "for 3 rotations"),
        (lambda: tnp.interp(x, x, x), "the points are f64"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()
    for call in (lambda: image.scale_and_translate(x, (3, 4), (0,), [1.0], [0.0], "nearest"), lambda: ndimage.map_coordinates(x, [1.0, 1.0], 3),
                 lambda: RegularGridInterpolator(([0.0, 1.0, 2.0],), x, bounds_error=True), lambda: Rotation.random(None)):
        with pytest.raises(NotImplementedError):
            call()
    with pytest.raises(TypeError, match="Single|one rotation"):
        len(Rotation.identity())
    with pytest.raises(TypeError, match="coordinates c128"):
        ndimage.map_coordinates(x, [1j, 1.0], 1)
