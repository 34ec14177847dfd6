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


def test_products_with_derivatives():
    items = tn.List(like={"x": 0.0})
    for i in range(3):
        items.push({"x": float(i)})

    def sums(items, w):  # of the elements before, w times
        def step(state, i):
            total, out = state
            total = total + items[i]["x"] * w
            out.push(total)
            return (total, out), ()

        return lax.scan(step, (0.0, tn.List()), tnp.arange(3))[0][1]

    def pulled(items, w):
        out, pull = tn.vjp(sums, items, w)
        return out.stack(), *pull(out)

    for f in (pulled, tn.jit(pulled)):
        out, of_items, of_w = f(items, 2.0)
        assert out.tolist() == [0, 2, 6] and len(of_items) == 3 and isinstance(of_items, tn.List)
        assert of_items.stack()["x"].tolist() == [2 * 8, 2 * 8, 2 * 6] and float(of_w) == 2 * 1 + 6 * 3
    squares, pull = tn.vjp(lambda items: tnp.sum(items.stack()["x"] ** 2), items)
    assert float(squares) == 5 and pull(1.0)[0].stack()["x"].tolist() == [0, 2, 4]
    with pytest.raises(ValueError, match="differ in structure"):
        tn.vjp(sums, items, 2.0)[1](1.0)
    out, push = tn.linearize(sums, items, 2.0)
    along = push(items, 1.0)
    assert len(along) == 3 and along.stack().tolist() == [0, 2 + 1, 6 + 3]
    value, along = tn.jvp(sums, (items, 2.0), (items, 1.0))
    assert value.stack().tolist() == [0, 2, 6] and along.stack().tolist() == [0, 3, 9]
    out, pull, n = tn.vjp(lambda items: (items.stack(), items.size), items, has_aux=True)
    assert int(n) == 3 and pull({"x": np.ones(3)})[0].stack()["x"].tolist() == [1, 1, 1]


@pytest.mark.parametrize("jacobian", [tn.jacrev, tn.jacfwd])
def test_all_derivatives(jacobian):
    items = tn.List(like=tnp.zeros(2))
    rows = np.arange(6.0).reshape(3, 2)
    for row in rows:
        items.push(row)
    slopes = jacobian(lambda items: tnp.sum(items.stack() ** 2, axis=0))(items)
    assert isinstance(slopes, tn.List) and len(slopes) == 3
    assert all(np.allclose(slopes[i], np.diag(2 * rows[i])) for i in range(3))

    def f(k, state):
        total = lax.fori_loop(0, 3, lambda i, c: c + k * state["items"][i] * state["w"], tnp.zeros(2))
        return {"total": total, "first": total[0]}, len(state["items"])

    by_k, by_state = 0, 1
    out, n = jacobian(f, argnums=(by_k, by_state), has_aux=True)(2.0, {"items": items, "w": 3.0})
    assert n == 3 and np.allclose(out["total"][0], 3 * rows.sum(0)) and float(out["first"][0]) == 3 * rows[:, 0].sum()
    assert np.allclose(out["total"][1]["w"], 2 * rows.sum(0))
    assert all(np.allclose(out["total"][1]["items"][i], 6 * np.eye(2)) for i in range(3))
    assert np.allclose(out["first"][1]["items"].stack(), np.tile([6.0, 0.0], (3, 1)))
    assert len(jacobian(lambda items: items.size * 1.0)(tn.List(like=1.0))) == 0
    with pytest.raises(tn.errors.DifferentiationError, match="number of elements"):
        jacobian(lambda items: items)(items)


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
