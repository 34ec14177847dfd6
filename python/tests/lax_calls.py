"""How functions of tenon.lax and tenon.nn are called in tests, and what NumPy says of the same call."""

import functools
import math

import numpy as np
import numpy_calls  # noqa: F401  it enters what lax shares
import shape_calls  # noqa: F401
from calls import ANY, CASES, call, case, dims, no_such_axis, of, same
from drawn import inexact

LAX, NN = {}, {}
in_lax, in_nn = functools.partial(case, table=LAX), functools.partial(case, table=NN)

# --- lax: operands of one dtype and one shape ---

for names in ("exp sin cos tan sinh cosh tanh sqrt atan asinh expm1 acosh log1p asin acos atanh log cbrt exp2 reciprocal square",):
    for name in names.split():
        LAX[name] = CASES[name]._replace(draw=of("hf", {"acosh": "positive", "log1p": "positive", "asin": "inside", "acos": "inside",
                                                         "atanh": "inside", "reciprocal": "nonzero"}.get(name, "special")))
for ours, theirs in (("abs", np.abs), ("neg", np.negative), ("sign", np.sign), ("floor", np.floor), ("ceil", np.ceil),
                     ("is_finite", np.isfinite)):
    in_lax(ours, reference=theirs)(of("hf", "wild"))
for ours, theirs in (("real", np.real), ("imag", np.imag), ("conj", np.conj)):
    in_lax(ours, reference=theirs)(of("c"))
in_lax("bitwise_not", reference=np.invert)(of("biu", "wild"))
in_lax("rsqrt", reference=lambda x: 1 / np.sqrt(x), rule=same, operands=(0,))(of("hf", "positive"))
in_lax("logistic", reference=lambda x: 1 / (1 + np.exp(-x)), rule=same, operands=(0,))(of("hf"))
in_lax("erf", reference=np.vectorize(math.erf, [float]), rule=same, operands=(0,))(of("hf"))
in_lax("erfc", reference=np.vectorize(math.erfc, [float]), rule=same, operands=(0,))(of("hf", "unit"))
in_lax("erf_inv", reference=np.vectorize(lambda y: _solved(math.erf, y), [float]), rule=same, operands=(0,))(of("hf", "inside"))
in_lax("stop_gradient", reference=lambda x: x)(of("biuhfc"))


def _solved(f, y):
    low, high = -6.0, 6.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) < y else (low, middle)
    return (low + high) / 2


def pairs(kinds, values="special"):
    def draw(d):
        dtype, shape = d.dtype(kinds), d.shape()
        return call(d.array(dtype=dtype, values=values, shape=shape), d.array(dtype=dtype, values=values, shape=shape))
    return draw


for ours, theirs, kinds, values in (
        ("add", np.add, "iuhfc", "tame"), ("sub", np.subtract, "iuhfc", "tame"), ("mul", np.multiply, "iuhfc", "tame"),
        ("div", lambda x, y: x / y if x.dtype.kind in "fc" else np.trunc(x / y).astype(x.dtype), "iuhfc", "nonzero"),
        ("rem", np.fmod, "iuhf", "nonzero"), ("pow", np.power, "hf", "positive"), ("atan2", np.arctan2, "hf", "special")):
    in_lax(ours, reference=theirs, rule=same, operands=(0, 1), terms=1)(pairs(kinds, values))
for ours, theirs in (("max", np.maximum), ("min", np.minimum), ("eq", np.equal), ("ne", np.not_equal), ("lt", np.less),
                     ("le", np.less_equal), ("gt", np.greater), ("ge", np.greater_equal)):
    in_lax(ours, reference=theirs)(pairs("biuhf", "wild"))
for ours, theirs in (("bitwise_and", np.bitwise_and), ("bitwise_or", np.bitwise_or), ("bitwise_xor", np.bitwise_xor)):
    in_lax(ours, reference=theirs)(pairs("biu", "wild"))
in_lax("shift_left", reference=np.left_shift)(pairs("iu", "positive"))
in_lax("shift_right_arithmetic", reference=lambda x, y: np.right_shift(x.view(f"i{x.itemsize}"), y.view(f"i{x.itemsize}")).view(x.dtype))(
    lambda d: (lambda x: call(x, d.array(dtype=x.dtype, values="positive", shape=x.shape)))(d.array("iu", "wild")))
in_lax("shift_right_logical", reference=lambda x, y: np.right_shift(x.view(f"u{x.itemsize}"), y.view(f"u{x.itemsize}")).view(x.dtype))(
    lambda d: (lambda x: call(x, d.array(dtype=x.dtype, values="positive", shape=x.shape)))(d.array("iu", "wild")))
in_lax("complex", reference=lambda x, y: (x + 1j * y).astype("complex64" if x.dtype.itemsize == 4 else "complex128"))(pairs("f", "tame"))
in_lax("clamp", reference=lambda low, x, high: np.clip(x, low, high).astype(x.dtype))(
    lambda d: (lambda t: call(*(d.array(dtype=t, values="tame", shape=s) for s in ((), d.shape(), ()))))(d.dtype("iuhf")))
in_lax("integer_pow", reference=lambda x, n: x ** n, rule=same, operands=(0,))(lambda d: call(d.array("hf", "nonzero"), d.number(-2, 4)))
in_lax("round", reference=lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x).astype(x.dtype))(of("hf", "tame"))
in_lax("population_count", reference=lambda x: np.bitwise_count(x).astype(x.dtype))(of("u", "wild"))
in_lax("select", reference=np.where)(lambda d: (lambda x, y: call(d.array("b", shape=x.shape), x, y))(*pairs("biuhfc")(d).args))
in_lax("select_n", reference=lambda c, x, y: np.where(c, y, x))(lambda d: (lambda x, y: call(d.array("b", shape=x.shape), x, y))(*pairs("biuhfc")(d).args))
in_lax("convert_element_type", reference=lambda x, t: x.astype(t))(lambda d: call(d.array("biuhf", "tame"), d.of("int32", "float32", "float64", "complex64")))


def ranked(f, kinds=ANY, least=1, values="special", low=0):
    return lambda d: f(d, d.array(kinds, values, least=least, low=low))


in_lax("reshape", reference=np.reshape)(ranked(lambda d, x: call(x, d.of(x.shape[::-1], (x.size,), (1, x.size), (x.size + 1,)))))
in_lax("transpose", reference=np.transpose)(ranked(lambda d, x: call(x, d.of(tuple(range(x.ndim)), tuple(range(x.ndim))[::-1]))))
in_lax("rev", reference=np.flip)(ranked(lambda d, x: call(x, (d.axis(x.ndim) % (x.ndim + 1),))))
in_lax("squeeze", reference=np.squeeze)(ranked(lambda d, x: call(x, (d.axis(x.ndim),))))
in_lax("expand_dims", reference=np.expand_dims)(ranked(lambda d, x: call(x, (d.axis(x.ndim + 1),)), least=0))
in_lax("broadcast", reference=lambda x, sizes: np.broadcast_to(x, (*sizes, *x.shape)))(ranked(lambda d, x: call(x, d.shape(0, 2)), least=0))
in_lax("broadcast_in_dim", reference=lambda x, shape, axes: np.broadcast_to(x.reshape([x.shape[axes.index(i)] if i in axes else 1 for i in range(len(shape))]), shape))(
    ranked(lambda d, x: call(x, (2, *x.shape), tuple(range(1, x.ndim + 1))), least=0))
in_lax("broadcast_to_rank", reference=lambda x, rank: x.reshape((1,) * (rank - x.ndim) + x.shape))(ranked(lambda d, x: call(x, x.ndim + d.number(0, 2)), least=0))
in_lax("collapse", reference=lambda x, a, b: x.reshape(*x.shape[:a], int(np.prod(x.shape[a:b])), *x.shape[b:]))(
    ranked(lambda d, x: call(x, d.number(0, x.ndim - 1), x.ndim)))
in_lax("concatenate", reference=np.concatenate)(lambda d: (lambda t, s: (lambda x: call([x, x[:1]], 0))(d.array(dtype=t, shape=s)))(d.dtype(ANY), d.shape(1)))
in_lax("pad", reference=lambda x, v, widths: np.pad(x, [w[:2] for w in widths], constant_values=v))(
    ranked(lambda d, x: call(x, d.array(dtype=x.dtype, values="tame", shape=()), [(d.number(0, 2), d.number(0, 2), 0) for _ in x.shape]), "iuhf"))


def starts(d, x):
    return [d.number(0, n) for n in x.shape]


in_lax("slice", reference=lambda x, a, b, s: x[tuple(map(slice, a, b, s))])(
    ranked(lambda d, x: (lambda a: call(x, a, [d.number(i, n) for i, n in zip(a, x.shape)], [d.number(1, 2) for _ in a]))(starts(d, x))))
in_lax("slice_in_dim", reference=lambda x, a, b, s: x[a:b:s])(ranked(lambda d, x: call(x, 0, d.number(0, len(x)), d.number(1, 2))))
in_lax("index_in_dim", reference=lambda x, i, axis, keep: np.take(x, [i] if keep else i, axis))(ranked(lambda d, x: call(x, d.number(-4, 3), 0, d.flag())))


def moved_inside(x, start, sizes):
    start = [int(s) + (n if s < 0 else 0) for s, n in zip(start, x.shape)]
    start = [min(max(s, 0), n - k) for s, n, k in zip(start, x.shape, sizes)]
    return tuple(slice(s, s + k) for s, k in zip(start, sizes))


def written(x, update, start):
    made = x.copy()
    made[moved_inside(x, start, update.shape)] = update
    return made


def sizes(d, x):
    return tuple(d.number(0, n) for n in x.shape)


def anywhere(d, x):
    return tuple(d.number(-n - 1, n + 1) for n in x.shape)


in_lax("dynamic_slice", reference=lambda x, a, k: x[moved_inside(x, a, k)])(ranked(lambda d, x: call(x, anywhere(d, x), sizes(d, x))))
in_lax("dynamic_update_slice", reference=written)(
    ranked(lambda d, x: call(x, d.array(dtype=x.dtype, shape=sizes(d, x)), anywhere(d, x))))
in_lax("dynamic_slice_in_dim", reference=lambda x, a, k: x[moved_inside(x, (a,), (k,))])(ranked(lambda d, x: call(x, d.number(-4, 4), d.number(0, len(x)))))
in_lax("dynamic_index_in_dim", reference=lambda x, i: x[moved_inside(x, (i,), (1,))])(ranked(lambda d, x: call(x, d.number(-4, 4)), low=1))
in_lax("dynamic_update_slice_in_dim", reference=lambda x, u, a, axis: written(x, u, (a,) + (0,) * (x.ndim - 1)))(
    ranked(lambda d, x: call(x, d.array(dtype=x.dtype, shape=(d.number(0, len(x)), *x.shape[1:])), d.number(-4, 4), 0)))
in_lax("dynamic_update_index_in_dim", reference=lambda x, u, a, axis: written(x, u[None], (a,) + (0,) * (x.ndim - 1)))(
    ranked(lambda d, x: call(x, d.array(dtype=x.dtype, shape=x.shape[1:]), d.number(-4, 4), 0), low=1))
in_lax("index_take", reference=lambda x, at, axes: x[at[0]])(ranked(lambda d, x: call(x, (d.indices(len(x), (2,)),), (0,)), low=1))
in_lax("split", reference=lambda x, n: np.split(x, np.cumsum(n)[:-1]))(ranked(lambda d, x: (lambda k: call(x, (k, len(x) - k)))(d.number(0, len(x)))))
in_lax("tile", reference=np.tile)(ranked(lambda d, x: call(x, tuple(d.number(0, 2) for _ in x.shape))))
in_lax("iota", reference=lambda t, n: np.arange(n, dtype=t))(lambda d: call(d.of("int32", "float32", "uint8"), d.number(0, 5)))
in_lax("broadcasted_iota", reference=lambda t, shape, k: np.indices(shape)[k].astype(t))(lambda d: (lambda s: call(d.of("int32", "float64"), s, d.number(0, len(s) - 1)))(d.shape(1)))
for name in ("full", "full_like"):
    LAX[name] = CASES[name]
in_lax("empty", reference=np.zeros)(lambda d: call(d.shape(), d.of("int32", "complex64")))
LAX["dtype"] = CASES["ndim"]._replace(draw=lambda d: call(d.of("int32", "float64", float, int)), reference=np.dtype)
LAX["broadcast_shapes"] = CASES["broadcast_shapes"]


def some_axes(x, d):
    return tuple(sorted({d.number(0, x.ndim - 1) for _ in range(d.number(0, 3))}))


for ours, theirs, kinds, values in (("sum", np.sum, "iuhfc", "tame"), ("prod", np.prod, "iufc", "unit")):
    in_lax(f"reduce_{ours}", reference=lambda x, axes, f=theirs: f(x, axes, dtype=x.dtype), rule=same, operands=(0,), terms=27)(
        ranked(lambda d, x: call(x, some_axes(x, d)), kinds, values=values))
for ours, theirs, kinds in (("max", np.max, "iuhfc"), ("min", np.min, "iuhfc"), ("and", np.all, "b"), ("or", np.any, "b")):
    in_lax(f"reduce_{ours}", reference=lambda x, axes, f=theirs: f(x, axes))(ranked(lambda d, x: call(x, some_axes(x, d)), kinds, low=1))
for name in ("argmax", "argmin"):
    in_lax(name, reference=lambda x, axis, t, f=getattr(np, name): f(x, axis).astype(t))(ranked(lambda d, x: call(x, d.number(0, x.ndim - 1), "int32"), "biuhf", low=1))
for ours, theirs, values in (("sum", np.add, "special"), ("prod", np.multiply, "unit"), ("max", np.maximum, "special"), ("min", np.minimum, "special"),
                             ("logsumexp", np.logaddexp, "tame")):
    in_lax(f"cum{ours}", reference=lambda x, axis, f=theirs: f.accumulate(x, axis, dtype=x.dtype), rule=same, operands=(0,), terms=27)(
        ranked(lambda d, x: call(x, d.number(0, x.ndim - 1)), "f" if ours == "logsumexp" else "iuhf", values=values))
in_lax("sort", reference=np.sort)(ranked(lambda d, x: call(x, d.number(-x.ndim, x.ndim - 1)), "biuhf"))


def by_keys(keys, values):
    order = np.argsort(keys, kind="stable")
    return np.take_along_axis(keys, order, -1), np.take_along_axis(values, order, -1)


in_lax("sort_key_val", reference=by_keys)(lambda d: call(*d.alike(2, "iuf", least=1)))
in_lax("top_k", reference=lambda x, k: [np.sort(x)[..., ::-1][..., :k], np.argsort(-x.astype(float), kind="stable").astype("int32")[..., :k]][:2])(
    ranked(lambda d, x: call(x, d.number(0, x.shape[-1])), "if", values="tame"))
in_lax("dot", reference=np.dot, rule=same, operands=(0, 1), terms=300)(lambda d: (lambda t: call(*(d.array(dtype=t, values="tame", shape=s) for s in dims(d, d.of("i,i", "ij,j", "ij,jk")))))(d.dtype("iuhfc")))
in_lax("batch_matmul", reference=np.matmul, rule=same, operands=(0, 1), terms=300)(lambda d: (lambda t: call(*(d.array(dtype=t, values="tame", shape=s) for s in dims(d, "aij,ajk"))))(d.dtype("iuhfc")))
in_lax("dot_general", reference=lambda x, y, _: np.einsum("aij,akj->aik", x, y), rule=same, operands=(0, 1), terms=300)(
    lambda d: (lambda t: call(*(d.array(dtype=t, values="tame", shape=s) for s in dims(d, "aij,akj")), (((2,), (2,)), ((0,), (0,)))))(d.dtype("iuhfc")))

# --- nn ---


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def normal(x):
    return 0.5 * (1 + np.vectorize(math.erf, [float])(x / math.sqrt(2)))


def shifted(x, axis):
    x = x - np.max(x, axis, keepdims=True, initial=-1e300)
    return x - np.log(np.exp(x).sum(axis, keepdims=True))


for name, reference in {
        "relu": lambda x: np.maximum(x, 0), "relu6": lambda x: np.clip(x, 0, 6), "sigmoid": sigmoid, "silu": lambda x: x * sigmoid(x), "swish": lambda x: x * sigmoid(x),
        "softplus": lambda x: np.logaddexp(x, 0), "soft_sign": lambda x: x / (np.abs(x) + 1), "log_sigmoid": lambda x: -np.logaddexp(-x, 0), "tanh": np.tanh,
        "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))), "celu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
        "selu": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(np.minimum(x, 0))), "leaky_relu": lambda x: np.where(x >= 0, x, 0.01 * x),
        "hard_sigmoid": lambda x: np.clip(x + 3, 0, 6) / 6, "hard_silu": lambda x: x * np.clip(x + 3, 0, 6) / 6, "hard_swish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
        "hard_tanh": lambda x: np.clip(x, -1, 1), "mish": lambda x: x * np.tanh(np.logaddexp(x, 0)), "squareplus": lambda x: (x + np.sqrt(x * x + 4)) / 2,
        "sparse_plus": lambda x: np.where(x <= -1, 0, np.where(x >= 1, x, (x + 1) ** 2 / 4)), "sparse_sigmoid": lambda x: np.clip(x + 1, 0, 2) / 2,
        "gelu": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3))), "identity": lambda x: x}.items():
    in_nn(name, reference=reference, rule=same, operands=(0,), terms=1)(of("hf", "tame"))
in_nn("log1mexp", reference=lambda x: np.log(-np.expm1(-x)), rule=same, operands=(0,), terms=1)(of("f", "positive"))
for name, reference in {"softmax": lambda x, axis: np.exp(shifted(x, axis)), "log_softmax": shifted,
                        "standardize": lambda x, axis: (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + 1e-5)}.items():
    in_nn(name, reference=reference, rule=same, operands=(0,), terms=2000)(ranked(lambda d, x: call(x, d.number(-x.ndim, x.ndim - 1)), "f", values="positive", low=1))
in_nn("logsumexp", refuses=no_such_axis, reference=lambda x, **o: np.log(np.exp(x).sum(**o)), rule=inexact, operands=(0,), terms=1)(
    lambda d: (lambda x: call(x, axis=d.axes(x.ndim), keepdims=d.flag()))(d.array("iuf", "tame")))
in_nn("logmeanexp", refuses=no_such_axis, reference=lambda x, **o: np.log(np.exp(x).mean(**o)), rule=inexact, operands=(0,), terms=1)(
    lambda d: (lambda x: call(x, axis=d.axes(x.ndim), keepdims=d.flag()))(d.array("f", "tame", low=1)))
in_nn("glu", reference=lambda x: np.split(x, 2, -1)[0] * sigmoid(np.split(x, 2, -1)[1]), rule=same, operands=(0,))(ranked(lambda d, x: call(x), "f", values="tame"))
in_nn("one_hot", reference=lambda x, n: (x[..., None] == np.arange(n)).astype(float))(lambda d: call(d.array("i", "tame"), d.number(0, 5)))

ELSEWHERE = {  # tested by tests of their own
    "jax.numpy": "frompyfunc histogram2d histogramdd i0 iterable packbits polydiv polyfit roots ufunc unique_all unique_counts unique_inverse unpackbits".split(),
    "jax.lax": """RandomAlgorithm rng_bit_generator bitcast_convert_type mulhi nextafter reduce_precision betainc igamma igamma_grad_a igammac random_gamma_grad DotDimensionNumbers GatherDimensionNumbers GatherScatterMode Precision PrecisionLike RaggedDotDimensionNumbers RoundingMethod ScatterDimensionNumbers
        approx_max_k approx_min_k associative_scan bessel_i0e bessel_i1e broadcast_like clz composite cond custom_linear_solve
        custom_root dce_sink digamma fori_loop gather lgamma map optimization_barrier padtype_to_pads platform_dependent polygamma
        ragged_dot ragged_dot_general reduce reduce_xor scan scatter scatter_add scatter_apply scatter_max scatter_min scatter_mul scatter_sub shape_as_value stack
        stage switch unstack while_loop zeta all_gather all_to_all axis_index axis_size pbroadcast pmax pmean pmin ppermute pshuffle
        psum psum_scatter pswapaxes FftType fft ConvDimensionNumbers conv conv_dimension_numbers conv_general_dilated
        conv_general_dilated_local conv_general_dilated_patches conv_general_permutations conv_general_shape_tuple conv_shape_tuple conv_transpose
        conv_transpose_shape_tuple conv_with_general_padding reduce_window reduce_window_shape_tuple scaled_dot""".split(),
    "jax.nn": ["dot_product_attention", "initializers", "scaled_matmul"],
}
