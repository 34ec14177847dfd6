"""tenon.scipy: the arguments and triangles of scipy.linalg, QR with pivoting, systems of batches that meet, and of 16 bits;
the normal distribution."""

import math
import statistics

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon.lax import linalg as factors
from tenon.scipy import linalg, special, stats

DRAW = np.random.default_rng(3)
A = DRAW.normal(size=(4, 4))
POSITIVE = A @ A.T + 4 * np.eye(4)


def test_triangles():
    upper, lower = linalg.cholesky(POSITIVE), linalg.cholesky(POSITIVE, lower=True)
    assert np.allclose(upper.T @ upper, POSITIVE) and np.allclose(np.tril(upper, -1), 0)
    assert np.allclose(lower @ lower.T, POSITIVE) and np.allclose(np.triu(lower, 1), 0)
    # One triangle is read.
    assert np.allclose(linalg.cholesky(np.triu(POSITIVE)), upper)
    assert np.allclose(linalg.cho_factor(np.tril(POSITIVE), lower=True)[0], lower)
    complex_one = POSITIVE + 1j * (np.triu(A, 1) - np.triu(A, 1).T) / 4
    made = linalg.cholesky(np.triu(complex_one))
    assert np.allclose(np.conj(made.T) @ made, complex_one)


def test_solve():
    b = DRAW.normal(size=(4, 2))
    exact = np.linalg.solve(POSITIVE, b)
    assert np.allclose(linalg.solve(np.triu(POSITIVE), b, assume_a="pos"), exact)
    assert np.allclose(linalg.solve(np.tril(POSITIVE), b[:, 0], lower=True, assume_a="pos"), exact[:, 0])
    assert np.allclose(linalg.solve(POSITIVE, b, assume_a="sym", check_finite=False), exact)
    assert np.allclose(linalg.inv(POSITIVE, True), np.linalg.inv(POSITIVE)) and np.isclose(linalg.det(A, True), np.linalg.det(A))
    with pytest.raises(ValueError, match="assume_a"):
        linalg.solve(A, b, assume_a="banded")


def test_beta_functions_beside_poles():
    theirs = pytest.importorskip("scipy.special")
    values = np.array([-7, -3, -2.5, -2, -1.5, -1, -0.5, -0.0, 0.0, 0.5, 1, 1.5, 2, 3, 5, 40, np.inf])
    a, b = np.repeat(values, len(values)), np.tile(values, len(values))
    for name in ("beta", "betaln"):
        wanted, f = getattr(theirs, name)(a, b), getattr(special, name)
        for got in (f(a, b), tn.jit(f)(a, b), f(a.astype(np.float32), b.astype(np.float32))):
            near = np.isclose(got, wanted, 1e-13 if got.dtype == np.float64 else 2e-6, 1e-14, equal_nan=True)
            assert near.all(), [(name, *row) for row in zip(a[~near], b[~near], np.asarray(got)[~near], wanted[~near])]
    # Where scipy has infinities for numbers beyond its integers, and of NaN.
    assert np.isclose(special.beta(-3e9, 2.0), 1 / (3e9 * (3e9 - 1)), 1e-12, 0)
    assert np.isnan(special.beta(np.nan, np.array([-2.0, -1.5, 0.0, 2.0]))).all()


@pytest.mark.parametrize("shape", [(3, 5), (4, 4), (6, 3), (2, 4, 3), (0, 2)])
@pytest.mark.parametrize("of_complex", [False, True])
def test_qr_with_pivoting(shape, of_complex):
    a = DRAW.normal(size=shape) + (1j * DRAW.normal(size=shape) if of_complex else 0)
    for mode, wide in (("full", shape[-2]), ("economic", min(shape[-2:]))):
        q, r, order = tn.jit(lambda a: linalg.qr(a, mode=mode, pivoting=True))(a)
        assert q.shape == (*shape[:-1], wide) and order.dtype == np.int32
        assert np.allclose(q @ r, np.take_along_axis(a, np.asarray(order)[..., None, :], -1))
        assert np.allclose(np.swapaxes(np.conj(q), -1, -2) @ np.asarray(q), np.eye(wide))
        sizes = np.abs(np.diagonal(r, axis1=-2, axis2=-1))
        assert (np.diff(sizes, axis=-1) <= 1e-12).all()
        r_alone, again = linalg.qr(a, mode="r", pivoting=True)
        assert np.allclose(r_alone[..., :wide, :], r) and again.tolist() == order.tolist()
    assert [x.shape for x in linalg.qr(a)] == [x.shape for x in factors.qr(a)]
    with pytest.raises(ValueError, match="mode"):
        linalg.qr(a, mode="reduced")


def test_slope_of_qr_with_pivoting():
    a, step = DRAW.normal(size=(4, 3)), 1e-6
    weights = DRAW.normal(size=(3, 3))

    def f(a):
        return tnp.sum(linalg.qr(a, mode="economic", pivoting=True)[1] * weights)

    slope = tn.grad(f)(a)
    d = DRAW.normal(size=(4, 3))
    assert np.isclose(np.sum(slope * d), (f(a + step * d) - f(a - step * d)) / (2 * step), rtol=1e-5)


@pytest.mark.parametrize("a_shape, b_shape", [((3, 4, 4), (4,)), ((3, 4, 4), (4, 2)), ((4, 4), (3, 4, 2)), ((3, 4, 4), (3, 4)), ((2, 1, 4, 4), (3, 4, 2))])
def test_batches_that_meet(a_shape, b_shape):
    a = np.tril(DRAW.normal(size=a_shape)) + 4 * np.eye(4)
    b = DRAW.normal(size=b_shape)
    vectors = b.ndim == 1 or b.shape[-1] == 4
    columns = b[..., None] if vectors else b
    shaped = (lambda x: x[..., 0]) if vectors else (lambda x: x)
    assert np.allclose(linalg.solve_triangular(a, b, lower=True), shaped(np.linalg.solve(a, columns)))
    product = a @ np.swapaxes(a, -1, -2)
    assert np.allclose(linalg.cho_solve((a, True), b), shaped(np.linalg.solve(product, columns)))
    for trans in (0, 1):
        turned = np.swapaxes(a, -1, -2) if trans else a
        assert np.allclose(linalg.lu_solve(linalg.lu_factor(a), b, trans), shaped(np.linalg.solve(turned, columns)))


@pytest.mark.parametrize("left_side", [True, False])
def test_a_vector_for_each_matrix(left_side):
    a = np.tril(DRAW.normal(size=(3, 4, 4))) + 4 * np.eye(4)
    b = DRAW.normal(size=(3, 4))
    op = a if left_side else np.swapaxes(a, -1, -2)
    exact = np.linalg.solve(op, b[..., None])[..., 0]
    assert np.allclose(factors.triangular_solve(a, b, left_side=left_side, lower=True), exact)
    assert np.allclose(factors.triangular_solve(a[0], b[0], left_side=left_side, lower=True), exact[0])
    slope = tn.grad(lambda b: tnp.sum(factors.triangular_solve(a, b, left_side=left_side, lower=True)))(b)
    assert np.allclose(slope, np.linalg.solve(np.swapaxes(op, -1, -2), np.ones((3, 4, 1)))[..., 0])


def test_full_is_reduced_in_numpy():
    assert [x.shape for x in tnp.linalg.qr(np.ones((3, 2)), "full")] == [(3, 2), (2, 2)]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bits_are_factored_in_32(dtype):
    a, wide = tnp.array(POSITIVE, dtype), tnp.array(tnp.array(POSITIVE, dtype), "float32")
    for f in (tnp.linalg.cholesky, tnp.linalg.inv, lambda a: tnp.linalg.solve(a, a[0]), lambda a: linalg.solve_triangular(a, a[0]),
              tnp.linalg.qr, linalg.lu, linalg.lu_factor, lambda a: linalg.expm(a / 8)):
        for made, single in zip(tn.tree.leaves(f(a)), tn.tree.leaves(f(wide)), strict=True):
            if single.dtype == np.float32:
                assert made.dtype == a.dtype
                single = tnp.array(single, dtype)
            assert np.allclose(np.asarray(made, "float32"), np.asarray(single, "float32"), 2e-2 if f is not tnp.linalg.qr else 1e-2, 1e-3)


def test_matrices_of_one_form_say_what_they_need():
    for call, text in ((lambda: linalg.leslie([1.0], []), "length of f"), (lambda: linalg.hadamard(0), "positive power of 2"),
                       (lambda: linalg.helmert(0), "positive integer"), (lambda: linalg.dft(4, dtype="float32"), "dtype must be complex")):
        with pytest.raises(ValueError, match=text):
            call()


def test_matrices_of_one_form_in_other_dtypes():
    assert linalg.hadamard(2, "uint8").tolist() == [[1, 1], [1, 255]] and linalg.hadamard(2, "bfloat16").dtype == "bfloat16"
    assert linalg.leslie(np.array([1, 2], "int32"), np.array([3], "uint8")).dtype == np.int32
    assert linalg.fiedler(np.float32(3)).tolist() == [[0.0]]
    assert tnp.linalg.norm(np.zeros(2, "int32")).dtype == tnp.linalg.matrix_norm(np.eye(2, dtype="int32")).dtype == np.float32
    for f in (linalg.lu, tnp.linalg.qr):
        with pytest.raises(TypeError, match="is no matrix"):
            f(np.ones(2))


@pytest.mark.parametrize("order", [1, np.inf, "fro"])
def test_norms_of_nothing(order):
    for shape in ((0, 2), (2, 0), (0, 0)):
        assert tnp.linalg.matrix_norm(np.zeros(shape), ord=order) == 0
    assert tnp.linalg.vector_norm(np.zeros(0), ord=np.inf) == 0


def test_special_functions_by_their_names_in_scipy():
    assert np.isclose(special.gammaln(5.0), np.log(24)) and np.isclose(special.expit(0.0), 0.5)
    assert special.psi is special.digamma and tn.scipy.special is special


# --- the normal distribution ---

STANDARD = statistics.NormalDist()


@pytest.mark.parametrize("dtype, close", [("float64", 1e-12), ("float32", 2e-6)])
def test_normal_distribution(dtype, close):
    x = np.array([-5.0, -1.5, -1e-3, 0.0, 0.25, 2.0, 5.0])
    given = x.astype(dtype)
    exact = np.array([math.erfc(-v / math.sqrt(2)) / 2 for v in x])
    assert np.allclose(special.ndtr(given), exact, close, 0) and special.ndtr(given).dtype == dtype
    logs = [math.log1p(-math.erfc(v / math.sqrt(2)) / 2) if v > 0 else math.log(math.erfc(-v / math.sqrt(2)) / 2) for v in x]
    assert np.allclose(special.log_ndtr(given), logs, close, 0)
    p = np.array([1e-30, 1e-5, 0.2, 0.3, 0.5, 0.6, 0.9])
    assert np.allclose(special.ndtri(p.astype(dtype)), [STANDARD.inv_cdf(float(v)) for v in p.astype(dtype)], close, close)
    assert np.allclose(stats.norm.logpdf(given), [math.log(STANDARD.pdf(v)) for v in x], close)


def test_tails_of_the_normal_distribution():
    assert np.allclose(special.log_ndtr(np.array([-20.5, -100.0, -1e4])), [-214.06672896326387, -5005.524208694205, -50000010.12927892], 1e-13)
    assert np.isclose(special.log_ndtr(30.0), -4.906713927148187e-198, 1e-12, 0) and special.log_ndtr(np.inf) == 0
    assert np.array_equal(special.ndtri(np.array([0.0, 1.0, -1.0, 2.0])), [-np.inf, np.inf, np.nan, np.nan], equal_nan=True)


def test_slopes_of_the_normal_distribution():
    for x in (-50.0, -15.0, -0.5, 3.0):
        slope, step = tn.grad(special.log_ndtr)(x), 1e-5
        assert np.isclose(slope, (special.log_ndtr(x + step) - special.log_ndtr(x - step)) / (2 * step), 1e-6)
    x = STANDARD.inv_cdf(0.3)
    assert np.isclose(tn.jit(tn.grad(special.ndtri))(0.3), 1 / STANDARD.pdf(x), 1e-12)
    assert np.isclose(tn.grad(tn.grad(special.ndtri))(0.3), x / STANDARD.pdf(x) ** 2, 1e-12)


def test_scaled_normal_distribution():
    scaled, x = statistics.NormalDist(2.0, 0.5), 2.3
    for name, exact in (("pdf", scaled.pdf(x)), ("cdf", scaled.cdf(x)), ("sf", 1 - scaled.cdf(x)), ("logpdf", math.log(scaled.pdf(x))),
                        ("logcdf", math.log(scaled.cdf(x))), ("logsf", math.log(1 - scaled.cdf(x)))):
        assert np.isclose(getattr(stats.norm, name)(x, 2.0, 0.5), exact, 1e-12), name
    assert np.isclose(stats.norm.ppf(0.9, loc=2, scale=0.5), scaled.inv_cdf(0.9)) and np.isclose(stats.norm.isf(0.9, 2, 0.5), scaled.inv_cdf(0.1))
    assert np.allclose(tn.vmap(stats.norm.logpdf, (0, None, None))(np.ones(2), 2.0, 0.5), math.log(scaled.pdf(1.0)))
