"""Complex numbers in native code, beside NumPy: each program under jit, of both dtypes, in every place where arrays go."""

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import lax

DTYPES = [np.complex64, np.complex128]


def numbers(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)


def close(made, wanted, dtype, slack=1.0):
    made, wanted = np.asarray(made), np.asarray(wanted)
    assert made.shape == wanted.shape and made.dtype == wanted.dtype
    rounding = np.finfo(dtype).eps
    largest = np.max(np.abs(wanted), initial=1)
    assert np.all(np.abs(made - wanted) <= 32 * slack * rounding * largest)


def is_native(f, *args):
    return "reference evaluator" not in str(tn.explain(f)(*args))


ELEMENTWISE = {
    "arithmetic": lambda m, x, y: (x * y + x - y) / (x * x + 4),
    "exp": lambda m, x, y: m.exp(1j * x) * y + m.conj(y) / x,
    "log": lambda m, x, y: m.log(x) + m.log10(y), "sqrt": lambda m, x, y: m.sqrt(x) * m.sqrt(y),
    "trigonometric": lambda m, x, y: m.sin(x) + m.cos(y) * m.tan(x / 2),
    "hyperbolic": lambda m, x, y: m.sinh(x) + m.cosh(y) * m.tanh(x),
    "inverse": lambda m, x, y: m.arcsin(x) + m.arctan(y) + m.arccosh(x), "power": lambda m, x, y: x ** 3 + m.power(x, y),
    "parts": lambda m, x, y: m.real(x) + 1j * m.imag(y), "modulus": lambda m, x, y: m.abs(x) * m.angle(y),
    "choice": lambda m, x, y: m.where(m.real(x) > 0, x, m.conj(y)),
    "comparison": lambda m, x, y: (x == y) | (x != m.conj(x)),
    "of a row": lambda m, x, y: m.flip(m.concatenate([m.ravel(x), m.ravel(y)]))[::3] * 2,
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise(name, dtype):
    f = ELEMENTWISE[name]
    for shape in [(), (1,), (5,), (2, 3), (0,), (3, 0), (257,), (33, 35)]:
        x, y = numbers(shape, dtype), numbers(shape, dtype, 1)
        compiled = tn.jit(lambda x, y: f(tnp, x, y))
        made, wanted = np.asarray(compiled(x, y)), np.asarray(f(np, x, y))
        assert made.shape == wanted.shape
        assert np.allclose(made, wanted, rtol=100 * np.finfo(dtype).eps, atol=100 * np.finfo(dtype).eps)
        assert is_native(lambda x, y: f(tnp, x, y), x, y)


@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions(dtype):
    for shape in [(7,), (20, 30), (3, 1, 65), (0, 4), ()]:
        z = numbers(shape, dtype)
        for axis in [None, *range(len(shape))]:
            close(tn.jit(lambda z: tnp.sum(z, axis=axis))(z), np.sum(z, axis=axis), dtype, 8)
            if z.size < 100:
                close(tn.jit(lambda z: tnp.prod(z, axis=axis))(z), np.prod(z, axis=axis), dtype, 8)
        assert is_native(tnp.sum, z) and is_native(tnp.prod, z)
    z = numbers((40, 50), dtype)
    close(tn.jit(tnp.mean)(z), z.mean(), dtype)
    close(tn.jit(lambda z: tnp.cumsum(z, axis=1))(z), z.cumsum(1), dtype, 8)
    close(tn.jit(tnp.var)(z), z.var(), dtype, 8)
    close(tn.jit(tnp.linalg.norm)(z), np.linalg.norm(z), dtype, 8)
    close(tn.jit(lambda z: tnp.sum(tnp.exp(z) * z, axis=0))(z), (np.exp(z) * z).sum(0), dtype, 8)


@pytest.mark.parametrize("dtype", DTYPES)
def test_products(dtype):
    for m, k, n in [(1, 1, 1), (2, 3, 4), (1, 200, 1), (1, 65, 80), (80, 65, 1), (33, 70, 40)]:
        a, b = numbers((m, k), dtype), numbers((k, n), dtype, 1)
        close(tn.jit(tnp.matmul)(a, b), a @ b, dtype, k)
        close(tn.jit(lambda a, b: tnp.conj(b).T @ tnp.conj(a).T)(a, b), (a @ b).conj().T, dtype, k)
        close(tn.jit(lambda a, b: 1 + a.T.T @ b)(a, b), 1 + a @ b, dtype, k)
        assert is_native(tnp.matmul, a, b)
    a, b, v = numbers((5, 12, 13), dtype), numbers((5, 13, 14), dtype, 1), numbers((13,), dtype, 2)
    close(tn.jit(tnp.matmul)(a, b), a @ b, dtype, 13)
    close(tn.jit(tnp.matmul)(a, v), a @ v, dtype, 13)
    close(tn.jit(tnp.vdot)(v, v), np.vdot(v, v), dtype, 13)
    close(tn.jit(lambda a, b: tnp.einsum("bij,bjk->ik", a, b))(a, b), np.einsum("bij,bjk->ik", a, b), dtype, 65)


@pytest.mark.parametrize("dtype", DTYPES)
def test_systems(dtype):
    for n in [1, 3, 9, 40, 100]:
        a, b = numbers((n, n), dtype) + n * np.eye(n, dtype=dtype), numbers((n, 2), dtype, 1)
        close(tn.jit(tnp.linalg.solve)(a, b), np.linalg.solve(a, b), dtype, n)
        hermitian = a @ a.conj().T
        close(tn.jit(tnp.linalg.cholesky)(hermitian), np.linalg.cholesky(hermitian), dtype, n * n)
        close(tn.jit(tnp.linalg.inv)(a), np.linalg.inv(a), dtype, n)
        assert is_native(tnp.linalg.solve, a, b) and is_native(tnp.linalg.cholesky, hermitian)
    many, right = numbers((6, 4, 4), dtype) + 4 * np.eye(4, dtype=dtype), numbers((6, 4, 3), dtype)
    close(tn.jit(tnp.linalg.solve)(many, right), np.linalg.solve(many, right), dtype, 8)
    assert np.all(np.isnan(tn.jit(tnp.linalg.cholesky)(-np.eye(3, dtype=dtype))[0, 0].real))
    singular = tn.jit(tnp.linalg.solve)(np.ones((3, 3), dtype), np.arange(3).astype(dtype)[:, None])
    assert not np.any(np.isfinite(singular))


@pytest.mark.parametrize("dtype", DTYPES)
def test_order(dtype):
    z = np.array([3 + 1j, 1 + 2j, 1 - 2j, np.nan, 1j * np.nan, 2, 1 + 2j, complex(np.nan, np.nan)]).astype(dtype)
    np.testing.assert_array_equal(np.asarray(tn.jit(tnp.sort)(z)), np.sort(z))
    assert tn.jit(tnp.argsort)(z).tolist() == np.argsort(z, kind="stable").tolist()
    rows = np.round(numbers((7, 300), dtype))
    np.testing.assert_array_equal(np.asarray(tn.jit(tnp.sort)(rows)), np.sort(rows))
    assert is_native(tnp.sort, z)


@pytest.mark.parametrize("dtype", DTYPES)
def test_indices(dtype):
    z, at = numbers((9, 4), dtype), np.array([3, 3, 8, 0])
    close(tn.jit(lambda z, i: z[i] * 2)(z, at), z[at] * 2, dtype)
    wanted = z.copy()
    np.add.at(wanted, at, z[:4])
    close(tn.jit(lambda z, i: z.at[i].add(z[:4]))(z, at), wanted, dtype)
    wanted = z.copy()
    np.multiply.at(wanted, at, z[:4])
    close(tn.jit(lambda z, i: z.at[i].multiply(z[:4]))(z, at), wanted, dtype)
    wanted = z.copy()
    wanted[at[1:]] = z[5:8]
    close(tn.jit(lambda z, i: z.at[i[1:]].set(z[5:8]))(z, at), wanted, dtype)
    wanted = z.copy()
    wanted[2:5, 1] = 1j
    close(tn.jit(lambda z: z.at[2:5, 1].set(1j))(z), wanted, dtype)
    close(tn.jit(lambda z: z[::-2, ::2].T)(z), z[::-2, ::2].T, dtype)
    close(tn.jit(lambda z: tnp.pad(z, 1))(z), np.pad(z, 1), dtype)
    close(tn.jit(lambda z, i: lax.dynamic_slice(z, (i, 1), (2, 2)))(z, 4), z[4:6, 1:3], dtype)
    assert is_native(lambda z, i: z.at[i].multiply(z[:4]), z, at)


@pytest.mark.parametrize("dtype", DTYPES)
def test_loops_and_branches(dtype):
    z = numbers((6, 5), dtype)

    def scanned(z):
        def step(carry, row):
            total, turns = carry
            return (total + row * turns, turns * dtype(1j)), total * turns
        return lax.scan(step, (tnp.zeros(5, dtype), dtype(1)), z)

    (total, turns), stack = tn.jit(scanned)(z)
    t, k, wanted = np.zeros(5, dtype), dtype(1), []
    for row in z:
        wanted.append(t * k)
        t, k = t + row * k, k * dtype(1j)
    close(total, t, dtype)
    close(turns, k, dtype)
    close(stack, np.stack(wanted), dtype)
    assert is_native(scanned, z)

    def newton(z):  # to a cube root of 1
        return lax.while_loop(lambda z: tnp.abs(z ** 3 - 1) > 1e-5, lambda z: z - (z ** 3 - 1) / (3 * z * z), z)

    root = tn.jit(newton)(dtype(-0.4 + 0.9j))
    assert abs(root - np.exp(2j * np.pi / 3)) < 1e-4 and is_native(newton, dtype(1j))

    def branch(p, z):
        return lax.cond(p, lambda z: tnp.conj(z), lambda z: z * z, z)

    close(tn.jit(branch)(True, z), z.conj(), dtype)
    close(tn.jit(branch)(False, z), z * z, dtype)
    close(tn.jit(lambda z: lax.fori_loop(0, 6, lambda i, y: y.at[i].set(y[i - 1] * z[i]), z))(z),
          [z[0] * z[5] * np.prod(z[1:i + 1], axis=0) if i else z[5] * z[0] for i in range(6)], dtype, 8)


@pytest.mark.parametrize("dtype", DTYPES)
def test_transformations(dtype):
    z, w = numbers((8,), dtype), numbers((8,), dtype, 1)

    def loss(z):
        return tnp.sum(tnp.abs(tnp.exp(z) * w) ** 2)

    # d|f|² = 2 Re(conj f df); as JAX has it, the gradient is the conjugate of NumPy's steepest ascent.
    wanted = np.conj(2 * np.abs(np.exp(z) * w) ** 2)
    close(tn.jit(tn.grad(loss))(z), wanted.astype(dtype), dtype, 8)
    assert is_native(tn.grad(loss), z)
    slope = tn.jit(tn.grad(lambda z: tnp.sum(tnp.sin(z) * z), holomorphic=True))(z)
    close(slope, np.cos(z) * z + np.sin(z), dtype, 8)
    value, tangent = tn.jit(lambda z, t: tn.jvp(lambda z: z ** 2 / w, (z,), (t,)))(z, w)
    close(value, z ** 2 / w, dtype, 8)
    close(tangent, 2 * z, dtype, 8)
    close(tn.jit(tn.vmap(lambda z, w: z * w + tnp.conj(w)))(z, w), z * w + w.conj(), dtype)
    a = numbers((8, 8), dtype)
    close(tn.jit(tn.vmap(lambda row: a @ row))(a), (a @ a.T).T, dtype, 8)
    hessian = tn.jit(tn.hessian(lambda x: tnp.sum(tnp.abs(x * w) ** 2)))(np.real(z))
    assert np.allclose(hessian, np.diag(2 * np.abs(w) ** 2), rtol=1e-4)


@pytest.mark.parametrize("dtype", DTYPES)
def test_donated_arrays_keep_their_memory(dtype):
    def place(z):
        return np.from_dlpack(z).__array_interface__["data"][0]

    z = tnp.asarray(numbers((1000,), dtype)) * 1
    before, wanted = place(z), np.array(z) * 2 + 1j
    made = tn.jit(lambda z: z * 2 + 1j, donate_argnums=0)(z)
    close(made, wanted.astype(dtype), dtype)
    assert place(made) == before


@pytest.mark.parametrize("dtype", DTYPES)
def test_operands_in_any_layout(dtype):
    whole = numbers((12, 14), dtype)
    f = tn.jit(lambda x, y: x * y + tnp.sum(x))
    for x in [whole.T, whole[::2, ::-1], whole[3:9, 1:], whole[:, 5], np.broadcast_to(whole[0], (3, 14))]:
        close(f(x, x), x * x + x.sum(), dtype, 32)


def test_dtypes_meet():
    x, z = np.arange(5.0, dtype=np.float32), numbers((5,), np.complex64)
    close(tn.jit(lambda x, z: x * z)(x, z), x * z, np.complex64)
    close(tn.jit(lambda z: z.astype("complex128") * 2)(z), z.astype(np.complex128) * 2, np.complex128)
    close(tn.jit(lambda x: x.astype("complex64"))(np.arange(4)), np.arange(4).astype(np.complex64), np.complex64)
    assert tn.jit(lambda z: z.astype(bool))(np.array([0, 1j, 1, 0j])).tolist() == [False, True, True, False]


def test_lists_of_complex_arrays():
    z = numbers((4, 6), np.complex64)

    def collected(z):
        rows = tn.List()

        def body(i, state):
            rows, factor = state
            rows.push(z[i] * factor)
            return rows, factor * 1j

        rows, _ = lax.fori_loop(0, 4, body, (rows, np.complex64(1)))
        rows.push(tnp.conj(z[0]))
        return rows.stack()

    wanted = np.stack([z[0], z[1] * 1j, -z[2], z[3] * -1j, z[0].conj()])
    close(tn.jit(collected)(z), wanted, np.complex64)
    slope = tn.jit(tn.grad(lambda z: tnp.sum(tnp.abs(collected(z)) ** 2)))(z)
    close(slope, (2 * np.conj(z) * np.array([2, 1, 1, 1])[:, None]).astype(np.complex64), np.complex64)


INF, NAN = float("inf"), float("nan")
ENDS = [complex(x, y) for x in (-INF, -1.5, -0.0, 0.0, 1.5, INF, NAN) for y in (-INF, -0.5, -0.0, 0.0, 0.5, INF, NAN)]


@pytest.mark.parametrize("name", ["exp", "log", "sinh", "cosh"])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_ends_of_the_range(name, dtype):
    """As C's Annex G has them, which NumPy follows; a sign that it leaves open is any."""
    z = np.array(ENDS, dtype)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(z.astype("complex128"))
    made = np.asarray(tn.jit(getattr(tnp, name))(z))
    for got, want in zip((made.real, made.imag), (expected.real, expected.imag)):
        open_sign = ~np.isfinite(z.imag) | ~np.isfinite(z.real)
        np.testing.assert_allclose(np.where(open_sign, np.abs(got), got), np.where(open_sign, np.abs(want), want), rtol=1e-6,
                                   err_msg=str(z))
