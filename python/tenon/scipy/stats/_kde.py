"""A density as a sum of normal ones around points, by the name of jax.scipy.stats."""

from tenon import _core, _sizes, tree_util
from tenon import numpy as tnp
from tenon.numpy import _dtypes

__all__ = ["gaussian_kde"]


@tree_util.register_pytree_node_class
class gaussian_kde:
    """The density of points `dataset`, [n] or [d, n], with weights [n]: of normal densities around them, whose covariance is
    that of the points times the square of a factor. `bw_method`: the factor, "scott" (also None), "silverman", or a function
    of the density.

    >>> density = gaussian_kde(tnp.array([0.0, 1.0, 3.0]))
    >>> round(float(density.integrate_box_1d(-100.0, 100.0)), 6)
    1.0
    """

    def __init__(self, dataset, bw_method=None, weights=None):
        dataset = tnp.atleast_2d(tnp.asarray(dataset))
        if dataset.dtype.kind == "c":
            raise NotImplementedError("gaussian_kde: complex points are not here; give their parts, as two numbers.")
        weights = None if weights is None else tnp.atleast_1d(tnp.asarray(weights))
        if bw_method is None or isinstance(bw_method, str) or not callable(bw_method):
            self._set(_core.kde_init(dataset, "scott" if bw_method is None else bw_method, weights))
        else:
            self._set(_core.kde_init(dataset, "scott", weights))
            self._set(_core.kde_init(dataset, bw_method(self), weights))

    def _set(self, fields):
        self.neff, self.dataset, self.weights, self.covariance, self.inv_cov = fields

    @property
    def _fields(self):
        return self.neff, self.dataset, self.weights, self.covariance, self.inv_cov

    def tree_flatten(self):
        return self._fields, None

    @classmethod
    def tree_unflatten(cls, aux_data, children):
        made = cls.__new__(cls)
        made._set(children)
        return made

    @property
    def d(self):
        """Of how many numbers a point is."""
        return self.dataset.shape[0]

    @property
    def n(self):
        """How many points there are."""
        return self.dataset.shape[1]

    def evaluate(self, points):
        """The density at places [d, m], or numbers [m]."""
        return _core.kde_pdf(self._fields, _real(points))

    __call__ = pdf = evaluate

    def logpdf(self, x):
        """The logarithm of the density at places [d, m], or numbers [m]."""
        return _core.kde_logpdf(self._fields, _real(x))

    def integrate_gaussian(self, mean, cov):
        """The integral of the density times a normal one."""
        return _core.kde_integrate_gaussian(self._fields, mean, cov)

    def integrate_box_1d(self, low, high):
        """The probability of numbers from low to high."""
        return _core.kde_integrate_box_1d(self._fields, low, high)

    def integrate_kde(self, other):
        """The integral of the density times another one."""
        return _core.kde_integrate_kde(self._fields, other._fields)

    def resample(self, key, shape=()):
        """Places [d, *shape] that are distributed so."""
        return _core.kde_resample(self._fields, key, _sizes.shape(shape), _dtypes.default("i"))

    def integrate_box(self, low_bounds, high_bounds, maxpts=None):
        raise NotImplementedError("gaussian_kde.integrate_box is not here: integrate_box_1d is, of numbers.")

    def set_bandwidth(self, bw_method=None):
        raise NotImplementedError("gaussian_kde.set_bandwidth is not here: make another density, with bw_method.")


def _real(points):
    points = tnp.asarray(points)
    if points.dtype.kind == "c":
        raise NotImplementedError("gaussian_kde: complex places are not here; give their parts, as two numbers.")
    return points
