"""tn.noinline, tn.inline_ and jit(inline=…): which calls are units, through transformations; what explain says of calls."""

import re

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import lax

X = np.linspace(0.1, 1.0, 12).reshape(3, 4)


def short(x):
    return tnp.tanh(x @ x.T @ x) + tnp.sin(x).sum()


def long(x):
    for _ in range(20):
        x = tnp.sin(x) * 0.5 + x
    return x


def calls(f, *args):
    """Of each function that is called: (its name, how it is placed, why)."""
    text = str(tn.explain(f)(*args))
    if "functions that are called:\n" not in text:
        return []
    lines = text.split("functions that are called:\n", 1)[1].split("\n")
    found = [re.match(r"  (.*), [\d,]+ eqns, called (?:once|[\d,]+ times).*?: (a unit|inlined): (.*)$", line) for line in lines]
    return [m.groups() for m in found if m]


def units(f, *args):
    text = str(tn.explain(f)(*args))
    if "functions that are compiled by themselves:\n" not in text:
        return 0
    rest = text.split("functions that are compiled by themselves:\n", 1)[1].split("\n")
    return sum(1 for _ in iter(lambda: rest.pop(0).startswith("  "), False))


def of_sum(f):
    return lambda x: f(x).sum()


TRANSFORMED = {
    "as it is": lambda f: lambda x: f(x) * 2,
    "twice": lambda f: lambda x: f(f(x)),
    "grad": lambda f: tn.grad(of_sum(f)),
    "grad of grad": lambda f: tn.grad(lambda x: tn.grad(of_sum(f))(x).sum()),
    "jvp": lambda f: lambda x: tn.jvp(f, (x,), (x,)),
    "vmap": lambda f: lambda x: tn.vmap(f)(tnp.stack([x, x + 1])),
    "vmap of grad": lambda f: lambda x: tn.vmap(tn.grad(of_sum(f)))(tnp.stack([x, x + 1])),
    "scan": lambda f: lambda x: lax.scan(lambda c, _: (f(c), c.sum()), x, None, length=3),
    "grad of scan": lambda f: tn.grad(lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=3)[0].sum()),
    "checkpoint": lambda f: tn.grad(of_sum(tn.checkpoint(f))),
    "inside a checkpoint": lambda f: tn.grad(of_sum(tn.checkpoint(lambda x: f(x) * 2))),
    "nested": lambda f: lambda x: tn.jit(lambda y: tn.jit(f)(y) + 1)(x),
    "cond": lambda f: lambda x: lax.cond(x.sum() > 0, f, lambda x: x, x),
}


@pytest.mark.parametrize("kind", TRANSFORMED)
@pytest.mark.parametrize("place", [tn.noinline, tn.inline_])
def test_placed_through_transformations(kind, place):
    transformed = TRANSFORMED[kind]
    f = transformed(place(short))
    expected, got = transformed(short)(X), tn.jit(f)(X)
    for a, b in zip(tn.tree.leaves(expected), tn.tree.leaves(got)):
        np.testing.assert_allclose(a, b, rtol=1e-9)
    told = {(where, why) for _, where, why in calls(f, X) if why == "asked for"}
    if place is tn.noinline:
        assert ("a unit", "asked for") in told and units(f, X) >= 1
    else:
        assert told == {("inlined", "asked for")} and units(f, X) == 0


def test_what_the_price_decides():
    def often(f, n):
        def g(x):
            for _ in range(n):
                x = f(x) + 1
            return x
        return g

    x = np.ones(10_000)
    assert calls(often(tn.jit(long), 10), x) == [("long", "a unit", "large")]
    assert calls(often(tn.jit(long), 1), x) == [("long", "inlined", "called once")]
    assert calls(often(tn.jit(lambda x: x * 2), 10), x) == [("<lambda>", "inlined", "too small")]
    assert calls(often(tn.jit(long), 2), x) == [("long", "inlined", "small: it fuses with what is around it")]
    assert calls(often(tn.jit(long), 2), 1.0) == [("long", "inlined", "so small that a call would be felt")]
    assert calls(often(lambda x: x, 3), x) == []
    # Asked for, against the price.
    assert calls(often(tn.inline_(tn.jit(long)), 10), x) == [("long", "inlined", "asked for")]
    assert calls(often(tn.jit(long, inline=True), 10), x) == [("long", "inlined", "asked for")]
    assert calls(often(tn.noinline(tn.jit(long)), 1), x) == [("long", "a unit", "asked for")]
    assert units(often(tn.jit(long, inline=True), 10), x) == 0


def test_how_often_and_where():
    f = tn.noinline(long)

    def g(x):
        return f(x) + f(x * 2) + f(x * 3)  # here

    line = g.__code__.co_firstlineno + 1
    text = str(tn.explain(g)(np.ones(3)))
    assert re.search(rf"  long, 62 eqns, called 3 times at .*test_placement\.py:{line}: a unit: asked for", text), text


def test_what_cannot_be_a_unit():
    @tn.noinline
    def with_list(x):
        kept = tn.List()
        kept.push(x)
        return lax.scan(lambda c, _: (c + kept[0], None), x, None, length=2)[0]

    def lists(x):
        kept = tn.List()
        kept.push(x)
        return tn.noinline(lambda kept: kept[0] * 2)(kept)

    def chosen(x):
        return tn.noinline(lambda x: x[x > 0].sum())(x) + 1

    assert calls(chosen, X)[0][1:] == ("inlined", "asked to be a unit, and its data decide sizes")
    assert float(tn.jit(chosen)(np.array([1.0, -2.0, 3.0]))) == 5.0
    assert ("inlined", "asked to be a unit, and it has lists") in [c[1:] for c in calls(lists, 2.0)]
    assert float(tn.jit(lists)(2.0)) == 4.0
    assert float(tn.jit(with_list)(2.0)) == 6.0
    update = tn.noinline(lambda x: x.at[1].set(7.0))
    assert tn.jit(update)(np.ones(3)).tolist() == [1.0, 7.0, 1.0]
    nothing = tn.noinline(lambda x: x)
    assert calls(lambda x: nothing(x) + 1, 2.0)[0][1:] == ("inlined", "asked to be a unit, and it computes nothing")


def test_outside_of_traces_and_static_arguments():
    f = tn.noinline(lambda x, n, *, mode: x * n if mode == "times" else x + n, static_argnums=1, static_argnames="mode")
    assert float(f(3.0, 2, mode="times")) == 6.0
    assert float(tn.jit(lambda x: f(x, 2, mode="plus"))(3.0)) == 5.0
    assert float(tn.grad(lambda x: f(x, 2, mode="times"))(3.0)) == 2.0
    assert tn.noinline(long).__name__ == "noinline(long)"
    with pytest.raises(TypeError, match="inline_: 3 is not callable"):
        tn.inline_(3)


def test_references_and_captures():
    r = tn.new_ref(tnp.zeros(3))

    @tn.noinline
    def add(x):
        r[...] = r[...] + x
        return x * 2

    tn.jit(lambda x: add(add(x)))(tnp.ones(3))
    assert r[...].tolist() == [3.0, 3.0, 3.0]

    def outer(w, x):
        return tn.noinline(lambda x: tnp.sin(w * x))(x)

    np.testing.assert_allclose(tn.jit(tn.grad(outer))(2.0, 3.0), 3 * np.cos(6.0), rtol=1e-12)
    assert ("a unit", "asked for") in [c[1:] for c in calls(outer, 2.0, 3.0)]


def test_a_unit_runs_when_values_are_looked_at():
    f = tn.noinline(lambda x: x * 2 if x > 0 else -x)
    assert float(tn.grad(f)(3.0)) == 2.0 and float(tn.grad(f)(-3.0)) == -1.0
