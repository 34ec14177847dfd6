"""Complex numbers where an order decides: updates, activations, initial values; and functions at infinities and NaN."""

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import nn, random

Z = np.array([1 + 1j, -0.5 - 2j, -3 + 0.5j, 0.25])


def test_the_smaller_and_the_larger_where_indices_meet():
    z, at = tnp.array([1 + 1j, 2j]), tnp.array([0, 0])
    for f in (lambda z: z, tn.jit(lambda z: z)):
        assert f(z).at[at].min(2j).tolist() == [2j, 2j] and f(z).at[0].max(2j).tolist() == [1 + 1j, 2j]
        assert f(z).at[at].max(tnp.array([5j, 3 + 1j])).tolist() == [3 + 1j, 2j]
        assert f(z).at[at].max(tnp.array([1 + 5j, 1 + 3j])).tolist() == [1 + 5j, 2j]
    assert tn.ops.segment_max(z, at).tolist() == [1 + 1j] and tn.ops.segment_min(z, at).tolist() == [2j]
    assert tnp.arange(3.0).at[at].min(2j).tolist() == [0, 1, 2]


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


@pytest.mark.parametrize("name, wanted", [
    ("sigmoid", sigmoid), ("silu", lambda z: z * sigmoid(z)), ("softplus", lambda z: np.log(1 + np.exp(z))),
    ("log_sigmoid", lambda z: np.log(sigmoid(z))), ("mish", lambda z: z * np.tanh(np.log(1 + np.exp(z)))),
    ("relu", lambda z: np.maximum(z, 0)), ("elu", lambda z: np.where(z > 0, z, np.expm1(z))),
    ("leaky_relu", lambda z: np.where(z > 0, z, 0.01 * z)), ("hard_sigmoid", None),
    ("softmax", lambda z: np.exp(z) / np.exp(z).sum()), ("log_softmax", lambda z: z - np.log(np.exp(z).sum())),
    ("logsumexp", lambda z: np.log(np.exp(z).sum()))])
def test_activations(name, wanted):
    f = getattr(nn, name)
    for dtype in ("complex64", "complex128"):
        z = Z.astype(dtype)
        made = f(z)
        assert made.dtype == dtype
        if wanted is not None:
            assert np.allclose(made, wanted(z), 1e-5 if dtype == "complex64" else 1e-12)
        assert np.allclose(made, tn.jit(f)(z), 1e-5)
    if name not in ("relu", "hard_sigmoid"):  # holomorphic functions
        slope = tn.grad(lambda z: tnp.sum(f(z)) if f(z).ndim else f(z), holomorphic=True)(tnp.asarray(Z))
        step = 1e-6
        near = [(np.sum(f(Z + step * one)) - np.sum(f(Z - step * one))) / (2 * step) for one in np.eye(4)]
        assert np.allclose(slope, near, 1e-5, 1e-8)


def test_softmax_of_large_complex_numbers():
    z = np.array([1000 + 1j, 999.0])
    assert np.allclose(nn.logsumexp(z), 1000 + np.log(np.exp(1j) + np.exp(-1)))
    assert np.allclose(np.sum(nn.softmax(z)), 1)


@pytest.mark.parametrize("mode", ["truncated_normal", "uniform", "normal"])
def test_initial_values(mode):
    made = np.asarray(nn.initializers.variance_scaling(1.0, "fan_in", mode)(random.key(0), (64, 64), "complex64"))
    assert made.dtype == np.complex64
    assert abs(np.mean(np.abs(made) ** 2) * 64 - 1) < 0.05 and abs(np.mean(made)) < 0.01
    limit = {"truncated_normal": 2 / .95311164380491208, "uniform": 2 ** 0.5, "normal": np.inf}[mode]
    assert np.abs(made).max() * 8 <= limit * 1.0001


def test_initial_values_of_one_key():
    # As JAX draws them.
    key = random.key(0)
    assert np.allclose(np.ravel(nn.initializers.glorot_normal()(key, (3, 2, 2), "complex64"))[:2],
                       [0.5666508 + 0.02598691j, 0.18861167 + 0.02490095j], 1e-5)
    assert np.allclose(np.ravel(nn.initializers.glorot_uniform()(key, (3, 2, 2), "complex64"))[:2],
                       [0.52932227 + 0.024275j, 0.24444103 + 0.03227168j], 1e-5)


INF, NAN = np.inf, np.nan


@pytest.mark.parametrize("name, z, wanted", [
    ("arccos", complex(0.0, NAN), complex(np.pi / 2, NAN)), ("arccosh", complex(0.0, NAN), complex(NAN, np.pi / 2)),
    ("arcsinh", complex(NAN, 0.0), complex(NAN, 0)), ("arctanh", complex(0.0, NAN), complex(0, NAN)),
    ("arctanh", complex(INF, NAN), complex(0, NAN)), ("arctanh", complex(NAN, INF), complex(0, np.pi / 2)),
    ("expm1", complex(-INF, INF), complex(-1, 0)), ("expm1", complex(-INF, NAN), complex(-1, 0)),
    ("log1p", complex(INF, NAN), complex(INF, NAN)), ("log1p", complex(NAN, INF), complex(INF, NAN)),
    ("arctanh", complex(1.0, 0.0), complex(INF, 0)), ("arctan", complex(0.5, INF), complex(np.pi / 2, 0)),
    ("arcsin", complex(0.0, NAN), complex(0, NAN)), ("log1p", complex(-1.0, 0.0), complex(-INF, 0))])
def test_functions_at_infinities_and_nan(name, z, wanted):
    # As C's Annex G and the array standard say; the sign of what is NaN's neighbour is not said.
    for dtype in ("complex64", "complex128"):
        made = complex(getattr(tnp, name)(np.asarray(z, dtype)))
        for got, part in ((made.real, wanted.real), (made.imag, wanted.imag)):
            assert (np.isnan(got) and np.isnan(part)) or np.isclose(abs(got), abs(part)), made


def test_sign_of_zeros():
    assert [str(x) for x in tnp.sign(np.array([-0.0, 0.0, -2.0])).tolist()] == ["0.0", "0.0", "-1.0"]
    assert np.isnan(np.asarray(tnp.sign(np.nan)))
