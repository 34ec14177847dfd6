"""custom_jvp and custom_vjp: rules that call their function, that look at values, that see which arguments are
differentiated; and functions whose captures become arguments."""

import functools

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import lax
from tenon.custom_derivatives import CustomVJPPrimal, SymbolicZero, custom_vjp_primal_tree_values, zero_from_primal


def calls_itself():
    ran = []

    @tn.custom_vjp
    def f(x, y):
        return tnp.sin(x) * y

    def forward(x, y):
        ran.append("forward")
        return f(x, y), (tnp.cos(x), tnp.sin(x), y)

    def backward(residuals, g):
        ran.append("backward")
        cos_x, sin_x, y = residuals
        return cos_x * g * y, sin_x * g

    f.defvjp(forward, backward)
    return f, ran


def test_forward_calls_its_function():
    f, _ = calls_itself()
    assert np.isclose(tn.grad(f)(2.0, 3.0), 3 * np.cos(2))
    assert np.isclose(tn.jit(tn.grad(f))(2.0, 3.0), 3 * np.cos(2))
    assert np.allclose(tn.vmap(tn.grad(f), (0, None))(tnp.ones(3), 3.0), 3 * np.cos(1))
    assert np.allclose(tn.grad(lambda x: tnp.sum(tn.vmap(f, (0, None))(x, 3.0)))(tnp.ones(3)), 3 * np.cos(1))
    assert np.isclose(tn.grad(tn.grad(f))(2.0, 3.0), -3 * np.sin(2))
    assert np.isclose(tn.grad(tn.grad(tn.grad(f)))(2.0, 3.0), -3 * np.cos(2))
    assert np.isclose(tn.grad(tn.jit(tn.grad(tn.jit(f))))(2.0, 3.0), -3 * np.sin(2))
    assert np.allclose(tn.jacrev(f, (0, 1))(2.0, 3.0), (3 * np.cos(2), np.sin(2)))
    assert np.allclose(tn.hessian(f)(2.0, 3.0), -3 * np.sin(2))
    assert np.isclose(tn.vjp(f, 2.0, 3.0)[1](1.0)[0], 3 * np.cos(2))
    looped = tn.grad(lambda x: lax.scan(lambda c, _: (f(c, 3.0), None), x, None, length=2)[0])
    assert np.isclose(looped(2.0), 9 * np.cos(3 * np.sin(2)) * np.cos(2))


def test_rules_run_where_a_derivative_is_taken():
    f, ran = calls_itself()
    f(1.0, 2.0), tn.jit(f)(1.0, 2.0), tn.vmap(f)(tnp.ones(2), tnp.ones(2)), tn.eval_shape(f, 1.0, 2.0)
    tn.grad(lambda x: x * f(1.0, 2.0))(1.0)  # of what is not differentiated, too
    assert ran == []
    tn.grad(f)(1.0, 2.0)
    assert ran == ["forward", "backward"]


def test_jitted_functions_hold_the_rules_that_are_needed():
    f, ran = calls_itself()
    traced = []
    g = tn.jit(lambda x: (traced.append(1), f(x, 3.0))[1])
    g(1.0), g(2.0)
    assert len(traced) == 1 and ran == []
    assert np.isclose(tn.grad(g)(2.0), 3 * np.cos(2)) and np.isclose(tn.grad(g)(1.0), 3 * np.cos(1))
    assert len(traced) == 2 and ran == ["forward", "backward"]
    assert np.isclose(tn.grad(tn.grad(g))(2.0), -3 * np.sin(2)) and g(2.0) == 3 * np.sin(2)


def test_rule_counts_in_every_order():
    @tn.custom_jvp
    def f(x):
        return tnp.sin(x)

    @f.defjvp
    def _(primals, tangents):
        (x,), (dx,) = primals, tangents
        return f(x), 2.0 * f(x) * dx

    g, expected = f, np.sin(0.7)
    for order in range(6):
        assert np.isclose(g(0.7), expected), order
        g, expected = tn.grad(g), expected * 2


@pytest.mark.parametrize("x", [1.0, -1.0])
def test_rules_may_look_at_values(x):
    @tn.custom_jvp
    def f(x):
        return tnp.sin(x) if x > 0 else tnp.cos(x)

    @f.defjvp
    def _(primals, tangents):
        (x,), (dx,) = primals, tangents
        return (f(x), 2 * dx) if x > 0 else (f(x), 3 * dx)

    value, slope = tn.jvp(f, (x,), (1.0,))
    assert np.isclose(value, np.sin(x) if x > 0 else np.cos(x)) and slope == (2 if x > 0 else 3)
    assert tn.grad(f)(x) == (2 if x > 0 else 3)
    assert np.isclose(tn.grad(lambda x: f(x * 1.0) * 2)(x), 4 if x > 0 else 6)

    @tn.custom_vjp
    def g(x):
        return tnp.sin(x) if x > 0 else tnp.cos(x)

    g.defvjp(lambda x: (g(x), x * 1.0) if x > 0 else (g(x), x * 1.0), lambda x, g: ((2.0 if x > 0 else 3.0) * g,))
    assert tn.grad(g)(x) == (2 if x > 0 else 3)
    with pytest.raises(tn.errors.ConcretizationError):
        tn.jit(tn.grad(g))(x)


def test_values_of_what_depends_on_tangents_are_not_known():
    @tn.custom_jvp
    def f(x):
        return x

    @f.defjvp
    def _(primals, tangents):
        return primals[0], tangents[0] if tangents[0] > 0 else -tangents[0]

    with pytest.raises(tn.errors.ConcretizationError):
        tn.grad(f)(1.0)


def test_symbolic_zeros_of_custom_jvp():
    seen = []

    @tn.custom_jvp
    def f(x, y, n):
        return x * y, y

    @functools.partial(f.defjvp, symbolic_zeros=True)
    def _(primals, tangents):
        (x, y, n), (dx, dy, dn) = primals, tangents
        seen.append((type(dx) is SymbolicZero, type(dy) is SymbolicZero, type(dn) is SymbolicZero))
        return f(x, y, n), (dx * y if type(dy) is SymbolicZero else x * dy, dy)

    x, y = tnp.ones(2), tnp.full(2, 3.0)
    value, slope = tn.jvp(lambda x: f(x, y, 3), (x,), (x,))
    assert slope[0].tolist() == [3, 3] and slope[1].tolist() == [0, 0]
    assert tn.grad(lambda x: tnp.sum(tn.jit(f)(x, y, 3)[0]))(x).tolist() == [3, 3]
    assert tn.grad(lambda x: tnp.sum(tn.vmap(lambda x, y: f(x, y, 3))(x, y)[0]))(x).tolist() == [3, 3]
    assert seen == [(False, True, True)] * 3
    assert zero_from_primal(x).tolist() == [0, 0] and zero_from_primal(3).dtype == tn.float0
    assert zero_from_primal(x, symbolic_zeros=True) == SymbolicZero((2,), np.float64)


def test_symbolic_zeros_of_custom_vjp():
    @functools.partial(tn.custom_vjp, nondiff_argnums=(0,))
    def f(k, box, y):
        return k * box["x"] * y

    def forward(k, box, y):
        assert isinstance(k, float) and isinstance(box["x"], CustomVJPPrimal)
        assert box["x"].perturbed is True and y.perturbed is False
        box, y = custom_vjp_primal_tree_values((box, y))
        return f(k, box, y), (box, y)

    def backward(k, residuals, g):
        return {"x": k * residuals[1] * g}, SymbolicZero((), np.float64)

    f.defvjp(forward, backward, symbolic_zeros=True)
    assert tn.grad(lambda x: f(2.0, {"x": x}, 5.0))(3.0) == 10
    assert tn.jit(tn.grad(lambda x: f(2.0, {"x": x}, 5.0)))(3.0) == 10


def test_none_is_a_zero_cotangent_of_any_part():
    @tn.custom_vjp
    def f(x, y):
        return x[0] * y["a"]

    f.defvjp(lambda x, y: (f(x, y), (x, y)), lambda r, g: ((g * r[1]["a"], (None, None)), None))
    a, b = tn.grad(f, (0, 1))((2.0, (3.0, 4.0)), {"a": 5.0, "b": tnp.ones(2)})
    assert [float(v) for v in tn.tree.leaves(a)] == [5, 0, 0] and b["a"] == 0 and b["b"].tolist() == [0, 0]
    one = tn.custom_vjp(lambda x: x[0])
    one.defvjp(lambda x: (x[0], None), lambda _, g: (None, g))
    with pytest.raises(TypeError, match="backward returns a tuple"):
        tn.grad(one)((1.0, 2.0))


def test_arguments_that_are_not_differentiated_by_name():
    @functools.partial(tn.custom_vjp, nondiff_argnums=(0,), nondiff_argnames=("g",))
    def f(h, x, g, scale=2.0):
        return h(x) * scale

    f.defvjp(lambda h, x, g, scale: (f(h, x, g, scale), x), lambda h, g, x, ct: (g(ct), None))
    assert f(abs, -3.0, None) == 6 and f(abs, -3.0, g=None, scale=3.0) == 9
    assert tn.grad(lambda x: f(tnp.sin, x, g=lambda ct: 7 * ct))(1.0) == 7

    @functools.partial(tn.custom_jvp, nondiff_argnames="h")
    def k(h, x):
        return h(x)

    @k.defjvp
    def _(h, primals, tangents):
        return k(h, *primals), 3 * tangents[0]

    assert tn.grad(functools.partial(k, tnp.sin))(1.0) == 3
    with pytest.raises(ValueError, match="no argument other"):
        tn.custom_jvp(lambda x: x, nondiff_argnames="other")
    with pytest.raises(TypeError, match="keyword-only"):
        tn.custom_jvp.__call__(_with_rule(lambda x, *, y=1.0: x * y), 1.0, y=2.0)


def _with_rule(f):
    f = tn.custom_jvp(f)
    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0]))
    return f


def test_captures_are_constants_to_rules():
    def captures(x):
        return _with_rule(lambda y: x * y)(1.0)

    with pytest.raises(tn.errors.DifferentiationError, match="captures"):
        tn.grad(captures)(2.0)
    with pytest.raises(tn.errors.LeakError, match="captures"):  # as JAX calls it
        tn.jvp(captures, (2.0,), (1.0,))
    with pytest.raises(tn.errors.DifferentiationError, match="captures"):
        tn.grad(lambda x: _with_rule(lambda y: x * y)(x))(2.0)
    assert tn.grad(lambda x: tn.grad(lambda y: _with_rule(lambda z: lax.stop_gradient(x) * z)(y))(3.0) * x)(2.0) == 1


def test_closure_convert():
    @functools.partial(tn.custom_vjp, nondiff_argnums=(0,))
    def cos_after(fn, x, *captured):
        return tnp.cos(fn(x, *captured))

    cos_after.defvjp(lambda fn, x, *c: (cos_after(fn, x, *c), (x, c)),
                     lambda fn, r, g: (17.0 * r[0], *(42.0 * c for c in r[1])))

    def solve(c, s, x):
        converted, captured = tn.closure_convert(lambda x: tnp.sum(s * (x - c) ** 2), x)
        assert len(captured) == differentiated
        return cos_after(converted, x, *captured)

    c, s, x = 2 * np.ones(2), 3 * np.ones(2), np.ones(2)
    differentiated = 0
    assert np.isclose(solve(c, s, x), np.cos(6))
    differentiated = 1
    of_c, of_x = tn.grad(solve, (0, 2))(c, s, x)
    assert np.allclose(of_c, 42 * c) and np.allclose(of_x, 17 * x)
    converted, captured = tn.closure_convert(lambda x: x * 2, 1.0)
    assert converted(4.0) == 8 and captured == []
    with pytest.raises(TypeError, match="closure_convert"):
        converted((1.0, 2.0))


def test_linear_call():
    def f(r, x):
        return tn.custom_derivatives.linear_call(lambda r, x: x / r, lambda r, t: t / r, r, x)

    assert f(4.0, 8.0) == 2 and tn.grad(f, 1)(4.0, 8.0) == 0.25
    assert tn.jvp(lambda x: f(4.0, x), (8.0,), (2.0,))[1] == 0.5


def test_defjvps():
    @tn.custom_jvp
    def f(x, y):
        return x * y

    f.defjvps(lambda dx, out, x, y: 5.0 * dx, None)
    assert tn.grad(f, (0, 1))(2.0, 3.0) == (5, 0)
    with pytest.raises(TypeError, match="defjvps"):
        tn.custom_jvp(lambda a, x: x, nondiff_argnums=(0,)).defjvps(None)


def test_backward_is_not_run_without_cotangents():
    f = tn.custom_vjp(lambda x: None)
    f.defvjp(lambda x: (None, x), lambda r, g: 1 / 0)
    assert tn.grad(lambda x: (f(x), x)[1])(2.0) == 1
    one = tn.custom_vjp(lambda x: x)
    one.defvjp(lambda x: (x, None), lambda r, g: g)
    with pytest.raises(TypeError, match="backward returns a tuple"):
        tn.grad(one)(1.0)


def test_zeros_are_returned_by_any_rule():
    @tn.custom_jvp
    def f(x):
        return x * 2

    @f.defjvp
    def _(primals, tangents):
        return f(*primals), zero_from_primal(primals[0], symbolic_zeros=True)

    assert tn.grad(f)(1.0) == 0 and tn.jvp(tn.jit(f), (1.0,), (1.0,)) == (2, 0)


def test_rules_for_derivatives_and_batches_of_one_function():
    both = tn.custom_vjp(tn.custom_batching.custom_vmap(lambda x: tnp.sin(x)))
    both.def_vmap(lambda n, batched, x: (tnp.sin(x), batched[0]))
    both.defvjp(lambda x: (both(x), x), lambda x, g: (7.0 * g,))
    assert tn.vmap(tn.grad(both))(np.ones(2)).tolist() == [7, 7]
    assert tn.grad(lambda x: tnp.sum(tn.vmap(both)(x)))(np.ones(2)).tolist() == [7, 7]


@tn.custom_jvp
def same_by_jvp(x):
    return x


same_by_jvp.defjvp(lambda primals, tangents: (primals[0], tangents[0]))


@tn.custom_vjp
def same_by_vjp(x):
    return x


same_by_vjp.defvjp(lambda x: (x, None), lambda _, g: (g,))


@pytest.mark.parametrize("f", [same_by_jvp, same_by_vjp])
def test_memory_of_numpy_is_not_passed_through(f):
    a = np.ones(3)
    y, t = f(a), f({"a": [a]})
    a[0] = 5
    assert np.asarray(y).tolist() == [1, 1, 1] and np.asarray(t["a"][0]).tolist() == [1, 1, 1]
    assert f(2.0) == 2 and f("text") == "text"


def test_a_tangent_that_the_rule_says_is_zero_stays_known_to_be():
    seen = []

    @tn.custom_jvp
    def second(x, y):
        return y

    def rule(primals, tangents):
        seen.append([isinstance(t, SymbolicZero) for t in tangents])
        return primals[1], tangents[1]

    second.defjvp(rule, symbolic_zeros=True)
    for f in (lambda x: second(x, second(x, 1.0)), tn.vmap(lambda x: second(x, second(x, 1.0)))):
        value, tangent = tn.jvp(f, (tnp.ones(3),), (tnp.ones(3),))
        assert np.all(value == 1) and np.all(tangent == 0)
    assert seen == [[False, True]] * 4


def test_a_cotangent_stands_for_a_subtree():
    f = tn.custom_vjp(lambda pair, y: (pair["a"] + pair["b"][0]) * y)
    f.defvjp(lambda pair, y: (f(pair, y), y), lambda y, g: (7 * g, None))
    slopes = tn.grad(f)({"a": 1.0, "b": (2.0,)}, 3.0)
    assert slopes == {"a": 7, "b": (7,)}
    assert tn.grad(f, 1)({"a": 1.0, "b": (2.0,)}, 3.0) == 0


def test_zeros_of_float0_from_compiled_functions():
    from tenon.dtypes import float0

    f = tn.jit(lambda n, x: tn.vjp(lambda n, x: n * x, n, x)[1](1.0))
    for _ in range(2):
        none, slope = f(3, 2.0)
        assert none.dtype == float0 and none.shape == () and slope == 3
    none, _ = tn.jit(lambda n: (tnp.zeros((2, 3), float0), n))(1)
    assert none.dtype == float0 and none.shape == (2, 3) and tnp.zeros_like(np.ones(2), float0).shape == (2,)


def test_a_rule_may_look_at_tangents_for_what_is_not_read():
    """Whether tangents are finite is no linear function of them; reverse mode asks for it where something needs it alone."""
    @tn.jit
    def doubled(t):
        return 2 * t, tnp.all(tnp.isfinite(t)), tnp.sum(tnp.where(t > 0, 1, 0))

    @tn.custom_jvp
    def f(x):
        return x * x

    @f.defjvp
    def rule(primals, tangents):
        made, _, _ = doubled(tangents[0])
        return f(primals[0]), primals[0] * made

    x = np.array([1.0, -2.0, 3.0])
    for g in (tn.grad(lambda x: tnp.sum(f(x))), tn.jit(tn.grad(lambda x: tnp.sum(f(x))))):
        assert np.array_equal(g(x), 2 * x)

    @f.defjvp
    def branches(primals, tangents):
        made, finite, _ = doubled(tangents[0])
        return f(primals[0]), primals[0] * tnp.where(finite, made, 0)

    with pytest.raises(tn.errors.DifferentiationError, match="depends on a linear value"):
        tn.grad(lambda x: tnp.sum(f(x)))(x)
