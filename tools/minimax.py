#!/usr/bin/env python3
"""The polynomials of tenon/compile/cpu/math.cpp: minimax fits by Remez' exchange, in 120 digits, rounded to the type.

tools/minimax.py [NAME]   prints coefficients, lowest first, with the largest weighted error of each fit.
"""
import sys

from mpmath import asin, atan, erf, erfc, exp, expm1, log, lu_solve, matrix, mp, mpf, pi, sin, sinh, cos, sqrt

mp.dps = 120


def remez(f, low, high, degree, weight):
    """The polynomial p of this degree with the least maximum of |(p(z) - f(z)) weight(z)| on [low, high]."""
    low, high, n = mpf(low), mpf(high), degree + 2
    raw, weight = weight, lambda z: raw(z) + mpf("1e-4")  # a weight of 0 would leave the system singular
    at = [(low + high) / 2 - (high - low) / 2 * cos(pi * (i + mpf(1) / 2) / n) for i in range(n)]
    grid = [(low + high) / 2 - (high - low) / 2 * cos(pi * (i + mpf(1) / 2) / (24 * n)) for i in range(24 * n)]
    values = [(f(z), weight(z)) for z in grid]
    for _ in range(12):
        system, right = matrix(n, n), matrix(n, 1)
        for i, z in enumerate(at):
            for k in range(n - 1):
                system[i, k] = z**k
            system[i, n - 1] = (-1) ** i / weight(z)
            right[i] = f(z)
        solution = lu_solve(system, right)
        c = [solution[k] for k in range(n - 1)]
        errors = [(mp.polyval(c[::-1], z) - fz) * wz for z, (fz, wz) in zip(grid, values)]
        peaks, start = [], 0  # the largest error of each run of one sign
        for i in range(1, len(grid) + 1):
            if i == len(grid) or errors[i] * errors[start] < 0:
                peaks.append(max(range(start, i), key=lambda j: abs(errors[j])))
                start = i
        while len(peaks) > n:
            peaks.pop(0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1)
        if len(peaks) < n or max(abs(e) for e in errors) < abs(solution[n - 1]) * mpf("1.01"):
            break
        at = [grid[p] for p in peaks]
    return c, max(abs(e) for e in errors)


def safe(z):
    return z if abs(z) > mpf("1e-25") else mpf("1e-25")


def of_square(f):
    """(f(x)/x - 1)/x² as a function of z = x²."""
    def g(z):
        x = sqrt(safe(z))
        return (f(x) / x - 1) / safe(z)
    return g


def relative(f):
    """The weight that makes errors of of_square(f) relative to f."""
    def w(z):
        x = sqrt(safe(z))
        return safe(z) * x / f(x)
    return w


half_ln2 = log(mpf(2)) / 2 * mpf("1.001")
exp_tail = lambda r: (expm1(safe(r)) - safe(r)) / safe(r) ** 2  # e^r = 1 + r + r² p(r)
cos_tail = lambda z: (cos(sqrt(safe(z))) - 1 + safe(z) / 2) / safe(z) ** 2
log_tail = lambda z: (log((1 + sqrt(safe(z))) / (1 - sqrt(safe(z)))) / sqrt(safe(z)) - 2) / safe(z)
log_rest = lambda z: (log_tail(safe(z)) - mpf(2) / 3) / safe(z)
log_reach = ((sqrt(mpf(2)) - 1) / (sqrt(mpf(2)) + 1)) ** 2 * mpf("1.001")
erf_head = lambda z: erf(sqrt(safe(z))) / sqrt(safe(z))
erfc_log = lambda u: log(erfc(u))


def erfc_scaled(middle):
    """(1 + 2a) e^(a²) erfc(a) as a function of q = (a - middle) / (a + middle)."""
    def g(q):
        a = middle * (1 + q) / (1 - q)
        return (1 + 2 * a) * exp(a * a) * erfc(a)
    return g


# name: function, interval, weight, degree for f32, degree for f64; None where the other has a fit of its own
FITS = {
    "exp": (exp_tail, -half_ln2, half_ln2, lambda r: half_ln2**2, 4, 10),
    "sin": (of_square(sin), 0, (pi / 2 * mpf("1.0001")) ** 2, relative(sin), 3, 7),
    "sin_quarter": (of_square(sin), 0, (pi / 4 * mpf("1.0001")) ** 2, relative(sin), 2, 5),
    "cos_quarter": (cos_tail, 0, (pi / 4 * mpf("1.0001")) ** 2, lambda z: z * z, 2, 5),
    "cos_small": (cos_tail, 0, mpf("1.2") ** 2 * mpf("1.0001"), lambda z: z * z / cos(sqrt(safe(z))), 3, 6),
    "log": (log_tail, 0, log_reach, lambda z: z / 2, 2, 6),
    "log_rest": (log_rest, 0, log_reach, lambda z: z * z / 2, None, 9),
    "asin": (of_square(asin), 0, mpf("0.25"), relative(asin), 4, 11),
    "atan": (of_square(atan), 0, (sqrt(mpf(2)) - 1) ** 2 * mpf("1.001"), relative(atan), 4, 9),
    "sinh": (of_square(sinh), 0, mpf("1.0001"), relative(sinh), 3, 6),
    "erf": (erf_head, 0, 1, lambda z: 1 / erf_head(z), 6, 12),
    "log_erfc": (erfc_log, 1, None, lambda u: erfc(u), 6, 22),
    "erfc_f32": (erfc_scaled(2), -1, mpf("8.6") / mpf("12.6"), lambda q: 1 / erfc_scaled(2)(q), 10, None),
    "erfc_f64": (erfc_scaled(4), -1, mpf(24) / 32, lambda q: 1 / erfc_scaled(4)(q), None, 22),
}

if __name__ == "__main__":
    for name, (f, low, high, weight, *degrees) in FITS.items():
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        for bits, degree in zip((32, 64), degrees):
            if degree is None:
                continue
            top = high if high is not None else (mpf("3.95") if bits == 32 else mpf("5.95"))
            c, error = remez(f, low, top, degree, weight)
            rounded = [float(v).hex() for v in c]
            if bits == 32:
                import struct
                rounded = [struct.unpack("f", struct.pack("f", float(v)))[0].hex() for v in c]
            rounded = [v.replace("000000p", "p") for v in rounded]
            print(f"{name} f{bits}: 2^{float(log(error) / log(mpf(2))):.1f}\n  {{{', '.join(rounded)}}}")
