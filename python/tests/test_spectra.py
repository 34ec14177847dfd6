"""Eigenvalues, singular values and what follows from them: against NumPy and SciPy; compiled, in batches, with derivatives."""

import numpy as np
import pytest
from test_linalg import KINDS, difference, forms, matrices, near, positive

import tenon as tn
import tenon.numpy as tnp
from tenon import lax, linalg
from tenon.scipy import linalg as slinalg

SHAPES = [(1, 1), (3, 3), (6, 6), (2, 3, 4, 4), (0, 3, 3), (0, 0)]


def turned(a):
    return np.asarray(a).conj().swapaxes(-1, -2)


def hermitian(*shape, dtype="float64", seed=0):
    a = matrices(*shape, dtype=dtype, seed=seed)
    return a + turned(a)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_eigh(shape, dtype):
    a = hermitian(*shape, dtype=dtype)
    wanted = np.linalg.eigh(a)
    for w, v in forms(linalg.eigh, a):
        near(w, wanted.eigenvalues, 10)
        near(a @ np.asarray(v), np.asarray(v) * np.asarray(w)[..., None, :], 10)
        near(turned(v) @ np.asarray(v), np.broadcast_to(np.eye(shape[-1], dtype=dtype), shape))
    for w in forms(linalg.eigvalsh, a):
        near(w, wanted.eigenvalues, 10)
    v, w = lax.linalg.eigh(a)
    near(w, wanted.eigenvalues, 10), near(np.abs(v), np.abs(linalg.eigh(a).eigenvectors))
    if shape == (6, 6):
        v, w = lax.linalg.eigh(a, subset_by_index=(1, 3))
        near(w, wanted.eigenvalues[1:3], 10)
        assert v.shape == (6, 2)


def test_triangles_of_eigh():
    a = matrices(4, 4)
    for uplo in ("L", "U"):
        near(linalg.eigvalsh(a, uplo, symmetrize_input=False), np.linalg.eigvalsh(a, uplo))
        near(linalg.eigh(a, uplo, symmetrize_input=False)[0], np.linalg.eigvalsh(a, uplo))
        near(linalg.eigvalsh(a, uplo), np.linalg.eigvalsh((a + a.T) / 2))
    with pytest.raises(ValueError, match="UPLO must be one of"):
        linalg.eigh(a, "X")
    with pytest.raises(ValueError, match="not square"):
        linalg.eigh(np.ones((2, 3)))


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("shape", [*SHAPES, (5, 2), (2, 5), (3, 0), (0, 3), (2, 4, 3)])
def test_svd(shape, dtype):
    a = matrices(*shape, dtype=dtype)
    for full in (False, True):
        wanted = np.linalg.svd(a, full_matrices=full)
        for u, s, vh in forms(lambda a, full=full: linalg.svd(a, full), a):
            assert u.shape == wanted.U.shape and vh.shape == wanted.Vh.shape
            near(s, wanted.S, 10)
            k = min(shape[-2:])
            near((np.asarray(u)[..., :k] * np.asarray(s)[..., None, :]) @ np.asarray(vh)[..., :k, :], a, 10)
            near(turned(u) @ np.asarray(u), np.broadcast_to(np.eye(u.shape[-1], dtype=dtype), (*shape[:-2], *[u.shape[-1]] * 2)))
            near(np.asarray(vh) @ turned(vh), np.broadcast_to(np.eye(vh.shape[-2], dtype=dtype), (*shape[:-2], *[vh.shape[-2]] * 2)))
    for s in forms(linalg.svdvals, a):
        near(s, wanted.S, 10)
    near(linalg.svd(a, compute_uv=False), wanted.S, 10)
    near(lax.linalg.svd(a, compute_uv=False), wanted.S, 10)
    near(slinalg.svd(a, compute_uv=False), wanted.S, 10)


def test_svd_of_parts_and_of_hermitian_matrices():
    a = matrices(5, 4)
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    got = linalg.svd(a, False, subset_by_index=(0, 2))
    near(got.S, s[:2]), near((got.U * got.S) @ got.Vh, (u[:, :2] * s[:2]) @ vh[:2])
    for dtype in KINDS:
        h = hermitian(3, 4, 4, dtype=dtype)
        u, s, vh = linalg.svd(h, hermitian=True)
        near(s, np.linalg.svd(h, compute_uv=False, hermitian=True), 10)
        near((np.asarray(u) * np.asarray(s)[:, None, :]) @ np.asarray(vh), h, 10)
        near(linalg.svd(h, compute_uv=False, hermitian=True), s, 10)


@pytest.mark.parametrize("dtype", KINDS)
def test_generalised_eigh(dtype):
    """Beside SciPy, which takes the triangle that `lower` says: matrices are Hermitian."""
    scipy = pytest.importorskip("scipy.linalg")
    a, b = hermitian(5, 5, dtype=dtype), positive(5, dtype, ())
    for kind in (1, 2, 3):
        wanted = scipy.eigh(a, b, type=kind, eigvals_only=True)
        for w, v in forms(lambda a, kind=kind: slinalg.eigh(a, b, type=kind), a):
            near(w, wanted, 100)
            v, w = np.asarray(v), np.asarray(w)
            left, right = {1: (a @ v, b @ v * w), 2: (a @ b @ v, v * w), 3: (b @ a @ v, v * w)}[kind]
            near(left, right.astype(dtype), 100)
            inner = np.linalg.inv(b) if kind == 3 else b
            near(turned(v) @ inner @ v, np.eye(5, dtype=dtype), 100)
        near(slinalg.eigh(a, b, type=kind, eigvals_only=True), wanted, 100)
    many = np.stack([b, 2 * b, 3 * b])
    w, v = slinalg.eigh(a, many)
    for i in range(3):
        near(w[i], scipy.eigh(a, many[i], eigvals_only=True), 100)
    assert v.shape == (3, 5, 5)
    w, v = slinalg.eigh(np.zeros((2, 0, 0), dtype), np.zeros((0, 0), dtype))
    assert w.shape == (2, 0) and v.shape == (2, 0, 0)


def test_what_is_said_of_generalised_problems():
    a, b = hermitian(3, 3), positive(3)
    assert np.isnan(slinalg.eigh(a, -b, eigvals_only=True)).all()
    assert slinalg.eigh(a.astype("float16"), b.astype("float16"))[1].dtype == np.float16
    assert slinalg.eigh(a.astype("float32"), b.astype(complex))[1].dtype == np.complex128
    with pytest.raises(ValueError, match="type is 1, 2 or 3, not 4"):
        slinalg.eigh(a, b, type=4)
    with pytest.raises(ValueError, match=r"eigh: f64\[3,3\] and f64\[2,2\] differ in size"):
        slinalg.eigh(a, b[:2, :2])
    with pytest.raises(ValueError, match="not square"):
        slinalg.eigh(a, b[:2])


def test_derivatives_of_generalised_problems():
    a, b, weights = hermitian(4, 4), positive(4), matrices(4, seed=3)

    def f(a, b, kind):
        w, v = slinalg.eigh(a, b, type=kind)
        return tnp.sum(tnp.sin(w) * weights) + tnp.sum(v ** 2 * weights)

    for kind in (1, 2, 3):
        near(tn.grad(f)(a, b, kind), difference(lambda a, kind=kind: f(a, b, kind), a), 1e4)
        near(tn.jit(tn.grad(f, 1), static_argnums=2)(a, b, kind), difference(lambda b, kind=kind: f(a, b, kind), b), 1e4)


def test_derivatives_of_svd_of_hermitian_matrices():
    a = hermitian(4, 4)
    weights = matrices(4, seed=2)

    def f(a):
        u, s, vh = linalg.svd(a, hermitian=True)
        return tnp.sum(s ** 3 * weights) + tnp.sum((u * tnp.cos(s)) @ vh * weights)

    near(tn.grad(f)(a), difference(f, a), 1e4)
    assert linalg.svd(np.zeros((2, 0, 0)), hermitian=True).U.shape == (2, 0, 0)
    with pytest.raises(ValueError, match="not square"):
        linalg.svd(matrices(3, 2), hermitian=True)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (7, 3), (2, 3, 5, 4), (3, 0), (0, 4, 2)])
def test_qdwh(shape, dtype):
    a = matrices(*shape, dtype=dtype)
    for u, h, count, converged in forms(lax.linalg.qdwh, a):
        u, h = np.asarray(u), np.asarray(h)
        near(u @ h, a, 10), near(turned(h), h, 10)
        near(turned(u) @ u, np.broadcast_to(np.eye(shape[-1], dtype=dtype), h.shape), 10)
        assert np.linalg.eigvalsh(h).min(initial=1) > 0 and np.all(converged)
        assert count.dtype == np.int32 and count.shape == shape[:-2] and np.all(np.asarray(count) <= 7)
    near(u, slinalg.polar(a)[0] if shape[:1] != (0,) else u, 10)


def test_qdwh_is_jax():
    jax = pytest.importorskip("jax")
    theirs = pytest.importorskip("jax.lax.linalg").qdwh
    for dtype in KINDS:
        with jax.enable_x64(True):
            for far in (1, 1e3, 1e6):  # how far apart singular values are
                u, _, vh = np.linalg.svd(matrices(6, 4, dtype=dtype), full_matrices=False)
                a = ((u * np.geomspace(1, 1 / far, 4)) @ vh).astype(dtype)
                for options in ({}, {"max_iterations": 2}, {"eps": 1e-3}, {"dynamic_shape": (5, 3)}, {"max_iterations": 0}):
                    ours, wanted = lax.linalg.qdwh(a, **options), theirs(a, **options)
                    near(ours[0], wanted[0], 1e3 if far < 1e5 or "64" in dtype[-2:] and dtype != "complex64" else 1e4)
                    near(ours[1], wanted[1], 10)
                    assert (int(ours[2]), bool(ours[3])) == (int(wanted[2]), bool(wanted[3])), (dtype, far, options)


def test_derivatives_of_qdwh():
    for shape in ((4, 4), (5, 3)):
        a = matrices(*shape)

        def f(a):
            u, h, *_ = lax.linalg.qdwh(a)
            return tnp.sum(tnp.sin(u)) + tnp.sum(tnp.sin(h))

        near(tn.grad(f)(a), difference(f, a), 1e4)
        near(tn.grad(f)(a), tn.grad(lambda a: sum(tnp.sum(tnp.sin(x)) for x in slinalg.polar(a)))(a), 10)
        slope = tn.grad(lambda a: tnp.sum(tnp.cos(tn.grad(f)(a))))
        near(slope(a), difference(lambda a: tnp.sum(tnp.cos(tn.grad(f)(a))), a), 1e4)


def test_what_is_said_of_qdwh():
    assert np.isnan(lax.linalg.qdwh(np.full((2, 2), np.nan))[0]).all()
    u, h, count, converged = lax.linalg.qdwh(np.zeros((3, 2)))
    assert not u.any() and not h.any() and bool(converged)
    assert lax.linalg.qdwh(np.eye(2, dtype="float16"))[0].dtype == np.float16 and lax.linalg.qdwh(np.eye(2, dtype=int))[0].dtype == np.float64
    with pytest.raises(ValueError, match=r"qdwh: f64\[2,3\] has fewer rows than columns"):
        lax.linalg.qdwh(matrices(2, 3))
    with pytest.raises(ValueError, match="qdwh: there is no such number of iterations"):
        lax.linalg.qdwh(np.eye(2), max_iterations=-1)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_eig(shape, dtype):
    a = matrices(*shape, dtype=dtype)
    kind = np.result_type(dtype, np.complex64)
    for w, v in forms(linalg.eig, a):
        assert w.dtype == v.dtype == kind
        near((a @ np.asarray(v)).astype(kind), np.asarray(v) * np.asarray(w)[..., None, :], 10)
        near(np.linalg.norm(np.asarray(v), axis=-2), np.ones(w.shape, w.real.dtype))
    if len(shape) == 2:
        near(np.sort_complex(np.asarray(linalg.eigvals(a))), np.sort_complex(np.linalg.eigvals(a).astype(kind)), 10)
    w, left, right = lax.linalg.eig(a)
    near((turned(a) @ np.asarray(left)).astype(kind), np.asarray(left) * np.asarray(w).conj()[..., None, :], 10)
    assert len(lax.linalg.eig(a, compute_left_eigenvectors=False)) == 2
    assert len(lax.linalg.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)) == 1


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("shape", [s for s in SHAPES if 0 not in s])
def test_schur_and_functions_of_matrices(shape, dtype):
    a = matrices(*shape, dtype=dtype)
    kind = np.result_type(dtype, np.complex64)
    for output in ("real", "complex"):
        for t, z in forms(lambda a, output=output: linalg.schur(a, output), a):
            near(np.asarray(z) @ np.asarray(t) @ turned(z), a.astype(t.dtype), 10)
            assert not np.tril(np.asarray(t), -1 if output == "complex" else -2).any()
    t, z = slinalg.rsf2csf(*linalg.schur(a))
    near(np.asarray(z) @ np.asarray(t) @ turned(z), a.astype(kind), 10)
    assert not np.tril(np.asarray(t), -1).any() and t.dtype == kind
    for got in forms(linalg.sqrtm, a):
        near(np.asarray(got) @ np.asarray(got), a.astype(kind), 100)
    for side in ("right", "left"):
        for u, p in forms(lambda a, side=side: linalg.polar(a, side), a):
            u, p = np.asarray(u), np.asarray(p)
            near(u @ p if side == "right" else p @ u, a, 10), near(turned(u) @ u, np.broadcast_to(np.eye(shape[-1], dtype=dtype), shape))
            assert (np.linalg.eigvalsh(p) > -1e-4).all()
    for got in forms(lambda a: linalg.funm(a, tnp.exp), a):
        near(got, np.asarray(linalg.expm(a)).astype(kind), 100)
    assert (np.asarray(linalg.funm(a, tnp.exp, disp=False)[1]) < 1e-2).all()


def test_matrix_functions_beside_scipy():
    scipy = pytest.importorskip("scipy.linalg")
    a, b, c = matrices(4, 4), matrices(3, 3, seed=1), matrices(4, 3, seed=2)
    near(linalg.sqrtm(a), scipy.sqrtm(a).astype(complex))
    near(linalg.polar(matrices(5, 3))[1], scipy.polar(matrices(5, 3))[1])
    for dtype in KINDS:
        args = [matrices(*x.shape, dtype=dtype, seed=i) for i, x in enumerate((a, b, c))]
        for method in ("schur", "eigen"):
            near(slinalg.solve_sylvester(*args, method=method), scipy.solve_sylvester(*args), 100)
    assert np.isnan(slinalg.solve_sylvester(a, -a, a)).all()
    h, k = hermitian(4, 4, dtype="complex128"), positive(4, "complex128")
    for kind in (1, 2, 3):
        w, v = slinalg.eigh(h, k, type=kind)
        near(w, scipy.eigh(h, k, type=kind)[0], 100)
        near(slinalg.eigh(h, k, type=kind, eigvals_only=True), w)
        v, w = np.asarray(v), np.asarray(w)
        left, right = {1: (h @ v, k @ v), 2: (h @ k @ v, v), 3: (k @ h @ v, v)}[kind]
        near(left, right * w, 100)
    d, e = matrices(5), matrices(4, seed=1)
    near(slinalg.eigh_tridiagonal(d, e)[0], scipy.eigh_tridiagonal(d, e)[0])
    near(slinalg.eigh_tridiagonal(d, e, eigvals_only=True, select="i", select_range=(1, 3)),
         scipy.eigh_tridiagonal(d, e, True, "i", (1, 3)))
    near(linalg.funm(a, tnp.cos), scipy.funm(a, np.cos).astype(complex), 10)
    near(slinalg.expm_frechet(a, matrices(4, 4, seed=3))[1], scipy.expm_frechet(a, matrices(4, 4, seed=3))[1], 10)
    with pytest.raises(ValueError, match="Incompatible shapes"):
        slinalg.solve_sylvester(a, b, a)
    with pytest.raises(ValueError, match="'real' or 'complex'"):
        linalg.schur(a, "half")


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 4, 3), (0, 3), (3, 0), (2, 0, 3)])
def test_pinv_and_rank(shape, dtype):
    a = matrices(*shape, dtype=dtype)
    for got in forms(linalg.pinv, a):
        near(got, np.linalg.pinv(a), 10)
    flat = a[..., :1] * np.ones_like(a[..., :1, :]) if a.size else a
    near(linalg.pinv(flat, rtol=1e-3), np.linalg.pinv(flat, 1e-3), 10)
    for m in (a, flat):
        if 0 not in shape:
            for got in forms(linalg.matrix_rank, m):
                assert np.array_equal(got, np.linalg.matrix_rank(m)) and got.dtype == np.int64
    h = hermitian(3, 4, 4, dtype=dtype)
    near(linalg.pinv(h, hermitian=True), np.linalg.pinv(h, hermitian=True), 10)
    assert np.array_equal(linalg.matrix_rank(h, hermitian=True), [4, 4, 4])


def test_bounds_of_rank():
    a = np.diag([1.0, 1e-3, 1e-20])
    assert linalg.matrix_rank(a) == 2 and linalg.matrix_rank(a, tol=1e-2) == 1 and linalg.matrix_rank(a, 1e-30) == 3
    assert linalg.matrix_rank(np.zeros(3)) == 0 and linalg.matrix_rank(np.ones(3)) == 1
    near(linalg.pinv(np.stack([a, a]), np.array([1e-2, 1e-30]))[0], np.linalg.pinv(a, 1e-2))
    with pytest.raises(ValueError, match="only one of rtol and rcond"):
        linalg.pinv(a, 1e-3, rcond=1e-3)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("shape", [(4, 4), (6, 3), (3, 6), (1, 1), (3, 0), (0, 3)])
def test_lstsq(shape, dtype):
    a = matrices(*shape, dtype=dtype)
    for b in (matrices(shape[0], dtype=dtype, seed=1), matrices(shape[0], 2, dtype=dtype, seed=1)):
        for x, residuals, rank, s in forms(lambda a, b=b: linalg.lstsq(a, b), a):
            wanted = np.linalg.lstsq(a, b, None)
            near(x, wanted[0], 10), near(s, wanted[3], 10)
            assert rank == wanted[2]
            off = b - a @ wanted[0]
            near(residuals, np.atleast_1d((np.abs(off) ** 2).sum(0)), 10)
        near(linalg.lstsq(a, b, numpy_resid=True)[1], wanted[1].astype(s.dtype), 10)
    with pytest.raises(ValueError, match="Leading dimensions"):
        linalg.lstsq(a, np.ones(shape[0] + 1))
    with pytest.raises(TypeError, match="must be two-dimensional"):
        linalg.lstsq(np.ones((2, 2, 2)), np.ones(2))


def test_norms_and_condition():
    for dtype in KINDS:
        for a in (matrices(4, 4, dtype=dtype), matrices(2, 3, 5, dtype=dtype)):
            for order in (2, -2, "nuc"):
                near(linalg.norm(a, order, (-2, -1)), np.linalg.norm(a, order, (-2, -1)), 10)
                near(linalg.norm(a, order, (0, 1), keepdims=True), np.linalg.norm(a, order, (0, 1), keepdims=True), 10)
                near(linalg.matrix_norm(a, ord=order), np.linalg.matrix_norm(a, ord=order), 10)
            for p in (None, 2, -2):
                near(linalg.cond(a, p), np.linalg.cond(a, p), 100)
    near(linalg.cond(matrices(3, 3), "nuc"), np.linalg.cond(matrices(3, 3), "nuc"))
    assert linalg.cond(np.diag([1.0, 0.0])) == np.inf and linalg.cond(np.diag([1.0, 0.0]), -2) == 0
    near(linalg.norm(np.zeros((0, 3)), 2), 0.0)
    with pytest.raises(ValueError, match="must not be empty"):
        linalg.cond(np.zeros((0, 0)))


def test_polynomials():
    for p in ([1.0, -6, 11, -6], [2.0, 0, 1], [0, 0, 1.0, -3, 2], [1.0, 2, 0, 0], [3.0], [0.0, 0.0], [1j, 2.0, 1.0]):
        got = np.asarray(tnp.roots(np.array(p)))
        near(np.sort_complex(got), np.sort_complex(np.roots(p).astype(complex)), 100)
    got = np.asarray(tn.jit(lambda p: tnp.roots(p, strip_zeros=False))(np.array([0, 0, 1.0, -3, 2])))
    assert np.allclose(np.sort(got[:2].real), [1, 2]) and np.isnan(got[2:]).all()
    x, y, w = matrices(9), matrices(9, 2, seed=1), np.abs(matrices(9, seed=2)) + 0.5
    for of in (y, y[:, 0]):
        near(tnp.polyfit(x, of, 3), np.polyfit(x, of, 3), 100)
        near(tnp.polyfit(x, of, 3, w=w), np.polyfit(x, of, 3, w=w), 100)
        for cov in (True, "unscaled"):
            for got, wanted in zip(tnp.polyfit(x, of, 2, cov=cov), np.polyfit(x, of, 2, cov=cov)):
                near(got, wanted, 100)
        for got, wanted in zip(tnp.polyfit(x, of, 2, full=True)[:4], np.polyfit(x, of, 2, full=True)):
            assert np.allclose(got, wanted)
    near(tn.grad(lambda y: tnp.sum(tnp.polyfit(x, y, 2)))(y[:, 0]), difference(lambda y: np.polyfit(x, y, 2).sum(), y[:, 0]), 1e5)
    near(np.sort(np.asarray(tnp.poly(np.diag([1.0, 2.0])).real)), np.sort(np.poly(np.diag([1.0, 2.0]))))


def numbers(part, seed):
    """Weights that are the same each time."""
    return matrices(*part.shape, seed=seed)


@pytest.mark.parametrize("f", [
    lambda a: tnp.sum(tnp.sin(linalg.eigvalsh(a))), lambda a: tnp.sum(linalg.svdvals(a) ** 3),
    lambda a: tnp.sum(tnp.sin(linalg.eigvals(a).real)), lambda a: tnp.sum(numbers(a, 1) * linalg.pinv(a)),
    lambda a: tnp.sum(linalg.lstsq(a, numbers(a, 2))[0] * numbers(a, 3)), lambda a: tnp.sum(linalg.polar(a)[0] * numbers(a, 4)),
    lambda a: linalg.norm(a, 2) + linalg.norm(a, "nuc"), linalg.cond,
    lambda a: tnp.sum(tnp.abs(linalg.eigh(a)[1] * numbers(a, 5))), lambda a: tnp.sum(tnp.abs(linalg.svd(a)[0] * numbers(a, 6))),
    lambda a: tnp.sum(slinalg.solve_sylvester(a, a.T @ a, numbers(a, 7), method="eigen")),
    lambda a: tnp.sum(slinalg.solve_sylvester(a, a.T @ a, numbers(a, 7)) * numbers(a, 8)),
])
def test_derivatives(f):
    a = matrices(4, 4)
    wanted = difference(f, a)
    for got in forms(tn.grad(f), a):
        near(got, wanted, 1e5)
    near(tn.jacfwd(f)(a), wanted, 1e5)


def test_equal_values():
    unit = np.eye(3)
    for f in (linalg.eigvalsh, linalg.svdvals, linalg.pinv, lambda a: linalg.polar(a)[0], lambda a: linalg.lstsq(a, unit)[0]):
        assert np.isfinite(tn.grad(lambda a, f=f: tnp.sum(f(a)))(unit)).all()
    assert not np.isfinite(tn.grad(lambda a: tnp.sum(linalg.eigh(a)[1]))(unit)).all()


def test_second_derivatives_where_values_are_equal():
    jax = pytest.importorskip("jax")
    deficient = np.array([[1.0, 2, 3], [2, 4, 6], [0, 1, 1]])
    for a in (np.eye(3), np.diag([3.0, 1, 1]), np.eye(4, 2), np.eye(2, 4), deficient):
        weights = numbers(a.T, 1)
        got = tn.hessian(lambda a, w=weights: tnp.sum(linalg.pinv(a) * w))(a)
        with jax.enable_x64(True):
            near(got, jax.hessian(lambda a, w=weights: jax.numpy.sum(jax.numpy.linalg.pinv(a) * w))(a), 100)
        if a is not deficient:
            total = lambda a: tnp.sum(linalg.polar(a)[0] * numbers(a, 2))  # noqa: E731
            slope = tn.grad(total)
            along, step = matrices(*a.shape, seed=3), 1e-6
            wanted = (np.asarray(slope(a + step * along)) - np.asarray(slope(a - step * along))) / (2 * step)
            near(np.tensordot(tn.hessian(total)(a), along, 2), wanted, 1e5)


def test_what_is_not_finite():
    a = np.stack([np.eye(3), np.full((3, 3), np.nan), np.full((3, 3), np.inf)])
    for f in (linalg.eigh, linalg.eig, linalg.svd, linalg.schur, linalg.pinv, linalg.eigvals, linalg.svdvals):
        for part in tn.tree.leaves(f(a)):
            assert np.isfinite(part[0]).all() and np.isnan(part[1:]).all()


def test_small_floats():
    a = matrices(4, 3).astype("float16")
    u, s, vh = linalg.svd(tnp.asarray(a), False)
    assert u.dtype == s.dtype == vh.dtype == np.float16
    assert np.allclose(np.asarray((u * s) @ vh), a, atol=2e-2)
    assert linalg.eigvals(tnp.asarray(a[:3])).dtype == np.complex64
    assert linalg.svdvals(np.ones((2, 2), int)).dtype == np.float64


def test_square_roots_of_singular_matrices():
    for diagonal, roots in (([1, 0, 0], [1, 0, 0]), ([0, 4, 0], [0, 2, 0]), ([0, 0, 9, 0, 0, 4], [0, 0, 3, 0, 0, 2])):
        for kind in KINDS:
            for got in forms(linalg.sqrtm, np.diag(diagonal).astype(kind)):
                near(got, np.diag(roots).astype(np.result_type(kind, "complex64")))


def test_matrices_without_a_root():
    for a in (np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0, 1, 0], [0, 0, 1], [0, 0, 0]])):
        assert not np.isfinite(np.asarray(linalg.sqrtm(a))[0, -1])


@pytest.mark.parametrize("dtype", KINDS)
def test_logarithms(dtype):
    scipy = pytest.importorskip("scipy.linalg")
    kind = np.result_type(dtype, "complex64")
    for shape in ((1, 1), (5, 5), (3, 4, 4)):
        a = matrices(*shape, dtype=dtype) + 4 * np.eye(shape[-1], dtype=dtype)
        wanted = np.stack([scipy.logm(x.astype(complex)) for x in a.reshape(-1, *shape[-2:])]).reshape(shape).astype(kind)
        for got in forms(slinalg.logm, a):
            near(got, wanted, 10)
    assert slinalg.logm(np.zeros((0, 2, 2), dtype)).shape == (0, 2, 2)
    near(slinalg.logm(-np.eye(2, dtype=dtype)), (1j * np.pi * np.eye(2)).astype(kind))
    assert np.isnan(slinalg.logm(np.diag([1.0, 0.0]).astype(dtype))).all()


@pytest.mark.parametrize("dtype", KINDS)
def test_functions_of_matrices_of_far_numbers(dtype):
    far = 300 if np.finfo(dtype).bits // (2 if np.dtype(dtype).kind == "c" else 1) == 64 else 36
    small, large = (float(f"1e{sign}{far}") for sign in "-+")
    a = np.stack([np.diag([small, large]), np.diag([large, small]), [[small, 1.0], [0.0, large]], np.diag([-large, small])]).astype(dtype)
    logs, whole = np.log(10) * far, np.result_type(dtype, "complex64")
    values = np.array([[-logs, logs], [logs, -logs], [-logs, logs], [logs + 1j * np.pi, -logs]])
    for got in (*forms(slinalg.logm, a), *(np.stack([slinalg.logm(x) for x in a]),)):
        got = np.asarray(got)
        assert got.dtype == whole and np.allclose(np.diagonal(got, 0, -2, -1), values, 2e-6 if far < 100 else 1e-14, 0)
        assert np.isclose(got[2, 0, 1], 2 * logs / large, 2e-6 if far < 100 else 1e-14, 0) and not got[:, 1, 0].any()
    roots = np.sqrt(np.diagonal(a, 0, -2, -1).astype(whole))
    for got in forms(linalg.sqrtm, a):
        assert np.allclose(np.diagonal(got, 0, -2, -1), roots, 1e-6 if far < 100 else 1e-15, 0)
        assert np.isclose(np.asarray(got)[2, 0, 1], 1 / np.sqrt(large), 1e-6 if far < 100 else 1e-14, 0)
    made = slinalg.funm(a[0], tnp.sqrt)
    assert np.allclose(np.diagonal(made), roots[0], 1e-6 if far < 100 else 1e-15, 0)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("apart", [0, 1e-7, 1e-3, 0.5, 1e6])
def test_logm_of_two_eigenvalues_is_their_divided_difference(apart, dtype):
    a = np.exp(1j * np.linspace(-np.pi, np.pi, 13)[1:])  # the last on the cut
    t = np.zeros((2, 12, 2, 2), dtype)
    t[..., 0, 0], t[..., 1, 1] = a, (a * (1 + apart), np.conj(a) * (1 + apart))  # the second pair on two sides of it
    t[..., 0, 1] = 1 - 2j
    first, last, beside = (t[..., i, j].astype(np.clongdouble) for i, j in ((0, 0), (1, 1), (0, 1)))
    same = first == last
    wanted = beside * np.where(same, 1 / first, (np.log(last) - np.log(first)) / np.where(same, 1, last - first))
    off = abs(np.asarray(slinalg.logm(t))[..., 0, 1] / wanted - 1)
    near = np.finfo(np.clongdouble).eps / np.where(same, 1, abs(last - first))  # what the reference itself loses
    assert (off < 8 * np.finfo(dtype).eps + 4 * near).all()


def test_batches_of_complex_forms_and_companions():
    scipy = pytest.importorskip("scipy.linalg")
    a = matrices(4, 4)
    t, z = (np.asarray(x) for x in slinalg.schur(a))
    for real in ((np.stack([t] * 3), z), (t, np.stack([z] * 3))):
        t2, z2 = (np.asarray(x) for x in slinalg.rsf2csf(*real))
        assert t2.shape == z2.shape == (3, 4, 4)
        near(z2 @ t2 @ turned(z2), np.broadcast_to(a, (3, 4, 4)).astype(complex), 10)
    for n in (2, 3, 4, 5, 6):
        rows = np.random.default_rng(n).uniform(1, 2, (2, n))
        near(slinalg.fiedler_companion(rows), np.stack([scipy.fiedler_companion(row) for row in rows]))
    assert slinalg.fiedler_companion(np.ones((3, 1))).shape == (3, 0, 0)
    near(tnp.linalg.slogdet(a, method="qr").logabsdet, np.linalg.slogdet(a).logabsdet)


def test_second_derivatives_of_qr_where_nothing_is_reflected():
    direction, weights = matrices(3, 3, seed=1), matrices(2, 3, 3, seed=2)

    def value(a):
        q, r = tnp.linalg.qr(a)
        sign = tnp.sign(tnp.diagonal(r))  # which jumps there
        return (weights[0] * q * sign).sum() + (weights[1] * r * sign[:, None]).sum()

    for a in (np.eye(3), np.diag([1.0, -2.0, 3.0]), matrices(3, 3, seed=3)):
        def slope(h):
            return tn.jvp(value, (a + h * direction,), (direction,))[1]

        wanted = (slope(1e-5) - slope(-1e-5)) / 2e-5
        curved = np.tensordot(np.tensordot(tn.hessian(value)(a), direction, 2), direction, 2)
        for got in (tn.jvp(lambda a: tn.jvp(value, (a,), (direction,))[1], (a,), (direction,))[1], curved):
            assert np.allclose(got, wanted, 1e-6)


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32", "float64", "complex128"])
def test_structured_matrices_are_those_of_scipy(dtype):
    scipy = pytest.importorskip("scipy.linalg")
    c, r = (np.random.default_rng(n).uniform(1, 9, n).astype(dtype) for n in (4, 6))
    calls = {
        "toeplitz": [(c,), (c, r), (r, c)], "hankel": [(c,), (c, r), (r, c)], "circulant": [(c,)], "leslie": [(c, c[1:])],
        "fiedler": [(c,)], "block_diag": [(c, 3, np.ones((2, 3), dtype), np.zeros((2, 0), dtype)), ()],
        "convolution_matrix": [(c, n, mode) for n in (1, 3, 4, 7) for mode in ("full", "same", "valid")],
    }
    for name, arguments in calls.items():
        for given in arguments:
            made, wanted = getattr(slinalg, name)(*given), getattr(scipy, name)(*given)
            assert made.shape == wanted.shape and np.array_equal(made, wanted), (name, given)
            if given:
                arrays = [i for i, x in enumerate(given) if isinstance(x, np.ndarray)]

                def f(*xs):
                    return getattr(slinalg, name)(*(xs[arrays.index(i)] if i in arrays else x for i, x in enumerate(given)))

                assert np.array_equal(tn.jit(f)(*(given[i] for i in arrays)), wanted)
    for n in (0, 1, 2, 5, 14):
        for name in ("hilbert", "pascal", "invpascal"):
            assert np.array_equal(getattr(slinalg, name)(n), np.asarray(getattr(scipy, name)(n), float).reshape(n, n)), (name, n)
        exact = np.asarray(scipy.invhilbert(n, exact=True), float).reshape(n, n)
        assert np.array_equal(slinalg.invhilbert(n), exact), n
        for kind in ("lower", "upper"):
            for name in ("pascal", "invpascal"):
                assert np.array_equal(getattr(slinalg, name)(n, kind), np.asarray(getattr(scipy, name)(n, kind), float).reshape(n, n)), (name, n)
        if n:
            near(slinalg.helmert(n), scipy.helmert(n)), near(slinalg.helmert(n, full=True), scipy.helmert(n, full=True))
            for scale in (None, "sqrtn", "n"):
                near(slinalg.dft(n, scale), scipy.dft(n, scale))
    assert np.array_equal(slinalg.hadamard(16, dtype), scipy.hadamard(16).astype(dtype))


def test_products_with_q_are_those_of_scipy():
    scipy = pytest.importorskip("scipy.linalg")
    for dtype in ("float64", "complex128"):
        a, c, v = matrices(5, 3, dtype=dtype), matrices(2, 5, dtype=dtype, seed=1), matrices(3, dtype=dtype, seed=2)
        for conjugate in (False, True):
            for pivoting in (False, True):
                for given, mode in ((c, "right"), (v, "left"), (np.stack([v, 2 * v], 1), "left"), (c[0], "right")):
                    made = slinalg.qr_multiply(a, given, mode, pivoting, conjugate)
                    for one, wanted in zip(made, scipy.qr_multiply(a, given, mode, pivoting, conjugate), strict=True):
                        near(one, wanted, 10)


def test_sizes_of_structured_matrices_may_vary():
    def f(x):
        n = x.shape[0]
        return linalg.hilbert(n), linalg.convolution_matrix(x, n, "same"), linalg.toeplitz(x, x[1:])

    jitted = tn.jit(f, sizes="symbolic")
    for n in (2, 3, 8):
        x = matrices(n)
        for made, wanted in zip(jitted(x), f(x), strict=True):
            near(made, wanted)
