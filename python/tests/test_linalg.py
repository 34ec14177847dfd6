"""linalg: against NumPy, and against the equations that define factors; compiled, in batches, with derivatives."""

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import fft, linalg, lax

KINDS = ["float32", "float64", "complex64", "complex128"]


def matrices(*shape, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    made = rng.normal(size=shape)
    return (made + 1j * rng.normal(size=shape) if dtype.startswith("complex") else made).astype(dtype)


def positive(n, dtype="float64", batch=()):
    a = matrices(*batch, n, n, dtype=dtype)
    return (a @ a.conj().swapaxes(-1, -2) + n * np.eye(n)).astype(dtype)


def near(got, wanted, scale=1.0):
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert got.shape == wanted.shape and got.dtype == wanted.dtype, (got.shape, got.dtype, wanted.shape, wanted.dtype)
    tolerance = scale * (1e-4 if got.dtype in (np.float32, np.complex64) else 1e-10)
    assert np.allclose(got, wanted, tolerance, tolerance, equal_nan=True), (got, wanted)


def difference(f, x, step=1e-6):
    """The gradient of f by central differences."""
    made = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        e = np.zeros_like(x)
        e[at] = step
        made[at] = (float(f(x + e)) - float(f(x - e))) / (2 * step)
    return made


def forms(f, x):
    """f(x) called at once, compiled, and for each lane of a batch."""
    return f(x), tn.jit(f)(x), tn.tree.map(lambda y: y[0], tn.vmap(f)(np.stack([x, x])))


def test_imports():
    from tenon import fft, linalg  # noqa: F401

    assert {*tnp.linalg.__all__} <= {*linalg.__all__} and all(hasattr(linalg, n) for n in linalg.__all__)
    assert {*tnp.fft.__all__} == {*fft.__all__} == {n for n in np.fft.__all__ if n != "fftpack"}


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (3, 3), (5, 5), (2, 3, 4, 4), (0, 4, 4), (0, 0), (2, 0, 0)])
def test_det(shape, dtype):
    a = matrices(*shape, dtype=dtype)
    for got in forms(linalg.det, a):
        near(got, np.linalg.det(a))
    sign, size = np.linalg.slogdet(a)
    for got in forms(linalg.slogdet, a):
        near(got.sign, sign)
        near(got.logabsdet, size)


def test_det_of_singular_matrices():
    a = matrices(5, 5)
    a[4] = a[0] + a[1]
    cofactors = difference(np.linalg.det, a)
    assert abs(float(linalg.det(a))) < 1e-12 and np.abs(cofactors).max() > 0.1
    near(tn.grad(linalg.det)(a), cofactors, 1e4)
    a[3] = a[0]  # of rank n - 2: no cofactor is left
    assert np.allclose(np.asarray(tn.grad(linalg.det)(a)), 0, atol=1e-12)
    zero = np.zeros((4, 4))
    sign, size = linalg.slogdet(zero)
    assert linalg.det(zero) == 0 and sign == 0 and size == -np.inf
    assert not np.asarray(tn.grad(linalg.det)(zero)).any()
    assert np.isnan(linalg.det(np.full((4, 4), np.nan))) and np.isnan(linalg.slogdet(np.full((4, 4), np.nan))[1])
    assert linalg.slogdet(np.eye(3, dtype=int) * 2)[0].dtype == np.float64
    with pytest.raises(ValueError, match=r"\[..., n, n\], got \(2, 3\)"):
        linalg.det(np.ones((2, 3)))
    with pytest.raises(ValueError, match="Unknown slogdet method 'svd'"):
        linalg.slogdet(np.eye(2), method="svd")


@pytest.mark.parametrize("n", [2, 3, 4, 6])
def test_derivatives_of_det(n):
    a = matrices(n, n)
    near(tn.grad(linalg.det)(a), np.linalg.det(a) * np.linalg.inv(a).T, 100)
    near(tn.jit(tn.grad(lambda a: linalg.slogdet(a)[1]))(a), np.linalg.inv(a).T, 100)
    batch = matrices(3, n, n)
    near(tn.vmap(tn.grad(linalg.det))(batch), np.linalg.det(batch)[:, None, None] * np.linalg.inv(batch).swapaxes(1, 2), 100)
    b = matrices(n, n, seed=1)
    second = tn.jvp(tn.grad(lambda a: linalg.slogdet(a)[1]), (a,), (b,))[1]
    near(second, -(np.linalg.inv(a) @ b @ np.linalg.inv(a)).T, 1000)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (3, 5), (5, 3), (2, 3, 3), (0, 2, 2), (3, 0), (0, 3)])
def test_lu(shape, dtype):
    a = matrices(*shape, dtype=dtype)
    for p, lower, upper in forms(linalg.lu, a):
        near(np.asarray(p) @ np.asarray(lower) @ np.asarray(upper), a)
        assert (np.abs(np.asarray(lower)) <= 1 + 1e-6).all()
    pl, upper = linalg.lu(a, permute_l=True)
    near(np.asarray(pl) @ np.asarray(upper), a)
    factors, pivots, order = lax.linalg.lu(a)
    assert np.array_equal(lax.linalg.lu_pivots_to_permutation(pivots, shape[-2]), order)
    assert pivots.dtype == order.dtype == np.int32


def test_lu_in_derivatives():
    a, weights = matrices(5, 5), matrices(5, 5, seed=1)

    def f(a):
        return tnp.sum(lax.linalg.lu(a)[0] * weights)

    near(tn.grad(f)(a), difference(f, a), 1e4)
    near(tn.jit(tn.grad(f))(a), difference(f, a), 1e4)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("batch", [(), (2,)])
def test_solvers(dtype, batch):
    a, b, v = positive(4, dtype, batch), matrices(*batch, 4, 3, dtype=dtype), matrices(*batch, 4, dtype=dtype, seed=2)
    transposed = {0: a, 1: a.swapaxes(-1, -2), 2: a.conj().swapaxes(-1, -2)}
    general = a + 3 * matrices(*batch, 4, 4, dtype=dtype, seed=3)
    near(linalg.cho_solve(linalg.cho_factor(a), b), np.linalg.solve(a, b))
    near(linalg.cho_solve(linalg.cho_factor(a, lower=True), v[..., None])[..., 0], np.linalg.solve(a, v[..., None])[..., 0])
    for trans, m in {0: general, 1: general.swapaxes(-1, -2), 2: general.conj().swapaxes(-1, -2)}.items():
        near(linalg.lu_solve(linalg.lu_factor(general), b, trans), np.linalg.solve(m, b), 10)
    for trans, m in transposed.items():
        lower = np.tril(m) if trans == 0 else np.triu(m)
        near(linalg.solve_triangular(a, b, trans, lower=True), np.linalg.solve(lower, b))
    if not batch:
        near(linalg.solve_triangular(a, v, "C"), np.linalg.solve(np.triu(a).conj().T, v))
        near(linalg.cho_solve(linalg.cho_factor(a), v), np.linalg.solve(a, v))
        near(linalg.lu_solve(linalg.lu_factor(general), v), np.linalg.solve(general, v), 10)
    unit = np.tril(a, -1) + np.eye(4, dtype=dtype)
    near(linalg.solve_triangular(a, b, lower=True, unit_diagonal=True), np.linalg.solve(unit, b), 1e3)
    with pytest.raises(ValueError, match="Invalid 'trans'"):
        linalg.solve_triangular(a, b, trans=5)


def test_cholesky_update():
    r, w = np.triu(matrices(4, 4)), matrices(4, seed=1)
    for got in forms(lambda r: lax.linalg.cholesky_update(r, w), r):
        near(np.asarray(got).T @ np.asarray(got), r.T @ r + np.outer(w, w))
        assert not np.tril(np.asarray(got), -1).any()
    near(lax.linalg.symmetric_product(r, r, alpha=2.0, beta=0.5), 2 * r @ r.T + 0.5 * r)


@pytest.mark.parametrize("dtype", KINDS)
def test_banded_systems(dtype):
    scipy, banded = pytest.importorskip("scipy.linalg"), tn.scipy.linalg.solve_banded
    for below, above, n in ((0, 0, 3), (1, 2, 6), (3, 1, 7), (2, 2, 2)):
        ab = matrices(below + above + 1, n, dtype=dtype)
        ab[above] += 4
        for b in (matrices(n, dtype=dtype, seed=1), matrices(n, 3, dtype=dtype, seed=1)):
            for got in forms(lambda ab, b=b, sides=(below, above): banded(sides, ab, b), ab):
                near(got, scipy.solve_banded((below, above), ab, b), 10)
    for lower in (False, True):
        ab, b = matrices(3, 6, dtype=dtype), matrices(6, 2, dtype=dtype, seed=1)
        main = 0 if lower else 2
        ab[main] = 9  # positive definite, as SciPy wants it
        for got in forms(lambda ab, b=b, lower=lower: tn.scipy.linalg.solveh_banded(ab, b, lower=lower), ab):
            near(got, scipy.solveh_banded(ab, b, lower=lower), 10)


def test_derivatives_of_banded_systems():
    ab, b = matrices(4, 5) + np.array([[0.0], [3], [0], [0]]), matrices(5, seed=1)
    for f in (lambda ab: tnp.sum(tnp.sin(tn.scipy.linalg.solve_banded((2, 1), ab, b))),
              lambda ab: tnp.sum(tnp.sin(tn.scipy.linalg.solveh_banded(ab[:2], b)))):
        near(tn.grad(f)(ab), difference(f, ab), 1e5)
    with pytest.raises(ValueError, match="has no 1 diagonals below"):
        tn.scipy.linalg.solve_banded((1, 1), ab, b)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("size", [1e-3, 1.0, 30.0])
def test_expm(size, dtype):
    # Of normal matrices the exponential is that of the eigenvalues.
    h = matrices(5, 5, dtype=dtype)
    h = h - h.conj().T if dtype.startswith("complex") else (h + h.T) / 8
    a = (size / 10 * h).astype(dtype)
    values, vectors = np.linalg.eig(a.astype("complex128"))
    wanted = vectors @ np.diag(np.exp(values)) @ np.linalg.inv(vectors)
    wanted = (wanted if dtype.startswith("complex") else wanted.real).astype(dtype)
    for got in forms(linalg.expm, a):
        near(got, wanted, 10 * max(1, np.abs(wanted).max()))


def test_expm_elsewhere():
    a, b = matrices(4, 4), matrices(4, 4, seed=1)
    # The derivative along b is a block of the exponential of a larger matrix.
    large = linalg.expm(np.block([[a, b], [np.zeros((4, 4)), a]]))
    near(tn.jvp(linalg.expm, (a,), (b,))[1], np.asarray(large)[:4, 4:])
    gradient = tn.jit(tn.grad(lambda a: tnp.sum(linalg.expm(a))))(a)
    near(gradient, difference(lambda a: tnp.sum(linalg.expm(a)), a), 1e5)
    both = tn.vmap(linalg.expm)(np.stack([a, 20 * a]))  # lanes that need other numbers of squarings
    near(both[0], linalg.expm(a)), near(both[1], linalg.expm(20 * a))
    assert np.isnan(np.asarray(linalg.expm(1e9 * a))).all() and np.isnan(np.asarray(linalg.expm(a * np.nan))).all()
    near(linalg.expm(np.zeros((2, 3, 3))), np.broadcast_to(np.eye(3), (2, 3, 3)))
    assert linalg.expm(np.zeros((0, 0))).shape == (0, 0) and linalg.expm(np.zeros((0, 2, 2))).shape == (0, 2, 2)


def test_tensors_and_condition():
    a, b = matrices(2, 3, 6), matrices(2, 3, seed=1)
    near(linalg.tensorsolve(a, b), np.linalg.tensorsolve(a, b))
    other = matrices(3, 6, 2)
    near(linalg.tensorsolve(other, matrices(6).reshape(3, 2), (1,)), np.linalg.tensorsolve(other, matrices(6).reshape(3, 2), (1,)))
    near(linalg.tensorinv(a), np.linalg.tensorinv(a))
    near(linalg.tensorinv(matrices(6, 2, 3), 1), np.linalg.tensorinv(matrices(6, 2, 3), 1))
    with pytest.raises(ValueError, match="positive integer"):
        linalg.tensorinv(a, 0)
    with pytest.raises(ValueError, match="requirement"):
        linalg.tensorsolve(np.ones((2, 2)), np.ones(3))
    for p in ("fro", 1, -1, np.inf, -np.inf):
        near(linalg.cond(matrices(4, 4), p), np.linalg.cond(matrices(4, 4), p))


def test_diagonals():
    a = matrices(2, 3, 4)
    for offset in (-1, 0, 2):
        near(linalg.diagonal(a, offset=offset), np.linalg.diagonal(a, offset=offset))
        near(linalg.trace(a, offset=offset), np.linalg.trace(a, offset=offset))


def test_matrices_of_one_form():
    c, r = np.array([1.0, 2.0, 3.0]), np.array([9.0, 5.0, 6.0, 7.0])
    near(linalg.toeplitz(c, r), [[1, 5, 6, 7], [2, 1, 5, 6], [3, 2, 1, 5.0]])
    near(linalg.toeplitz(np.array([1j, 2])), [[1j, 2], [2, 1j]])
    near(linalg.hankel(c, r), [[1, 2, 3, 5], [2, 3, 5, 6], [3, 5, 6, 7.0]])
    near(linalg.hankel(c), [[1, 2, 3], [2, 3, 0], [3, 0, 0.0]])
    near(linalg.circulant(c), [[1, 3, 2], [2, 1, 3], [3, 2, 1.0]])
    near(linalg.toeplitz(np.stack([c, 2 * c]))[1], linalg.toeplitz(2 * c))
    near(tn.jit(linalg.circulant)(c), linalg.circulant(c))
    near(linalg.companion(np.array([2.0, 4, 6, 8])), [[-2, -3, -4], [1, 0, 0], [0, 1, 0.0]])
    near(linalg.block_diag(c, 4.0, np.ones((2, 1))), [[1, 2, 3, 0, 0], [0, 0, 0, 4, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0, 1.0]])
    for mode in ("full", "same", "valid"):
        for n in (2, 3, 6):
            v = np.arange(1.0, n + 1)
            near(linalg.convolution_matrix(c, n, mode) @ v, np.convolve(c, v, mode))
    near(linalg.leslie(r, c), [[9, 5, 6, 7], [1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 3, 0.0]])
    near(linalg.fiedler(r), np.abs(r[:, None] - r))
    near(tn.grad(lambda c: tnp.sum(linalg.toeplitz(c, r)[:, 1]))(c), [1, 1, 0.0])
    for n in (0, 1, 4):
        near(linalg.hilbert(n) @ linalg.invhilbert(n), np.eye(n), 100)
        for kind in (None, "lower", "upper"):
            near(linalg.pascal(n, kind) @ linalg.invpascal(n, kind), np.eye(n))
        h = np.asarray(linalg.helmert(max(n, 1), full=True))
        near(h @ h.T, np.eye(max(n, 1)))
        near(linalg.dft(n), np.fft.fft(np.eye(n)) if n else np.zeros((0, 0), complex))
    near(linalg.dft(3, "n"), np.fft.fft(np.eye(3)) / 3)
    assert (np.asarray(linalg.hadamard(8) @ linalg.hadamard(8).T) == 8 * np.eye(8)).all()
    with pytest.raises(ValueError, match="power of 2"):
        linalg.hadamard(6)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (6, 3), (3, 6), (2, 5, 4), (0, 3, 2), (4, 0), (0, 4)])
def test_qr(shape, dtype):
    a = matrices(*shape, dtype=dtype)
    for got in forms(linalg.qr, a):
        near(got.Q, np.linalg.qr(a).Q), near(got.R, np.linalg.qr(a).R)  # LAPACK's signs
    for mode in ("complete", "r"):
        got, wanted = linalg.qr(a, mode), np.linalg.qr(a, mode)
        near(got[-1] if mode == "complete" else got, wanted[-1] if mode == "complete" else wanted)
    if a.size:
        q, r = lax.linalg.qr(a)
        near(np.asarray(q) @ np.asarray(r), a), near(q @ tnp.conj(tnp.matrix_transpose(q)), q * 0 + np.eye(q.shape[-1], dtype=dtype))
    if len(shape) == 2:
        near(linalg.qr(a, "raw")[0], np.linalg.qr(a, "raw")[0])


def test_qr_elsewhere():
    for a in (np.zeros((3, 2)), np.array([[0.0, 1], [0, 2]]), 1e200 * matrices(3, 3), 1e-200 * matrices(3, 3), -np.eye(3)):
        scale = max(np.abs(a).max(), 1e-300)
        q, r = linalg.qr(a)
        near((q @ r) / scale, a / scale), near(q.T @ q, np.eye(q.shape[1]))
        assert np.array_equal(np.tril(r, -1), 0 * np.asarray(r))
    assert np.isnan(linalg.qr(np.array([[1.0, np.nan], [2, 3]])).R[:, 1]).all()
    with pytest.raises(ValueError, match="Unsupported QR decomposition mode 'economic'"):
        linalg.qr(np.eye(2), "economic")


def test_derivatives_of_qr_of_triangular_matrices():
    """No column is reflected; Q turns with what comes below the diagonal. Numbers of JAX."""
    weights = [np.cos(np.arange(9.0) + v).reshape(3, 3) for v in (0.3, 1.3)]

    def f(a):
        return sum(tnp.sum(w * part) for w, part in zip(weights, linalg.qr(a)))

    wanted = [[0.2675, -0.66628, -0.98748], [-1.92125, 0.55437, 0.99986], [0.67865, 0.97156, -0.99223]]
    for got in forms(tn.grad(f), np.eye(3)):
        near(np.round(got, 5), wanted)
    (q, r), (dq, dr) = tn.jvp(linalg.qr, (np.eye(2) + 0j,), (np.array([[0, 0], [1j, 0]]),))
    near(dq, np.array([[0, 1j], [1j, 0]])), near(dq @ r + q @ dr, np.array([[0, 0], [1j, 0]]))


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
def test_derivatives_of_qr(shape):
    a = matrices(*shape)
    of_q, of_r = (matrices(*part.shape, seed=3) for part in np.linalg.qr(a))

    def f(a):
        q, r = linalg.qr(a)
        return tnp.sum(q * of_q) + tnp.sum(r * of_r)

    wanted = difference(f, a)
    for g in (tn.grad(f), tn.jit(tn.grad(f))):
        near(g(a), wanted, 1e5)
    near(tn.jacfwd(f)(a), wanted, 1e5)
    near(tn.vmap(tn.grad(f))(np.stack([a, -a]))[0], wanted, 1e5)


def test_random_rotations():
    from tenon import nn, random

    for n, m, shape in ((3, None, ()), (4, 2, (5,)), (2, 4, ()), (3, 0, ())):
        q = np.asarray(random.orthogonal(random.key(1), n, shape, "float64", m))
        m = n if m is None else m
        assert q.shape == (*shape, n, m)
        inner = q @ q.swapaxes(-1, -2) if n < m else q.swapaxes(-1, -2) @ q
        assert np.allclose(inner, np.eye(min(n, m)))
    signs = np.asarray(random.orthogonal(random.key(2), 1, (4000,)))
    assert abs(signs.mean()) < 0.06
    traces = np.trace(np.asarray(random.orthogonal(random.key(3), 3, (4000,))), axis1=1, axis2=2)
    assert abs(traces.mean()) < 0.06 and abs(traces.var() - 1) < 0.1  # as of rotations that are all as likely
    tries = np.asarray(random.geometric(random.key(4), 0.3, (4000,)))
    assert tries.min() == 1 and tries.dtype == np.int64 and abs(tries.mean() - 1 / 0.3) < 0.2
    made = np.asarray(nn.initializers.orthogonal(0.5, column_axis=0)(random.key(0), (2, 3, 4), "float64")).reshape(2, 12)
    assert np.allclose(made @ made.T, np.eye(2) / 4)
    assert nn.initializers.orthogonal()(random.key(0), (0, 3)).shape == (0, 3)
    kernel = np.asarray(nn.initializers.delta_orthogonal()(random.key(0), (3, 3, 2, 4), "float64"))
    assert np.allclose(kernel[1, 1] @ kernel[1, 1].T, np.eye(2)) and np.count_nonzero(kernel.any((2, 3))) == 1
    with pytest.raises(ValueError, match="2D"):
        nn.initializers.orthogonal()(random.key(0), (3,))
    with pytest.raises(ValueError, match="fan_in"):
        nn.initializers.delta_orthogonal()(random.key(0), (3, 4, 2))


OF_ANY_SIZE = {
    "det": tnp.linalg.det, "slogdet": lambda a: tnp.linalg.slogdet(a)[1], "inv": tnp.linalg.inv,
    "solve": lambda a: tnp.linalg.solve(a, a[..., :1]), "expm": lambda a: tn.scipy.linalg.expm(a / 9),
    "tensorinv": lambda a: tnp.linalg.tensorinv(a, 1), "tensorsolve": lambda a: tnp.linalg.tensorsolve(a, a[:, 0]),
    "expm_frechet": lambda a: tn.scipy.linalg.expm_frechet(a / 9, tnp.sin(a))[1],
    "lstsq": lambda a: tnp.linalg.lstsq(a, tnp.cos(a))[0], "cond": lambda a: tnp.linalg.cond(a, 1),
}


@pytest.mark.parametrize("name", OF_ANY_SIZE)
def test_matrices_of_any_size(name):
    f = OF_ANY_SIZE[name]
    total = lambda a: tnp.sum(tnp.sin(f(a)))  # noqa: E731
    kinds = {"value": f, "slope": tn.grad(total), "lanes": tn.vmap(f), "slopes": tn.vmap(tn.grad(total)),
             "second": lambda a: tn.jvp(tn.grad(total), (a,), (tnp.cos(a),))[1]}
    if name in ("lstsq", "cond"):
        del kinds["second"]
    rng = np.random.default_rng(0)
    for kind, g in kinds.items():
        traced = []
        jitted = tn.jit(lambda a, g=g, traced=traced: traced.append(1) or g(a), sizes="symbolic")
        for n in (4, 1, 2, 3, 5) if kind == "value" else (4, 1, 3):
            a = rng.normal(size=(*((3,) if kind in ("lanes", "slopes") else ()), n, n)) + 3 * np.eye(n)
            assert np.allclose(jitted(a), g(a), 1e-8, 1e-10), (kind, n)
        assert len(traced) <= 2  # an axis of one element is none of any size
    if name != "lstsq":  # which is of any matrix
        with pytest.raises(ValueError, match="They are (2 and 3|3 and 2|6 and 9)"):
            tn.jit(f, sizes="symbolic")(np.ones((2, 3)))


@pytest.mark.parametrize("name", ["det", "slogdet", "expm"])
def test_what_is_said_of_matrices_that_are_not_square(name):
    with pytest.raises(ValueError, match=rf"jit \({name}\): the matrices of f64\[s\d+,s\d+\] are not square.*They are 2 and 3"):
        tn.jit(OF_ANY_SIZE[name], sizes="symbolic")(np.ones((2, 3)))
    with pytest.raises(ValueError, match=rf"Argument to {name}\(\) must have shape \[..., n, n\], got \(2, 3\)"):
        OF_ANY_SIZE[name](np.ones((2, 3)))
