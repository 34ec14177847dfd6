"""Activations and first values of complex numbers, what attention summed, standardize by either algorithm."""

import math

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import nn, random

Z = np.array([1 + 2j, -0.5j, 0.3 - 1j, -3 + 0.2j])
EXP = np.exp(Z)
POSITIVE = np.array([True, False, True, False])   # in the order of real parts, then of imaginary ones
SMOOTH = {
    "sigmoid": EXP / (1 + EXP), "silu": Z * EXP / (1 + EXP), "softplus": np.log(1 + EXP), "log_sigmoid": -np.log(1 + 1 / EXP),
    "mish": Z * np.tanh(np.log(1 + EXP)), "softmax": EXP / EXP.sum(), "logsumexp": np.log(EXP.sum()),
    "logmeanexp": np.log(EXP.mean()),
}
KINKED = {
    "relu": np.where(POSITIVE, Z, 0), "relu6": np.where(POSITIVE, Z, 0), "elu": np.where(POSITIVE, Z, np.expm1(Z)),
    "leaky_relu": np.where(POSITIVE, Z, 0.01 * Z), "hard_sigmoid": np.array([4 + 2j, 3 - 0.5j, 3.3 - 1j, 0.2j]) / 6,
}


@pytest.mark.parametrize("name", [*SMOOTH, *KINKED])
def test_activations_of_complex_numbers(name):
    f = getattr(nn, name)
    assert np.allclose(f(Z), {**SMOOTH, **KINKED}[name], 1e-12) and np.allclose(tn.jit(f)(Z), f(Z), 1e-12)
    slope = tn.grad(lambda z: tnp.sum(f(z) ** 2), holomorphic=True)(Z + 0.1)
    step = 1e-6
    total = [np.sum(np.asarray(f(Z + 0.1 + h)) ** 2) for h in (step, -step)]
    assert np.allclose(np.sum(slope), (total[0] - total[1]) / (2 * step), 1e-4)


def test_logarithms_of_complex_numbers():
    assert np.allclose(np.exp(nn.log_softmax(Z)), EXP / EXP.sum())
    assert np.allclose(nn.logsumexp(Z, b=2.0), np.log(2 * EXP.sum()))
    assert np.allclose(nn.softplus(np.array([1000 + 1j, -1000 + 1j])), [1000 + 1j, 0]) and np.allclose(nn.sigmoid(1000 + 1j), 1)
    assert (np.abs(nn.softplus(5 + 1j * np.linspace(-20, 20, 50)).imag) <= math.pi).all()


def test_logarithms_of_nothing():
    assert nn.logsumexp(np.zeros((3, 0)), 1, b=np.zeros((3, 0))).tolist() == [-np.inf] * 3
    assert nn.logsumexp(np.zeros((3, 0), "float32"), b=np.zeros((3, 0), complex)).real == -np.inf


@pytest.mark.parametrize("distribution", ["normal", "truncated_normal", "uniform"])
def test_first_values_that_are_complex(distribution):
    made = np.asarray(nn.initializers.variance_scaling(2.0, "fan_in", distribution)(random.key(0), (400, 100), "complex64"))
    assert made.dtype == np.complex64 and abs(made.mean()) < 2e-3 and abs((abs(made) ** 2).mean() * 400 / 2 - 1) < 0.02
    if distribution == "uniform":
        assert abs(made).max() <= math.sqrt(2 * 2 / 400) * 1.001


def test_sizes_of_first_values():
    def spread(shape, **axes):
        return np.asarray(nn.initializers.variance_scaling(1.0, axes.pop("mode", "fan_in"), "normal", **axes)(random.key(1), shape, "float64")).std()

    assert np.isclose(spread((20, 500), mode="fan_geo_avg"), 1 / math.sqrt(100), 0.05)
    assert np.isclose(spread((10000,), in_axis=0), 1, 0.05) and np.isclose(spread((10000,), in_axis=0, out_axis=()), 0.01, 0.05)
    for shape in ((5,), ()):
        with pytest.raises(ValueError, match=f"of a {len(shape)}-dimensional weights tensor"):
            nn.initializers.glorot_uniform()(random.key(0), shape)


def test_what_attention_summed():
    draw = np.random.default_rng(0)
    q, k = draw.normal(size=(2, 3, 4, 5)), draw.normal(size=(2, 6, 2, 5))
    logits = np.einsum("btnh,bsnh->btns", q, np.repeat(k, 2, 2)) / math.sqrt(5)
    sums = np.log(np.exp(logits).sum(-1))
    made, summed = nn.dot_product_attention(q, k, k, return_residual=True)
    assert np.allclose(summed, sums) and np.allclose(made, nn.dot_product_attention(q, k, k))
    assert np.allclose(nn.dot_product_attention(q[0], k[0], k[0], return_residual=True)[1], sums[0])
    causal = nn.dot_product_attention(q, k, k, is_causal=True, return_residual=True)[1]
    assert np.allclose(causal[:, 0], logits[:, 0, :, 0]) and causal.shape == (2, 3, 4)


def test_standardize_by_either_algorithm():
    x = np.array([1e6, 1e6 + 1, 1e6 + 2], "float32")
    for algorithm in ("fast", "stable"):
        assert np.allclose(nn.standardize(x, algorithm=algorithm), [-1.2247, 0, 1.2247], 1e-3, 1e-3)
    with pytest.raises(ValueError, match="algorithm is 'fast' or 'stable'"):
        nn.standardize(x, algorithm="exact")


def test_masks_and_weights_of_sums():
    x, mask = np.random.default_rng(1).normal(size=(3, 5)), np.random.default_rng(2).random((3, 5)) < 0.6
    mask[:, 0] = True
    e = np.exp(x) * mask
    assert np.allclose(nn.softmax(x, where=mask), e / e.sum(-1, keepdims=True))
    assert np.allclose(np.exp(nn.log_softmax(x, where=mask)), e / e.sum(-1, keepdims=True))
    assert np.allclose(nn.logsumexp(x, 1, where=mask), np.log(e.sum(1))) and np.allclose(nn.logmeanexp(x, 1, where=mask), np.log(e.sum(1) / mask.sum(1)))
    assert np.allclose(nn.logsumexp(x[0], where=mask), np.log((np.exp(x[0]) * mask).sum()))
    made, sign = nn.logsumexp(x, 0, b=-x, keepdims=True, return_sign=True)
    total = (-x * np.exp(x)).sum(0, keepdims=True)
    assert np.allclose(made, np.log(np.abs(total))) and np.array_equal(sign, np.sign(total))
    assert np.allclose(nn.logsumexp(np.array([0.0, 1e5]), b=np.array([1.0, 0.0])), 0)
    middle = (x * mask).sum(-1, keepdims=True) / mask.sum(-1, keepdims=True)
    spread = ((x - middle) ** 2 * mask).sum(-1, keepdims=True) / mask.sum(-1, keepdims=True)
    assert np.allclose(nn.standardize(x, where=mask), (x - middle) / np.sqrt(spread + 1e-5))
    assert np.allclose(nn.standardize(x, mean=0.5, variance=4.0, epsilon=0.0), (x - 0.5) / 2)


def test_products_of_scaled_blocks():
    draw = np.random.default_rng(4)
    a, b, of_a, of_b = (draw.normal(size=shape) for shape in ((2, 3, 8), (2, 5, 8), (2, 3, 4), (2, 5, 2)))
    wanted = np.einsum("bmk,bnk->bmn", a * np.repeat(of_a, 2, -1), b * np.repeat(of_b, 4, -1))
    assert np.allclose(nn.scaled_matmul(a, b, of_a, of_b, "float64"), wanted)
    assert nn.scaled_matmul(a, b, of_a, of_b).dtype == np.float32
    turned = tn.lax.scaled_dot(a, b.swapaxes(1, 2), lhs_scale=of_a, rhs_scale=of_b.swapaxes(1, 2), preferred_element_type="float64")
    assert np.allclose(turned, wanted) and tn.lax.scaled_dot(np.eye(2), np.eye(2)).dtype == "bfloat16"
    with pytest.raises(ValueError, match="scaled_dot: a scale"):
        nn.scaled_matmul(a, b, of_a[..., :3], of_b)
    with pytest.raises(ValueError, match="three axes"):
        nn.scaled_matmul(a[0], b, of_a, of_b)


def test_logsumexp_leaves_out_what_weighs_nothing():
    x = np.float32([1, np.nan, 2])
    np.testing.assert_allclose(nn.logsumexp(x, b=np.float32([1, 0, 1])), np.logaddexp(1, 2), rtol=1e-6)
    assert np.isnan(nn.logsumexp(x, b=np.float32([1, 1, 1])))
