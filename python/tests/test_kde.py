"""scipy.stats.gaussian_kde: beside SciPy's; transformed; derivatives; errors."""

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import random
from tenon.scipy import stats

theirs = pytest.importorskip("scipy.stats")
DRAW = np.random.default_rng(3)
CLOUDS = {"numbers": DRAW.normal(size=12), "points": DRAW.normal(size=(2, 15)), "space": DRAW.normal(size=(3, 20))}
BANDWIDTHS = {None: None, "scott": "scott", "silverman": "silverman", 0.4: 0.4, "function": lambda kde: 0.3 + 0 * kde.neff}


@pytest.mark.parametrize("bandwidth", BANDWIDTHS)
@pytest.mark.parametrize("name", CLOUDS)
def test_beside_scipy(name, bandwidth):
    points, bandwidth = CLOUDS[name], BANDWIDTHS[bandwidth]
    for weights in (None, np.linspace(0.2, 2, points.shape[-1])):
        ours, exact = stats.gaussian_kde(points, bandwidth, weights), theirs.gaussian_kde(points, bandwidth, weights)
        places = DRAW.normal(size=(exact.d, 7)) * 2
        assert (ours.d, ours.n) == (exact.d, exact.n) and np.isclose(ours.neff, exact.neff)
        assert np.allclose(ours.covariance, exact.covariance, 1e-12) and np.allclose(ours.inv_cov, exact.inv_cov, 1e-10)
        for f in (ours.evaluate, ours.pdf, ours, tn.jit(ours.pdf)):
            assert np.allclose(f(places), exact.evaluate(places), 1e-10)
        assert np.allclose(ours.logpdf(places), exact.logpdf(places), 1e-10)
        mean, cov = np.arange(exact.d) * 0.2, np.eye(exact.d) * 0.5 + 0.1
        assert np.isclose(ours.integrate_gaussian(mean, cov), exact.integrate_gaussian(mean, cov), 1e-10)
        other, their_other = stats.gaussian_kde(points[..., :9] * 1.3), theirs.gaussian_kde(points[..., :9] * 1.3)
        assert np.isclose(ours.integrate_kde(other), exact.integrate_kde(their_other), 1e-10)
        if exact.d == 1:
            assert np.isclose(ours.integrate_box_1d(-0.4, 1.0), exact.integrate_box_1d(-0.4, 1.0), 1e-10)


def test_samples_of_a_density():
    ours = stats.gaussian_kde(CLOUDS["points"])
    drawn = np.asarray(ours.resample(random.key(1), (4000,)))
    assert drawn.shape == (2, 4000) and ours.resample(random.key(1), (2, 3)).shape == (2, 2, 3)
    spread = np.asarray(ours.covariance) + np.cov(CLOUDS["points"], bias=True)
    assert np.allclose(drawn.mean(1), CLOUDS["points"].mean(1), atol=0.1) and np.allclose(np.cov(drawn), spread, atol=0.12)
    assert np.array_equal(tn.jit(lambda kde, key: kde.resample(key, (5,)))(ours, random.key(1)).shape, (2, 5))


def test_trees_and_derivatives():
    kde = stats.gaussian_kde(CLOUDS["points"].astype("float32"))
    assert kde.pdf(np.zeros((2, 1), "float32")).dtype == np.float32
    again = tn.tree.map(lambda x: x, kde)
    assert isinstance(again, stats.gaussian_kde) and np.allclose(again.pdf(np.zeros(2, "float32")), kde.pdf(np.zeros(2, "float32")))
    x, places, step = CLOUDS["points"], np.array([[0.1, 1.0], [0.3, -0.4]]), 1e-6

    def total(x):
        return tnp.sum(stats.gaussian_kde(x).logpdf(places))

    slope, direction = np.asarray(tn.grad(total)(x)), DRAW.normal(size=x.shape)
    assert np.isclose((slope * direction).sum(), (total(x + step * direction) - total(x - step * direction)) / (2 * step), 1e-6)
    lanes = tn.vmap(total)(tnp.stack([tnp.asarray(x), tnp.asarray(2 * x)]))
    assert np.allclose(lanes, [total(x), total(2 * x)], 1e-10)


def test_errors():
    kde = stats.gaussian_kde(CLOUDS["points"])
    for wrong in (lambda: stats.gaussian_kde(np.ones(1)), lambda: stats.gaussian_kde(np.ones(4), "wide"), lambda: kde.pdf(np.ones((3, 2))),
                  lambda: stats.gaussian_kde(np.ones(4), None, np.ones(3)), lambda: kde.integrate_box_1d(0.0, 1.0),
                  lambda: kde.integrate_kde(stats.gaussian_kde(CLOUDS["numbers"])), lambda: kde.integrate_gaussian(np.ones(3), np.eye(3))):
        with pytest.raises(ValueError, match="gaussian_kde|GaussianKde"):
            wrong()
    for absent in (lambda: stats.gaussian_kde(np.ones(4) * 1j), lambda: kde.pdf(np.ones(2) * 1j), lambda: kde.set_bandwidth(1.0),
                   lambda: kde.integrate_box([0, 0], [1, 1])):
        with pytest.raises(NotImplementedError):
            absent()
