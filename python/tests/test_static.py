"""jit: arguments that are static or donated, however the function is made and called; errors of JAX's kinds."""

import functools

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp

X = np.arange(6.0)


def reshaped(x, shape=(3, 2)):
    return x.reshape(shape)


class Scaled:
    """Compared by identity, so hashable."""

    def __init__(self, k):
        self.k = k

    @functools.partial(tn.jit, static_argnums=0)
    def by_number(self, x):
        return self.k * x

    @functools.partial(tn.jit, static_argnames="self")
    def by_name(self, x):
        return self.k * x

    @tn.jit
    def traced(self, x):
        return self.k * x

    @staticmethod
    @tn.jit
    def free(x):
        return x * 3

    @classmethod
    @functools.partial(tn.jit, static_argnums=0)
    def of_class(cls, x):
        return x * len(cls.__name__)

    def __call__(self, x):
        return self.k * x


class Unhashable(Scaled):
    __hash__ = None


# --- sizes and other values that have to be known ---


OF_SIZES = [
    (reshaped, (X, (2, 3))),
    (lambda n: tnp.ones(n), (3,)),
    (lambda n: tnp.zeros((n, 2)), (3,)),
    (lambda n: tnp.full([n], 1.0), (3,)),
    (lambda n: tnp.arange(n), (3,)),
    (lambda x, n: tnp.broadcast_to(x, (n, 6)), (X, 2)),
    (lambda x, n: tnp.tile(x, n), (X, 2)),
    (lambda x, n: tnp.eye(n), (X, 2)),
]
SIZES = [f for f, _ in OF_SIZES]


@pytest.mark.parametrize("f, args", [
    *OF_SIZES,
    (lambda n: sum(range(n)), (3,)),
    (lambda x, n: tnp.sum(x, axis=n), (X, 0)),
    (lambda x, on: x if on else -x, (X, True)),
])
def test_traced_values_decide_sizes_alone(f, args):
    # An int of Python's is known where its value is asked for; that of an array is a size, and decides nothing else.
    ints = not isinstance(args[-1], bool)
    traced = (*args[:-1], tn.tree.map(np.asarray, args[-1]))
    if f in SIZES:
        assert np.array_equal(np.asarray(tn.jit(f)(*traced)), np.asarray(f(*args)))
    else:
        with pytest.raises(TypeError) as caught:
            tn.jit(f)(*traced)
        assert isinstance(caught.value, tn.errors.ConcretizationError)
    if ints:
        assert np.array_equal(np.asarray(tn.jit(f)(*args)), np.asarray(f(*args)))
    numbers = range(len(args))[-1:]
    want, got = f(*args), tn.jit(f, static_argnums=tuple(numbers))(*args)
    assert np.array_equal(np.asarray(got), np.asarray(want))


def test_what_to_do_is_said():
    with pytest.raises(TypeError, match="static_argnums"):
        tn.jit(lambda x, n: x[::n])(X, np.array(2))
    with pytest.raises(TypeError, match="f64"):
        tn.jit(lambda n: tnp.ones(n))(np.array(3.0))


def test_bounds_of_slices_are_what_arrays_hold():
    f = tn.jit(lambda x, n: (x[:n], x[n:]))
    for n in (3, 0, 6, 9):
        head, rest = f(X, np.array(n))
        assert np.array_equal(head, X[:n]) and np.array_equal(rest, X[n:])


def test_bounds_of_slices_are_ints_among_the_arguments():
    f = tn.jit(lambda x, n: x[:n])
    for n in (3, 2, 3):
        assert np.array_equal(f(X, n), X[:n])


def test_sizes_of_arguments_are_known():
    f = tn.jit(lambda x, y: tnp.ones((x.shape[0], len(y))).reshape(-1, x.ndim))
    assert f(np.ones((2, 3)), np.ones(4)).shape == (4, 2)


# --- static ---


@pytest.mark.parametrize("options", [
    {"static_argnums": 1}, {"static_argnums": (1,)}, {"static_argnums": [-1]}, {"static_argnames": "shape"},
    {"static_argnames": ("shape",)}, {"static_argnums": 1, "static_argnames": ["shape"]},
])
def test_by_number_and_by_name(options):
    f = tn.jit(reshaped, **options)
    assert f(X, (2, 3)).shape == (2, 3) and f(X, shape=(6, 1)).shape == (6, 1)
    assert f(X).shape == (3, 2)  # the default


def test_a_default_that_is_not_given_is_a_constant():
    assert tn.jit(reshaped)(X).shape == (3, 2)


def test_as_a_decorator():
    @functools.partial(tn.jit, static_argnames=("shape", "mode"))
    def f(x, shape, *, mode="row"):
        """Doc."""
        return x.reshape(shape) if mode == "row" else x.reshape(shape).T

    assert f(X, (2, 3)).shape == (2, 3) and f(X, shape=(2, 3), mode="column").shape == (3, 2)
    assert f.__name__ == "f" and f.__doc__ == "Doc." and f.__wrapped__(X, (3, 2)).shape == (3, 2)

    @tn.jit(static_argnums=0)
    def g(n, x):
        return x[:n]

    assert g(2, X).tolist() == [0, 1]


def test_methods():
    m, other = Scaled(2.0), Scaled(3.0)
    for call in (m.by_number, m.by_name, tn.jit(m), tn.jit(m.__call__), lambda x: tn.jit(Scaled.__call__, static_argnums=0)(m, x)):
        assert call(X).tolist() == (2 * X).tolist()
    assert other.by_number(X).tolist() == (3 * X).tolist() and other.by_name(x=X).tolist() == (3 * X).tolist()
    assert Scaled.free(X).tolist() == m.free(X).tolist() == (3 * X).tolist()
    assert Scaled.of_class(X).tolist() == (6 * X).tolist()
    with pytest.raises(TypeError, match="argument 0 is .*Scaled"):
        m.traced(X)


def test_partial():
    assert tn.jit(functools.partial(reshaped, shape=(2, 3)))(X).shape == (2, 3)
    first = functools.partial(lambda a, x, n: a + x[:n], 1.0)
    assert tn.jit(first, static_argnums=1)(X, 2).tolist() == [1, 2]
    assert tn.jit(first, static_argnames="n")(X, n=3).tolist() == [1, 2, 3]


def test_signatures():
    assert tn.jit(lambda x, *more: x * len(more), static_argnums=(1, 2))(X, 3, 4).tolist() == (2 * X).tolist()
    assert tn.jit(lambda x, *more: x, static_argnums=(1, 2))(X).tolist() == X.tolist()
    assert tn.jit(lambda x, **named: x * len(named["n"]), static_argnames="n")(X, n=(1, 2)).tolist() == (2 * X).tolist()
    assert tn.jit(lambda x, n, /: x[:n], static_argnums=1)(X, 2).tolist() == [0, 1]
    assert float(tn.jit(lambda f, x: f(x), static_argnums=0)(tnp.cos, 0.0)) == 1
    assert tn.jit(lambda x, d: x.astype(d), static_argnames="d")(X, d=np.float32).dtype == np.float32
    assert tn.jit(lambda x, n: x if n is None else -x, static_argnums=1)(X, None).tolist() == X.tolist()


def test_equal_values_of_other_types_are_other_programs():
    f = tn.jit(lambda x, n: x * n, static_argnums=1)
    assert [f(1, n).dtype.name for n in (1, 1.0, True, 1)] == ["int64", "float64", "int64", "int64"]


def test_traced_once_for_each_value():
    traced = []

    @functools.partial(tn.jit, static_argnums=1)
    def f(x, shape):
        traced.append(shape)
        return x.reshape(shape)

    for _ in range(3):
        f(X, (2, 3)), f(X, (3, 2)), f(2 * X, (2, 3))
    assert traced == [(2, 3), (3, 2)]


def test_within_others():
    first = tn.jit(lambda n, x: x[:n], static_argnums=0)
    assert tn.jit(lambda x, n: first(n, x) + 1, static_argnames="n")(X, 2).tolist() == [1, 2]
    assert tn.grad(lambda x: tnp.sum(first(2, x) ** 2))(X).tolist() == [0, 2, 0, 0, 0, 0]
    assert tn.vmap(lambda x: first(2, x))(np.ones((3, 4))).shape == (3, 2)
    # What is not mapped comes as it is.
    assert tn.vmap(first, in_axes=(None, 0))(2, np.ones((3, 4))).shape == (3, 2)
    assert tn.vmap(lambda name, x, k: x * k if name == "scale" else x, in_axes=(None, 0, None))("scale", X, 2.0).tolist() == (2 * X).tolist()
    with pytest.raises(ValueError, match="not hashable"):
        tn.jit(lambda x, n: first(n, x))(X, 2)


@pytest.mark.parametrize("call", [
    lambda f: f(X, [2, 3]), lambda f: f(X, np.array([2, 3])), lambda f: f(X, tnp.array([2, 3])), lambda f: f(X, shape={}),
    lambda f: f(X, ([2], 3)), lambda f: Unhashable(1.0).by_number(X),
])
def test_static_values_are_hashable(call):
    with pytest.raises(ValueError, match="not hashable"):
        call(tn.jit(reshaped, static_argnames="shape"))


# --- donated ---


@pytest.mark.parametrize("options", [
    {"donate_argnums": 0}, {"donate_argnums": (0,)}, {"donate_argnums": -2}, {"donate_argnames": "x"}, {"donate_argnames": ["x"]},
])
def test_donated(options):
    f = tn.jit(lambda x, y: x + y, **options)
    for call in (lambda x: f(x, 1.0), lambda x: f(x, y=1.0), lambda x: f(x=x, y=1.0)):
        x = tnp.zeros(1000)
        at = np.asarray(x).ctypes.data
        assert np.asarray(call(x)).ctypes.data == at and x.is_deleted()
        with pytest.raises(RuntimeError, match="donated"):
            x + 1


def test_trees_are_donated_leaf_by_leaf():
    f = tn.jit(lambda t, k: {name: x * k for name, x in t.items()}, donate_argnames="t")
    tree = {"a": tnp.ones(100), "b": tnp.ones((10, 20))}
    out = f(tree, 2.0)
    assert tree["a"].is_deleted() and tree["b"].is_deleted() and float(out["b"][3, 4]) == 2


# --- wrong options ---


@pytest.mark.parametrize("options, kind", [
    ({"static_argnums": 5}, ValueError), ({"static_argnums": -5}, ValueError), ({"static_argnames": "q"}, ValueError),
    ({"donate_argnums": 5}, ValueError), ({"donate_argnames": "q"}, ValueError), ({"static_argnums": "a"}, TypeError),
    ({"static_argnums": 1.5}, TypeError), ({"static_argnames": 3}, TypeError), ({"static_argnames": (3,)}, TypeError),
    ({"static_argnums": 1, "donate_argnums": 1}, ValueError), ({"static_argnames": "shape", "donate_argnums": 1}, ValueError),
    ({"static_argnames": "shape", "donate_argnames": "shape"}, ValueError),
])
def test_wrong_options(options, kind):
    with pytest.raises(kind):
        tn.jit(reshaped, **options)


def test_wrong_calls():
    f = tn.jit(lambda x: x + 1, inline=True)
    assert f(X).tolist() == (X + 1).tolist()
    for call in (lambda: f(), lambda: f(X, X), lambda: f(X, q=1), lambda: f(X, x=X)):
        with pytest.raises(TypeError):
            call()
