"""Special functions and distributions at the ends of what they are defined for, and dtypes that meet."""

import ml_dtypes
import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon.scipy import special, stats


def test_dtypes_meet_before_they_become_floats():
    for p, q, made in (("int8", "bfloat16", "bfloat16"), ("int64", "float32", "float32"), ("int32", "float16", "float16"),
                       ("int16", "int8", "float32"), ("int64", "uint8", "float64")):
        x, y = tnp.ones(2, p), tnp.ones(2, q)
        assert special.xlogy(x, y).dtype == tnp.logaddexp(x, y).dtype == tnp.arctan2(x, y).dtype == np.dtype(made), (p, q)
        assert special.betainc(x, y, y * 0).dtype == np.dtype(made)
        assert stats.norm.logpdf(x, y).dtype == np.dtype(made)
    assert float(special.comb(np.int8(127), np.int8(2), repetition=True)) == 8128
    assert np.isinf(special.comb(np.uint32(4294967295), 15, repetition=True))


def test_polynomials_end_before_poles():
    made = [special.hyp2f1(3., 2., 0., 0.), special.hyp2f1(0., 0., 0., 1.), special.hyp1f1(-1., -1., 2.), special.hyp1f1(0., 0., 31.)]
    assert np.allclose(made, [1, 1, 3, 1])
    made = [special.hyp2f1(1.4755, 1.3914, 401.574, 0.8333), special.hyp2f1(7., 7., 1., 32.)]
    assert np.allclose(made, [1.004286486328863, -1.036537290917242e-10], 1e-12)


def test_poch_at_poles():
    made = [special.poch(*given) for given in ((-34., 3.), (-2., 2.), (0., -2.), (-1., 0.0036), (-2., 5.), (3.5, 2.))]
    assert np.allclose(made, [-35904, 2, 0.5, 0, 0, 15.75], 1e-13)


def test_ends_of_distributions():
    assert np.isclose(special.betaln(0.5, 0.9e308), -353.9730591203294, rtol=1e-14)
    assert np.isclose(stats.t.pdf(-0.165, 1.797e308), 0.39354847349690, rtol=1e-12)
    # Where a probability is near 1, the rest tells its logarithm.
    made = [stats.chi2.logcdf(211., 1.99), stats.gamma.logsf(3., 16.), stats.chi2.logsf(4., 379., loc=-1.94, scale=.5)]
    assert np.allclose(made, [-1.4809252796304717e-46, -1.2408017853790946e-07, -1.6609242984054555e-207], 1e-12)
    assert float(special.boxcox(-0.0, -3.0)) == -np.inf
    value, count = stats.mode(tnp.zeros(0))
    assert np.isnan(value) and count == 0
    # Beyond [0, π] as SciPy has them, with the sine's size.
    beyond = special.sph_harm_y(np.array([1]), np.array([-1]), np.array([-1.5]), np.array([-0.1154]))
    assert np.allclose(beyond, 0.34233649 + 0.03968194j)
    slope = tn.grad(lambda t: tnp.real(special.sph_harm_y(np.array([1]), np.array([1]), t[None], np.array([0.]), n_max=1))[0])(0.0)
    assert np.isclose(slope, -np.sqrt(3 / (8 * np.pi)))


def test_integer_frequencies_are_refused():
    with pytest.raises(tn.errors.DTypeError, match="rfftfreq: frequencies of u8"):
        tnp.fft.rfftfreq(8, dtype="uint8")
    y, x = np.linspace(1, 2, 6, dtype="float32").reshape(3, 2), np.linspace(1, 2, 6).reshape(3, 2) ** 2
    made = tnp.trapezoid(y, x.astype(ml_dtypes.bfloat16))
    assert np.allclose(made, np.trapezoid(y, x.astype(ml_dtypes.bfloat16).astype("float32")), 1e-6)


def test_hypergeometric_functions_of_large_parameters():
    # Where no term is negative the series cancels nothing, as others do.
    given = [(118.49119588171824, 9.525372319448984, 122.40078098904125, 0.7986714728159203), (50., 1.5, 3., 0.94), (139.5, 171.9, 1.306, 0.752),
             (2.348576017404595, 3.948510922983911, 104.1263562873967, 0.9170514148906517), (60., 30., 4.5, 0.9)]
    wanted = [1566354.9669623475, 1.3215137346239161e+57, 8.316499414842394e+268, 1.0880524682440944, 1.6032401577490693e+102]
    assert np.allclose([special.hyp2f1(*x) for x in given], wanted, 1e-12)
    assert np.isclose(special.hyp2f1(*np.float32([1, 16, 37.1, 1])), 1.7960199, 1e-5)
    assert tn.grad(lambda n: special.comb(n, 19.))(6.) == 0


def test_negative_numbers_beside_unsigned_integers():
    x = np.array([0, 1, 5], "uint16")
    assert np.allclose(stats.norm.logpdf(x, loc=-1, scale=2), stats.norm.logpdf(x.astype("float32"), -1.0, 2.0))
    for f in (tnp.logaddexp, tnp.logaddexp2, tnp.arctan2, special.xlogy, lambda x, y: tnp.hypot(x, y)):
        assert np.allclose(f(x, -1), f(x.astype("float32"), np.float32(-1)), equal_nan=True)
        assert np.allclose(f(tnp.array([-1, 2], "int8"), x[1:]), f(np.float32([-1, 2]), x[1:].astype("float32")), equal_nan=True)
