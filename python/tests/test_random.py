"""tenon.random's distributions beside their distribution functions, in all real dtypes and shapes."""

import math

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import lax, random

erf = np.vectorize(math.erf, [float])


def normal(x):
    return 0.5 * (1 + erf(x / math.sqrt(2)))


def maxwell(x):
    return erf(x / math.sqrt(2)) - math.sqrt(2 / math.pi) * x * np.exp(-x * x / 2)


def wald(x, mean=1.5):
    r = np.sqrt(1 / x)
    return normal(r * (x / mean - 1)) + math.exp(2 / mean) * normal(-r * (x / mean + 1))


def triangular(x, a=-1.0, m=0.5, b=2.0):
    return np.where(x < m, (x - a) ** 2 / ((b - a) * (m - a)), 1 - (b - x) ** 2 / ((b - a) * (b - m)))


# name: (a draw of a key, a shape and a dtype; the distribution function)
CONTINUOUS = {
    "uniform": (lambda *a: random.uniform(*a, minval=-2.0, maxval=3.0), lambda x: (x + 2) / 5),
    "normal": (random.normal, normal),
    "exponential": (random.exponential, lambda x: -np.expm1(-x)),
    "gumbel": (random.gumbel, lambda x: np.exp(-np.exp(-x))),
    "laplace": (random.laplace, lambda x: np.where(x < 0, np.exp(np.minimum(x, 0)) / 2, 1 - np.exp(-np.maximum(x, 0)) / 2)),
    "cauchy": (random.cauchy, lambda x: 0.5 + np.arctan(x) / math.pi),
    "logistic": (random.logistic, lambda x: 1 / (1 + np.exp(-x))),
    "pareto": (lambda k, *a: random.pareto(k, 2.5, *a), lambda x: 1 - x ** -2.5),
    "rayleigh": (lambda k, *a: random.rayleigh(k, 1.5, *a), lambda x: -np.expm1(-x * x / (2 * 1.5 ** 2))),
    "weibull_min": (lambda k, *a: random.weibull_min(k, 2.0, 1.5, *a), lambda x: -np.expm1(-(x / 2) ** 1.5)),
    "lognormal": (lambda k, *a: random.lognormal(k, 0.7, *a), lambda x: normal(np.log(x) / 0.7)),
    "maxwell": (random.maxwell, maxwell),
    "double_sided_maxwell": (lambda k, *a: random.double_sided_maxwell(k, 0.5, 2.0, *a),
                             lambda x: 0.5 + np.sign(x - 0.5) * maxwell(np.abs(x - 0.5) / 2) / 2),
    "wald": (lambda k, *a: random.wald(k, 1.5, *a), wald),
    "triangular": (lambda k, *a: random.triangular(k, -1.0, 0.5, 2.0, *a), triangular),
    "truncated_normal": (lambda k, *a: random.truncated_normal(k, -1.0, 2.0, *a),
                         lambda x: (normal(x) - normal(-1.0)) / (normal(2.0) - normal(-1.0))),
    "gamma": (lambda k, *a: random.gamma(k, 0.7, *a), lambda x: lax.igamma(0.7, x)),
    "loggamma": (lambda k, *a: random.loggamma(k, 2.5, *a), lambda x: lax.igamma(2.5, np.exp(x))),
    "beta": (lambda k, *a: random.beta(k, 0.8, 1.7, *a), lambda x: lax.betainc(0.8, 1.7, x)),
    "chisquare": (lambda k, *a: random.chisquare(k, 3.0, *a), lambda x: lax.igamma(1.5, x / 2)),
    "f": (lambda k, *a: random.f(k, 4.0, 7.0, *a), lambda x: lax.betainc(2.0, 3.5, 4 * x / (4 * x + 7))),
    "t": (lambda k, *a: random.t(k, 3.0, *a), lambda x: 0.5 + np.sign(x) * (0.5 - np.asarray(lax.betainc(1.5, 0.5, 3 / (3 + x * x))) / 2)),
    "generalized_normal": (lambda k, *a: random.generalized_normal(k, 1.5, *a),
                           lambda x: 0.5 + np.sign(x) * np.asarray(lax.igamma(1 / 1.5, np.abs(x) ** 1.5)) / 2),
}
N = 20_000
SLOW = {"loggamma", "beta", "chisquare", "f", "generalized_normal"}  # programs that take long to compile


def distance(x, distribution):
    """The largest distance between the distribution of a sample and a function (Kolmogorov and Smirnov)."""
    x = np.sort(x)
    wanted = distribution(x)
    return max((np.arange(1, len(x) + 1) / len(x) - wanted).max(), (wanted - np.arange(len(x)) / len(x)).max())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous(name, dtype):
    draw, distribution = CONTINUOUS[name]
    x = draw(random.key(7), (N // 4, 4), dtype)
    assert x.shape == (N // 4, 4) and x.dtype == dtype
    x = np.asarray(x, "float64").ravel()
    assert np.isfinite(x).all() and len(np.unique(x)) > 0.98 * N
    assert distance(x, distribution) < 1.95 / math.sqrt(N)  # exceeded by one sample in a thousand
    assert abs(np.corrcoef(x.argsort().argsort()[1:], x.argsort().argsort()[:-1])[0, 1]) < 4 / math.sqrt(N)
    for shape in ((), (0,), (2, 0, 3)):
        assert draw(random.key(1), shape, dtype).shape == shape
    if name in SLOW and dtype == "float32":
        return
    batch = tn.vmap(lambda key: draw(key, (3,), dtype))(random.split(random.key(3), 2))
    alone = [np.asarray(draw(key, (3,), dtype)) for key in random.split(random.key(3), 2)]
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    compiled = tn.jit(lambda key: draw(key, (3,), dtype))(random.split(random.key(3))[0])
    assert np.allclose(np.asarray(batch), alone, tolerance) and np.allclose(compiled, alone[0], tolerance)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_of_pcg(name):
    draw, distribution = CONTINUOUS[name]
    key = random.key(7, impl="pcg")
    x = np.asarray(draw(key, (N // 4, 4), "float64"))
    assert distance(x.ravel(), distribution) < 1.95 / math.sqrt(N)  # exceeded by one sample in a thousand
    keys = random.split(key, 2)
    assert np.allclose(tn.vmap(lambda key: draw(key, (3,), "float64"))(keys), [draw(k, (3,), "float64") for k in keys], 1e-12)


def test_parameters_broadcast():
    key, a = random.key(0), tnp.array([[1.0], [2.0]])
    for draw in (lambda: random.rayleigh(key, a * tnp.ones(3)), lambda: random.pareto(key, a * tnp.ones(3)), lambda: random.wald(key, a * tnp.ones(3)),
                 lambda: random.triangular(key, -a, 0.0, tnp.ones(3)), lambda: random.truncated_normal(key, -a, tnp.ones(3)),
                 lambda: random.bernoulli(key, a * tnp.ones(3) / 4), lambda: random.randint(key, (2, 3), -tnp.ones((2, 1), int), 5),
                 lambda: random.uniform(key, (2, 3), minval=-a, maxval=tnp.ones(3)), lambda: random.lognormal(key, a * tnp.ones(3))):
        assert draw().shape == (2, 3)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint32", "uint64"])
def test_integers(dtype):
    x = np.asarray(random.randint(random.key(2), (N,), 3, 11, dtype))
    assert x.dtype == dtype and np.abs(np.bincount(x)[3:] - N / 8).max() < 5 * math.sqrt(N / 8) and len(np.bincount(x)) == 11
    info = np.iinfo(dtype)
    wide = np.asarray(random.randint(random.key(3), (N,), np.asarray(info.min, dtype), np.asarray(info.max, dtype), dtype)).astype(float) / 2.0 ** info.bits
    assert distance(wide - wide.min() + np.linspace(0, 1e-9, N), lambda x: x / x.max()) < 0.02
    if dtype.startswith("u"):
        bits = np.asarray(random.bits(random.key(4), (N,), dtype))
        assert bits.dtype == dtype and all(abs(((bits >> b) & 1).mean() - 0.5) < 5 * 0.5 / math.sqrt(N) for b in range(info.bits))


def test_discrete():
    key = random.key(5)
    assert abs(np.asarray(random.bernoulli(key, 0.3, (N,))).mean() - 0.3) < 5 * math.sqrt(0.21 / N)
    signs = np.asarray(random.rademacher(key, (N,), "float32"))
    assert signs.dtype == "float32" and {*signs} == {-1, 1} and abs(signs.mean()) < 5 / math.sqrt(N)
    p = np.array([0.1, 0.0, 0.6, 0.3])
    for x in (random.choice(key, 4, (N,), p=p), random.categorical(key, tnp.log(p), shape=(N,)),
              random.choice(key, np.arange(4), (N,), True, p)):
        assert np.abs(np.bincount(x, minlength=4) / N - p).max() < 5 * 0.5 / math.sqrt(N)
    firsts = [random.permutation(k, 5).tolist() for k in random.split(key, 600)]
    assert all(sorted(f) == [0, 1, 2, 3, 4] for f in firsts)
    assert np.abs(np.bincount([f[0] for f in firsts]) - 120).max() < 5 * math.sqrt(120)
    rows = np.arange(12).reshape(4, 3)
    assert sorted(random.permutation(key, rows).tolist()) == rows.tolist()
    apart = np.asarray(random.permutation(key, rows, independent=True))
    assert np.array_equal(np.sort(apart, 0), rows) and apart.tolist() != rows.tolist()
    assert sorted(random.choice(key, rows, (3,), False, axis=1).tolist()[0]) in ([[0, 1, 2]], [0, 1, 2])


def test_vectors():
    mean, cov = np.array([1.0, -2.0, 0.5]), np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.3], [0.1, -0.3, 0.7]])
    x = np.asarray(random.multivariate_normal(random.key(6), mean, cov, (N,)))
    white = np.linalg.solve(np.linalg.cholesky(cov), (x - mean).T)
    assert all(distance(w, normal) < 1.95 / math.sqrt(N) for w in white) and np.abs(np.corrcoef(white) - np.eye(3)).max() < 4 / math.sqrt(N)
    z = np.asarray(random.normal(random.key(6), (N,), "complex64"))
    assert z.dtype == "complex64" and distance(z.real * math.sqrt(2), normal) < 1.95 / math.sqrt(N) and abs((z * z).mean()) < 5 / math.sqrt(N)


A = np.array([0.3, 1.0, 4.5])
# What jax.random draws of the key 3.
DRAWN = {
    "gamma": (lambda k: random.gamma(k, A), [0.6273437244454242, 0.26217018881125326, 1.3977865671741714]),
    "loggamma": (lambda k: random.loggamma(k, A / 100), [-46.76034195773254, -1.8049439086198515, -36.198958838851205]),
    "beta": (lambda k: random.beta(k, A, A[::-1]), [0.2796623085833656, 0.6122305271890632, 0.9915785276271044]),
    "dirichlet": (lambda k: random.dirichlet(k, A), [0.2742725452176944, 0.11461991594644765, 0.6111075388358579]),
    "chisquare": (lambda k: random.chisquare(k, A), [0.6683494033940517, 1.1737258087182185, 0.6379945222812715]),
    "f": (lambda k: random.f(k, A, A + 1), [0.004857233374592151, 1.5111402626982, 0.5023376698238405]),
    "t": (lambda k: random.t(k, A), [-6.746513221692731, -0.1793299368277079, -0.0007200679306609815]),
    "generalized_normal": (lambda k: random.generalized_normal(k, 1.5, (3,)), [1.9386508550868953, 0.9310492947597211, 0.798948005253741]),
    "ball": (lambda k: random.ball(k, 3), [0.3909962698017143, 0.47953973109253734, 0.19619735364887464]),
    "poisson": (lambda k: random.poisson(k, np.array([0.5, 7.0, 30.0, 1e4])), [0, 10, 23, 9941]),
    "binomial": (lambda k: random.binomial(k, np.array([5.0, 100.0, 1e6, 50.0]), np.array([0.3, 0.02, 0.4, 0.9])), [1, 2, 399664, 46]),
    "multinomial": (lambda k: random.multinomial(k, 100.0, np.array([0.2, 0.3, 0.5])), [15, 35, 50]),
    "grad": (lambda k: tn.vmap(tn.grad(lambda a: random.gamma(k, a)))(A), [2.2226170017891347, 0.9675595018234727, 1.0060361216638443]),
}


@pytest.mark.parametrize("name", DRAWN)
def test_as_jax_draws(name):
    draw, wanted = DRAWN[name]
    assert np.allclose(draw(random.key(3)), wanted, 1e-12, 0) and np.allclose(tn.jit(draw)(random.key(3)), wanted, 1e-12, 0)


def test_counts():
    n = N // 4
    for rate in (0.3, 6.0, 25.0):
        x = np.asarray(random.poisson(random.key(8), rate, (n,)))
        k = np.arange(int(rate + 12 * math.sqrt(rate)) + 3)
        wanted = np.exp(k * math.log(rate) - rate - np.array([math.lgamma(j + 1) for j in k]))
        assert x.dtype == "int64" and np.abs(np.bincount(x, minlength=len(k))[:len(k)] / n - wanted).max() < 2.5 / math.sqrt(n)
    for count, p in ((5, 0.3), (40, 0.9), (60, 0.5)):
        x = np.asarray(random.binomial(random.key(9), count, p, (n,)))
        wanted = np.array([math.comb(count, k) * p ** k * (1 - p) ** (count - k) for k in range(count + 1)])
        assert x.dtype == "float64" and np.abs(np.bincount(x.astype(int), minlength=count + 1) / n - wanted).max() < 2.5 / math.sqrt(n)
    x = np.asarray(random.multinomial(random.key(9), 20, np.array([0.2, 0.0, 0.3, 0.5]), shape=(n, 4)))
    assert (x.sum(1) == 20).all() and np.abs(x.mean(0) - [4, 0, 6, 10]).max() < 5 * math.sqrt(5 / n)
    assert np.isnan(random.binomial(random.key(0), np.array([-1.0, np.nan, 3.0]), np.array([0.5, 0.5, np.nan]))).all()
    assert random.binomial(random.key(0), np.inf, 0.5) == np.inf and random.poisson(random.key(0), 0.0) == 0
    assert random.poisson(random.key(1), np.ones((2, 1)), (2, 3), "int32").dtype == "int32"


def test_points():
    n = 4000
    for p in (1, 2):
        x = np.asarray(random.ball(random.key(2), 3, p, (n,)))
        radius = (np.abs(x) ** p).sum(1) ** (1 / p)
        assert x.shape == (n, 3) and distance(radius, lambda r: r ** 3) < 1.95 / math.sqrt(n)
    x = np.asarray(random.dirichlet(random.key(2), np.array([0.5, 1.0, 2.5]), (n,)))
    assert x.shape == (n, 3) and np.allclose(x.sum(1), 1) and distance(x[:, 2], lambda x: lax.betainc(2.5, 1.5, x)) < 1.95 / math.sqrt(n)


def test_derivatives_of_variates():
    # d/da E[x] = 1 of the gamma distribution, whose mean is a.
    keys = random.split(random.key(4), 2)
    slope = tn.grad(lambda a: tnp.mean(random.gamma(keys[0], a, (20_000,))))(1.7)
    assert abs(slope - 1) < 5 * 0.6 / math.sqrt(20_000)
    x, moved = tn.jvp(lambda a: random.loggamma(keys[1], a, (5,)), (0.4,), (1.0,))
    assert np.allclose(moved, np.asarray(lax.random_gamma_grad(0.4, np.exp(x))) / np.exp(x), 1e-12)
    # The probability of beta's variates stays as well: what their parts give.
    draw = tn.jit(lambda a: random.beta(keys[0], a, 1.3, (50,)))
    x, moved = tn.jvp(draw, (2.0,), (1.0,))
    assert np.isfinite(moved).all() and (np.asarray(moved) > 0).all()


def test_errors():
    key = random.key(0)
    wide = np.ones(2)
    for name in ("beta", "f"):
        with pytest.raises(ValueError, match="cannot safely cast"):
            getattr(random, name)(key, wide, wide, dtype="float32")
    for name in ("chisquare", "t", "pareto", "rayleigh", "wald", "lognormal"):
        with pytest.raises(ValueError, match="cannot safely cast"):
            getattr(random, name)(key, wide, dtype="float32")
    for wrong in (lambda: random.gamma(key, 1.0, dtype="int32"), lambda: random.gamma(key, wide, (3,)), lambda: random.poisson(key, 1.0, dtype="float32"),
                  lambda: random.dirichlet(key, 1.0), lambda: random.beta(key, wide, np.ones(3)), lambda: random.binomial(key, 3, 0.5, dtype="int64")):
        with pytest.raises(ValueError):
            wrong()
    for wrong in (lambda: random.uniform(key, (2,), "int32"), lambda: random.normal(key, (-1,)), lambda: random.randint(key, (2,), 0, 5, "float32"),
                  lambda: random.choice(key, 3, (5,), replace=False), lambda: random.bits(key, (2,), "int32"), lambda: random.split(key, -1),
                  lambda: random.normal(tnp.ones(3)), lambda: random.uniform("key"), lambda: random.randint(key, (2, 3), tnp.zeros(4, int), 5)):
        with pytest.raises((TypeError, ValueError)):
            wrong()


def test_keys_of_philox():
    """Beside what jax.random draws of keys "rbg" on processors."""
    key = random.key(7, impl="rbg")
    assert key.tolist() == [0, 7, 0, 7] and random.key_impl(key) == "rbg" and random.key_impl(random.key(7)) == "threefry2x32"
    assert random.bits(key, (4,), "uint32").tolist() == [3109483441, 1367189518, 2515982561, 3310080778]
    apart = random.wrap_key_data(np.array([1, 2, 3, 4], "uint32"), impl="rbg")
    assert random.bits(apart, (2, 4), "uint32").tolist() == [[512747620, 1298009047, 1267190206, 761827841], [1383286907, 1639995030, 2756207988, 2154813423]]
    assert random.bits(apart, (2,), "uint64").tolist() == [512747620 + (1298009047 << 32), 1267190206 + (761827841 << 32)]
    assert random.bits(apart, (1,), "uint16").tolist() == [512747620 % 2 ** 16]
    halves = random.split(random.key(7), 2)
    assert random.split(key, (2,)).tolist() == [[*half, *half] for half in halves.tolist()] and random.split(key, (2, 3)).shape == (2, 3, 4)
    assert random.fold_in(key, 3).tolist() == [*random.fold_in(random.key(7), 3).tolist()] * 2
    batch = tn.vmap(lambda key: random.normal(key, (3,)))(random.split(key))
    assert np.allclose(batch, [random.normal(one, (3,)) for one in random.split(key)], 1e-12)
    assert tn.vmap(lambda seed: random.key(seed, impl="rbg"))(tnp.arange(2)).tolist() == [[0, 0, 0, 0], [0, 1, 0, 1]]
    for wrong in (lambda: random.key(1, impl="philox4x64"), lambda: random.wrap_key_data(np.zeros(2, "uint32"), impl="rbg")):
        with pytest.raises(ValueError, match="random"):
            wrong()


def test_bits_of_states_are_those_of_jax():
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        for words in ([1, 2, 3, 4], [1, 2, 2 ** 32 - 1, 2 ** 32 - 1], [2 ** 32 - 1] * 4):
            for state in (np.array(words, "uint32"), np.array(words, "uint32").view("uint64")):
                for kind in lax.RandomAlgorithm:
                    for shape in ((), (0,), (1,), (5,), (12,), (2, 3), (3, 4), (3, 3), (3, 5), (5, 3), (3, 1, 7), (4, 2, 2), (0, 3)):
                        for dtype in ("uint8", "uint16", "uint32", "uint64"):
                            wanted = jax.lax.rng_bit_generator(state, shape, dtype, jax.lax.RandomAlgorithm(kind))
                            for got, want in zip(lax.rng_bit_generator(state, shape, dtype, kind), wanted):
                                assert got.dtype == want.dtype and got.shape == want.shape
                                assert got.tolist() == np.asarray(want).tolist(), (words, kind, shape, dtype)


def test_bits_of_states_elsewhere():
    states = np.arange(8, dtype="uint32").reshape(2, 4)
    for kind in lax.RandomAlgorithm:
        def f(state, kind=kind):
            return lax.rng_bit_generator(state, (3, 5), algorithm=kind)

        after, bits = tn.jit(tn.vmap(f))(states)
        for i, state in enumerate(states):
            assert after[i].tolist() == f(state)[0].tolist() and bits[i].tolist() == f(state)[1].tolist() == tn.jit(f)(state)[1].tolist()
    assert str(lax.RandomAlgorithm.RNG_PHILOX) == "RNG_PHILOX"
    for wrong, error, said in ((lambda: lax.rng_bit_generator(states, (3,)), ValueError, r"the state is u32\[2,4\]"),
                               (lambda: lax.rng_bit_generator(states[0].astype("int32"), (3,)), ValueError, r"the state is i32\[4\]"),
                               (lambda: lax.rng_bit_generator(states[0], (3,), "int32"), TypeError, "is not an unsigned integer dtype"),
                               (lambda: lax.rng_bit_generator(states[0], (-3,)), ValueError, ""),
                               (lambda: lax.rng_bit_generator(states[0], (-3,), algorithm=1), ValueError, "")):
        with pytest.raises(error, match=said):
            wrong()


def pcg_of(words):
    """NumPy's generator of a key's words."""
    made = np.random.PCG64DXSM()
    state, increment = (sum(int(w) << (32 * i) for i, w in enumerate(half[::-1])) for half in (words[:4], words[4:]))
    made.state = {"bit_generator": "PCG64DXSM", "state": {"state": state, "inc": increment}, "has_uint32": 0, "uinteger": 0}
    return made


@pytest.mark.parametrize("seed", [0, 1, 7, 2 ** 32 - 1, 2 ** 32, 2 ** 63 - 1, -1])
def test_seeds_of_pcg_are_those_of_numpy(seed):
    key = random.key(seed, impl="pcg")
    assert key.shape == (8,) and key.dtype == np.uint32 and random.key_impl(key) == "pcg"
    for n in (1, 2, 255, 256, 257, 1000):
        assert random.bits(key, (n,), "uint64").tolist() == np.random.PCG64DXSM(seed % 2 ** 64).random_raw(n).tolist()
    assert tn.jit(lambda s: random.key(s, impl="pcg"))(np.int64(seed)).tolist() == key.tolist()
    with tn.enable_x64(False):
        assert random.key(seed, impl="pcg").tolist() == random.key(seed % 2 ** 32, impl="pcg").tolist()


def test_keys_of_pcg():
    key = random.key(7, impl="pcg")
    raw = np.random.PCG64DXSM(7).random_raw(70_000)
    for dtype in ("uint8", "uint16", "uint32", "uint64"):
        wanted = raw.view(dtype)
        assert np.array_equal(random.bits(key, (70_000,), dtype), wanted[:70_000])
        assert np.array_equal(tn.jit(lambda key: random.bits(key, (3, 7), dtype))(key), wanted[:21].reshape(3, 7))
        assert random.bits(key, (0, 2), dtype).shape == (0, 2)
        assert np.array_equal(random.bits(key, (), dtype), wanted[0])
    assert np.array_equal(random.uniform(key, (500,), "float64"), (raw[:500] >> np.uint64(12)) * 2.0 ** -52)
    sized = tn.jit(lambda x: random.bits(key, x.shape, "uint64"), sizes="symbolic")
    for n in (0, 1, 2, 255, 256, 257, 65_537):
        assert np.array_equal(sized(np.zeros(n)), raw[:n]), n
    # An increment counts as odd; NumPy takes states as they are.
    words = np.array([1, 2, 3, 4, 5, 6, 7, 8], "uint32")
    odd = random.wrap_key_data(words, impl="pcg")
    assert random.bits(odd, (300,), "uint64").tolist() == pcg_of([*words[:7], 9]).random_raw(300).tolist()


def threefry(key, block):
    """Both words of a block of Threefry-2x32, 20 rounds."""
    k = [*map(int, key)]
    k.append(k[0] ^ k[1] ^ 0x1BD11BDA)
    x, mask = [(int(block[i]) + k[i]) % 2 ** 32 for i in range(2)], 2 ** 32 - 1
    for i in range(5):
        for r in ((13, 15, 26, 6), (17, 29, 16, 24))[i % 2]:
            x[0] = (x[0] + x[1]) & mask
            x[1] = (((x[1] << r) | (x[1] >> (32 - r))) & mask) ^ x[0]
        x = [(x[0] + k[(i + 1) % 3]) & mask, (x[1] + k[(i + 2) % 3] + i + 1) & mask]
    return x


def derived(words, x, first):
    made = []
    for pair in range(4):
        block = [x, first + pair]
        for i in range(0, 8, 2):
            block = threefry(words[i:i + 2], block)
        made += block
    return [*made[:7], made[7] | 1]


def test_keys_of_pcg_that_are_split_and_folded():
    key = random.key(7, impl="pcg")
    keys = random.split(key, 5)
    assert keys.tolist() == [derived(key.tolist(), j, 0) for j in range(5)]
    assert random.fold_in(key, 3).tolist() == derived(key.tolist(), 3, 4)
    assert random.fold_in(key, -1).tolist() == derived(key.tolist(), 2 ** 32 - 1, 4)
    assert random.split(key, (2, 3)).shape == (2, 3, 8)
    assert random.bits(keys[2], (5,), "uint64").tolist() == pcg_of(keys[2].tolist()).random_raw(5).tolist()
    batch = tn.vmap(lambda key: random.normal(key, (300,)))(keys)
    assert np.allclose(batch, [random.normal(one, (300,)) for one in keys], 1e-6)
    assert abs(np.corrcoef(np.asarray(tn.vmap(lambda key: random.normal(key, (20_000,)))(random.split(key, 8)))) - np.eye(8)).max() < 0.03
    for wrong in (lambda: random.key(1, impl="pcg64"), lambda: random.wrap_key_data(np.zeros(4, "uint32"), impl="pcg")):
        with pytest.raises(ValueError, match="random"):
            wrong()
    with pytest.raises(ValueError, match=r"the key is u32\[6\]"):
        random.bits(np.zeros(6, "uint32"), (2,))


def test_choices_of_pcg():
    key = random.key(3, impl="pcg")
    assert sorted(random.permutation(key, 1000).tolist()) == list(range(1000))
    assert sorted(random.choice(key, 9, (9,), replace=False).tolist()) == list(range(9))
    shares = np.bincount(random.categorical(key, np.log([0.5, 0.2, 0.3]), shape=(N,)), minlength=3) / N
    assert np.allclose(shares, [0.5, 0.2, 0.3], atol=0.02)
    assert np.allclose(np.bincount(random.randint(key, (N,), 2, 6), minlength=6) / N, [0, 0] + [0.25] * 4, atol=0.02)
    assert abs(np.mean(random.poisson(key, 4.0, (N,))) - 4) < 0.1 and abs(np.mean(random.bernoulli(key, 0.3, (N,))) - 0.3) < 0.02
    assert np.allclose(np.asarray(random.orthogonal(key, 4)) @ np.asarray(random.orthogonal(key, 4)).T, np.eye(4), atol=1e-12)


def test_geometric_draws_of_a_number_are_those_of_an_array_of_it():
    key = np.array([0, 7], "uint32")
    assert (np.asarray(random.geometric(key, 0.1, (4,))) == np.asarray(random.geometric(key, np.array(0.1), (4,)))).all()
    assert np.asarray(random.geometric(key, 0.1, (4,))).tolist() == [2, 30, 15, 27]  # as JAX draws them in 64 bits


def test_choice_takes_the_mode_of_its_gumbel_numbers():
    key, p = random.key(3), np.float32([0.1, 0.2, 0.3, 0.4])
    for mode in ("low", "high"):
        drawn = random.gumbel(key, (4,), np.float32, mode=mode) + np.log(p)
        assert random.choice(key, 4, (3,), False, p, mode=mode).tolist() == np.argsort(-np.asarray(drawn))[:3].tolist()
    letters, order = np.arange(8).reshape(4, 2), random.choice(key, 4, (3,), False, p, mode="high")
    assert random.choice(key, letters, (3,), False, p, mode="high").tolist() == letters[np.asarray(order)].tolist()
    with pytest.raises(tn.OptionError, match="choice: mode is 'hgih'"):
        random.choice(key, 4, (3,), False, p, mode="hgih")
