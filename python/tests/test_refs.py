"""tn.Ref among the arguments of compiled functions, and through loops, branches and derivatives, beside NumPy."""

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import lax

modes = pytest.mark.parametrize("mode", [lambda f: f, tn.jit], ids=["eager", "jit"])


@modes
def test_written_and_read(mode):
    @mode
    def f(r, x):
        r[1] = x
        before = r[...]
        r[...] = r[...] * 2
        return before

    r = tn.new_ref(np.zeros(3))
    assert f(r, 5.0).tolist() == [0, 5, 0] and r[...].tolist() == [0, 10, 0]
    assert f(r, 7.0).tolist() == [0, 7, 0] and r[...].tolist() == [0, 14, 0]


def test_traced_once_for_each_type():
    traced = []

    @tn.jit
    def f(r):
        traced.append(r.shape)
        r[...] = r[...] + 1

    refs = [tn.new_ref(np.full(3, float(i))) for i in range(4)]
    for r in refs:
        f(r), f(r)
    assert traced == [(3,)] and [r[0].item() for r in refs] == [2, 3, 4, 5]
    f(tn.new_ref(np.zeros(2))), f(tn.new_ref(np.zeros(3, np.int32)))
    assert traced == [(3,), (2,), (3,)]


@modes
def test_in_trees_and_by_keyword(mode):
    @mode
    def f(state, *, other):
        state["a"][0] = other[1]
        other[...] = state["b"][0] + state["a"][...]
        return state["b"][0] * 2

    a, b = tn.new_ref(np.zeros(2)), tn.new_ref(np.array([1.0, 3.0]))
    assert f({"a": a, "b": (10.0,)}, other=b) == 20
    assert a[...].tolist() == [3, 0] and b[...].tolist() == [13, 10]


def test_two_of_one_type_stay_apart():
    @tn.jit
    def copy(a, b):
        b[...] = a[...]
        a[...] = a[...] * 0

    a, b = tn.new_ref(np.ones(3)), tn.new_ref(np.zeros(3))
    copy(a, b)
    assert a[...].tolist() == [0, 0, 0] and b[...].tolist() == [1, 1, 1]
    copy(b, a)
    assert a[...].tolist() == [1, 1, 1] and b[...].tolist() == [0, 0, 0]


def test_memory_is_used_again():
    @tn.jit
    def f(r):
        r[3] = 1.0

    r = tn.new_ref(np.zeros(100_000))
    f(r)
    at = np.asarray(r[...]).ctypes.data
    for _ in range(3):
        f(r)
        assert np.asarray(r[...]).ctypes.data == at


def test_twice_is_an_error():
    r = tn.new_ref(np.ones(2))
    for call in (lambda: tn.jit(lambda a, b: a[...] + b[...])(r, r), lambda: tn.jit(lambda t: t[0][0])([r, {"x": r}]),
                 lambda: tn.jit(lambda a: a[0] + r[0])(r)):
        with pytest.raises(ValueError, match="two names"):
            call()
    f = tn.jit(lambda a, b: a[...] + b[...])
    f(r, tn.new_ref(np.ones(2)))
    with pytest.raises(ValueError, match="two names"):
        f(r, r)  # also where it was compiled before


def test_within_others():
    @tn.jit
    def inner(r, x):
        r[0] = r[0] + x

    @tn.jit
    def outer(r, x):
        inner(r, x), inner(r, 2 * x)
        local = tn.new_ref(tnp.zeros(2))
        inner(local, x)
        return local[...]

    r = tn.new_ref(np.zeros(3))
    assert outer(r, 1.0).tolist() == [1, 0] and r[...].tolist() == [3, 0, 0]


@modes
def test_loops_and_branches(mode):
    def f(r, xs):
        def step(c, x):
            r[c] = x
            return c + 1, r[0]

        n, firsts = lax.scan(step, 0, xs)
        lax.fori_loop(0, 2, lambda i, c: (add(r, i), c)[1], 0)
        lax.cond(xs[0] > 0, lambda q: set_last(q, -1.0), lambda q: set_last(q, -2.0), r)
        lax.while_loop(lambda c: c < 3, lambda c: (add(r, 0), c + 1)[1], 0)
        return n, firsts

    def add(q, i):
        q[i] = q[i] + 100

    def set_last(q, x):
        q[3] = x
        return x

    r = tn.new_ref(np.zeros(4))
    n, firsts = mode(f)(r, np.array([1.0, 2.0, 3.0]))
    assert n == 3 and firsts.tolist() == [1, 1, 1] and r[...].tolist() == [401, 102, 3, -1]


@modes
def test_derivatives_see_values(mode):
    def f(x, r):
        return x * x * r[0]

    def counted(x, r):
        local = tn.new_ref(tnp.zeros(()))
        lax.fori_loop(0, 3, lambda i, c: (local.set(local[...] + x * r[1]), c)[1], 0)
        return local[...] * x

    r = tn.new_ref(np.array([3.0, 5.0]))
    assert mode(lambda x, q: tn.grad(f)(x, q))(2.0, r) == 12
    assert mode(lambda x, q: tn.grad(counted)(x, q))(2.0, r) == 60
    assert mode(tn.vmap(f, in_axes=(0, None)))(np.array([1.0, 2.0]), r).tolist() == [3, 12]
    assert mode(lambda x, q: tn.checkpoint(f)(x, q))(2.0, r) == 12


def test_where_it_is_no_value():
    r = tn.new_ref(np.ones(2))
    for call in (lambda: tn.grad(lambda q: q[0])(r), lambda: tn.jvp(lambda q: q[0], (r,), (r,)),
                 lambda: tn.jacrev(lambda q: q[0])({"r": r}), lambda: tn.jit(lambda q: q)(r), lambda: tn.jit(lambda q: {"r": q})(r)):
        with pytest.raises(TypeError, match="reference"):
            call()
    with pytest.raises(TypeError, match="grad: what is written to a reference"):
        tn.grad(lambda x, q: (q.set(x * q[...]), x)[1])(1.0, r)


def test_frozen_and_ended():
    f = tn.jit(lambda q: q[0])
    r = tn.new_ref(np.ones(2))
    assert f(r) == 1
    assert tn.freeze(r).tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="frozen"):
        f(r)


def test_leaves_of_trees():
    r = tn.new_ref(np.ones(2))
    assert tn.tree.leaves({"a": r, "b": 1}) == [r, 1]
    assert tn.tree.map(lambda q: q[...].tolist(), {"a": r}) == {"a": [1, 1]}


@modes
def test_scan_along_references(mode):
    def double(r, x):
        def step(c, rows):
            row, y = rows
            row[...] = row[...] + row[...] + y
            return c + row[...], row[...] * 10

        return lax.scan(step, 0.0, (r, x))

    r = tn.new_ref(np.arange(5.0))
    total, ys = mode(double)(r, np.ones(5))
    assert r[...].tolist() == [1, 3, 5, 7, 9] and total == 25 and ys.tolist() == [10, 30, 50, 70, 90]
    r = tn.new_ref(np.arange(6.0).reshape(3, 2))
    mode(lambda r: lax.scan(lambda c, row: (row.__setitem__(0, c), (c + 1, None))[1], 7.0, r, length=3, reverse=True))(r)
    assert r[...].tolist() == [[9, 1], [8, 3], [7, 5]]


def test_scan_along_a_reference_that_is_only_read():
    r = tn.new_ref(np.arange(3.0))
    slope = tn.grad(lambda x: lax.scan(lambda c, row: (c * row[...] + x, None), x, r)[0])(1.0)
    assert slope == 5 and r[...].tolist() == [0, 1, 2]


@modes
def test_lanes_of_references(mode):
    def step(r, x):
        r[0] = r[0] + x
        return r[...].sum()

    r, x = tn.new_ref(np.ones((3, 2))), np.arange(3.0)
    assert mode(lambda r, x: tn.vmap(step)(r, x))(r, x).tolist() == [2, 3, 4] and r[...].tolist() == [[1, 1], [2, 1], [3, 1]]
    columns = tn.new_ref(np.ones((2, 3)))
    assert mode(lambda r, x: tn.vmap(step, (1, 0))(r, x))(columns, x).tolist() == [2, 3, 4]
    assert columns[...].tolist() == [[1, 2, 3], [1, 1, 1]]
    one = tn.new_ref(np.ones(2))
    assert mode(lambda r, x: tn.vmap(lambda r, x: r[0] * x, (None, 0))(r, x))(one, x).tolist() == [0, 1, 2]


def test_programs_show_what_is_written():
    r = tn.new_ref(np.ones(2))
    assert len(tn.make_program(lambda x: r.set(r[...] + x))(1.0)) > 0 and r[...].tolist() == [1, 1]


def test_gradients_added_to_references():
    from tenon.ad import DidntWant, DontWant, GradRef, GradValue

    _, pull = tn.vjp(lambda x, y: x * y, np.ones(2), np.full(2, 3.0))
    total = tn.new_ref(np.ones(2))
    add = pull.with_refs(total, DontWant())
    assert add(np.ones(2)) == (GradRef(), DidntWant()) and total[...].tolist() == [4, 4]
    tn.jit(lambda r, ct: pull.with_refs(r, GradValue())(ct)[1])(total, np.ones(2))
    assert total[...].tolist() == [7, 7]
    for wrong, text in (((total,), "tree structures differ"), ((total, None), "NoneType"), ((total, 3), "a target is"),
                        ((tn.new_ref(1.0), total), "requires a ref of type")):
        with pytest.raises(ValueError, match=text):
            pull.with_refs(*wrong)
