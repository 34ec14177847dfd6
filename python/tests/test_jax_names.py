"""Names of jax, jax.tree_util and jax.ops that come on top: gradients of holomorphic functions, transposes, contexts,
policies, trees with keys, segments."""

import collections
import dataclasses

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import lax, ops, tree, tree_util


def test_holomorphic():
    z = np.array([1 + 2j, 3.0 - 1j])

    def f(z):
        return z ** 3 + 1j * z

    for g in (tn.grad(f, holomorphic=True), tn.jit(tn.grad(f, holomorphic=True)), lambda z: tn.value_and_grad(f, holomorphic=True)(z)[1]):
        assert np.allclose(g(z[0]), 3 * z[0] ** 2 + 1j)
    assert np.allclose(tn.vmap(tn.grad(f, holomorphic=True))(z), 3 * z ** 2 + 1j)
    for jacobian in (tn.jacfwd, tn.jacrev, tn.jacobian):
        assert np.allclose(jacobian(f, holomorphic=True)(z), np.diag(3 * z ** 2 + 1j))
    assert np.allclose(tn.hessian(lambda z: tnp.sum(f(z)), holomorphic=True)(z), np.diag(6 * z))
    for g in (tn.grad, tn.value_and_grad, tn.jacfwd, tn.jacrev, tn.hessian):
        with pytest.raises(TypeError, match="holomorphic=True requires inputs with complex dtype, but got float64"):
            g(f, holomorphic=True)(1.0)
    with pytest.raises(TypeError, match="requires outputs with complex dtype"):
        tn.grad(abs, holomorphic=True)(1j)
    with pytest.raises(TypeError, match="scalar-output"):
        tn.grad(f, holomorphic=True)(z)
    (slope, more), (value, _) = (tn.grad(lambda z: (f(z), {"a": z}), has_aux=True, holomorphic=True)(z[0]),
                                 tn.value_and_grad(lambda z: (f(z), 1), has_aux=True, holomorphic=True)(z[0]))
    assert np.allclose(slope, 3 * z[0] ** 2 + 1j) and more["a"] == z[0] and np.allclose(value[0], f(z[0])) and value[1] == 1


def test_integers_beside_gradients():
    def f(x, n, *, k):
        return tnp.sum(x["a"] ** n) * k

    x = {"a": np.array([1.0, 2.0])}
    slopes = tn.grad(f, (0, 1), allow_int=True)(x, 3, k=2.0)
    assert slopes[0]["a"].tolist() == [6, 24] and slopes[1].dtype == tn.float0
    value, slope = tn.value_and_grad(f, -1, allow_int=True)(x, 3, k=2.0)
    assert value == 18 and slope.dtype == tn.float0
    with pytest.raises(TypeError):
        tn.grad(f, 1)(x, 3, k=2.0)
    with pytest.raises(TypeError, match="real-valued outputs"):
        tn.grad(lambda n: n * 2, allow_int=True)(3)


def test_linear_transpose():
    a = RNG.normal(size=(3, 2))
    for at in (np.ones(2), tn.ShapeDtypeStruct((2,), "float64"), tnp.zeros(2)):
        assert np.allclose(tn.linear_transpose(lambda x: a @ x, at)(np.arange(3.0))[0], a.T @ np.arange(3.0))
    f = tn.linear_transpose(lambda p: {"s": p["x"] + 2 * p["y"]}, {"x": np.zeros(2, "float32"), "y": np.zeros(2, "float32")})
    made, = tn.jit(f)({"s": np.ones(2, "float32")})
    assert made["y"].tolist() == [2, 2] and made["x"].dtype == np.float32
    with pytest.raises(TypeError, match="float and complex"):
        tn.linear_transpose(lambda x: x, 3)


RNG = np.random.default_rng(0)


def test_custom_gradient():
    @tn.custom_gradient
    def f(x, y):
        z = tnp.sin(x) * y
        return z, lambda g: (g * 10 * z, -g)

    assert np.isclose(f(1.0, 2.0), np.sin(1) * 2)
    for grad in (tn.grad(f, (0, 1)), tn.jit(tn.grad(f, (0, 1)))):
        assert np.allclose(grad(1.0, 2.0), (20 * np.sin(1), -1))
    lanes = tn.vmap(tn.grad(f, (0, 1)))(np.ones(3), np.arange(3.0))
    assert np.allclose(lanes[0], 10 * np.sin(1) * np.arange(3)) and lanes[1].tolist() == [-1, -1, -1]
    assert np.isclose(tn.grad(tn.custom_gradient(lambda x: (x ** 2, lambda g: g * 7)))(3.0), 7)


def test_forward_and_backward():
    for jitted in (True, False):
        forward, backward = tn.fwd_and_bwd(lambda x, n, w: (tnp.sum((x @ w) ** n), n), (0, -1), has_aux=True, jitted=jitted)
        x, w = RNG.normal(size=(2, 3)), RNG.normal(size=(3, 2))
        value, residuals, more = forward(x, 2, w)
        of_x, of_w = backward(residuals, 3.0)
        assert np.isclose(value, ((x @ w) ** 2).sum()) and more == 2
        assert np.allclose(of_x, 6 * (x @ w) @ w.T) and np.allclose(of_w, 6 * x.T @ (x @ w))


def test_policies():
    x = np.array([0.3, 0.5])
    policies = tn.checkpoint_policies
    for policy in (None, policies.nothing_saveable, policies.everything_saveable, policies.dots_saveable,
                   policies.checkpoint_dots_with_no_batch_dims):
        f = tn.checkpoint(lambda x, *, power: tnp.sum(tnp.sin(x) ** power), policy=policy, static_argnames="power")
        assert np.allclose(tn.jit(tn.grad(lambda x: f(x, power=2)))(x), np.sin(2 * x)), policy
    w = np.ones((40, 40))

    def deep(x):
        return tnp.sum(tnp.tanh(w @ tnp.tanh(w @ tnp.tanh(w @ x))))

    def kept(f):
        return int(tn.saved_residuals(f, np.ones((40, 40))).split()[0].replace(",", ""))

    free = kept(tn.checkpoint(deep, policy=policies.everything_saveable))
    assert kept(tn.checkpoint(deep)) < free == kept(deep) and kept(tn.checkpoint(deep, policy=policies.nothing_saveable)) < free

    @tn.checkpoint(prevent_cse=False, static_argnums=1)
    def g(x, up):
        return tnp.sum(x ** 2) if up else -tnp.sum(x)

    assert tn.grad(lambda x: g(x, False))(x).tolist() == [-1, -1]


def test_contexts():
    assert tnp.zeros(1).dtype == np.float64
    with tn.enable_x64(False):
        assert tnp.zeros(1).dtype == np.float32
        with tn.enable_x64():
            assert tnp.arange(3).dtype == np.int64
        assert tnp.arange(3).dtype == np.int32
    assert tnp.zeros(1).dtype == np.float64 and tn.dtypes.canonicalize_dtype("int64") == np.int64

    @tn.enable_x64(False)
    @tn.named_scope("narrow")
    def f():
        return tnp.ones(2).dtype

    assert f() == np.float32
    with pytest.raises(KeyError), tn.enable_x64(False):
        {}["missing"]
    assert tn.config.x64
    with tn.default_matmul_precision("highest"), tn.checking_leaks(), tn.named_scope("here"):
        assert tn.jit(lambda x: x + 1)(1) == 2
    with tn.disable_jit(), tn.disable_jit(False):
        assert type(tn.jit(lambda x: x)).__name__ != "function"
    assert tn.effects_barrier() is None and "tenon:" in tn.print_environment_info(return_string=True)


def test_what_a_value_is():
    assert tn.typeof(np.zeros((2, 3), "int8")) == tn.ShapeDtypeStruct((2, 3), "int8")
    assert tn.typeof(1).weak_type and not tn.typeof(tnp.zeros(2)).weak_type and tn.typeof([1.0, 2.0]).shape == (2,)
    shapes = []
    tn.jit(lambda x: shapes.append(tn.typeof(x)) or x)(np.zeros(3, "float32"))
    assert shapes == [tn.ShapeDtypeStruct((3,), "float32")]
    program, shape = tn.make_jaxpr(lambda n, x: x * n, static_argnums=0, return_shape=True)(3, np.ones(2))
    assert "mul" in str(program) and shape == tn.ShapeDtypeStruct((2,), "float64")


def test_references_without_values():
    r = tn.empty_ref(tn.ShapeDtypeStruct((2,), "float32"))
    r[0] = 3
    assert r.get().tolist() == [3, 0] and r.dtype == np.float32
    tn.free_ref(r)
    with pytest.raises(RuntimeError):
        r[0]


@tree_util.register_pytree_with_keys_class
class Named:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def tree_flatten_with_keys(self):
        return ((tree_util.GetAttrKey("x"), self.x), (tree_util.GetAttrKey("y"), self.y)), "more"

    @classmethod
    def tree_unflatten(cls, more, children):
        assert more == "more"
        return cls(*children)


class Counted:
    def __init__(self, *items):
        self.items = items


tree_util.register_pytree_node(Counted, lambda c: (c.items, len(c.items)), lambda n, items: Counted(*items))
Point = collections.namedtuple("Point", "x y")


@tree_util.register_dataclass
@dataclasses.dataclass
class Layer:
    w: object
    kind: str = tree.static(default="dense", metadata={"doc": "what it is"})


def test_keys_of_registered_classes():
    t = {"n": Named(1, [2, Named(3, None)]), "c": Counted(4, Point(5, Layer(6))), "o": collections.OrderedDict(b=7, a=8),
         "d": collections.defaultdict(list, z=9)}
    wanted = ["['c'][<flat index 0>]", "['c'][<flat index 1>].x", "['c'][<flat index 1>].y.w", "['d']['z']", "['n'].x", "['n'].y[0]",
              "['n'].y[1].x", "['o']['b']", "['o']['a']"]
    paths = tree.leaves_with_path(t)
    assert [tree.keystr(p) for p, _ in paths] == wanted and [x for _, x in paths] == tree.leaves(t)
    assert tree.map_with_path(lambda p, x: tree.keystr(p), t)["n"].y[1].x == "['n'].y[1].x"
    stopped = tree.leaves_with_path(t, is_leaf=lambda x: isinstance(x, (Named, Counted)))
    assert [tree.keystr(p) for p, _ in stopped] == ["['c']", "['d']['z']", "['n']", "['o']['b']", "['o']['a']"]
    assert tn.grad(lambda n: n.x * n.y)(Named(2.0, 3.0)).x == 3


def test_one_level():
    assert tree_util.flatten_one_level(Counted(1, (2,))) == ([1, (2,)], 2)
    assert tree_util.flatten_one_level(Layer([1])) == ([[1]], ("dense",))
    assert tree_util.flatten_one_level(Point(1, 2)) == ([1, 2], Point) and tree_util.flatten_one_level(None) == ([], None)
    assert tree_util.flatten_one_level_with_keys({"b": 1, "a": [2]}) == (
        ((tree_util.DictKey("a"), [2]), (tree_util.DictKey("b"), 1)), ("a", "b"))
    with pytest.raises(ValueError, match="can't tree-flatten type"):
        tree_util.flatten_one_level(3)
    assert [tree_util.is_tree_node(k) for k in (int, list, dict, type(None), tuple, Named, Layer, str)] == [
        False, True, True, True, True, True, True, False]
    assert dataclasses.fields(Layer)[1].metadata == {"static": True, "doc": "what it is"} and tree.leaves(Layer(1)) == [1]
    assert tree_util.tree_broadcast((1, {"a": 2}), ([0, 0], {"a": (0, 0)})) == ([1, 1], {"a": (2, 2)})
    assert tree_util.tree_reduce_associative(max, {"a": 3, "b": [7, 5]}) == 7
    assert tree_util.tree_reduce_associative(max, {}, identity=0) == 0
    with pytest.raises(TypeError, match="no leaf"):
        tree_util.tree_reduce_associative(max, [])


@pytest.mark.parametrize("dtype", ["float64", "int32", "uint8"])
@pytest.mark.parametrize("name, f, start", [("sum", np.add, 0), ("prod", np.multiply, 1), ("max", np.maximum, None), ("min", np.minimum, None)])
def test_segments(name, f, start, dtype):
    x = RNG.integers(1, 5, (7, 2)).astype(dtype)
    at = np.array([2, 0, -1, 2, 5, 0, 3])
    segment = getattr(ops, f"segment_{name}")
    if start is None:
        limits = (np.iinfo(dtype).min, np.iinfo(dtype).max) if x.dtype.kind != "f" else (-np.inf, np.inf)
        start = limits[name == "min"]
    wanted = np.full((4, 2), start, dtype)
    for row, i in zip(x, at):
        if 0 <= i < 4:
            wanted[i] = f(wanted[i], row)
    for got in (segment(x, at, 4), tn.jit(lambda x, at: segment(x, at, 4))(x, at), tn.vmap(lambda x: segment(x, at, 4), 1, 1)(x)):
        assert got.dtype == x.dtype and np.array_equal(got, wanted)
    assert segment(x, at).shape == (6, 2) and segment(x[:0], at[:0], 2).shape == (2, 2)
    assert segment(x[:4, 0].reshape(2, 2), np.array([[0, 1], [1, 1]]), 2).shape == (2,)
    if name == "sum" and dtype == "float64":
        assert tn.grad(lambda x: tnp.sum(segment(x, at, 4)[2]))(x)[:, 0].tolist() == [1, 0, 0, 1, 0, 0, 0]
    with pytest.raises(ValueError, match="non-negative"):
        segment(x, at, -1)


def test_types_for_annotations():
    from tenon.typing import Array, ArrayLike, DTypeLike  # noqa: F401

    assert isinstance(tnp.zeros(2), Array) and lax.Precision.HIGHEST.name == "HIGHEST"
