"""Calls of elementwise functions, on every dtype's special values."""

import numpy as np

from draws import ALL, FLOATS, Raw, W, emit, special

# ---------------------------------------------------------------- tables
NP_UNARY = (
    """abs absolute acos acosh angle arccos arccosh arcsin arcsinh arctan arctanh around asin asinh atan atanh bitwise_count
bitwise_invert bitwise_not cbrt ceil conj conjugate cos cosh deg2rad degrees exp exp2 expm1 fabs floor frexp i0 imag invert iscomplex
iscomplexobj isfinite isinf isnan isneginf isposinf isreal isrealobj log log10 log1p log2 logical_not modf nan_to_num negative positive
rad2deg radians real reciprocal rint round sign signbit sin sinc sinh sqrt square tan tanh trunc""".split()
)
NP_BINARY = (
    """add arctan2 atan2 bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift copysign divide divmod equal
float_power floor_divide fmax fmin fmod gcd greater greater_equal heaviside hypot lcm ldexp left_shift less less_equal logaddexp logaddexp2
logical_and logical_or logical_xor maximum minimum mod multiply not_equal pow power remainder right_shift subtract true_divide isclose
allclose array_equal array_equiv""".split()
)
OPS = "add sub mul truediv floordiv mod pow and_ or_ xor lshift rshift eq ne lt le gt ge matmul".split()
NN_UNARY = """celu elu gelu hard_sigmoid hard_silu hard_swish hard_tanh identity leaky_relu log1mexp log_sigmoid mish relu relu6 selu sigmoid silu soft_sign softplus
sparse_plus sparse_sigmoid squareplus swish tanh""".split()
LAX_UNARY = """abs acos acosh asin asinh atan atanh bessel_i0e bessel_i1e bitwise_not cbrt ceil clz conj cos cosh digamma erf erf_inv erfc
exp exp2 expm1 floor imag is_finite lgamma log log1p logistic neg population_count real reciprocal round rsqrt sign sin sinh sqrt square tan
tanh stop_gradient""".split()
LAX_BINARY = (
    """add atan2 bitwise_and bitwise_or bitwise_xor complex div eq ge gt igamma igammac le lt max min mul ne pow rem shift_left
shift_right_arithmetic shift_right_logical sub zeta polygamma""".split()
)


def gen_unary(g, ns, names, scale):
    for name in names:
        for n in ALL:
            for mode in ("special", "sub") if n in FLOATS else ("special",):
                emit(f"{ns}.{name}", [special(n, mode == "sub")], tag=mode)
            if g.flag(0.5 * scale):
                g.mode = "small"
                emit(f"{ns}.{name}", [g.arr(n)])
        for v in (True, 3, -2, 0.5, -0.0, 1 + 2j, 2**31, float("nan")):
            if g.flag(0.5):
                emit(f"{ns}.{name}", [v])
        emit(f"{ns}.{name}", [W((g.of(2, 0.25, True), g.of((), (2,))))])
        emit(f"{ns}.{name}", [g.of([1.0, 2.0], "text", None)])
        if ns == "np":
            emit(f"{ns}.{name}", [Raw((g.arr(),))])


def cross(g, a, b):
    x, y = special(a), special(b)
    if len(x) > 40:
        x = x[g.g.permutation(len(x))[:25]]
    if len(y) > 40:
        y = y[g.g.permutation(len(y))[:25]]
    return np.repeat(x, len(y)), np.tile(y, len(x))


def gen_binary(g, ns, names, scale, strict=False):
    for name in names:
        if name == "matmul":
            continue
        if name not in ("gcd", "lcm"):
            for n in ALL:
                emit(f"{ns}.{name}", cross(g, n, n), tag="special")
        for _ in range(int(14 * scale)):
            a, b = g.dt(), g.dt()
            if not strict and g.flag(0.3) and name not in ("gcd", "lcm"):
                emit(f"{ns}.{name}", cross(g, a, b), tag="special")
            else:
                g.mode = g.of("small", "small", "special") if name not in ("gcd", "lcm") else "small"
                s, t = g.bshapes()
                if strict and g.flag(0.85):
                    b, t = a, s
                if strict:
                    args = [g.arr(a, s), g.arr(b, t) if g.flag(0.8) else g.scalar()]
                else:
                    args = [g.operand(a, s), g.operand(b, t)]
                if g.flag(0.1):
                    args.reverse()
                emit(f"{ns}.{name}", args, tag=g.mode)
