"""Each primitive of lax through tn.from_jax beside JAX: value, gradient and batch. Skipped where JAX is not installed."""

import functools

import numpy as np
import pytest

import tenon as tn

jax = pytest.importorskip("jax")
import jax.ad_checkpoint  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402
from jax.experimental.pallas import run_state  # noqa: E402
from jax._src.lax import windowed_reductions  # noqa: E402
from jax.extend.core import Primitive, primitives  # noqa: E402

from tenon.foreign import rules  # noqa: E402
from tenon.foreign._jaxprs import missing  # noqa: E402

x = np.linspace(-0.9, 0.8, 6, dtype=np.float32).reshape(2, 3)
y = np.linspace(0.3, 1.4, 6, dtype=np.float32).reshape(2, 3)
above = 1 + y
whole = np.array([[3, -7, 12], [0, 100, -2]], np.int32)
bits = np.array([[1, 0xFF00FF00, 7], [2**31, 12, 5]], np.uint32)
few = np.array([[1, 2, 3], [0, 4, 31]], np.int32)
flags = np.array([[True, False, True], [False, False, True]])
square = np.array([[4, 1, 0.5], [1, 3, 0.2], [0.5, 0.2, 5]], np.float32)
tall = np.linspace(-1, 2, 12, dtype=np.float32).reshape(4, 3) ** 3 + np.eye(4, 3, dtype=np.float32)
vector = np.array([0.5, -1.0, 2.0], np.float32)
key = np.array([3, 5], np.uint32)
at = np.array([[0], [1]], np.int32)
total = np.float32(0.0)

one = "acos asin atan atanh ceil cos cosh digamma erf erf_inv erfc exp exp2 expm1 floor is_finite lgamma log log1p logistic \
neg round rsqrt sign sin sinh sqrt square tan tanh abs cbrt asinh bessel_i0e bessel_i1e".split()
two = "add sub mul div max min pow rem atan2 nextafter complex eq ne lt le gt ge igamma igammac zeta".split()


def typed(k):
    return jax.random.wrap_key_data(k)


def scattered(name):
    numbers = lax.ScatterDimensionNumbers((1,), (0,), (0,))
    return lambda a, u: getattr(lax, name)(a, at, u, numbers, mode="drop")


def solver(matrix, b):
    return lax.custom_linear_solve(lambda v: matrix @ v, b, lambda _, b: jnp.linalg.inv(matrix) @ b,
                                   lambda _, b: jnp.linalg.inv(matrix).T @ b)


@jax.custom_jvp
def tripled(x):
    return x * 2


tripled.defjvp(lambda p, t: (tripled(*p), 3 * t[0]))


@jax.custom_vjp
def fourfold(x):
    return x * 2


fourfold.defvjp(lambda x: (x * 2, None), lambda _, g: (4 * g,))

# The primitive, a function that binds it, and arguments, all of which are batched.
cases = {
    **{name: (getattr(lax, name), (y / 2 if name in ("acos", "erf_inv", "atanh") else y,)) for name in one},
    **{name: (getattr(lax, name), (y, above)) for name in two},
    "zeta": (lax.zeta, (above, y)),
    "acosh": (lax.acosh, (above,)),
    "and": (lax.bitwise_and, (whole, few)), "or": (lax.bitwise_or, (whole, few)), "xor": (lax.bitwise_xor, (whole, few)),
    "not": (lax.bitwise_not, (whole,)), "clz": (lax.clz, (bits,)), "population_count": (lax.population_count, (whole,)),
    "shift_left": (lax.shift_left, (whole, few)),
    "shift_right_arithmetic": (lax.shift_right_arithmetic, (whole, few)),
    "shift_right_logical": (lax.shift_right_logical, (whole, few)),
    "mulhi": (lambda a, b: lax.mulhi_p.bind(a, b), (bits, bits[::-1])),
    "eq_to": (lambda a, b: lax.eq_to_p.bind(a, b), (x, y)), "le_to": (lambda a, b: lax.le_to_p.bind(a, b), (x, y)),
    "lt_to": (lambda a, b: lax.lt_to_p.bind(a, b), (x, y)),
    "add_any": (lambda a: jax.vjp(lambda a: (a, a), a)[1]((a, 2 * a))[0], (x,)),
    "conj": (lambda a: lax.real(lax.conj(lax.complex(a, 2 * a))), (x,)), "real": (lambda a: lax.real(lax.complex(a, a)), (x,)),
    "imag": (lambda a: lax.imag(lax.complex(a, a)), (x,)),
    "integer_pow": (lambda a: lax.integer_pow(a, -3), (y,)),
    "igamma_grad_a": (lax.igamma_grad_a, (y, above)),
    "polygamma": (lambda a: lax.polygamma(jnp.full_like(a, 2.0), a), (y,)),
    "regularized_incomplete_beta": (lambda a: lax.betainc(2.0 + 0 * a, 1.5 + 0 * a, a / 2), (y,)),
    "clamp": (lambda a: lax.clamp(np.float32(-0.5), a, np.float32(0.6)), (x,)),
    "select_n": (lax.select_n, (flags, x, y)),
    "convert_element_type": (lambda a: lax.convert_element_type(a, np.float16).astype(np.float32), (x,)),
    "bitcast_convert_type": (lambda a: lax.bitcast_convert_type(a, np.int32), (x,)),
    "reduce_precision": (lambda a: lax.reduce_precision(a, 5, 3), (x,)),
    "stop_gradient": (lambda a: lax.stop_gradient(a) * a, (x,)),
    "copy": (lambda a: lax.copy_p.bind(a), (x,)), "name": (lambda a: jax.ad_checkpoint.checkpoint_name(a, "a"), (x,)),
    "optimization_barrier": (lambda a: lax.optimization_barrier(a * 2), (x,)),
    "device_put": (lambda a: jax.device_put(a) * 2, (x,)),
    "sharding_constraint": (lambda a: lax.with_sharding_constraint(a, jax.sharding.SingleDeviceSharding(jax.devices()[0])), (x,)),
    # movement
    "broadcast_in_dim": (lambda a: lax.broadcast_in_dim(a, (2, 4, 3), (0, 2)), (x,)),
    "reshape": (lambda a: lax.reshape(a, (3, 2)), (x,)), "squeeze": (lambda a: lax.squeeze(a[:1], (0,)), (x,)),
    "transpose": (lambda a: lax.transpose(a, (1, 0)), (x,)), "rev": (lambda a: lax.rev(a, (1,)), (x,)),
    "iota": (lambda a: a * lax.broadcasted_iota(np.float32, (2, 3), 1), (x,)),
    "concatenate": (lambda a, b: lax.concatenate([a, b, a], 1), (x, y)),
    "pad": (lambda a, v: lax.pad(a, v, ((1, 2, 1), (-1, 0, 0))), (x, total)),
    "slice": (lambda a: lax.slice(a, (0, 0), (2, 3), (1, 2)), (x,)),
    "dynamic_slice": (lambda a, i: lax.dynamic_slice(a, (i, 0), (1, 2)), (x, np.int32(5))),
    "dynamic_update_slice": (lambda a, u, i: lax.dynamic_update_slice(a, u[:1, :2], (i, 1)), (x, y, np.int32(1))),
    "split": (lambda a: lax.split(a, (1, 2), 1), (x,)), "stack": (lambda a, b: lax.stack_p.bind(a, b, axis=1), (x, y)),
    "unstack": (lambda a: lax.unstack_p.bind(a, axis=1), (x,)), "tile": (lambda a: lax.tile_p.bind(a, reps=(2, 1)), (x,)),
    "empty": (lambda a: (lax.empty((2,), np.float32), a)[1], (x,)),
    "gather": (lambda a, i: jnp.take(a, i, axis=1, mode="fill"), (x, np.array([2, 0, 7], np.int32))),
    "scatter": (scattered("scatter"), (x, y)), "scatter-add": (scattered("scatter_add"), (x, y)),
    "scatter-sub": (scattered("scatter_sub"), (x, y)), "scatter-mul": (scattered("scatter_mul"), (x, y)),
    "scatter-min": (scattered("scatter_min"), (x, y)), "scatter-max": (scattered("scatter_max"), (x, y)),
    # reductions, products, orders
    "psum": (lambda a: jax.vmap(lambda v: lax.psum(v, "i") * v, axis_name="i")(a), (x,)),
    "pmax": (lambda a: jax.vmap(lambda v: lax.pmax(lax.stop_gradient(v), "i") * v, axis_name="i")(a), (x,)),
    "pmin": (lambda a: jax.vmap(lambda v: lax.pmin(lax.stop_gradient(v), "i") * v, axis_name="i")(a), (x,)),
    "reduce_sum": (lambda a: lax.reduce_sum(a, (1,)), (x,)), "reduce_prod": (lambda a: lax.reduce_prod(a, (1,)), (x,)),
    "reduce_max": (lambda a: lax.reduce_max(a, (1,)), (x,)), "reduce_min": (lambda a: lax.reduce_min(a, (1,)), (x,)),
    "reduce_and": (lambda a: lax.reduce_and(a, (1,)), (flags,)), "reduce_or": (lambda a: lax.reduce_or(a, (1,)), (flags,)),
    "reduce_xor": (lambda a: lax.reduce_xor(a, (1,)), (whole,)),
    **{name: (lambda a, name=name: getattr(lax, name)(a, 1, reverse=True), (x,))
       for name in "cumsum cumprod cummax cummin cumlogsumexp".split()},
    "conv_general_dilated": (lambda a, b: lax.conv_general_dilated(a[None], b[None, :, :2], (1,), "SAME", None, (2,),
                                                                   ("NCW", "OIW", "NWC")), (x, y)),
    "fft": (lambda a: jnp.abs(lax.fft(a, jax.lax.FftType.RFFT, (a.shape[1],))), (x,)),
    "argmax": (lambda a: lax.argmax(a, 1, np.int32), (x,)), "argmin": (lambda a: lax.argmin(a, 1, np.int32), (x,)),
    "reduce": (lambda a: lax.reduce(a, total, lambda a, b: a * b + a + b, (0,)), (x,)),
    "dot_general": (lambda a, b: lax.dot_general(a, b, (((1,), (1,)), ((0,), (0,)))), (x, y)),
    "sort": (lambda a, b: lax.sort((a, b), dimension=1, num_keys=1), (x[:, ::-1].copy(), y)),
    "top_k": (lambda a: lax.top_k(a, 2), (x,)), "approx_top_k": (lambda a: lax.approx_max_k(a, 2), (x,)),
    # factorisations
    "cholesky": (lambda a: lax.linalg.cholesky(a + a.T, symmetrize_input=False), (square,)),
    "triangular_solve": (lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True), (square, tall[:3])),
    "lu": (lambda a: lax.linalg.lu(a)[0], (square,)),
    # Vectors by what does not depend on their signs.
    "eigh": (lambda a: (lambda v, w: (v * jnp.exp(w)) @ v.T)(*lax.linalg.eigh(a)), (square,)),
    "eig": (lambda a: (lambda w, left, right: (w, jnp.abs(left), jnp.abs(right)))(*lax.linalg.eig(a)), (square,)),
    "svd": (lambda a: (lambda u, s, v: (u[:, :3] * jnp.exp(s)) @ v)(*lax.linalg.svd(a)), (tall,)),
    "schur": (lambda a: [jnp.abs(part) for part in lax.linalg.schur(a)], (square,)),
    "lu_pivots_to_permutation": (lambda p: lax.linalg.lu_pivots_to_permutation(p, 3), (np.array([1, 2, 2], np.int32),)),
    "qr": (lambda a: [jnp.abs(m) for m in lax.linalg.qr(a, full_matrices=False)], (tall,)),
    "hessenberg": (lambda a: lax.linalg.hessenberg(a), (square,)),
    "tridiagonal": (lambda a: lax.linalg.tridiagonal(a @ a.T), (square,)),
    "householder_product": (lambda a, t: lax.linalg.householder_product(a, t), (tall, vector)),
    "ormqr": (lambda a, t, c: lax.linalg.ormqr(a, t, c), (tall, vector, tall.copy())),
    "symmetric_product": (lambda a, c: lax.linalg.symmetric_product(a, c, alpha=2.0, beta=0.5), (tall[:3], square)),
    "tridiagonal_solve": (lambda d, b: lax.linalg.tridiagonal_solve(d + 1, d * d, 1 - d, b), (vector, tall[:3])),
    "ragged_dot_general": (lambda a, b: lax.ragged_dot(a, jnp.stack([b, b * b]), np.array([1, 3], np.int32)), (tall, square)),
    "cholesky_update": (lambda r, w: lax.linalg.cholesky_update(r, w), (np.triu(square), vector)),
    # windows
    "reduce_window_sum": (lambda a: lax.reduce_window(a, 0.0, lax.add, (2, 3), (1, 2), "SAME"), (x,)),
    "reduce_window_max": (lambda a: lax.reduce_window(a, -np.inf, lax.max, (2,), (1,), "VALID", base_dilation=(2,)), (vector,)),
    "reduce_window_min": (lambda a: lax.reduce_window(a, np.inf, lax.min, (2, 2), (1, 1), "SAME"), (x,)),
    "reduce_window": (lambda a: lax.reduce_window(a, 1, lax.mul, (2, 2), (1, 1), "SAME"), (np.arange(6).reshape(2, 3),)),
    "select_and_scatter_add": (lambda s, a: lax.select_and_scatter_add_p.bind(
        s, a, select_prim=lax.ge_p, window_dimensions=(2, 2), window_strides=(1, 1), padding=((0, 0), (0, 0))), (x[1:, 1:], x)),
    "select_and_gather_add": (lambda t, a: lax.select_and_gather_add_p.bind(
        t, a, select_prim=lax.le_p, window_dimensions=(2, 2), window_strides=(1, 2), padding=((0, 0), (0, 1)),
        base_dilation=(1, 1), window_dilation=(1, 1)), (x, x * x)),
    "select_and_scatter": (lambda a, s: windowed_reductions._select_and_scatter(
        a, lambda p, q: p >= q, (2,), (1,), ((0, 1),), s, np.int32(5), lambda p, q: p + q), (np.int32([3, 1, 4]), np.int32([7, 8, 9]))),
    # what holds jaxprs
    "jit": (lambda a: jax.jit(jnp.sin)(a), (x,)),
    "get": (lambda a: jax.new_ref(a)[0], (x,)),
    "run_state": (lambda a: run_state(lambda r: r.__setitem__((0,), r[1] * 2))(a), (x,)),
    "swap": (lambda a: (lambda r: (r.__setitem__((slice(None), 1), 2 * a[:, 0]), r[...])[1])(jax.new_ref(a * a)), (x,)),
    "remat2": (jax.checkpoint(lambda a: jnp.sin(jnp.sin(a))), (x,)),
    "scan": (lambda a: lax.scan(lambda c, r: (c * r + 1, c), a[0], a, reverse=True), (x,)),
    "while": (lambda a, n: lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 2), (0, a)), (y, np.int32(2))),
    "cond": (lambda i, a: lax.switch(i, [jnp.sin, lambda a: a * 2, jnp.exp], a), (np.int32(1), x)),
    "custom_jvp_call": (tripled, (x,)), "custom_vjp_call": (fourfold, (x,)), "custom_linear_solve": (solver, (square, vector)),
    "create_token": (lambda a: (lax.create_token(), a)[1], (x,)), "after_all": (lambda a: (lax.after_all(), a)[1], (x,)),
    "dce_sink": (lambda a: (lax.dce_sink(a), a)[1], (x,)),
    # keys
    "rng_bit_generator": (lambda k: lax.rng_bit_generator(k, (3, 5), np.uint32, lax.RandomAlgorithm.RNG_THREE_FRY), (np.array([1, 2, 3, 4], np.uint32),)),
    "random_bits": (lambda k: jax.random.bits(typed(k), (3,)), (key,)),
    "random_split": (lambda k: jax.random.key_data(jax.random.split(typed(k), 3)), (key,)),
    "random_fold_in": (lambda k: jax.random.key_data(jax.random.fold_in(typed(k), 7)), (key,)),
    "random_seed": (lambda s: jax.random.key_data(jax.random.key(s)), (np.int32(-4),)),
    "random_gamma": (lambda k, a: jax.random.gamma(typed(k), a), (key, above)),
    "threefry2x32": (lambda k: primitives.threefry2x32_p.bind(k[0], k[1], k[0] + 3, k[1] * 5), (key,)),
}

def primitives_in(jaxpr):
    """The names of the primitives of a jaxpr and of those within."""
    names, waiting = set(), [jaxpr]
    while waiting:
        jaxpr = waiting.pop()
        for equation in getattr(jaxpr, "jaxpr", jaxpr).eqns:
            names.add(equation.primitive.name)
            waiting += [p for p in jax.tree.leaves(list(equation.params.values()), is_leaf=lambda p: hasattr(p, "eqns"))
                        if hasattr(p, "eqns")]
    return names


# Those that a user's program does not bind: parts of programs that JAX transforms, or that other primitives replace.
inner = {"call", "closed_call", "custom_lin", "empty2", "stage"}


def test_each_primitive_has_a_case_or_a_reason():
    known = {p.name for module in (primitives, lax, lax.linalg) for p in vars(module).values() if isinstance(p, Primitive)}
    assert sorted(known - set(rules)) == []
    assert sorted(known - set(missing) - set(cases) - inner) == []


def is_float(leaf):
    return np.asarray(leaf).dtype.kind in "f"


def weighted(function):
    """A number of the floats that a function returns, each with a weight of its own."""

    def number(*args):
        parts = [leaf for leaf in jax.tree.leaves(function(*args)) if leaf.dtype.kind == "f"]
        return sum([jnp.sum(part * jnp.cos(jnp.arange(part.size, dtype=part.dtype)).reshape(part.shape)) for part in parts])

    return number


def agree(made, wanted, name):
    made, wanted = jax.tree.leaves(made), jax.tree.leaves(wanted)
    assert len(made) == len(wanted)
    for a, b in zip(made, wanted):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        assert np.allclose(a, b, rtol=1e-4 if name in loose else 2e-5, atol=2e-5, equal_nan=True), name


loose = {"igamma_grad_a", "regularized_incomplete_beta", "polygamma", "zeta", "random_gamma"}


@functools.cache
def of_case(name):
    function, args = cases[name]
    return function, args, tn.from_jax(function)


@pytest.mark.parametrize("name", cases)
def test_value(name):
    function, args, ours = of_case(name)
    assert name in primitives_in(jax.make_jaxpr(function)(*args))
    agree(ours(*args), jax.jit(function)(*args), name)


@pytest.mark.parametrize("name", [name for name, (_, args) in cases.items() if any(map(is_float, args))])
def test_gradient(name):
    function, args, _ = of_case(name)
    numbers = tuple(i for i, a in enumerate(args) if is_float(a))
    try:
        wanted = jax.jit(jax.grad(weighted(function), numbers))(*args)
    except (NotImplementedError, TypeError, ValueError) as error:
        pytest.skip(f"JAX has no derivative: {str(error)[:80]}")
    agree(tn.grad(tn.from_jax(weighted(function)), numbers)(*args), wanted, name)
    agree(tn.from_jax(jax.grad(weighted(function), numbers))(*args), wanted, name)


@pytest.mark.parametrize("name", cases)
def test_batch(name):
    if name == "rng_bit_generator":
        pytest.skip("a batch of states gives what a loop over them gives; JAX's has one counter")
    function, args, ours = of_case(name)
    lanes = [np.stack([a, a + 1 if a.dtype.kind in "iu" and name not in ("lu_pivots_to_permutation",) else a]) for a in args]
    try:
        wanted = jax.jit(jax.vmap(function))(*lanes)
    except (NotImplementedError, TypeError, ValueError) as error:
        pytest.skip(f"JAX has no batch of it: {str(error)[:80]}")
    agree(tn.vmap(ours)(*lanes), wanted, name)
    agree(tn.from_jax(jax.vmap(function))(*lanes), wanted, name)


gone = {
    "fft": (lambda a: jnp.fft.fft(a), (vector,)),
    "conv_general_dilated": (lambda a: jnp.convolve(a, a), (vector,)),
    "svd": (lambda a: jnp.linalg.svd(a)[1], (square,)), "eigh": (lambda a: jnp.linalg.eigh(a)[0], (square,)),
    "eig": (lambda a: jnp.linalg.eig(a)[0], (square,)), "schur": (lambda a: lax.linalg.schur(a)[0], (square,)),
}


@pytest.mark.parametrize("name", gone)
def test_what_is_missing_is_said_by_name_and_line(name):
    function, args = gone[name]
    if name not in missing:
        pytest.skip("it is there")
    with pytest.raises(NotImplementedError, match=rf"the primitive {name}, bound at .*test_foreign_primitives.py:\d+"):
        tn.from_jax(function)(*args)
