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


def test_stop_gradient_of_a_tree():
    frozen = lax.stop_gradient({"w": tnp.ones(2), "n": 3})
    assert frozen["w"].tolist() == [1, 1] and int(frozen["n"]) == 3
    grads = tn.grad(lambda p: tnp.sum(lax.stop_gradient(p)["w"] * p["w"]))({"w": tnp.array([2.0, 3.0])})
    assert grads["w"].tolist() == [2, 3]


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


def test_a_forward_that_calls_its_function():
    @tn.custom_vjp
    def f(x, y):
        return tnp.sin(x) * y

    def f_fwd(x, y):
        return f(x, y), (tnp.cos(x), tnp.sin(x), y)

    def f_bwd(res, g):
        cos_x, sin_x, y = res
        return cos_x * g * y, sin_x * g

    f.defvjp(f_fwd, f_bwd)
    close(tn.grad(f)(2.0, 3.0), 3 * np.cos(2), rtol=1e-6)
    close(tn.vmap(tn.grad(f, argnums=1), (0, None))(tnp.array([1.0, 2.0]), 3.0), np.sin([1, 2]), rtol=1e-6)
    close(tn.jit(tn.grad(f))(2.0, 3.0), 3 * np.cos(2), rtol=1e-6)


def test_python_control_flow_in_custom_rules():
    @tn.custom_jvp
    def f(x):
        return tnp.sin(x) if x > 0 else tnp.cos(x)

    @f.defjvp
    def f_jvp(primals, tangents):
        (x,), (x_dot,) = primals, tangents
        return f(x), 2 * x_dot if x > 0 else 3 * x_dot

    assert float(tn.grad(f)(1.0)) == 2 and float(tn.grad(f)(-1.0)) == 3


def test_clipped_gradients():
    @functools.partial(tn.custom_vjp, nondiff_argnums=(0, 1))
    def clip(lo, hi, x):
        return x

    clip.defvjp(lambda lo, hi, x: (x, None), lambda lo, hi, _, g: (tnp.clip(g, lo, hi),))
    assert float(tn.grad(lambda x: clip(-0.25, 0.25, x) * 8)(1.0)) == 0.25


def test_none_within_cotangents():
    @tn.custom_vjp
    def f(params, n):
        return params["w"] * n

    f.defvjp(lambda p, n: (f(p, n), n), lambda n, g: ({"w": g * n, "unused": None}, None))
    grads = tn.grad(f)({"w": 2.0, "unused": 1.0}, 3.0)
    assert float(grads["w"]) == 3 and float(grads["unused"]) == 0


def test_fixed_point_by_implicit_differentiation():
    @functools.partial(tn.custom_vjp, nondiff_argnums=(0,))
    def fixed_point(f, a, guess):
        return lax.while_loop(lambda c: tnp.abs(c[0] - c[1]) > 1e-9, lambda c: (c[1], f(a, c[1])), (guess, f(a, guess)))[1]

    def forward(f, a, guess):
        x = fixed_point(f, a, guess)
        return x, (a, x)

    def backward(f, res, g):
        a, x = res
        _, vjp_a = tn.vjp(lambda a: f(a, x), a)
        step = lambda a_x_g, u: a_x_g[2] + tn.vjp(lambda x: f(a_x_g[0], x), a_x_g[1])[1](u)[0]
        (a_bar,) = vjp_a(fixed_point(step, (a, x, g), g))
        return a_bar, tnp.zeros_like(x)

    fixed_point.defvjp(forward, backward)
    root = lambda a: fixed_point(lambda a, x: 0.5 * (x + a / x), a, a)
    close([root(2.0), tn.grad(root)(2.0)], [np.sqrt(2), 0.5 / np.sqrt(2)], rtol=1e-7)


# ---- keys

def test_keys_of_traced_seeds():
    keys = tn.vmap(random.PRNGKey)(tnp.arange(3))
    assert keys.tolist() == [[0, 0], [0, 1], [0, 2]]
    drawn = tn.vmap(lambda i: random.uniform(random.PRNGKey(i)))(tnp.arange(3))
    assert drawn.tolist() == [float(random.uniform(random.PRNGKey(i))) for i in range(3)]
    jitted = tn.jit(lambda seed: random.normal(random.key(seed), (2,)))(7)
    close(jitted, random.normal(random.key(7), (2,)), rtol=1e-6)


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


# ---- checkpoint

def test_names_that_checkpoint_saves():
    from tenon.ad_checkpoint import checkpoint_name

    def loss(w, x):
        return tnp.sum(tnp.sin(checkpoint_name(tnp.sin(w * x), "inner")))
    policy = tn.checkpoint_policies.save_only_these_names("inner")
    w, x = 2.0, tnp.array([0.5, 1.0])
    saved = tn.grad(tn.checkpoint(loss, policy=policy))(w, x)
    close(saved, tn.grad(loss)(w, x), rtol=1e-6)


# ---- trees

def test_classes_whose_static_part_is_a_dict():
    @tn.tree_util.register_pytree_node_class
    class Model:
        def __init__(self, w, options):
            self.w, self.options = w, options

        def tree_flatten(self):
            return (self.w,), {"options": self.options}

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls(*children, aux["options"])

    f = tn.jit(lambda m: m.w * (2 if m.options["double"] else 1))
    assert float(f(Model(3.0, {"double": True}))) == 6 and float(f(Model(3.0, {"double": False}))) == 3
    assert float(tn.grad(lambda m: m.w**2)(Model(3.0, {"double": True})).w) == 6


def test_flat_vectors_of_trees():
    from tenon.flatten_util import ravel_pytree

    flat, back = ravel_pytree({"a": tnp.ones((2, 2)), "b": 3.0})
    assert flat.tolist() == [1, 1, 1, 1, 3]
    tree = back(flat * 2)
    assert tree["a"].tolist() == [[2, 2], [2, 2]] and float(tree["b"]) == 6


# ---- indexing

def test_updates():
    x = tnp.arange(4.0)
    assert x.at[1].subtract(5.0).tolist() == [0, -4, 2, 3]
    assert x.at[2].divide(4.0).tolist() == [0, 1, 0.5, 3]
    assert x.at[3].power(2).tolist() == [0, 1, 2, 9]
    assert x.at[tnp.array([1, 2])].apply(lambda v: v * 10).tolist() == [0, 10, 20, 3]


def test_lists_and_bools_within_indices():
    x = tnp.arange(6).reshape(2, 3)
    assert x[:, [0, 2]].tolist() == [[0, 2], [3, 5]]
    assert x[[0, 1], [0, 2]].tolist() == [0, 5]
    assert x[True].shape == (1, 2, 3) and x[False].shape == (0, 2, 3)


# ---- seeing values

def test_texts_of_traced_values():
    seen = []

    @tn.jit
    def f(x):
        seen.append(f"{x}")
        return x
    f(1.0)
    assert len(seen) == 1 and seen[0]
    assert repr(tn.new_ref(tnp.zeros(3)))


def test_a_leaked_value_can_be_looked_at():
    kept = []
    tn.jit(lambda x: kept.append(x) or x)(tnp.ones(3))
    assert hasattr(kept[0], "shape") and hasattr(kept[0], "dtype")
    with pytest.raises(tn.errors.LeakError):
        kept[0] + 1


def test_values_known_while_tracing():
    @tn.jit
    def f(x):
        with tn.ensure_compile_time_eval():
            n = int(tnp.sum(tnp.arange(4)))
        return x * n
    assert float(f(2.0)) == 12


# ---- branches and loops

def test_branches_with_operands():
    double, negate = (lambda x: 2 * x), (lambda x: -x)
    assert float(lax.cond(True, double, negate, 3.0)) == 6
    assert float(lax.cond(False, 3.0, double, 5.0, negate)) == -5
    assert float(lax.cond(True, double, negate, operand=4.0)) == 8
    assert float(lax.cond(1 > 2, lambda: 1.0, lambda: 2.0)) == 2


def test_dead_branches_whose_derivative_is_infinite():
    def safe(x):
        return lax.cond(x < 1e-3, lambda: 0.0, lambda: tnp.sqrt(x))
    xs = tnp.array([0.0, 4.0])
    assert tn.grad(lambda x: tnp.sum(tn.vmap(safe)(x)))(xs).tolist() == [0, 0.25]
    assert tn.vmap(tn.grad(safe))(xs).tolist() == [0, 0.25]


def test_the_index_of_a_loop_in_a_carry_of_32_bits():
    assert lax.fori_loop(0, 3, lambda i, c: c + i, tnp.zeros(2, tnp.int32)).tolist() == [3, 3]
    assert lax.fori_loop(0, 3, lambda i, c: c + i, tnp.float32(0)).dtype == np.float32


def test_a_reference_that_is_scanned_and_written():
    xs = tn.new_ref(tnp.arange(5.0))

    def step(c, x):
        x[...] = x[...] * 2
        return c, None
    lax.scan(step, 0, xs, length=5)
    assert xs[...].tolist() == [0, 2, 4, 6, 8]


# ---- functions that transformations make

def test_pullbacks_as_values():
    y, pull = tn.jit(lambda x: tn.vjp(tnp.sin, x))(2.0)
    close(pull(1.0)[0], np.cos(2), rtol=1e-6)
    y, push = tn.linearize(lambda x: x**2, 3.0)
    assert float(tn.jit(push)(1.0)) == 6
    assert tn.vmap(push)(tnp.arange(3.0)).tolist() == [0, 6, 12]


def test_closures_that_are_differentiated():
    def objective(w):
        residual = lambda x: tnp.sin(w * x)
        converted, captured = tn.closure_convert(residual, 1.0)
        return converted(2.0, *captured)
    close(tn.grad(objective)(0.5), 2 * np.cos(1), rtol=1e-6)


# ---- axes by name

def test_sums_over_a_named_axis():
    normalised = tn.vmap(lambda x: x / lax.psum(x, "i"), axis_name="i")(tnp.arange(4.0))
    close(normalised, np.arange(4) / 6)
    assert tn.vmap(lambda x: lax.axis_index("i") + 0 * x, axis_name="i")(tnp.zeros(3)).tolist() == [0, 1, 2]


# ---- dtypes

def test_numbers_of_python_take_the_dtype_they_meet():
    x = tnp.ones(2, tnp.float32)
    for y in (x * 2.0, x + 1, 3 / x, tnp.where(x > 0, x, 0.0), lax.select(x > 0, x, 2 * x), tnp.maximum(x, 0)):
        assert y.dtype == np.float32
    assert (tnp.ones(2, tnp.bfloat16) * tn.grad(tnp.sin)(1.0)).dtype == tnp.bfloat16


def test_limits_of_dtypes():
    assert tnp.finfo(np.float32).bits == 32 and tnp.finfo(tnp.float32).eps == np.finfo(np.float32).eps
    assert tnp.iinfo(np.int8).max == 127
    assert tnp.promote_types(tnp.int64, tnp.int8) == np.int64 and tnp.result_type(tnp.int64) == np.int64


def test_bits_of_negative_numbers():
    x = tnp.array([-1, -3], tnp.int32)
    assert lax.population_count(x).tolist() == [32, 31]
    assert lax.rem(tnp.int32(7), tnp.int32(0)) == 7


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
