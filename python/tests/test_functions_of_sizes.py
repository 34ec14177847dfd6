"""Functions that take sizes, of all that a size can be: a number, the size of an argument, an int among the arguments of a
jitted function, and what is computed of these; jitted and transformed, beside NumPy and calls that are not jitted."""

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import lax, nn, random

pytestmark = pytest.mark.filterwarnings("ignore::tenon.errors.RetraceWarning")

LENGTHS = (5, 4, 9)
KEY = random.key(3)


def line(n):
    return np.sin(np.arange(1, n + 1) * 1.7) + 0.05


def same(got, want):
    got, want = tn.tree.leaves(got), tn.tree.leaves(want)
    assert len(got) == len(want)
    for a, b in zip(got, want):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-6, atol=1e-6)


def columns(xp, x, n):
    """An array [n, …] of x, for functions that want one as long as the size says."""
    return xp.arange(n)[:, None] * 0.5 + x


# Of a module with NumPy's names, a vector and a size of at least 2. NumPy runs it too.
NUMPY = {
    "zeros": lambda xp, x, n: (xp.zeros(n), xp.zeros((n, 3)) + x.sum(), xp.zeros((2, n), int)),
    "ones": lambda xp, x, n: xp.ones((n, 2)) * x.sum(),
    "empty": lambda xp, x, n: xp.empty((n, 2)) * 0,
    "full": lambda xp, x, n: (xp.full(n, 1.5), xp.full((n, len(SHAPE)), 2)),
    "full of rows": lambda xp, x, n: xp.full((n, 3), xp.arange(3)),
    "zeros_like": lambda xp, x, n: (xp.zeros_like(x, shape=(n, 2)), xp.ones_like(x, shape=n), xp.full_like(x, 3, shape=(n,))),
    "arange": lambda xp, x, n: (xp.arange(n), xp.arange(1, n), xp.arange(0, n, 2), xp.arange(n, 0, -1), xp.arange(n + 1) * x.sum()),
    "arange of floats": lambda xp, x, n: (xp.arange(n, dtype=xp.float64), xp.arange(0.0, n), xp.arange(1.0, n, 2)),
    "linspace": lambda xp, x, n: (xp.linspace(0, 1, n), xp.linspace(x.sum(), 2.0, n), xp.linspace(0, 1, n, endpoint=False), xp.linspace(0, n, 3)),
    "logspace": lambda xp, x, n: (xp.logspace(0, 1, n), xp.geomspace(1.0, 8.0, n)),
    "eye": lambda xp, x, n: (xp.eye(n), xp.eye(n, 3), xp.eye(3, n), xp.eye(n, k=1), xp.identity(n) * x.sum()),
    "tri": lambda xp, x, n: (xp.tri(n), xp.tri(n, 3, 1), xp.tri(3, n, -1)),
    "indices": lambda xp, x, n: xp.indices((n, 2)),
    "reshape": lambda xp, x, n: (columns(xp, x, n).reshape(-1), columns(xp, x, n).reshape((n, -1)), xp.reshape(columns(xp, x, n), (-1, n))),
    "broadcast_to": lambda xp, x, n: xp.broadcast_to(x, (n, *x.shape)),
    "tile": lambda xp, x, n: (xp.tile(x, n), xp.tile(x, (n, 1)), xp.tile(x, (2, n))),
    "repeat": lambda xp, x, n: (xp.repeat(x, n), xp.repeat(x[:, None], n, 1), xp.repeat(xp.arange(3), n, axis=0)),
    "slices": lambda xp, x, n: (xp.arange(40)[:n], xp.arange(40)[n:], xp.arange(40)[1:n:2], xp.arange(40)[n - 2::-1], xp.arange(40)[-n:]),
    "slices of several axes": lambda xp, x, n: xp.ones((20, 20))[:n, n:] * x[0],
    "index": lambda xp, x, n: (xp.arange(40)[n], xp.arange(40)[-n], xp.arange(80).reshape(40, 2)[n, 1]),
    "split": lambda xp, x, n: (xp.split(xp.arange(40), [n]), xp.split(xp.arange(n * 2), 2), xp.split(xp.arange(40), [2, n + 2])),
    "array_split": lambda xp, x, n: xp.array_split(xp.arange(n * 3), 3),
    "roll": lambda xp, x, n: (xp.roll(x, n), xp.roll(xp.arange(n), 2), xp.roll(columns(xp, x, n), (1, n), (0, 1)), xp.roll(x, -n, 0)),
    "pad": lambda xp, x, n: (xp.pad(x, n), xp.pad(x, (1, n)), xp.pad(columns(xp, x, n), ((n, 0), (0, 1)))),
    "pad by edges": lambda xp, x, n: (xp.pad(x, (1, n), mode="edge"), xp.pad(xp.arange(n), 2, mode="edge")),
    "diag": lambda xp, x, n: (xp.diag(xp.ones(n)), xp.diag(xp.arange(n), 1), xp.diag(columns(xp, x, n), 1), xp.diagonal(columns(xp, x, n))),
    "triangles": lambda xp, x, n: (xp.tril(columns(xp, x, n)), xp.triu(columns(xp, x, n), 1)),
    "concatenate": lambda xp, x, n: (xp.concatenate([xp.zeros(n), x]), xp.stack([xp.arange(n), xp.ones(n)]), xp.append(x, xp.zeros(n))),
    "meshgrid": lambda xp, x, n: xp.meshgrid(xp.arange(n), x),
    "moveaxis": lambda xp, x, n: (xp.moveaxis(columns(xp, x, n), 0, 1), columns(xp, x, n).T, xp.swapaxes(columns(xp, x, n), 0, 1)),
    "expand_dims": lambda xp, x, n: (xp.expand_dims(xp.ones(n), 1), xp.squeeze(xp.ones((1, n)), 0), xp.atleast_2d(xp.ones(n))),
    "flip": lambda xp, x, n: (xp.flip(columns(xp, x, n)), xp.rot90(columns(xp, x, n))),
    "products": lambda xp, x, n: (columns(xp, x, n) @ x, xp.outer(xp.ones(n), x), xp.einsum("ij,kj->ik", columns(xp, x, n), columns(xp, x, n))),
    "kron": lambda xp, x, n: xp.kron(xp.ones(n), x),
    "sums": lambda xp, x, n: (columns(xp, x, n).sum(0), columns(xp, x, n).mean(1), xp.cumsum(xp.ones(n)), xp.max(columns(xp, x, n), 0)),
    "vander": lambda xp, x, n: (xp.vander(xp.arange(3.0), n)),
    "size as a number": lambda xp, x, n: (x * n, x / n, x - n // 2, xp.sqrt(n * 1.0) * x, n**2 + x),
    "where": lambda xp, x, n: xp.where(xp.arange(n) > 1, xp.ones(n), 0.0),
    "window functions": lambda xp, x, n: (xp.hanning(n), xp.hamming(n), xp.blackman(n), xp.bartlett(n)),
    "histogram": lambda xp, x, n: xp.histogram(x, n),
    "resize": lambda xp, x, n: xp.resize(x, (n, 2)),
    "unravel_index": lambda xp, x, n: xp.unravel_index(xp.array([3, 5]), (n, 3)),
    "triangle indices": lambda xp, x, n: (xp.tril_indices(n), xp.triu_indices(n, 1)),
    "diag_indices": lambda xp, x, n: xp.diag_indices(n),
    "ix_": lambda xp, x, n: xp.ix_(xp.arange(n), xp.arange(2)),
    "take": lambda xp, x, n: (xp.take(xp.arange(40), n), xp.take(xp.arange(40), xp.arange(n))),
    "interp": lambda xp, x, n: xp.interp(xp.linspace(0, 1, n), xp.array([0.0, 1.0]), xp.array([1.0, 3.0])),
}
SHAPE = (2, 3)

# Of Tenon's own: beside calls that are not jitted.
OWN = {
    "iota": lambda x, n: (lax.iota(int, n), lax.broadcasted_iota(float, (n, 2), 0)),
    "lax.full": lambda x, n: (lax.full((n,), 2.0), lax.broadcast(x, (n,)), lax.broadcast_in_dim(x, (n, *x.shape), (1,))),
    "lax.slice": lambda x, n: (lax.slice(tnp.arange(40), (1,), (n,)), lax.slice_in_dim(tnp.arange(40), 1, n), lax.dynamic_slice(tnp.arange(40), (n,), (n,)),
                               lax.dynamic_slice_in_dim(tnp.arange(40), n, 3)),
    "lax.dynamic_update_slice": lambda x, n: lax.dynamic_update_slice(tnp.zeros(40), tnp.ones(n), (2,)),
    "lax.pad": lambda x, n: lax.pad(x, 0.0, [(n, 1, 0)]),
    "lax.reshape": lambda x, n: lax.reshape(tnp.zeros((n, 4)), (2 * n, 2)),
    "lax.expand_dims": lambda x, n: (lax.expand_dims(tnp.zeros(n), (0,)), lax.squeeze(tnp.zeros((n, 1)), (1,))),
    "scan": lambda x, n: lax.scan(lambda c, _: (c * 0.5 + x[0], c), 1.0, None, length=n),
    "scan in reverse": lambda x, n: lax.scan(lambda c, i: (c * 0.5 + i, c), x[0], tnp.arange(n), reverse=True),
    "fori_loop": lambda x, n: (lax.fori_loop(0, n, lambda i, c: c * 0.5 + i, x), lax.fori_loop(1, n + 1, lambda i, c: c + i, x)),
    "while_loop": lambda x, n: lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 0.9), (0, x)),
    "map": lambda x, n: lax.map(lambda i: i * x[0], tnp.arange(n)),
    "associative_scan": lambda x, n: lax.associative_scan(tnp.add, tnp.arange(8)),
    "one_hot": lambda x, n: nn.one_hot(tnp.array([0, 1]), n),
    "windows": lambda x, n: (tnp.arange(40)[tn.ds(n, 3)], tnp.arange(40)[tn.ds(3, n)], tnp.zeros(40).at[tn.ds(3, n)].set(1.0)),
    "updates": lambda x, n: (tnp.zeros(40).at[n].set(x[0]), tnp.zeros(40).at[:n].add(x[0]), tnp.zeros(n).at[1].set(2.0), tnp.zeros(40).at[-n].set(1.0)),
    "normal": lambda x, n: (random.normal(KEY, (n,)), random.normal(KEY, (n, 2)) * x[0], random.normal(KEY, n)),
    "uniform": lambda x, n: (random.uniform(KEY, (n,)), random.uniform(KEY, (n, 3), minval=-1.0, maxval=2.0)),
    "bits": lambda x, n: random.bits(KEY, (n,)),
    "randint": lambda x, n: (random.randint(KEY, (n,), 0, 10), random.randint(KEY, (3,), 0, n)),
    "bernoulli": lambda x, n: (random.bernoulli(KEY, 0.3, (n,)), random.rademacher(KEY, (n,))),
    "exponential": lambda x, n: (random.exponential(KEY, (n,)), random.gumbel(KEY, (n,)), random.laplace(KEY, (n,)), random.logistic(KEY, (n,))),
    "categorical": lambda x, n: (random.categorical(KEY, x, shape=(n,)), random.categorical(KEY, tnp.zeros((n, 3)))),
    "cauchy": lambda x, n: (random.cauchy(KEY, (n,)), random.pareto(KEY, 2.0, (n,)), random.maxwell(KEY, (n,)), random.rayleigh(KEY, 1.0, (n,))),
    "weibull": lambda x, n: (random.weibull_min(KEY, 1.0, 2.0, (n,)), random.lognormal(KEY, 1.0, (n,)), random.geometric(KEY, 0.3, (n,))),
    "truncated_normal": lambda x, n: random.truncated_normal(KEY, -1.0, 1.0, (n,)),
    "gamma": lambda x, n: (random.gamma(KEY, 2.0, (n,)), random.beta(KEY, 2.0, 3.0, (n,)), random.dirichlet(KEY, tnp.ones(3), (n,))),
    "poisson": lambda x, n: random.poisson(KEY, 3.0, (n,)),
    "multivariate_normal": lambda x, n: random.multivariate_normal(KEY, tnp.zeros(2), tnp.eye(2), (n,)),
    "permutation": lambda x, n: (random.permutation(KEY, n), random.permutation(KEY, tnp.arange(n))),
    "choice": lambda x, n: (random.choice(KEY, x, (n,)), random.choice(KEY, n, (3,)), random.choice(KEY, n, (2,), replace=False)),
    "random.split": lambda x, n: (random.split(KEY, n), tn.vmap(lambda k: random.normal(k, (2,)))(random.split(KEY, n))),
    "top_k": lambda x, n: (lax.top_k(tnp.arange(40) % 7, n), lax.top_k(tnp.arange(n) % 3, 2)),
    "convolve": lambda x, n: (tnp.convolve(tnp.arange(n) * 1.0, x), tnp.convolve(x, tnp.ones(3), mode="same"), tnp.correlate(tnp.arange(n + 2) * 1.0, tnp.ones(2))),
    "repeat to a length": lambda x, n: tnp.repeat(tnp.arange(3), tnp.array([1, 2, 1]), total_repeat_length=n),
    "nonzero of a size": lambda x, n: (tnp.nonzero(x > 0, size=n, fill_value=0), tnp.unique(tnp.arange(4) // 2, size=n)),
    "bincount": lambda x, n: tnp.bincount(tnp.array([0, 1, 1]), length=n),
    "segment_sum": lambda x, n: tn.ops.segment_sum(tnp.arange(4.0), tnp.array([0, 1, 1, 0]), n),
    "jacobians": lambda x, n: (tn.jacrev(lambda v: v**2 * tnp.ones(n)[0])(x), tn.jacfwd(lambda v: v**2)(tnp.arange(n) * 1.0), tn.hessian(lambda v: tnp.sum(v**3))(tnp.arange(n) * 1.0)),
    "solve": lambda x, n: (tnp.linalg.solve(tnp.eye(n) * 2, tnp.ones(n)), tnp.linalg.inv(tnp.eye(n) * 2), tnp.linalg.cholesky(tnp.eye(n) * 4), tnp.linalg.det(tnp.eye(n) * 2)),
    "sort": lambda x, n: (tnp.sort(-tnp.arange(n)), tnp.argsort(-tnp.arange(n)), tnp.median(tnp.arange(n) * 1.0), tnp.searchsorted(tnp.arange(n), tnp.array([1, 2]))),
    "inner jit": lambda x, n: tn.jit(lambda v: v + tnp.zeros(n).sum())(x),
    "matrix_power": lambda x, n: tnp.linalg.matrix_power(tnp.eye(3) * 2, 3),
}

FUNCTIONS = {**{name: (lambda f: lambda x, n: f(tnp, x, n))(f) for name, f in NUMPY.items()}, **OWN}

# The size that a function is given, of the length of its vector.
COMPUTED = {
    "n": lambda n: n,
    "2n+1": lambda n: 2 * n + 1,
    "n//2": lambda n: n // 2,
    "n-1": lambda n: n - 1,
    "n%3+2": lambda n: n % 3 + 2,
}


def want(name, x, n):
    return NUMPY[name](np, x, n) if name in NUMPY else OWN[name](tnp.array(x), n)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_of_a_number(name):
    f = tn.jit(lambda x: FUNCTIONS[name](x, 3))
    for n in LENGTHS:
        same(f(line(n)), want(name, line(n), 3))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_of_an_int_among_the_arguments(name):
    f = tn.jit(lambda x, n: FUNCTIONS[name](x, n))
    g = tn.jit(lambda x, n: FUNCTIONS[name](x, 2 * n - 1))
    for n in (3, 4):
        same(f(line(5), n), want(name, line(5), n))
        same(g(line(5), n), want(name, line(5), 2 * n - 1))


def counted(f, **options):
    count = [0]

    def traced(*args):
        count[0] += 1
        return f(*args)

    return tn.jit(traced, **options), count


def scalar(f):
    """Of all that f gives, one number that has a derivative."""
    def summed(x):
        leaves = [leaf for leaf in tn.tree.leaves(f(x)) if leaf.dtype.kind == "f"]
        return sum((tnp.sum(leaf * 0.5) for leaf in leaves), start=tnp.sum(x * x))
    return summed


def arrays(f):
    return lambda x: tn.tree.map(tnp.asarray, f(x))


# A function of a vector, as others that contain it.
TRANSFORMED = {
    "jit": lambda f: f,
    "grad": lambda f: tn.grad(scalar(f)),
    "jvp": lambda f: lambda x: tn.jvp(scalar(f), (x,), (tnp.ones_like(x),)),
    "vmap": lambda f: lambda x: tn.vmap(arrays(f))(tnp.stack([x, x * 0.5])),
    "vmap of grad": lambda f: lambda x: tn.vmap(tn.grad(scalar(f)))(tnp.stack([x, x * 0.5])),
    "scan": lambda f: lambda x: lax.scan(lambda c, s: (c, arrays(f)(c * s)), x, tnp.array([1.0, 0.5])),
    "cond": lambda f: lambda x: lax.cond(x[0] > 0, arrays(f), lambda x: arrays(f)(x * 2), x),
}


# Loops until all lanes have a number, which take seconds to compile.
LONG = ["gamma", "poisson"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_of_the_size_of_an_argument(name):
    function = FUNCTIONS[name]
    for computed, size in list(COMPUTED.items())[:1 if name in LONG else None]:
        f, count = counted(lambda x: function(x, size(x.shape[0])), sizes="symbolic")
        for n in LENGTHS:
            same(f(line(n)), want(name, line(n), size(n)))
        assert count[0] == 1, computed


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in LONG])
def test_of_what_data_say(name):
    f, count = counted(lambda x: FUNCTIONS[name](x, tn.array_as_size((x > -5).sum())))
    for n in (5, 3, 6):
        x = np.where(np.arange(7) < n, line(7), -10.0)
        same(f(x), want(name, x, n))
    assert count[0] == 1


def test_of_arrays_that_data_decide():
    f = tn.jit(lambda x: (tnp.zeros((x > 0).sum()), tnp.ones((2, (x > 0).sum())), x[:(x > 0).sum()], x[(x > 0).sum():], tnp.arange((x > 0).sum()) * 2))
    for x in (np.array([1.0, 2.0, -1.0]), np.array([-1.0, -1.0, -1.0]), np.array([1.0, 1.0, 1.0])):
        n = int((x > 0).sum())
        zeros, ones, head, rest, twice = f(x)
        assert zeros.shape == (n,) and ones.shape == (2, n) and twice.tolist() == list(range(0, 2 * n, 2))
        assert head.tolist() == x[:n].tolist() and rest.tolist() == x[n:].tolist()
    with pytest.raises(ValueError, match="a size is -1"):
        tn.jit(lambda n: tnp.zeros(n.sum()))(np.array([-1]))
    with pytest.raises(ValueError, match="differs from lane to lane"):
        tn.vmap(lambda x: tnp.zeros((x > 0).sum()))(np.ones((2, 3)))


@pytest.mark.parametrize("n", [-9, -6, -2, -1, 0, 1, 4, 9])
def test_slices_by_arrays(n):
    x = np.arange(6.0)
    f = tn.jit(lambda x, n: (x[:n[0]], x[n[0]:], x[n[0]::2], x[:n[0]:-1], x[n[0] - 1 : n[0] + 1]))
    for got, want in zip(f(x, np.array([n])), (x[:n], x[n:], x[n::2], x[:n:-1], x[n - 1 : n + 1])):
        assert got.tolist() == want.tolist()


@pytest.mark.parametrize("over", [-1, 2, 4, 9])
def test_of_the_last_ones(over):
    x = np.arange(6.0)
    n = int((x > over).sum())
    assert tn.jit(lambda x: x[-(x > over).sum():])(x).tolist() == x[-n:].tolist()
    assert tn.jit(lambda x: nn.one_hot(tnp.arange(3), (x > over).sum()))(x).shape == (3, n)


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in LONG])
@pytest.mark.parametrize("how", list(TRANSFORMED)[1:])
def test_transformed(name, how):
    function, transformed = FUNCTIONS[name], TRANSFORMED[how]
    f, count = counted(transformed(lambda x: function(x, x.shape[0] // 2)), sizes="symbolic")
    for n in LENGTHS:
        same(f(line(n)), transformed(lambda x: function(x, n // 2))(tnp.array(line(n))))
        assert count[0] == 1


# Sizes that no array has: of each function of one size, and of a product of two.
TOO_LARGE = {
    "zeros": lambda n: tnp.zeros(n),
    "full": lambda n: tnp.full((n, 2), 1.0),
    "ones": lambda n: tnp.ones((2, n)),
    "arange": lambda n: tnp.arange(n),
    "linspace": lambda n: tnp.linspace(0.0, 1.0, n),
    "eye": lambda n: tnp.eye(n),
    "tri": lambda n: tnp.tri(n),
    "iota": lambda n: lax.iota(int, n),
    "reshape": lambda n: tnp.reshape(tnp.zeros(6), (n, 3)),
    "broadcast_to": lambda n: tnp.broadcast_to(tnp.zeros(2), (n, 2)),
    "tile": lambda n: tnp.tile(tnp.zeros(2), n),
    "repeat": lambda n: tnp.repeat(tnp.zeros(2), n),
    "pad": lambda n: tnp.pad(tnp.zeros(2), n),
    "scan": lambda n: lax.scan(lambda c, _: (c, c), 0.0, None, length=n)[1],
    "one_hot": lambda n: nn.one_hot(tnp.array([0]), n),
    "normal": lambda n: random.normal(KEY, (n,)),
    "uniform": lambda n: random.uniform(KEY, (n, 2)),
    "bits": lambda n: random.bits(KEY, (n,)),
    "random.split": lambda n: random.split(KEY, n),
    "product": lambda n: tnp.zeros((n, n, n, 8)),
}
REFUSED = (tn.errors.ShapeError, MemoryError, ValueError)


@pytest.mark.parametrize("name", TOO_LARGE)
@pytest.mark.parametrize("n", [-1, -2**62, 2**62, 2**63 - 1])
def test_negative_and_overflowing_sizes_are_refused_before_anything_is_allocated(name, n):
    if name == "arange" and n < 0 or name == "reshape" and n == -1:
        return  # empty, and the size that is found from the others
    f = TOO_LARGE[name]
    for call in (lambda: f(n), lambda: tn.jit(lambda: f(n))(), lambda: tn.jit(f)(n)):
        with pytest.raises(REFUSED, match="negative|does not fit|has no room|more than|bytes|elements|size"):
            call()


@pytest.mark.parametrize("name", TOO_LARGE)
@pytest.mark.parametrize("size", [lambda n: 3 - n, lambda n: n * 2**60, lambda n: n * n * 2**58], ids=["negative", "large", "product"])
def test_sizes_are_refused_when_running_tells_them(name, size):
    if name == "arange" and size(5) < 0:
        return  # it is empty
    f = tn.jit(lambda x: TOO_LARGE[name](size(x.shape[0])), sizes="symbolic")
    g = tn.jit(lambda x: TOO_LARGE[name](size(x.shape[0])).sum(), sizes="symbolic")
    for n in (5, 6):
        for call in (f, g) if size(n) < 0 else (f,):
            with pytest.raises(REFUSED, match="negative|does not fit|has no room|more than|bytes|elements|size") as refused:
                call(np.ones(n))
            assert "test_functions_of_sizes.py" in str(refused.value)


def test_sizes_that_disagree_name_the_lines_of_both():
    def f(x, y):
        a = tnp.zeros(x.shape[0])
        b = tnp.ones(y.shape[0])
        return a + b

    first = f.__code__.co_firstlineno
    for jitted in (tn.jit(f), tn.jit(f, sizes="symbolic")):
        with pytest.raises(tn.errors.ShapeError) as told:
            jitted(np.ones(3), np.ones(4))
        for line_number in (first + 1, first + 2, first + 3):
            assert f"test_functions_of_sizes.py:{line_number}" in str(told.value), str(told.value)
