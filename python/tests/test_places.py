"""Errors name the function that was called, what it was given, and the caller's line: none of the library's own lines."""

import inspect
import pickle

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import _core, debug, image, lax, nn, ops, optim, random, tree_util
from tenon.scipy import interpolate, linalg, ndimage, signal, special, stats
from tenon.scipy.optimize import minimize
from tenon.scipy.sparse.linalg import gmres
from tenon.scipy.spatial.transform import Rotation, Slerp

KEY, ONES = random.key(0), tnp.ones
ADAM = optim.adam(1e-3)

WRONG = [
    (lambda: random.normal(KEY, (-1,)), "random.normal (random.bits): the shape [-1] has a negative size"),
    (lambda: random.split(KEY, -1), "random.split: the shape [-1] has a negative size"),
    (lambda: random.orthogonal(KEY, -2), "random.orthogonal (random.bits): the shape [-2,-2] has a negative size"),
    (lambda: random.permutation(KEY, -1), "random.permutation: of -1 elements"),
    (lambda: random.categorical(KEY, tnp.zeros(3), replace=False, shape=(4,)), "random.categorical: 4 of the 3 categories"),
    (lambda: random.split(ONES(3)), "random.split: the key is f64[3], not u32[2]"),
    (lambda: random.uniform(KEY, (2,), minval=1j), "random.uniform: a bound is c128[]"),
    (lambda: ndimage.map_coordinates(ONES((2, 2)), [ONES(2), ONES(3)], 1), "map_coordinates: operands f64[2] and f64[3] do not broadcast"),
    (lambda: lax.ragged_dot(ONES((3, 2)), ONES((2, 3, 2)), tnp.array([1, 2])), "ragged_dot: axes (1) of lhs f64[3,2] and (1) of rhs f64[2,3,2]"),
    (lambda: ADAM.update(ONES(3), ADAM.init(ONES(2)), ONES(3)), "Optimizer.update: a leaf of the gradient is f64[3]"),
    (lambda: optim.adagrad(1.0).update(ONES(3), optim.adagrad(1.0).init(ONES((3, 1)))), "Optimizer.update: a leaf of the gradient is f64[3]"),
    (lambda: tnp.histogram(ONES(3), bins=-1), "histogram (histogram_bin_edges): of f64[3] there are -1 bins"),
]


@pytest.mark.parametrize(("call", "said"), WRONG)
def test_the_function_and_the_line_that_called_it(call, said):
    line = inspect.getsourcelines(call)[1]
    for run in (call, tn.jit(call)):
        with pytest.raises(tn.errors.Error) as caught:
            run()
        text = str(caught.value)
        assert text.startswith(said) and f"\n  at {__file__}:{line}\n" in text, text


def bound(module):
    for name in dir(module):
        value = getattr(module, name)
        if inspect.ismodule(value):
            yield from bound(value)
        elif not name.startswith("_"):
            yield value


# Operands that hardly any function takes together.
MISFITS = [[ONES(shape) for shape in shapes]
           for shapes in ([(2,)], [(2,), (3,)], [(2, 3), (4, 5)], [(2, 3), (3, 2), (5,)], [(2,), (3,), (4,), (5,)])]


def test_no_bound_function_names_a_line_of_the_library():
    refused = 0
    for function in bound(_core.tn):
        for operands in MISFITS:
            try:
                function(*operands)
            except tn.errors.Error as error:
                refused += 1
                assert ".cpp:" not in str(error) and ".h:" not in str(error), f"{function.__name__}: {error}"
            except Exception:  # noqa: S112  of Python's own kinds: not as many arguments
                continue
    assert refused > 100


def test_shapes_and_axes_that_do_not_fit_are_errors_of_tenon():
    for call, said in [
        (lambda: signal.welch(ONES(10), axis=3), "welch: axis 3 is out of bounds for array of dimension 1"),
        (lambda: signal.csd(ONES(10), ONES(10), axis=3), "csd: axis 3 is out of bounds"),
        (lambda: signal.stft(ONES(10), axis=2), "stft: axis 2 is out of bounds for array of dimension 1"),
        (lambda: signal.istft(ONES((3, 4)), freq_axis=5), "istft: freq_axis 5 is out of bounds"),
        (lambda: random.t(KEY, ONES(3), (2,)), "random.t: parameter shapes must be broadcast-compatible"),
        (lambda: random.beta(KEY, ONES(3), ONES(2)), "random.beta: the shapes (3,), (2,) do not broadcast to one"),
        (lambda: random.triangular(KEY, 0.0, ONES(3), ONES(2)), "random.triangular: the shapes (), (3,), (2,) do not"),
    ]:
        with pytest.raises(tn.errors.ShapeError) as caught:
            call()
        assert str(caught.value).startswith(said)
    with pytest.raises(np.exceptions.AxisError):
        tnp.size(ONES(2), axis=1)


def test_choices_that_are_none_name_the_function():
    for call, said in [
        (lambda: image.resize(ONES((2, 2)), (3, 3), "foo"), "resize: the method 'foo' is none of nearest, "),
        (lambda: image.ResizeMethod.from_string("foo"), "ResizeMethod.from_string: the method 'foo' is none of"),
        (lambda: nn.initializers.variance_scaling(1.0, "x", "normal"), "variance_scaling: mode is 'x'; it is one of 'fan_in'"),
        (lambda: nn.initializers.variance_scaling(1.0, "fan_in", "x"), "variance_scaling: distribution is 'x'; it is one of"),
        (lambda: random.key(0, impl="x"), "random: the generators are threefry2x32, rbg (also philox) and pcg, not 'x'"),
    ]:
        with pytest.raises(ValueError) as caught:
            call()
        assert str(caught.value).startswith(said)


def jitted(**options):
    return tn.jit(lambda x: x, **options)


X, M = ONES(3), ONES((3, 3))
OPTIONS = [
    lambda: tnp.quantile(X, 0.5, method="x"), lambda: tnp.pad(X, 1, mode="x"), lambda: tnp.take(X, 0, mode="x"),
    lambda: tnp.convolve(X, X, mode="x"), lambda: tnp.searchsorted(X, X, side="x"), lambda: tnp.sort(X, kind="x"),
    lambda: tnp.meshgrid(X, indexing="x"), lambda: tnp.packbits(tnp.zeros(8, bool), bitorder="x"), lambda: tnp.zeros(3, device="gpu"),
    lambda: tnp.put(X, 0, 1), lambda: tnp.ravel_multi_index((tnp.array([1]),), (3,), mode="x"), lambda: tnp.linalg.qr(M, mode="x"),
    lambda: tnp.linalg.eigh(M, UPLO="x"), lambda: tnp.linalg.slogdet(M, method="x"), lambda: tnp.linalg.norm(M, ord="x"),
    lambda: tnp.unwrap(X, period="x"), lambda: tnp.diff(X, n=-1), lambda: tnp.tensordot(M, M, axes="x"),
    lambda: linalg.qr(M, mode="x"), lambda: linalg.schur(M, output="x"), lambda: linalg.polar(M, side="x"),
    lambda: linalg.svd(M, lapack_driver="x"), lambda: linalg.toeplitz(X, X) @ linalg.pascal(3, kind="x"), lambda: linalg.dft(3, scale="x"),
    lambda: linalg.convolution_matrix(X, 3, mode="x"), lambda: linalg.solve(M, X, assume_a="x"), lambda: linalg.lu_solve(linalg.lu_factor(M), X, trans=5),
    lambda: signal.convolve(X, X, mode="x"), lambda: signal.convolve(X, X, method="x"), lambda: signal.welch(ONES(9), detrend="x"),
    lambda: signal.welch(ONES(9), scaling="x"), lambda: stats.rankdata(X, method="x"), lambda: stats.mode(X, nan_policy="x"),
    lambda: lax.fft(X, "x", (3,)), lambda: lax.conv_general_dilated(ONES((1, 1, 3)), ONES((1, 1, 1)), (1,), "x"),
    lambda: lax.scan(lambda c, x: (c, x), 0.0, X, unroll=-1), lambda: lax.padtype_to_pads((3,), (1,), (1,), 3),
    lambda: X.at[0].get(mode="x"), lambda: X.at[0].set(1.0, mode="x"), lambda: image.resize(M, (2, 2), "x"),
    lambda: nn.standardize(X, algorithm="x"), lambda: nn.initializers.variance_scaling(1.0, "x", "normal"),
    lambda: random.key(0, impl="x"), lambda: random.gumbel(KEY, (3,), mode="x"), lambda: random.poisson(KEY, 3.0, dtype=float),
    lambda: minimize(lambda x: x @ x, X, method="x"), lambda: minimize(lambda x: x @ x, X, method="BFGS", options={"x": 1}),
    lambda: gmres(M, X, solve_method="x"), lambda: jitted(numerics="x"), lambda: jitted(sizes="x"), lambda: jitted(sizes=3),
    lambda: jitted(static_argnums=4), lambda: jitted(static_argnums="x"), lambda: jitted(static_argnames="y"), lambda: jitted(rewrites=[3])(X),
    lambda: tn.vmap(lambda x: x, in_axes="x")(X), lambda: tn.vmap(lambda x: x, out_axes="x")(X), lambda: tn.vmap(lambda x: x, in_axes=(0, 0))(X),
    lambda: tn.grad(lambda x: x, argnums="x")(1.0), lambda: tn.new_ref(X, kind="x"), lambda: tnp.sum(X, where=X),
    lambda: tn.pure_callback(lambda x: x, X, X, vmap_method="x"), lambda: tn.checkpoint(lambda x: x, policy=3)(X),
    lambda: interpolate.RegularGridInterpolator((X,), X, method="x"), lambda: tnp.histogram_bin_edges(X, bins="x"),
]


@pytest.mark.parametrize("call", OPTIONS, ids=range(len(OPTIONS)))
def test_wrong_options_name_the_line_that_gave_them(call):
    lines, first = inspect.getsourcelines(call)
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    said = [line for line in str(caught.value).split("\n") if line.startswith(f"  at {__file__}:")]
    # That of the call, or of what it calls in this file.
    assert said and isinstance(caught.value, tn.errors.Error), repr(caught.value)
    assert int(said[0].rpartition(":")[2]) in {*range(first, first + len(lines)), jitted.__code__.co_firstlineno + 1}


# (the kind of the error, the built-in kind that NumPy, SciPy or JAX raise there, what it says, the call).
BAD_INPUT = [
    (tn.errors.OptionError, ValueError, "polyfit: expected deg >= 0, not -1", lambda: tnp.polyfit(X, X, -1)),
    (tn.errors.ShapeError, TypeError, "polyfit: expected 1D vector for x", lambda: tnp.polyfit(M, X, 1)),
    (tn.errors.ShapeError, ValueError, "concatenate: Need at least one array", lambda: tnp.concatenate([])),
    (tn.errors.ShapeError, ValueError, "an axis is named twice: (0, 0) of 2 axes", lambda: tnp.sum(M, axis=(0, 0))),
    (tn.errors.ShapeError, ValueError, "sum: initial value must be a scalar", lambda: tnp.sum(X, initial=X)),
    (tn.errors.ShapeError, ValueError, "attempt to get argmin of an empty sequence", lambda: tnp.argmin(tnp.zeros(0))),
    (tn.errors.ShapeError, IndexError, "take: indices [1] of an axis of no elements", lambda: tnp.take(tnp.zeros(0), tnp.array([0]))),
    (tn.errors.ShapeError, ValueError, "split: array split does not result in an equal division", lambda: tnp.split(X, 2)),
    (tn.errors.TreeError, ValueError, "block: List depths are mismatched", lambda: tnp.block([X, [X]])),
    (tn.errors.DTypeError, TypeError, "packbits: Expected an input array of integer or boolean data type", lambda: tnp.packbits(X)),
    (tn.errors.DTypeError, ValueError, "clip: complex numbers have no limits", lambda: tnp.clip(X + 1j, 0, 1)),
    (tn.errors.DTypeError, ValueError, "array: [1, None] has None among its elements", lambda: tnp.array([1, None])),
    (tn.errors.OptionError, TypeError, "vectorize: wrong number of positional arguments", lambda: tnp.vectorize(tnp.dot, signature="(n),(n)->()")(X)),
    (tn.errors.OptionError, ValueError, "piecewise: with 1 condition(s), either 1 or 2 functions are expected, not 0", lambda: tnp.piecewise(X, [X > 0], [])),
    (tn.errors.ShapeError, ValueError, "fft.fftn: Shape and axes have different lengths", lambda: tnp.fft.fftn(M, s=(3,), axes=(0, 1))),
    (tn.errors.ShapeError, ValueError, "Argument to cond() must have shape [..., n, n]", lambda: tnp.linalg.cond(ONES((2, 3)), 1)),
    (tn.errors.ShapeError, TypeError, "lstsq: 1-dimensional array given", lambda: tnp.linalg.lstsq(X, X)),
    (tn.errors.DTypeError, TypeError, "lax.add requires arguments to have the same dtypes", lambda: lax.add(X, tnp.array([1, 2, 3]))),
    (tn.errors.ShapeError, IndexError, "lax.index_in_dim: index 5 is out of bounds", lambda: lax.index_in_dim(X, 5)),
    (tn.errors.OptionError, TypeError, "lax.cond: true_fun and false_fun", lambda: lax.cond(True, 1, 2, X)),
    (tn.errors.ShapeError, ValueError, "scan got `length` argument of 4", lambda: lax.scan(lambda c, x: (c, x), 0.0, X, length=4)),
    (tn.errors.ShapeError, ValueError, "lax.fft: RFFT input shape", lambda: lax.fft(X, "rfft", (4,))),
    (tn.errors.TreeError, ValueError, "lax.reduce: the operands and the initial values", lambda: lax.reduce((X, X), 0.0, lax.add, (0,))),
    (tn.errors.ShapeError, ValueError, "convolution_matrix: n must be a positive integer.", lambda: linalg.convolution_matrix(X, 0)),
    (tn.errors.ShapeError, ValueError, "hadamard: n is a positive power of 2", lambda: linalg.hadamard(3)),
    (tn.errors.DTypeError, TypeError, "eigh_tridiagonal: d and e differ in dtype", lambda: linalg.eigh_tridiagonal(X, tnp.ones(2, "float32"))),
    (tn.errors.ShapeError, ValueError, "Slerp.init: times of shape (3,)", lambda: Slerp.init(X, Rotation.from_quat(ONES((2, 4))))),
    (tn.errors.ConcretizationError, TypeError, "sph_harm_y: n is traced", lambda: tn.jit(special.sph_harm_y)(tnp.array([1]), tnp.array([0]), X[:1], X[:1])),
    (tn.errors.OptionError, TypeError, "gmres: A, a linear operator must be either", lambda: gmres("x", X)),
    (tn.errors.DTypeError, TypeError, "random.key: the seed is an integer, not 1.5", lambda: random.key(1.5)),
    (tn.errors.ShapeError, ValueError, "dirichlet requires alpha.ndim >= 1", lambda: random.dirichlet(KEY, 1.0)),
    (tn.errors.TreeError, TypeError, "reduce_associative: there is no leaf", lambda: tree_util.tree_reduce_associative(tnp.add, ())),
    (tn.errors.TreeError, ValueError, "flatten_one_level_with_keys: can't tree-flatten type", lambda: tree_util.flatten_one_level_with_keys(3)),
    (tn.errors.ShapeError, ValueError, "scaled_matmul: operands and scales have three axes each", lambda: nn.scaled_matmul(M, M, M, M)),
    (tn.errors.OptionError, ValueError, "segment_sum: num_segments must be non-negative.", lambda: ops.segment_sum(X, tnp.array([0, 1, 2]), -1)),
    (tn.errors.OptionError, TypeError, "jit: 3 is not callable", lambda: tn.jit(3)),
    (tn.errors.DifferentiationError, TypeError, "grad: Gradient only defined for scalar-output functions.", lambda: tn.grad(tnp.sin, holomorphic=True)(X + 1j)),
    (tn.errors.DifferentiationError, TypeError, "grad with holomorphic=True requires inputs with complex", lambda: tn.grad(tnp.sum, holomorphic=True)(X)),
    (tn.errors.OptionError, TypeError, "debug.print: the format is a str", lambda: debug.print(3)),
    (tn.errors.ShapeError, TypeError, "len() of unsized object", lambda: len(tn.ShapeDtypeStruct((), "float32"))),
]


@pytest.mark.parametrize(("kind", "builtin", "said", "call"), BAD_INPUT, ids=[said for _, _, said, _ in BAD_INPUT])
def test_what_the_front_end_refuses_names_the_line_that_gave_it(kind, builtin, said, call):
    line = inspect.getsourcelines(call)[1]
    with pytest.raises(tn.errors.Error) as caught:
        call()
    text = str(caught.value)
    assert type(caught.value) is kind and isinstance(caught.value, builtin), repr(caught.value)
    assert text.startswith(said) and text.partition("\n")[2].startswith(f"  at {__file__}:{line}"), text


def test_errors_of_options_are_kept_and_copied():
    with pytest.raises(tn.errors.OptionError) as caught:
        tnp.convolve(X, X, mode="x")
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) and str(again).count("\n  at ") == 1
    assert isinstance(again, ValueError) and isinstance(again, TypeError)
    with pytest.raises(tn.errors.ParseError, match=rf"^deserialize: .*\n  at {__file__}:\d+$"):
        tn.export.deserialize(b"no export")
    assert str(tn.errors.ShapeError("a\n  at b:1\n  c")) == "a\n  at b:1\n  c" and str(tn.errors.Error()) == ""


@pytest.mark.parametrize("draw", [random.gamma, random.loggamma, random.dirichlet, random.poisson, random.chisquare, random.t,
                                  lambda key, p: random.truncated_normal(key, p, 2.0), lambda key, p: random.weibull_min(key, 1.0, p, (2,)),
                                  lambda key, p: random.generalized_normal(key, p, (2,)), lambda key, p: random.binomial(key, 3, p),
                                  lambda key, p: random.multinomial(key, 3, p)])
def test_parameters_of_random_numbers_are_no_complex_ones(draw):
    with pytest.raises(ValueError):
        draw(KEY, ONES(2) + 1j)


def test_the_generator_philox_has_two_names():
    key = random.key(3, impl="philox")
    assert random.key_impl(key) == "rbg" and np.array_equal(key, random.key(3, impl="rbg"))
    assert np.array_equal(random.wrap_key_data(key, impl="philox"), key)


def test_indices_without_replacement_are_of_32_bits():
    logits = tnp.zeros((2, 3))
    for x64, wide in ((True, "int64"), (False, "int32")):
        with tn.enable_x64(x64):
            assert random.categorical(KEY, logits).dtype == wide
            assert random.categorical(KEY, logits, replace=False).dtype == random.categorical(KEY, logits, replace=False, shape=(2, 2)).dtype == "int32"


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cumlogsumexp"])
def test_what_a_loop_of_the_library_computes_is_the_callers(name):
    function = getattr(lax, name)
    told = tn.explain(lambda x: function(x))(tnp.ones(40))
    assert f" at {__file__}:" in told and "tenon/api" not in told, told
