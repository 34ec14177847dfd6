"""Derivatives, batches and rules, compared with formulas and with loops."""

import collections
import functools
import math

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import lax


def close(a, b, tolerance=1e-12):
    assert np.allclose(np.asarray(a), np.asarray(b), tolerance, tolerance), (a, b)


def test_grad_of_formulas():
    close(tn.grad(lambda x: x ** 3)(2.0), 12.0)
    close(tn.grad(tn.grad(tnp.sin))(0.5), -np.sin(0.5))
    close(tn.grad(lambda x, y: x * y, argnums=1)(2.0, 3.0), 2.0)
    a, b = tn.grad(lambda x, y: x * y * y, argnums=(1, 0))(2.0, 3.0)
    close(a, 12.0), close(b, 9.0)


def test_grad_of_trees_and_other_arguments():
    def loss(params, x, scale=1.0, *, power):
        assert isinstance(power, int)
        return scale * tnp.sum((params["w"] * x + params["b"]) ** power)

    x = np.array([1.0, 2.0])
    g = tn.grad(loss)({"w": 2.0, "b": 1.0}, x, power=2)
    close(g["w"], np.sum(2 * (2 * x + 1) * x)), close(g["b"], np.sum(2 * (2 * x + 1)))


def test_value_and_grad_with_aux():
    (value, aux), g = tn.value_and_grad(lambda x: (x * x, {"x": x}), has_aux=True)(3.0)
    close(value, 9), close(aux["x"], 3), close(g, 6)
    g, aux = tn.grad(lambda x: (x * x, x + 1), has_aux=True)(3.0)
    close(g, 6), close(aux, 4)


def test_if_on_values_under_grad():
    f = lambda x: x * x if x > 0 else -x  # noqa: E731
    close(tn.grad(f)(2.0), 4.0), close(tn.grad(f)(-2.0), -1.0)


def test_grad_refuses():
    with pytest.raises(TypeError, match="no derivative"):
        tn.grad(lambda x: x * 1.0)(3)
    with pytest.raises(TypeError, match="not one real number"):
        tn.grad(lambda x: x)(tnp.ones(3))
    with pytest.raises(TypeError, match="has_aux"):
        tn.grad(lambda x: (x, x))(1.0)
    with pytest.raises(TypeError, match="tuple of two"):
        tn.grad(lambda x: x, has_aux=True)(1.0)


def test_jvp_vjp_linearize():
    f = lambda x, y: {"a": x * y, "b": tnp.sin(x)}  # noqa: E731
    out, tangent = tn.jvp(f, (2.0, 3.0), (1.0, 0.5))
    close(out["a"], 6.0), close(tangent["a"], 4.0), close(tangent["b"], np.cos(2.0))
    out, pull = tn.vjp(f, 2.0, 3.0)
    dx, dy = pull({"a": 1.0, "b": 2.0})
    close(dx, 3.0 + 2 * np.cos(2.0)), close(dy, 2.0)
    close(pull({"a": 0.0, "b": 1.0})[0], np.cos(2.0))
    out, push = tn.linearize(f, 2.0, 3.0)
    close(push(1.0, 0.5)["a"], 4.0)
    out, pull, aux = tn.vjp(lambda x: (x * 2, x + 1), 1.0, has_aux=True)
    close(pull(1.0)[0], 2.0), close(aux, 2.0)


def test_integers_have_tangents_of_float0():
    out, pull = tn.vjp(lambda x, n: x * n, 2.0, 3)
    dx, dn = pull(1.0)
    close(dx, 3.0)
    assert dn.dtype == tn.float0 and dn.shape == ()
    out, tangent = tn.jvp(lambda x, n: (x * n, n + 1), (2.0, 3), (1.0, np.zeros((), tn.float0)))
    close(tangent[0], 3.0)
    assert tangent[1].dtype == tn.float0


def test_jacobians():
    a = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    f = lambda x: {"y": a @ x, "s": tnp.sum(x ** 2)}  # noqa: E731
    x = tnp.array([1.0, -1.0, 0.5])
    for jacobian in (tn.jacfwd(f)(x), tn.jacrev(f)(x)):
        close(jacobian["y"], a), close(jacobian["s"], 2 * np.asarray(x))
    close(tn.hessian(lambda x: tnp.sum(x ** 3))(x), np.diag(6 * np.asarray(x)))
    j = tn.jacfwd(lambda x, y: x * y, argnums=(0, 1))(x, x)
    close(j[0], np.diag(np.asarray(x))), close(j[1], np.diag(np.asarray(x)))


Pair = collections.namedtuple("Pair", "u v")
X, M = np.array([1.0, 2.0, 3.0]), np.array([[0.5, -1.0]])
TREES = [X, 2.0, {"b": X, "a": 2.0}, [X, M], (X,), Pair(X, M), {"a": [X, (2.0, {"c": M})], "n": None}]
RESULTS = [lambda s, v: v, lambda s, v: [s, v], lambda s, v: (v,), lambda s, v: {"q": v, "p": s}, lambda s, v: Pair(s, v),
           lambda s, v: {"p": [s, (v,)], "n": None}]


def squares_and_cubes(argument):
    leaves = tn.tree.leaves(argument)
    return sum(tnp.sum(a * a) for a in leaves), tnp.array([1.0, -2.0]) * sum(tnp.sum(a ** 3) for a in leaves)


def equal_trees(made, expected):
    assert tn.tree.structure(made) == tn.tree.structure(expected)
    for a, b in zip(tn.tree.leaves(made), tn.tree.leaves(expected)):
        assert a.shape == np.shape(b)
        close(a, b)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("of", RESULTS)
@pytest.mark.parametrize("argument", TREES, ids=str)
def test_jacobians_of_trees_in_trees(argument, of, compiled):
    """The result's tree is the outer one, the argument's the inner one; of a Hessian the argument's twice."""
    def f(argument):
        return of(*squares_and_cubes(argument))

    def called(transformed):
        return (tn.jit(transformed) if compiled else transformed)(argument)

    slope = of(tn.tree.map(lambda a: 2 * np.asarray(a), argument),
               tn.tree.map(lambda a: np.multiply.outer([1.0, -2.0], 3 * np.square(a)), argument))
    equal_trees(called(tn.jacrev(f)), slope)
    equal_trees(called(tn.jacfwd(f)), slope)

    leaves, structure = tn.tree.flatten(argument)

    def second(front, diagonal):
        """`front` times the second derivatives: `diagonal` of a number in itself, zero in another."""
        def block(i, k):
            numbers = np.diag(np.ravel(diagonal(leaves[i]))) if i == k else np.zeros((np.size(leaves[i]), np.size(leaves[k])))
            return np.multiply.outer(front, numbers.reshape(np.shape(leaves[i]) + np.shape(leaves[k])))

        return structure.unflatten([structure.unflatten([block(i, k) for k in range(len(leaves))]) for i in range(len(leaves))])

    equal_trees(called(tn.hessian(f)), of(second(1.0, lambda a: 2 * np.ones_like(a)),
                                          second([1.0, -2.0], lambda a: 6 * np.asarray(a))))


@pytest.mark.parametrize("jacobian", [tn.jacrev, tn.jacfwd])
def test_jacobians_in_several_arguments(jacobian):
    def f(p, q):
        return {"r": tnp.sum(p["a"] * q), "v": q * q}, {"aux": p}

    both, aux = jacobian(f, argnums=(1, 0), has_aux=True)({"a": X}, 2 * X)
    equal_trees(both, {"r": (X, {"a": 2 * X}), "v": (np.diag(4 * X), {"a": np.zeros((3, 3))})})
    equal_trees(aux, {"aux": {"a": X}})
    equal_trees(jacobian(f, argnums=[-2], has_aux=True)({"a": X}, X)[0], {"r": ({"a": X},), "v": ({"a": np.zeros((3, 3))},)})


def test_vmap_is_a_loop():
    x, y = np.arange(12.0).reshape(4, 3), np.arange(3.0)
    close(tn.vmap(lambda a: tnp.sum(a * a))(x), [np.sum(r * r) for r in x])
    close(tn.vmap(lambda a, b: a * b, in_axes=(0, None))(x, y), x * y)
    close(tn.vmap(lambda a: a * 2, in_axes=1, out_axes=1)(x), 2 * x)
    close(tn.vmap(lambda a: a * 2, in_axes=-1)(x), 2 * x.T)
    t = tn.vmap(lambda d: {"s": d["a"] + d["b"]}, in_axes=({"a": 0, "b": None},))({"a": x, "b": y})
    close(t["s"], x + y)
    close(tn.vmap(lambda a, *, b: a + b)(x, b=x), 2 * x)
    outs = tn.vmap(lambda a: (a, 1.0), out_axes=(0, None))(x)
    close(outs[0], x), close(outs[1], 1.0)
    close(tn.vmap(lambda: 2.0, axis_size=3)(), [2.0] * 3)


def test_vmap_refuses():
    with pytest.raises(ValueError, match="lanes"):
        tn.vmap(lambda a, b: a)(tnp.ones(3), tnp.ones(4))
    with pytest.raises(ValueError, match="in_axes"):
        tn.vmap(lambda a: a, in_axes=(0, 1))(tnp.ones(3))
    with pytest.raises(TypeError):
        tn.vmap(lambda a: a, in_axes="0")(tnp.ones(3))


TRANSFORMS = {
    "grad": lambda f: tn.grad(lambda x: tnp.sum(f(x))),
    "vmap": tn.vmap,
    "jit": tn.jit,
    "jvp": lambda f: lambda x: tn.jvp(f, (x,), (tnp.ones_like(x),))[1],
    "checkpoint": tn.checkpoint,
    "linearize": lambda f: lambda x: tn.linearize(f, x)[1](tnp.ones_like(x)),
}


def base(x):
    return tnp.sin(x) * x + tnp.where(x > 0, x, 0.5 * x) ** 2


def reference(names, x):
    """Transformations of an elementwise function, by formulas: derivatives one after another."""
    order = sum(name in ("grad", "jvp", "linearize") for name in names)
    c = np.where(x > 0, 1.0, 0.25)
    return [np.sin(x) * x + c * x * x, np.cos(x) * x + np.sin(x) + 2 * c * x, 2 * np.cos(x) - np.sin(x) * x + 2 * c,
            -3 * np.sin(x) - np.cos(x) * x][order]


@pytest.mark.parametrize("outer", TRANSFORMS)
@pytest.mark.parametrize("middle", TRANSFORMS)
@pytest.mark.parametrize("inner", TRANSFORMS)
def test_nested_three_deep(outer, middle, inner):
    names = (outer, middle, inner)
    f = base
    for name in names[::-1]:
        f = TRANSFORMS[name](f)
    x = np.array([[[0.5, -1.25], [2.0, 0.75]], [[-0.5, 1.5], [0.25, -2.0]]])
    close(f(tnp.array(x)), reference(names, x), 1e-10)


def test_custom_jvp():
    @tn.custom_jvp
    def f(x, y):
        return tnp.sin(x) * y

    @f.defjvp
    def rule(primals, tangents):
        x, y = primals
        return f(x, y), 10.0 * tangents[0] + tangents[1]

    close(f(1.0, 2.0), np.sin(1.0) * 2)
    close(tn.grad(f)(1.0, 2.0), 10.0), close(tn.grad(f, argnums=1)(1.0, 2.0), 1.0)
    close(tn.jit(tn.vmap(tn.grad(f)))(tnp.ones(3), tnp.ones(3)), [10.0] * 3)

    @functools.partial(tn.custom_jvp, nondiff_argnums=(0,))
    def apply(g, x):
        return g(x)

    apply.defjvp(lambda g, primals, tangents: (g(*primals), 3.0 * tangents[0]))
    close(tn.grad(lambda x: apply(tnp.cos, x))(1.0), 3.0)

    h = tn.custom_jvp(lambda x, y: x * y)
    h.defjvps(lambda t, out, x, y: 5.0 * t, None)
    close(tn.grad(h, argnums=(0, 1))(1.0, 2.0), (5.0, 0.0))


def test_custom_vjp():
    @tn.custom_vjp
    def clip(x, n):
        return x * n

    clip.defvjp(lambda x, n: (x * n, {"x": x}), lambda res, ct: (ct * 7.0 + res["x"] * 0, None))
    close(tn.grad(clip)(2.0, 3), 7.0)
    close(tn.vmap(tn.grad(clip), in_axes=(0, None))(tnp.ones(2), 3), [7.0, 7.0])
    with pytest.raises(TypeError, match="tuple"):
        clip.defvjp(lambda x, n: (x * n, ()), lambda res, ct: ct)
        tn.grad(clip)(2.0, 3)
    bare = tn.custom_vjp(lambda x: x)
    with pytest.raises(AttributeError, match="defvjp"):
        bare(1.0)


def test_stop_gradient_and_checkpoint():
    close(tn.grad(lambda x: x * lax.stop_gradient(x))(3.0), 3.0)
    f = tn.checkpoint(lambda x, n: tnp.sin(x) ** n, static_argnums=1)
    close(tn.grad(f)(0.5, 2), 2 * np.sin(0.5) * np.cos(0.5))


@pytest.mark.parametrize("named", [{"scale": 3.0}, {"scale": 3.0, "at": 2.0, "args": 4.0}])
def test_static_arguments_beside_keywords(named):
    def f(x, n, **more):
        return tnp.sin(x) ** n * functools.reduce(lambda a, b: a * b, more.values())

    times = math.prod(named.values())
    kept = tn.checkpoint(f, static_argnums=1)
    close(kept(0.5, 2, **named), np.sin(0.5) ** 2 * times)
    close(tn.grad(kept)(0.5, 2, **named), 2 * np.sin(0.5) * np.cos(0.5) * times)
    close(tn.grad(lambda s: kept(0.5, 2, **{**named, "scale": s}))(3.0), np.sin(0.5) ** 2 * times / 3)
    program, shape = tn.make_jaxpr(f, static_argnums=1, return_shape=True)(np.full(3, 0.5), 2, **named)
    assert shape.shape == (3,) and len(program.inputs) == 1 + len(named)


def test_python_errors_come_out_unchanged():
    class Mine(Exception):
        pass

    def f(x):
        raise Mine("here")

    for transformed in (tn.jit(f), tn.grad(f), tn.vmap(f), tn.jacfwd(f), lambda x: lax.scan(lambda c, y: f(y), x, x),
                        lambda x: lax.cond(True, f, f, x), tn.make_program(f)):
        with pytest.raises(Mine, match="here"):
            transformed(tnp.ones(2))
    assert not tn._core.tracing()


def test_jacrev_beside_integers():
    def f(x, n, y):
        return {"a": x["v"] * n * y, "b": tnp.sum(x["v"])}

    x = {"v": np.arange(3.0), "k": 2}
    rows = tn.jacrev(f, (0, 1), allow_int=True)(x, 2, 3.0)
    assert np.allclose(rows["a"][0]["v"], 6 * np.eye(3)) and np.allclose(rows["b"][0]["v"], 1)
    assert rows["a"][0]["k"].shape == (3,) and rows["a"][1].dtype == tn.float0 and rows["b"][1].shape == ()
    none, aux = tn.jacrev(lambda n: (n * tnp.ones(2), n), has_aux=True, allow_int=True)(4)
    assert none.shape == (2,) and none.dtype == tn.float0 and aux == 4
    assert np.allclose(tn.jit(tn.jacrev(lambda x, n: x ** n, allow_int=True))(np.array([2.0, 3.0]), 2), np.diag([4, 6]))
