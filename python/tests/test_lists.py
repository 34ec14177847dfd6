"""tn.List: outside of traces, in compiled functions, loops, branches and derivatives, against Python's lists."""

import copy

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import lax


def test_outside():
    items = tn.List()
    assert len(items) == 0 and repr(items) == "List(0 elements)"
    for i in range(5):
        items.push({"x": float(i), "y": tnp.full(2, i)})
    assert len(items) == 5 and int(items.size) == 5 and repr(items) == "List(5 elements of f64[], i64[2])"
    assert float(items.at(1)["x"]) == 1 and items[-1]["y"].tolist() == [4, 4]
    items[0] = {"x": 7.0, "y": tnp.zeros(2, int)}
    other = copy.copy(items)
    assert float(items.pop()["x"]) == 4 and len(items) == 4 and len(other) == 5
    stacked = items.stack()
    assert stacked["x"].tolist() == [7, 1, 2, 3] and stacked["y"].tolist() == [[0, 0], [1, 1], [2, 2], [3, 3]]
    assert items.stack(6)["x"].tolist() == [7, 1, 2, 3, 0, 0]
    assert [float(e["x"]) for e in other] == [7, 1, 2, 3, 4]
    items.clear()
    assert len(items) == 0 and items.stack()["y"].shape == (0, 2)


@pytest.mark.parametrize("act, kind, said", [
    (lambda items: items.push(np.ones(3)), tn.errors.ShapeError, r"push: the element is f64\[3\], the list has f64\[2\]"),
    (lambda items: items.push(np.ones(2, np.int32)), tn.errors.DTypeError, "push: the element is i32"),
    (lambda items: items.push((1.0,)), tn.errors.TreeError, "differ in structure"),
    (lambda items: items.at(2), tn.errors.ShapeError, "at: there is no element 2 in a list of 1"),
    (lambda items: items.set(-2, np.ones(2)), tn.errors.ShapeError, "set: there is no element -2"),
    (lambda items: items.at(0.5), tn.errors.DTypeError, "not an integer"),
    (lambda items: (items.pop(), items.pop()), tn.errors.ShapeError, "pop: the list is empty"),
    (lambda items: tn.List().stack(), tn.errors.ShapeError, "has had no element"),
    (lambda items: tn.jit(lambda: items.push(np.ones(2)))(), tn.errors.LeakError, "comes from outside"),
    (lambda items: tn.jit(len)(items), tn.errors.ConcretizationError, "len|size"),
    (lambda items: items.push("a"), tn.errors.DTypeError, "push: the element is 'a'"),
])
def test_what_is_wrong(act, kind, said):
    items = tn.List()
    items.push(np.ones(2))
    with pytest.raises(kind, match=said) as caught:
        act(items)
    assert "test_lists.py" in str(caught.value)
    assert len(items) <= 1


def collatz(n):
    path = [n]
    while path[-1] != 1:
        path.append(path[-1] // 2 if path[-1] % 2 == 0 else 3 * path[-1] + 1)
    return path


def traced_collatz(n):
    def body(state):
        n, path = state
        path.push(n)
        return tnp.where(n % 2 == 0, n // 2, 3 * n + 1), path

    n, path = lax.while_loop(lambda state: state[0] != 1, body, (tnp.asarray(n), tn.List()))
    path.push(n)
    return path


@pytest.mark.parametrize("n", [1, 2, 7, 27])
def test_in_while_loops(n):
    assert [int(x) for x in traced_collatz(n)] == collatz(n)
    assert tn.jit(traced_collatz)(n).stack().tolist() == collatz(n)
    assert tn.jit(lambda n: traced_collatz(n).stack())(n).tolist() == collatz(n)
    assert int(tn.jit(lambda n: traced_collatz(n).size)(n)) == len(collatz(n))


def test_in_other_loops_and_branches():
    def evens(xs):
        def step(items, x):
            def add(items):
                items.push(x)
                return items

            items = lax.cond(x % 2 == 0, add, lambda items: items, items)
            return items, items.size

        return lax.scan(step, tn.List(), xs)

    for f in (evens, tn.jit(evens)):
        items, sizes = f(tnp.asarray([4, 1, 2, 2, 7]))
        assert items.stack().tolist() == [4, 2, 2] and sizes.tolist() == [1, 1, 2, 3, 3]

    def squares(n):
        def body(i, items):
            items.push(i * i)
            return items

        return lax.fori_loop(0, n, body, tn.List())

    assert [int(x) for x in tn.jit(squares)(4)] == [0, 1, 4, 9]
    with pytest.raises(tn.errors.ShapeError, match="lists are not stacked"):
        lax.scan(lambda c, x: (c, tn.List(like=x)), 0, tnp.arange(3))

    def stack_machine(ops):
        """Numbers are pushed, -1 adds the two last, -2 multiplies them."""
        def step(items, op):
            def number(items):
                items.push(op)
                return items

            def combine(items):
                b, a = items.pop(), items.pop()
                items.push(tnp.where(op == -1.0, a + b, a * b))
                return items

            return lax.cond(op >= 0, number, combine, items), ()

        return lax.scan(step, tn.List(like=0.0), ops)[0].pop()

    ops = np.array([3.0, 4.0, -1.0, 5.0, 2.0, -2.0, -1.0])
    assert float(tn.jit(stack_machine)(ops)) == 3 + 4 + 5 * 2


def test_derivatives():
    def f(w, n):
        def body(state):
            x, path = state
            path.push(tnp.sin(x))
            return x * w, path

        x, path = lax.while_loop(lambda state: state[0] < n, body, (1.0, tn.List()))
        return tnp.sum(path.stack() ** 2)

    def by_hand(w, n):
        x, total = 1.0, 0.0
        while x < n:
            total += np.sin(x) ** 2
            x *= w
        return total

    w, n = 1.7, 40.0
    assert np.isclose(float(tn.jit(f)(w, n)), by_hand(w, n))
    numeric = (by_hand(w + 1e-6, n) - by_hand(w - 1e-6, n)) / 2e-6
    assert np.isclose(float(tn.grad(f)(w, n)), numeric, rtol=1e-6)
    assert np.isclose(float(tn.jit(tn.grad(f))(w, n)), numeric, rtol=1e-6)
    assert np.isclose(float(tn.jvp(lambda w: f(w, n), (w,), (1.0,))[1]), numeric, rtol=1e-6)

    items = tn.List(like={"x": 0.0})
    for i in range(3):
        items.push({"x": float(i)})
    for slope in (tn.grad, lambda g: tn.jit(tn.grad(g))):
        of_items, of_w = slope(lambda both: tnp.sum(both[0].stack()["x"] ** 2) * both[1])((items, 3.0))
        assert of_items.stack()["x"].tolist() == [0, 6, 12] and len(of_items) == 3 and float(of_w) == 5
    along = tn.jvp(lambda items: tnp.sum(items.stack()["x"] ** 2), (items,), (items,))
    assert [float(x) for x in along] == [5, 10]


def test_as_arguments_and_results():
    @tn.jit
    def add(items, x):
        items.push(x)
        return items, items.size

    items = tn.List(like=tnp.zeros(2))
    for i in range(4):
        items, size = add(items, np.full(2, float(i)))
        assert int(size) == len(items) == i + 1
    assert items.stack().tolist() == [[i, i] for i in range(4)]
    assert add._cache_size() == 1 if hasattr(add, "_cache_size") else True
    leaves, structure = tn.tree.flatten({"a": items})
    assert len(leaves) == 2 and structure.unflatten(leaves)["a"].stack().tolist() == items.stack().tolist()
