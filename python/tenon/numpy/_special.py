"""Functions of Bessel's of imaginary argument, by their series in Chebyshev's polynomials."""

import functools

import numpy as np

from tenon import _core
from tenon.errors import DTypeError
from tenon.numpy._creation import asarray

__all__ = ["i0"]

# exp(-x)·I₀(x) and exp(-x)·I₁(x)/x for 0 ≤ x ≤ 8 in polynomials of x/4 - 1, and √x·exp(-x)·I(x) beyond in those of
# 16/x - 1; the terms above 2e-18, from values at the polynomials' zeros to 40 digits.
_SERIES = {
    0: ([0.33839763720473803, -0.3046826723431984, 0.17162090152220877, -0.09490109704804764, 0.04930528423967071,
         -0.02373741480589947, 0.010546460394594998, -0.004324309995050576, 0.0016394756169413357,
         -0.0005763755745385824, 0.00018850288509584165, -5.754195010082104e-05, 1.6448448070728896e-05,
         -4.4167383584587505e-06, 1.1173875391201037e-06, -2.670793853940612e-07, 6.046995022541919e-08,
         -1.300025009986248e-08, 2.6598237246823866e-09, -5.189795601635263e-10, 9.675809035373237e-11,
         -1.726826291441556e-11, 2.95505266312964e-12, -4.856446783111929e-13, 7.676185498604936e-14,
         -1.1685332877993451e-14, 1.715391285555133e-15, -2.431279846547955e-16, 3.3307945188222384e-17,
         -4.4153416464793395e-18],
        [0.4022452055070544, 0.0033691164782556943, 6.889758346916825e-05, 2.8913705208347567e-06,
         2.0489185894690638e-07, 2.266668990498178e-08, 3.3962320257083865e-09, 4.94060238822497e-10,
         1.1889147107846439e-11, -3.1499165279632416e-11, -1.3215811840447713e-11, -1.7941785315068062e-12,
         7.180124451383666e-13, 3.8527783827421426e-13, 1.54008621752141e-14, -4.150569347287222e-14,
         -9.554846698828307e-15, 3.8116806693526224e-15, 1.7725601330565263e-15, -3.425485619677219e-16,
         -2.8276239805165836e-16, 3.461222867697461e-17, 4.46562142029676e-17, -4.830504485944182e-18,
         -7.233180487874754e-18]),
    1: ([0.12629359322181682, -0.17641651835783406, 0.1026436586898471, -0.05294598120809499,
         0.024726449030626516, -0.010564084894626197, 0.004156422944312888, -0.0015135724506312532,
         0.0005122859561685758, -0.00016176081582589674, 4.781565107550054e-05, -1.3273163656039436e-05,
         3.4702513081376785e-06, -8.568720264695455e-07, 2.0032947535521353e-07, -4.445059128796328e-08,
         9.381537386495773e-09, -1.8872497517228294e-09, 3.625590281552117e-10, -6.663489723502027e-11,
         1.1736186298890901e-11, -1.9839743977649436e-12, 3.223793365945575e-13, -5.042185504727912e-14,
         7.600684294735408e-15, -1.1055969477353862e-15, 1.5536319577362005e-16, -2.111421214358166e-17,
         2.7779141127610464e-18],
        [0.38928811750914005, -0.009761097491361469, -0.00011058893876262371, -3.882564808877691e-06,
         -2.512236237870209e-07, -2.6314688468895196e-08, -3.835380385964237e-09, -5.589743462196584e-10,
         -1.8974958123505413e-11, 3.2526035830154884e-11, 1.4125807436613782e-11, 2.0356285441470896e-12,
         -7.198551776245908e-13, -4.0835511110921974e-13, -2.1015418427726643e-14, 4.272440016711951e-14,
         1.0420276984128802e-14, -3.8144030724370075e-15, -1.8803547755107825e-15, 3.3082023109209285e-16,
         2.96262899764595e-16, -3.209525921993424e-17, -4.6503053684893586e-17, 4.414348323071708e-18,
         7.517296310842105e-18]),
}


def _chebyshev(t, terms):
    """The sum of terms[k]·T_k(t), from the last term on (Clenshaw's recurrence)."""
    later, last = 0.0, 0.0
    for c in terms[:0:-1]:
        later, last = 2 * t * later - last + c, later
    return t * later - last + terms[0]


def _exact_to(dtype, terms):
    """The terms of a series that count in a dtype."""
    least = float(np.finfo(dtype).eps) / 64
    return terms[:1 + max(k for k, c in enumerate(terms) if abs(c) >= least)]


def _bessel(order, x):
    """exp(-|x|)·I(x) of a real array."""
    near, far = (_exact_to(x.dtype, terms) for terms in _SERIES[order])
    size = _core.abs(x)
    inside = _core.less_equal(size, 8.0)
    safe = _core.where(inside, 8.0, size)  # beyond 8, there alone
    small = _core.where(inside, x, 0.0)
    made = _chebyshev(_core.abs(small) / 4 - 1, near)
    beyond = _chebyshev(16 / safe - 1, far) / _core.sqrt(safe)
    if order == 1:
        made, beyond = made * small, _core.sign(x) * beyond
    return _core.where(_core.isnan(x), x, _core.where(inside, made, beyond))


def _real(x, name):
    x = _core.to_inexact(asarray(x))
    if x.dtype.kind == "c":
        raise DTypeError(f"{name} does not accept complex numbers.")
    return x


def _in_single(f, x, *more):
    """f of arrays of one dtype; of f16 and bf16 computed in f32."""
    if x.dtype.itemsize >= 4:
        return f(x, *more)
    return _core.convert(f(*(_core.convert(y, "float32") for y in (x, *more))), x.dtype)


def _with_slopes(value, *slopes):
    """value(), of f16 and bf16 computed in f32, with its derivatives in each argument."""
    from tenon import custom_jvp

    f = custom_jvp(value)
    f.defjvp(lambda primals, tangents: (value(*primals), sum(s(*primals) * t for s, t in zip(slopes, tangents))))
    return functools.partial(_in_single, f)


@functools.cache
def _with_derivative(order):
    """_bessel() with the derivative that the functions have by their relations."""
    from tenon import custom_jvp

    f = custom_jvp(functools.partial(_in_single, functools.partial(_bessel, order)))

    @f.defjvp
    def rule(primals, tangents):
        (x,), (t,) = primals, tangents
        zeroth, first = bessel_i0e(x), bessel_i1e(x)
        if order == 0:
            return zeroth, (first - _core.sign(x) * zeroth) * t
        zero = _core.equal(x, 0)
        slope = zeroth - first * (_core.sign(x) + 1 / _core.where(zero, 1, x))
        return first, _core.where(zero, 0.5, slope) * t

    return f


def bessel_i0e(x):
    """exp(-|x|)·I₀(x).

    >>> float(bessel_i0e(0.0))
    1.0
    """
    return _with_derivative(0)(_real(x, "bessel_i0e"))


def bessel_i1e(x):
    """exp(-|x|)·I₁(x).

    >>> float(bessel_i1e(0.0))
    0.0
    """
    return _with_derivative(1)(_real(x, "bessel_i1e"))


def i0(x):
    """I₀(x), the function of Bessel's of imaginary argument and order 0.

    >>> round(float(i0(1.0)), 12)
    1.266065877752
    """
    x = _real(x, "i0")
    return _core.exp(x * _core.sign(x)) * bessel_i0e(x)  # |x| with the slope 0 at 0
