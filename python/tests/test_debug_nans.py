"""tn.debug_nans and tn.debug_infs: results that are looked through."""

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import lax


@pytest.fixture(autouse=True)
def nans():
    with tn.debug_nans():
        yield


def line_of(function, text):
    lines = open(__file__).read().split("\n")
    return next(i for i, line in enumerate(lines, 1) if text in line and "line_of" not in line and i > function.__code__.co_firstlineno)


def raises(text, line=None):
    return pytest.raises(FloatingPointError, match=rf"(?s)\(nan\) encountered in {text}" + (f".*test_debug_nans.py:{line}\\b" if line else ""))


def test_an_op_by_itself():
    with raises(r"div of f64\[2\], f64\[2\]\.", line_of(test_an_op_by_itself, "tnp.zeros(2) /")):
        tnp.zeros(2) / tnp.zeros(2)
    with raises(r"log of f32\[\]\."):
        tnp.log(tnp.float32(-1))
    with raises(r"sin of f64\[\], of which one holds nan already"):
        tnp.sin(np.nan)
    assert np.isnan(tnp.array(np.nan)) and bool(tnp.isnan(np.nan))


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"])
def test_each_dtype(dtype):
    x = tnp.zeros(3, dtype)
    with raises("div"):
        x / x
    assert (x + 1).tolist() == [1, 1, 1]


def test_a_compiled_function_names_the_op_inside():
    @tn.jit
    def f(x):
        y = tnp.where(x > 0, tnp.log(x), 0.0)  # this NaN is left out again
        z = tnp.sqrt(x)  # and this one is not
        return y + z * 2

    with raises(r"sqrt of f64\[\]\.", line_of(test_a_compiled_function_names_the_op_inside, "and this one")):
        f(-1.0)
    assert float(f(1.0)) == 2.0
    assert float(tn.jit(lambda x: tnp.where(x > 0, tnp.log(x), 0.0))(-1.0)) == 0.0


def test_loops_branches_and_derivatives():
    with raises("sqrt", line_of(test_loops_branches_and_derivatives, "tnp.sqrt(c - 1)")):
        tn.jit(lambda x: lax.fori_loop(0, 3, lambda i, c: tnp.sqrt(c - 1), x))(1.0)
    with raises("log"):
        tn.jit(lambda x: lax.cond(x == 1, lambda: tnp.log(-x), lambda: 2.0))(1.0)
    with raises("div"):
        lax.scan(lambda c, x: (c, c / x), 0.0, tnp.arange(3.0))
    with raises("mul"):
        tn.grad(lambda x: tnp.sqrt(x) * 0)(0.0)
    with raises("div"):
        tn.vmap(lambda x: x / x)(tnp.arange(3.0))


def test_donated_arrays_and_references_stay():
    x, r = tnp.zeros(1000), tn.new_ref(tnp.ones(3))
    with raises("div"):
        tn.jit(lambda x: 0 / x, donate_argnums=0)(x)
    assert not x.is_deleted() and x[0] == 0

    @tn.jit
    def write(x):
        r[...] = r[...] * (x / x)
        return r[0]

    with raises("div"):
        write(tnp.zeros(3))
    assert r[...].tolist() == [1, 1, 1] and float(write(tnp.ones(3))) == 1.0


def test_what_functions_leave_out_is_not_told():
    assert tnp.sinc(0.0) == 1 and (5.0 // tnp.array(2.0)) == 2 and float(tnp.nanmedian(tnp.array([1.0, np.nan]))) == 1
    assert float(lax.zeta(2.0, 1.0)) == pytest.approx(np.pi**2 / 6) and tnp.nan_to_num(tnp.array([np.nan])).tolist() == [0]
    assert float(lax.polygamma(1.0, 1.0)) == pytest.approx(np.pi**2 / 6)
    with raises("select"):
        lax.zeta(0.5, 2.0)


def test_infinities():
    x = tnp.zeros(2)
    assert (1 / x).tolist() == [np.inf] * 2
    with tn.debug_infs(True), pytest.raises(FloatingPointError, match=r"debug_infs: invalid value \(inf\) encountered in div of f64\[2\], f64\[2\]"):
        with tn.debug_nans(False):
            1 / x


def test_settings():
    assert tn.config.debug_nans and tn.config.jax_debug_nans and not tn.config.debug_infs
    with tn.debug_nans(False):
        assert np.isnan(tnp.log(-1.0))

        @tn.debug_nans(True)
        def f(x):
            return tnp.log(x)

        with raises("log"):
            f(-1.0)
        tn.config.update("jax_debug_nans", True)
        assert tn.config.debug_nans
    with pytest.raises(AttributeError, match="jax_no_such"):
        tn.config.update("jax_no_such", 1)
    with pytest.raises(AttributeError, match="no_such"):
        tn.config.no_such
    assert issubclass(tn.errors.NonFiniteError, tn.errors.Error)
