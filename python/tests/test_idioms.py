"""What people write first, as JAX's users do: an idiom a test, with the numbers that it gives."""

import functools

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import lax, nn, random

close = np.testing.assert_allclose


# ---- stop_gradient

def test_second_derivatives_stop_too():
    assert float(tn.grad(tn.grad(lambda x: lax.stop_gradient(x) * x))(3.0)) == 0
    assert float(tn.grad(lambda x: lax.stop_gradient(x) * x)(3.0)) == 3
    close(tn.hessian(lambda x: tnp.sum(lax.stop_gradient(x) / x))(tnp.array([1.0, 2.0])), [[2, 0], [0, 0.5]])


def test_straight_through_estimator():
    def rounded(x):
        return x + lax.stop_gradient(tnp.round(x) - x)
    assert float(rounded(1.6)) == 2 and float(tn.grad(rounded)(1.6)) == 1
    assert float(tn.grad(tn.grad(lambda x: rounded(x) ** 3))(2.0)) == 12


# ---- long chains

def test_32_squarings():
    def power(x):
        for _ in range(32):
            x = x * x
        return x
    assert float(tn.grad(power)(1.0)) == 2.0**32 and float(tn.jit(tn.grad(power))(1.0)) == 2.0**32
    assert float(tn.grad(tn.grad(power))(1.0)) == 2.0**32 * (2.0**32 - 1)


def test_20_gelus():
    def deep(x):
        for _ in range(20):
            x = nn.gelu(x)
        return x
    step = 1e-6
    close(tn.grad(deep)(2.0), (deep(2.0 + step) - deep(2.0 - step)) / (2 * step), rtol=1e-6)


# ---- custom derivatives

def test_the_first_example_of_custom_derivatives():
    @tn.custom_jvp
    def f(x, y):
        return tnp.sin(x) * y

    @f.defjvp
    def f_jvp(primals, tangents):
        x, y = primals
        x_dot, y_dot = tangents
        return f(x, y), tnp.cos(x) * x_dot * y + tnp.sin(x) * y_dot

    assert float(f(2.0, 3.0)) == pytest.approx(3 * np.sin(2))
    y, y_dot = tn.jvp(f, (2.0, 3.0), (1.0, 0.0))
    close([y, y_dot, tn.grad(f)(2.0, 3.0)], [3 * np.sin(2), 3 * np.cos(2), 3 * np.cos(2)], rtol=1e-6)


def test_clipped_gradients():
    @functools.partial(tn.custom_vjp, nondiff_argnums=(0, 1))
    def clip(lo, hi, x):
        return x

    clip.defvjp(lambda lo, hi, x: (x, None), lambda lo, hi, _, g: (tnp.clip(g, lo, hi),))
    assert float(tn.grad(lambda x: clip(-0.25, 0.25, x) * 8)(1.0)) == 0.25


# ---- keys

def test_scan_with_keys():
    def step(x, key):
        return x + random.uniform(key), x
    last, xs = lax.scan(step, 0.0, random.split(random.PRNGKey(1), 4))
    drawn = [float(random.uniform(k)) for k in random.split(random.PRNGKey(1), 4)]
    close(last, sum(drawn), rtol=1e-6)
    assert xs.shape == (4,)


def test_a_key_in_the_carry():
    def step(key, _):
        key, sub = random.split(key)
        return key, random.normal(sub)
    _, drawn = tn.jit(lambda key: lax.scan(step, key, None, length=3))(random.PRNGKey(0))
    key, expected = random.PRNGKey(0), []
    for _ in range(3):
        key, sub = random.split(key)
        expected.append(float(random.normal(sub)))
    close(drawn, expected, rtol=1e-6)


# ---- seeing values

def test_values_known_while_tracing():
    @tn.jit
    def f(x):
        with tn.ensure_compile_time_eval():
            n = int(tnp.sum(tnp.arange(4)))
        return x * n
    assert float(f(2.0)) == 12


# ---- branches and loops

def test_dead_branches_whose_derivative_is_infinite():
    def safe(x):
        return lax.cond(x < 1e-3, lambda: 0.0, lambda: tnp.sqrt(x))
    xs = tnp.array([0.0, 4.0])
    assert tn.grad(lambda x: tnp.sum(tn.vmap(safe)(x)))(xs).tolist() == [0, 0.25]
    assert tn.vmap(tn.grad(safe))(xs).tolist() == [0, 0.25]


# ---- functions that transformations make

def test_closures_that_are_differentiated():
    def objective(w):
        residual = lambda x: tnp.sin(w * x)
        converted, captured = tn.closure_convert(residual, 1.0)
        return converted(2.0, *captured)
    close(tn.grad(objective)(0.5), 2 * np.cos(1), rtol=1e-6)


# ---- training

def test_a_perceptron_learns():
    def init(key, sizes):
        keys = random.split(key, len(sizes) - 1)
        return [{"w": random.normal(k, (m, n)) / np.sqrt(m), "b": tnp.zeros(n)} for k, m, n in zip(keys, sizes, sizes[1:])]

    def apply(params, x):
        *hidden, last = params
        for layer in hidden:
            x = tnp.tanh(x @ layer["w"] + layer["b"])
        return x @ last["w"] + last["b"]

    @tn.jit
    def step(params, x, y):
        value, grads = tn.value_and_grad(lambda p: tnp.mean((apply(p, x) - y) ** 2))(params)
        return tn.tree.map(lambda p, g: p - 0.1 * g, params, grads), value

    x = tnp.linspace(-1, 1, 32)[:, None]
    params, y = init(random.PRNGKey(0), (1, 16, 1)), tnp.sin(3 * tnp.linspace(-1, 1, 32))[:, None]
    _, first = step(params, x, y)
    for _ in range(300):
        params, value = step(params, x, y)
    assert float(value) < 0.1 * float(first)


def test_gradients_of_single_examples():
    def loss(w, x, y):
        return (tnp.dot(w, x) - y) ** 2
    w, xs, ys = tnp.array([1.0, 2.0]), tnp.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), tnp.zeros(3)
    assert tn.vmap(tn.grad(loss), (None, 0, 0))(w, xs, ys).tolist() == [[2, 0], [0, 4], [6, 6]]


def test_hessian_times_vector():
    f = lambda x: tnp.sum(x**3)
    hvp = lambda x, v: tn.jvp(tn.grad(f), (x,), (v,))[1]
    assert hvp(tnp.array([1.0, 2.0]), tnp.array([1.0, 0.5])).tolist() == [6, 6]
