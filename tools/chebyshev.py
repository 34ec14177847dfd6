#!/usr/bin/env python3
"""The series in Chebyshev's polynomials of tenon/api/special/: terms above 2e-18, from values at the zeros of T_72 to 40 digits. And
quotients of polynomials, which meet a function at Chebyshev's points.

tools/chebyshev.py [NAME]   prints C++ tables.
"""
import sys

from mpmath import (bernoulli, ci, cos, e1, ei, erf, erfc, erfi, erfinv, euler, exp, factorial, findroot, fresnelc, fresnels, fsum, log,
                    loggamma, lu_solve, matrix, mp, mpf, pi, si, sin, sqrt)

mp.dps = 40
NODES = 72


def terms(f):
    values = [f(cos(pi * (j + mpf(1) / 2) / NODES)) for j in range(NODES)]
    made = [2 / mpf(NODES) * fsum(v * cos(pi * k * (j + mpf(1) / 2) / NODES) for j, v in enumerate(values)) for k in range(NODES)]
    made[0] /= 2
    return made[:1 + max(k for k in range(NODES) if abs(made[k]) > 2e-18)]


def quotient(f, above, below):
    """The coefficients of P and Q, of these degrees and with Q(0) = 1, where P / Q is f at the zeros of a Chebyshev polynomial."""
    count = above + below + 1
    rows, values = matrix(count, count), matrix(count, 1)
    with mp.workdps(60):
        for i in range(count):
            t = cos(pi * (i + mpf(1) / 2) / count)
            values[i] = f(t)
            for k in range(above + 1):
                rows[i, k] = t**k
            for k in range(1, below + 1):
                rows[i, above + k] = -values[i] * t**k
        found = list(lu_solve(rows, values))
    return found[:above + 1], [mpf(1)] + found[above + 1:]


def within(low, high, f):
    """f(x) of low ≤ x ≤ high in t = (2x - low - high) / (high - low)."""
    return lambda t: f(low + (high - low) * (1 + t) / 2)


def beyond(low, middle, f):
    """f(x) of x ≥ low in t = (x - middle) / (x + middle - 2 low), which is 0 at the middle."""
    return lambda t: f(low + (middle - low) * (1 + t) / (1 - t))


def erfcx(x):
    return exp(x * x) * erfc(x) if x < 200 else fsum((-1) ** k * mp.fac2(2 * k - 1) / (2 * x * x) ** k for k in range(16)) / (x * sqrt(pi))


def dawsn(x):
    return sqrt(pi) / 2 * exp(-x * x) * erfi(x) if x < 100 else fsum(mp.fac2(2 * k - 1) / (2 * x * x) ** k for k in range(20)) / (2 * x)


def above_dawsn(middle):
    """((1 + 2x²) F(x) / x - 1) / (1 - t²) in t = (x² - middle) / (x² + middle)."""
    whole = beyond(0, mpf(middle), of_square(lambda x: (1 + 2 * x * x) * dawsn(x) / x))
    return lambda t: (whole(t) - 1) / (1 - t * t)


def rest_of_stirling(x):
    """log Γ(x) less Stirling's (x - 1/2) log x - x + log(2π) / 2."""
    if x > 200:
        return fsum(bernoulli(2 * k) / (2 * k * (2 * k - 1)) / x ** (2 * k - 1) for k in range(1, 20))
    return loggamma(x) - (x - mpf(1) / 2) * log(x) + x - log(2 * pi) / 2


def ndtri(r):
    """The x < 0 with ndtr(x) = exp(-r²/2), by Newton's steps."""
    x = -r
    for _ in range(60):
        value = erfcx(-x / sqrt(mpf(2))) / 2  # ndtr(x) exp(x²/2)
        step = (log(value) - x * x / 2 + r * r / 2) * sqrt(2 * pi) * value
        x -= step
        if abs(step) < mpf(10) ** -38:
            break
    return x


def uniform_gamma(rows, columns):
    """c_0(η), c_1(η), … of Temme's expansion of the incomplete gamma functions, in powers of η (DLMF 8.12.7 to 8.12.12)."""
    count = columns + 2 * rows + 3
    mu = [mpf(0), mpf(1)]  # μ(η) of μ - log(1 + μ) = η²/2, of which μ μ' = η (1 + μ)
    for n in range(2, count + 1):
        others = fsum((k + 1) * mu[k + 1] * mu[n - k] for k in range(1, n - 1))
        mu.append((mu[n - 1] - others) / (n + 1))
    inverse = [mpf(1)]  # η / μ
    for n in range(1, count):
        inverse.append(-fsum(mu[k + 1] * inverse[n - k] for k in range(1, n + 1)))
    made = [inverse[1:]]  # c_0 = 1/μ - 1/η
    for _ in range(1, rows):  # c_k = c'_(k-1) / η + g / μ, where g takes the pole away
        slope = [(n + 1) * c for n, c in enumerate(made[-1][1:])]
        made.append([slope[n] - slope[0] * inverse[n] for n in range(1, len(slope))])
    return [row[:columns] for row in made]


ZERO_OF_EI = findroot(ei, mpf("0.3725"))


def ei_near(x):
    away = x - ZERO_OF_EI
    return (ei(x) - log(x / ZERO_OF_EI)) / away * exp(-x) * (1 + x)


def ei_far(x):
    return x * exp(-x) * ei(x) if x < 500 else fsum(factorial(k) / x**k for k in range(40))


def e1_far(x):
    return x * exp(x) * e1(x) if x < 500 else fsum((-1) ** k * factorial(k) / x**k for k in range(40))


def auxiliary(x):
    """f and g of the sine and cosine integrals: π/2 - Si = f cos + g sin, Ci = f sin - g cos."""
    if x > 300:
        return (fsum((-1) ** k * factorial(2 * k) / x ** (2 * k + 1) for k in range(20)),
                fsum((-1) ** k * factorial(2 * k + 1) / x ** (2 * k + 2) for k in range(20)))
    s, c = pi / 2 - si(x), ci(x)
    return c * sin(x) + s * cos(x), s * sin(x) - c * cos(x)


def fresnel_auxiliary(x):
    """f and g of Fresnel's integrals: 1/2 - S = f cos + g sin, 1/2 - C = g cos - f sin, of πx²/2."""
    z = pi * x * x / 2
    if x > 12:
        return (fsum((-1) ** k * mp.fac2(4 * k - 1) / (2 * z) ** (2 * k) for k in range(20)) / (pi * x),
                fsum((-1) ** k * mp.fac2(4 * k + 1) / (2 * z) ** (2 * k) for k in range(20)) / (pi**2 * x**3))
    s, c = mpf(1) / 2 - fresnels(x), mpf(1) / 2 - fresnelc(x)
    return s * cos(z) - c * sin(z), c * cos(z) + s * sin(z)


def of_square(f):
    return lambda z: f(sqrt(z))


def of_fourth(f):
    return lambda z: f(sqrt(sqrt(z)))


LEAST, MOST = sqrt(2 * log(mpf(4))), mpf(39)  # r of ndtri's tail
EDGE = mpf("1.75")
TABLES = {
    "terms_of_erfcx": beyond(0, 3, lambda x: (1 + 2 * x) * erfcx(x)),
    "near_of_dawsn": within(0, 1, of_square(lambda x: dawsn(x) / x)),
    "near_of_ndtr": within(0, mpf(1) / 4, of_square(lambda x: erf(x / sqrt(mpf(2))) / (2 * x))),
    "terms_of_rest": within(0, 1, lambda w: rest_of_stirling(1 / w) / w),
    "terms_of_ndtri": within(0, mpf(1) / 16, of_square(lambda u: sqrt(mpf(2)) * erfinv(2 * u) / u)),
    "terms_of_ndtri_tail": within(log(LEAST), log(MOST), lambda z: -ndtri(exp(z)) / exp(z)),
    "near_of_e1": within(0, 1, lambda x: e1(x) + log(x)),
    "far_of_e1": beyond(1, 4, e1_far),
    "near_of_ei": within(0, 6, ei_near),
    "far_of_ei": beyond(6, 26, ei_far),
    "near_of_si": within(0, 36, of_square(lambda x: si(x) / x)),
    "near_of_ci": within(0, 36, of_square(lambda x: (ci(x) - log(x) - euler) / (x * x))),
    "far_of_f": beyond(6, 14, lambda x: x * auxiliary(x)[0]),
    "far_of_g": beyond(6, 14, lambda x: x * x * auxiliary(x)[1]),
    "near_of_fresnel_s": within(0, EDGE**4, of_fourth(lambda x: fresnels(x) / x**3)),
    "near_of_fresnel_c": within(0, EDGE**4, of_fourth(lambda x: fresnelc(x) / x)),
    "far_of_fresnel_f": beyond(EDGE**2, EDGE**2 + 5, of_square(lambda x: pi * x * fresnel_auxiliary(x)[0])),
    "far_of_fresnel_g": beyond(EDGE**2, EDGE**2 + 5, of_square(lambda x: pi**2 * x**3 * fresnel_auxiliary(x)[1])),
}
QUOTIENTS = {"of_dawsn": (above_dawsn(14), 20, 21), "of_dawsn_in_f32": (above_dawsn(6), 8, 10)}


FARTHEST, LEAST_OF_UNIFORM = mpf("0.34"), 200  # |η|, and a


def counting(rows):
    """The coefficients that count beside 1, of c_k(η) a^-k."""
    for k, row in enumerate(rows):
        last = max((n for n, c in enumerate(row) if abs(c) * FARTHEST**n / LEAST_OF_UNIFORM**k > 1e-17), default=-1)
        if last >= 0:
            yield row[:last + 1]


def table(name, numbers):
    print(f"constexpr double {name}[] = {{{', '.join(repr(float(c)) for c in numbers)}}};", flush=True)


if __name__ == "__main__":
    for name, f in TABLES.items():
        if name in sys.argv[1:] or len(sys.argv) == 1:
            table(name, terms(f))
    for name, (f, above, below) in QUOTIENTS.items():
        if name in sys.argv[1:] or len(sys.argv) == 1:
            for part, numbers in zip(("numerator", "denominator"), quotient(f, above, below)):
                table(f"{part}_{name}", numbers)
    print(f"// the zero of Ei: {float(ZERO_OF_EI)!r}, {float(ZERO_OF_EI - mpf(float(ZERO_OF_EI)))!r}")
    if "uniform_gamma" in sys.argv[1:] or len(sys.argv) == 1:
        for k, row in enumerate(counting(uniform_gamma(9, 24))):
            table(f"uniform_gamma_{k}", row)
