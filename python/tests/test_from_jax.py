"""tn.from_jax and tenon.as_jax. What needs JAX, or a library of its, is skipped where that is not installed."""

import ast
import functools
import importlib
import importlib.util
import pathlib
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import tenon as tn

ROOT = pathlib.Path(__file__).resolve().parents[2]
has_jax = importlib.util.find_spec("jax") is not None
needs_jax = pytest.mark.skipif(not has_jax, reason="JAX is not installed")
if has_jax:
    import jax
    import jax.numpy as jnp
    from jax import lax

x = np.linspace(-1, 2, 12, dtype=np.float32).reshape(3, 4)
square = x.T @ x + np.eye(4, dtype=np.float32)


def agree(made, wanted, tolerance=2e-6):
    made, wanted = jax.tree.leaves(made), jax.tree.leaves(wanted)
    assert len(made) == len(wanted)
    for a, b in zip(made, wanted):
        if jax.dtypes.issubdtype(b.dtype, jax.dtypes.prng_key):
            a, b = tn.numpy.asarray(np.asarray(jax.random.key_data(a))), jax.random.key_data(b)
        assert isinstance(a, tn.Array)
        assert a.shape == b.shape and a.dtype == b.dtype
        assert np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)


@pytest.mark.skipif(has_jax, reason="JAX is installed")
def test_without_jax_the_error_says_what_to_install():
    with pytest.raises(ImportError, match="pip install jax"):
        tn.from_jax(abs)


def test_rules_are_a_table_of_primitives():
    """Each rule is put under the names of its primitives once: read without JAX."""
    names = []
    for file in sorted((pathlib.Path(tn.__file__).parent / "foreign").glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("rule", "lack"):
                names += [a.value for a in node.args[node.func.id == "lack":] if isinstance(a, ast.Constant)]
    assert len(names) > 150 and len(names) == len(set(names))


@needs_jax
def test_every_primitive_of_lax_has_a_rule_or_a_reason():
    from jax.extend.core import Primitive, primitives

    from tenon.foreign import rules

    known = {p.name for module in (primitives, jax.lax, jax.lax.linalg) for p in vars(module).values()
             if isinstance(p, Primitive)}
    assert len(known) > 150
    assert sorted(known - set(rules)) == []


values = {
    "elementwise": lambda x: jnp.sin(x) ** 2 + jax.nn.gelu(x) - jnp.abs(x) % 0.7 + jax.scipy.special.gammaln(x + 2),
    "products": lambda x: jnp.einsum("ij,kj->ik", x, x) + x @ x.T,
    "movement": lambda x: jnp.pad(jnp.concatenate([x[:, ::-1], x.T.reshape(3, 4)]), 1)[1:, :-1],
    "indexing": lambda x: x[jnp.array([0, 2]), 1:3] + x.at[0].set(1.0).at[1, 2].add(3.0)[:2, :2],
    "orders": lambda x: (jnp.sort(x, axis=0), jnp.argsort(-x, axis=1), lax.top_k(x, 2), jnp.median(x)),
    "reductions": lambda x: (jnp.prod(x, 0), jnp.argmax(x), jnp.cumsum(x, 1), lax.reduce(
        x, np.float32(0), lambda a, b: a * b + a + b, (0,))),
    "bits": lambda x: (jnp.nextafter(x, x + 1), lax.bitcast_convert_type(x, np.int32), lax.reduce_precision(x, 5, 3)),
    "while": lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * x), (0, x)),
    "reference": lambda x: (lambda r: (r.__setitem__((0,), x[1]), r[...])[1])(jax.new_ref(x)),
    "callback": lambda x: jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x),
    "derivatives by JAX": lambda x: (jax.vmap(jax.grad(lambda x: jnp.sum(x ** 3)))(x), jax.hessian(
        lambda x: jnp.sum(x ** 3) * x[0])(x[0]), jax.jvp(jnp.tanh, (x,), (x,))),
    "tree": lambda x: {"b": [x * 2, None], "a": (x.sum(),)},
    "weak": lambda x: (x[0, 0] * 2, jnp.where(x > 0, 1.0, x), 3 * jnp.arange(3)),
    "qr": lambda x: jnp.abs(jnp.linalg.qr(x)[1]),
    "qr product": lambda x: jax.scipy.linalg.qr_multiply(x.T @ x + jnp.eye(4), x.T, mode="left")[0],
}
scalars = {
    "softmax": lambda x: jnp.sum(jax.nn.softmax(x)[0] ** 2 + jax.nn.relu(x).sum() + jnp.logaddexp(x, 2 * x).sum()),
    "scan": lambda x: lax.scan(lambda c, y: (c * y + 1, c), np.float32(0), x[0])[0],
    "cond": lambda x: lax.cond(x[0, 0] > 0, jnp.sum, lambda x: jnp.prod(x + 3), x),
    "switch": lambda x: lax.switch(2, [jnp.sum, jnp.prod, lambda x: jnp.sum(x ** 2)], x),
    "checkpoint": lambda x: jax.checkpoint(lambda x: jnp.sum(jnp.sin(jnp.sin(x))))(x),
    "solve": lambda x: jnp.linalg.solve(square, x[0]).sum() + jnp.linalg.slogdet(x.T @ x + jnp.eye(4))[1],
    "cholesky": lambda x: jnp.linalg.cholesky(x.T @ x + jnp.eye(4)).sum(),
    "conjugate gradients": lambda x: jax.scipy.sparse.linalg.cg(lambda v: square @ v, x[0])[0].sum(),
    "indexing": lambda x: x[jnp.array([0, 2, 0]), 1:3].sum() + (x.at[0].set(1.0) ** 2).sum() + jnp.take(x, 1, axis=0).sum(),
}


@needs_jax
@pytest.mark.parametrize("name", values)
def test_values(name):
    agree(tn.from_jax(values[name])(x), jax.jit(values[name])(x))


@needs_jax
@pytest.mark.parametrize("name", scalars)
def test_values_gradients_and_batches(name):
    f = scalars[name]
    agree(tn.from_jax(f)(x), jax.jit(f)(x))
    wanted = jax.grad(f)(x)
    agree(tn.grad(tn.from_jax(f))(x), wanted, 1e-5)
    agree(tn.from_jax(jax.grad(f))(x), wanted, 1e-5)
    agree(tn.vmap(tn.jit(tn.from_jax(f)))(np.stack([x, 2 * x])), jax.vmap(f)(np.stack([x, 2 * x])), 1e-5)


@needs_jax
@pytest.mark.parametrize("typed", [False, True])
def test_random_bits_are_jax_own(typed):
    key = (jax.random.key if typed else jax.random.PRNGKey)(3)
    for f in (lambda k: jax.random.normal(k, (5,)),
              lambda k: [jax.random.uniform(j, (2,)) for j in jax.random.split(k, 3)],
              lambda k: jax.vmap(lambda j: jax.random.randint(j, (2,), 0, 10))(jax.random.split(jax.random.fold_in(k, 7), 4)),
              lambda k: lax.scan(lambda c, j: (c, jax.random.bits(j)), 0, jax.random.split(k, 3))[1],
              lambda k: (jax.random.permutation(k, 10), jax.random.bernoulli(k, 0.3, (4,)), jax.random.split(k)),
              lambda k: jax.random.gamma(k, jnp.array([0.5, 2.0]), (2,))):
        agree(tn.from_jax(f)(key), jax.jit(f)(key))
    agree(tn.from_jax(lambda s: jax.random.key_data(jax.random.key(s)))(-5), jax.random.PRNGKey(-5))


@needs_jax
def test_typed_keys_are_arguments_of_transformations():
    def draw(k):
        return jax.random.uniform(k, (3,))

    def step(state, x):
        key, total = state
        key, one = jax.random.split(key)
        return (key, total + x * jax.random.normal(one)), jax.random.bits(one)

    key, keys = jax.random.key(3), jax.random.split(jax.random.key(0), 2)
    agree(tn.jit(tn.from_jax(draw))(key), draw(key))
    agree(tn.jit(lambda k: tn.from_jax(draw)(k) * 2)(key), draw(key) * 2)
    agree(tn.vmap(tn.from_jax(draw))(keys), jax.vmap(draw)(keys))
    agree(tn.jit(tn.vmap(tn.from_jax(draw), in_axes=-1))(keys), jax.vmap(draw)(keys))
    agree(tn.lax.map(tn.from_jax(draw), keys), jax.vmap(draw)(keys))
    agree(tn.lax.cond(True, tn.from_jax(draw), lambda k: tn.numpy.zeros(3, "float32"), key), draw(key))
    made = tn.lax.scan(tn.from_jax(step), (key, np.float32(0)), x[0])
    wanted = lax.scan(step, (key, jnp.float32(0)), x[0])
    agree(made, wanted)
    split = tn.from_jax(lambda k: jax.random.split(k, 3))(key)
    assert jax.numpy.array_equal(jax.random.key_data(split), jax.random.key_data(jax.random.split(key, 3)))
    agree(tn.from_jax(draw)(split[0]), draw(split[0]))
    agree(tn.jit(lambda k: tn.random.uniform(k, (3,), "float32"))(split[0]), draw(split[0]))
    with pytest.raises(tn.errors.UnsupportedError, match="threefry"):
        tn.from_jax(draw)(jax.random.key(0, impl="rbg"))


@needs_jax
@pytest.mark.parametrize("f, smooth", [
    (lambda lax: lambda v: lax.psum(v, "i") * v, True), (lambda lax: lambda v: v * lax.psum(1, "i") - lax.pmean(v, "i") ** 2, True),
    (lambda lax: lambda v: (lax.pmax(v, "i"), lax.pmin(v, "i")), False),
    (lambda lax: lambda v: lax.all_gather(v, "i", axis=1) * lax.axis_index("i"), True),
    (lambda lax: lambda v: lax.ppermute(v, "i", [(0, 1), (1, 2), (2, 0)]) ** 2, True),
    (lambda lax: lambda v: lax.all_to_all(v[:3], "i", 0, 0) ** 2, True), (lambda lax: lambda v: lax.psum_scatter(v[:3], "i") ** 2, True),
    (lambda lax: lambda v: lax.scan(lambda c, y: (c + lax.psum(y, "i") ** 2, c), jnp.float32(0), v), True),
], ids="psum pmean pmax all_gather ppermute all_to_all psum_scatter scan".split())
def test_collectives_over_axes_of_jax_vmap(f, smooth):
    mapped = jax.vmap(f(lax), axis_name="i")

    def total(x):
        return sum(jnp.sum(leaf) for leaf in jax.tree.leaves(mapped(x)))

    agree(tn.from_jax(mapped)(x), mapped(x))
    agree(tn.jit(tn.from_jax(mapped))(x), mapped(x))
    agree(tn.vmap(tn.from_jax(mapped))(np.stack([x, 2 * x])), jax.vmap(mapped)(np.stack([x, 2 * x])), 1e-5)
    if smooth:
        agree(tn.grad(tn.from_jax(total))(x), jax.grad(total)(x), 1e-5)
        agree(tn.from_jax(jax.grad(total))(x), jax.grad(total)(x), 1e-5)
    both = jax.vmap(jax.vmap(lambda v: lax.psum(v, ("i", "j")), axis_name="i"), axis_name="j")
    agree(tn.from_jax(both)(np.stack([x, 2 * x])), both(np.stack([x, 2 * x])))


@needs_jax
def test_rules_are_kept():
    @jax.custom_vjp
    def scaled(x, n):
        return {"y": x * n}

    scaled.defvjp(lambda x, n: ({"y": x * n}, n), lambda n, g: (10 * g["y"] * n, None))

    @jax.custom_jvp
    def clipped(x):
        return jnp.minimum(x, 1.0)

    clipped.defjvp(lambda p, t: (clipped(*p), 7 * t[0]))
    f = tn.from_jax(lambda x: scaled(clipped(x), np.float32(2))["y"].sum())
    agree(f(x), jnp.sum(2 * jnp.minimum(x, 1)))
    agree(tn.grad(f)(x), jnp.full_like(x, 140))
    agree(tn.jit(tn.vmap(tn.grad(f)))(x), jnp.full_like(x, 140))


def _with_symbolic_zeros():
    @jax.custom_jvp
    def product(a, b):
        return a * b

    def jvp(primals, tangents):
        (a, b), (da, db) = primals, tangents
        zeros = [isinstance(t, jax.custom_derivatives.SymbolicZero) for t in (da, db)]
        slope = 0 * a
        slope = slope if zeros[0] else slope + 2 * da
        return product(a, b), slope if zeros[1] else slope + 100 * db

    product.defjvp(jvp, symbolic_zeros=True)
    pair = jax.custom_vjp(lambda a, b: (a * b, a + b))

    def forward(a, b):
        assert a.perturbed or b.perturbed
        return (a.value * b.value, a.value + b.value), (a.perturbed, b.perturbed, a.value, b.value)

    def backward(kept, cotangents):
        (of_a, of_b, a, b), (g, _) = kept, cotangents
        return 10 * g * b if of_a else None, 20 * g * a if of_b else None

    pair.defvjp(forward, backward, symbolic_zeros=True)
    return product, pair


@needs_jax
@pytest.mark.parametrize("f", [
    lambda rules, x, y: rules[0](x, y), lambda rules, x, y: rules[0](x, lax.stop_gradient(x)),
    lambda rules, x, y: lax.scan(lambda c, _: ((rules[0](*c), c[1] + 1), None), (x, y), length=3)[0][0],
    lambda rules, x, y: lax.cond(y > 0, rules[0], lambda a, b: a, x, y),
    lambda rules, x, y: rules[1](x, y)[0], lambda rules, x, y: rules[1](y, x)[0],
    lambda rules, x, y: lax.scan(lambda c, _: ((rules[1](*c)[0], c[1] + 1), None), (x, y), length=3)[0][0]])
def test_rules_know_what_is_differentiated(f):
    f, x, y = functools.partial(f, _with_symbolic_zeros()), np.float32(1.5), np.float32(2)
    for n in (0, 1):
        wanted = jax.grad(f, n)(x, y)
        agree(tn.grad(tn.from_jax(f), n)(x, y), wanted)
        agree(tn.jit(tn.vmap(tn.grad(tn.from_jax(f), n)))(np.stack([x, x]), np.stack([y, y])), jnp.stack([wanted, wanted]))


@needs_jax
def test_rules_of_batches_and_of_linear_functions():
    @jax.custom_batching.custom_vmap
    def product(a, b):
        return a * b, a

    @product.def_vmap
    def rule(axis_size, in_batched, a, b):
        return (100 * a * b, a), (True, in_batched[0])

    f = tn.from_jax(lambda a, b: product(a, b)[0] + jnp.sin(a))
    agree(f(x, x), x * x + np.sin(x))
    agree(tn.jit(tn.vmap(f, (0, None)))(x, x[0]), 100 * x * x[0] + np.sin(x))
    half = tn.from_jax(lambda x: jax.custom_derivatives.linear_call(lambda r, x: x / r, lambda r, t: 7 * t / r, 2.0, x))
    agree([half(x[0, 0]), tn.grad(half)(x[0, 0])], [x[0, 0] / 2, np.float32(3.5)])

    def solved(b, scale):
        def solve(product, b):
            return jnp.linalg.inv(square * scale) @ b, {"sum": b.sum()}

        made, more = lax.custom_linear_solve(lambda v: scale * square @ v, b, solve, solve, has_aux=True)
        return jnp.sum(made ** 2) + more["sum"]

    for n in (0, 1):
        agree(tn.grad(tn.from_jax(solved), n)(x[0], np.float32(2)), jax.grad(solved, n)(x[0], np.float32(2)), 1e-5)


@needs_jax
def test_equinox_looks_at_what_is_done_with_it():
    eqx = pytest.importorskip("equinox")
    internal = importlib.import_module("equinox.internal")
    x, y = np.float32(1.5), np.float32(2)
    f = tn.from_jax(lambda x, y: lax.scan(lambda c, _: ((c[0] * internal.nondifferentiable(c[1]), c[1] + 1), None), (x, y),
                                          length=3)[0][0])
    agree(tn.grad(f)(x, y), np.float32(24))
    with pytest.raises(RuntimeError, match="cannot be autodifferentiated"):
        tn.grad(f, 1)(x, y)
    forward = tn.from_jax(lambda x: 3 * internal.nondifferentiable_backward(x))
    agree(tn.jvp(forward, (x,), (x,)), (3 * x, 3 * x))
    with pytest.raises(RuntimeError, match="cannot be reverse-mode autodifferentiated"):
        tn.grad(forward)(x)
    for kind, options in (("checkpointed", {"checkpoints": 3}), ("bounded", {}), ("lax", {})):
        g = tn.from_jax(lambda x: internal.while_loop(lambda c: c[1] < 5, lambda c: (c[0] * x + 1, c[1] + 1), (x, 0), max_steps=8,
                                                      kind=kind, **options)[0])
        agree(tn.grad(g)(x), np.float32(6 * x ** 5 + sum(n * x ** (n - 1) for n in range(5))), 1e-5)
    agree(tn.grad(tn.from_jax(lambda x: internal.noinline(lambda x: x * x)(x)))(x), 2 * x)
    with pytest.raises(RuntimeError, match="too large"):
        tn.from_jax(lambda x: eqx.error_if(x, x > 1, "too large"))(x)


@needs_jax
def test_solves_of_lineax_have_the_derivatives_of_systems():
    lx = pytest.importorskip("lineax")
    b = np.array([1, 2, 3, 4], np.float32)

    def solved(solver, columns):
        def of(a, b):
            operator = lx.MatrixLinearOperator(a[:, :columns])
            return jnp.sum(lx.linear_solve(operator, b, solver, throw=columns == 4).value ** 2)

        return of

    for f in (solved(lx.LU(), 4), solved(lx.BiCGStab(1e-6, 1e-6), 4), solved(lx.QR(), 2)):
        for n in (0, 1):
            agree(tn.jit(tn.grad(tn.from_jax(f), n))(square, b), jax.grad(f, n)(square, b), 1e-4)
    lanes = jax.vmap(solved(lx.LU(), 4), (None, 0))
    agree(tn.grad(tn.from_jax(lambda b: lanes(square, b).sum()))(np.stack([b, b + 1])),
          jax.grad(lambda b: lanes(square, b).sum())(np.stack([b, b + 1])), 1e-4)


@needs_jax
def test_debug_callbacks_and_effects(capsys):
    def f(x):
        jax.debug.print("x is {x}", x=x[0, 0])
        return x

    agree(tn.from_jax(f)(x), x)
    assert "x is -1.0" in capsys.readouterr().out


@needs_jax
def test_classes_registered_with_jax_are_trees():
    @jax.tree_util.register_pytree_node_class
    class Pair:
        def __init__(self, a, b, name):
            self.a, self.b, self.name = a, b, name

        def tree_flatten(self):
            return (self.a, self.b), self.name

        @classmethod
        def tree_unflatten(cls, name, children):
            return cls(*children, name)

    f = tn.from_jax(lambda p: Pair(p.b * 2, p.a, p.name + "!"))
    made = f(Pair(x, x[0], "p"))
    assert type(made) is Pair and made.name == "p!"
    agree([made.a, made.b], [2 * x[0], x])
    slope = tn.grad(tn.from_jax(lambda p: (p.a ** 2).sum() + p.b.sum()))(Pair(x, x[0], "p"))
    assert type(slope) is Pair
    agree([slope.a, slope.b], [2 * x, np.ones(4, np.float32)])


@needs_jax
def test_traced_once_for_each_kind():
    traced = []

    def f(x, scale=1.0):
        traced.append(x.shape)
        return x * scale

    g = tn.from_jax(f)
    for _ in range(3):
        g(x), g(x[0]), tn.jit(g)(x)
    tn.grad(lambda x: g(x).sum())(x)
    assert traced == [(3, 4), (4,)]
    agree(g(x, scale=2.0), 2 * x)


@needs_jax
def test_dtypes_are_those_of_jax_setting():
    wide = np.ones(3)
    assert tn.from_jax(lambda x: x * 2)(wide).dtype == np.float32
    with jax.enable_x64(True):
        assert tn.from_jax(lambda x: x * 2)(wide).dtype == np.float64
        with tn.enable_x64(False):
            assert tn.from_jax(lambda x: x * jnp.float64(2.0))(np.float32(1)).dtype == np.float64
    with tn.enable_x64(False):
        assert tn.from_jax(lambda x: x * 2)(np.float32(1)).dtype == np.float32


@needs_jax
def test_numbers_are_literals_of_the_program():
    """As inputs of it, which captured arrays are, they would be read again in each call, and 16,000 of them took minutes."""
    two = jnp.float32(2)
    for f in (lambda x: x * 1.5 + two, lambda x: jnp.where(x > 0, x, 3), lambda x: x.at[1, 2].add(7.0)):
        inputs = str(tn.make_program(tn.from_jax(f))(x)).split("{")[0]
        assert inputs.count("%") == 1, inputs
    big = np.uint64(2**64 - 5)
    with jax.enable_x64(True):
        assert int(tn.from_jax(lambda x: x + jnp.uint64(big))(np.uint64(1))) == 2**64 - 4


@needs_jax
def test_a_while_loop_that_jax_has_batched():
    f = jax.vmap(lambda n, x: lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 2), (0, x)))
    agree(tn.from_jax(f)(np.array([1, 3, 0]), x[:, :3]), f(np.array([1, 3, 0]), x[:, :3]))


@needs_jax
def test_long_programs():
    def f(x):
        for _ in range(3000):
            x = x * 1.0001 + 1e-6
        return x

    agree(tn.from_jax(f)(x), jax.jit(f)(x), 1e-4)


@needs_jax
def test_errors_name_the_primitive_and_the_line():
    def reduced(x):
        return x + jax.lax.rng_uniform(jnp.zeros((), x.dtype), jnp.ones((), x.dtype), x.shape)

    with pytest.raises(NotImplementedError, match=r"primitive rng_uniform, bound at .*test_from_jax.py:\d+"):
        tn.from_jax(reduced)(x)
    agree(tn.from_jax(lambda x: (reduced(x), x)[1])(x), x)  # what nothing reads is not bound
    with pytest.raises(TypeError, match="not callable"):
        tn.from_jax(3)


@needs_jax
@pytest.mark.parametrize("name, holds", [
    ("equinox", lambda error: error < 0.05), ("optax", lambda w: np.allclose(w, [1, -2, 3], atol=0.1)),
    ("diffrax", lambda r: np.all(np.diff(r) < 0) and r[0] > 0.99), ("numpyro", lambda mean: 1.5 < mean < 3),
    ("flax", lambda error: error < 2)])
def test_examples(name, holds):
    pytest.importorskip(name)
    spec = importlib.util.spec_from_file_location(name + "_example", ROOT / "examples" / "python" / f"from_{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert holds(module.main())


def as_jax(tmp_path, text):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(text))
    return subprocess.run([sys.executable, "-m", "tenon.as_jax", str(script), "one", "two"], capture_output=True, text=True)


def test_as_jax_runs_scripts(tmp_path):
    run = as_jax(tmp_path, """
        import sys
        import jax, jax.numpy as jnp
        from jax import lax, random
        from jax.scipy.special import gammaln
        from jax.custom_batching import custom_vmap

        @jax.jit
        def loss(w):
            return jnp.sum(jax.nn.relu(w) ** 2) + gammaln(3.0)

        print(sys.argv[1:], jax.grad(loss)(jnp.arange(3.0)), jnp.ones(1).dtype, jax.tree.map(lambda x: x + 1, {"a": 1}))
        print(jax.__name__, lax.add(1, 2), random.PRNGKey(0).shape)
    """)
    assert run.stdout.splitlines() == ["['one', 'two'] [0. 2. 4.] float32 {'a': 2}", "jax 3 (2,)"], run.stderr


@pytest.mark.parametrize("line, text", [
    ("jax.numpy.nothing", "AttributeError: jax.numpy.nothing is not among the names"),
    ("from jax import sharding", "cannot import name 'sharding'"),
    ("import jax.experimental.pallas", "No module named 'jax.experimental.pallas'")])
def test_as_jax_names_what_is_missing(tmp_path, line, text):
    run = as_jax(tmp_path, f"import jax, jax.numpy\n{line}\n")
    assert run.returncode == 1 and text in run.stderr and "script.py" in run.stderr
