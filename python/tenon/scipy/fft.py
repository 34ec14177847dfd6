"""Discrete cosine transforms, with the names of jax.scipy.fft: of type 2, along one axis or several, with derivatives.

`norm` says what multiplies: "backward", the default, 1/2n in the inverse transforms; "forward", 1/2n in the others; "ortho"
makes them orthogonal.
"""

import operator

from tenon import _core
from tenon.numpy import asarray

__all__ = ["dct", "dctn", "idct", "idctn"]


def _require_type(name, type):
    if type != 2:
        raise NotImplementedError(f"{name}: type {type!r} is not here; type 2 is.")


def _along_one(name, x, type, n, axis, norm):
    _require_type(name, type)
    return getattr(_core.tn.fft, name)(asarray(x), n=n, axis=operator.index(axis), norm=norm)


def _integers(given):
    return given if given is None or isinstance(given, (tuple, list)) else [given]


def _along_many(name, x, type, s, axes, norm):
    _require_type(name, type)
    axes = _integers(axes)
    return getattr(_core.tn.fft, name)(asarray(x), s=_integers(s), axes=None if axes is None else [operator.index(a) for a in axes], norm=norm)


def dct(x, type=2, n=None, axis=-1, norm=None):
    """y[k] = 2 Σ x[j] cos(πk(2j + 1) / 2n) along an axis.

    >>> dct([1.0, 2.0, 3.0]).round(4).tolist()
    [12.0, -3.4641, 0.0]
    """
    return _along_one("dct", x, type, n, axis, norm)


def idct(x, type=2, n=None, axis=-1, norm=None):
    """dct() undone.

    >>> idct(dct([1.0, 2.0, 3.0])).round(6).tolist()
    [1.0, 2.0, 3.0]
    """
    return _along_one("idct", x, type, n, axis, norm)


def dctn(x, type=2, s=None, axes=None, norm=None):
    """dct() along axes: all, where they are not given, or as many at the end as `s` has lengths.

    >>> dctn([[1.0, 2.0], [3.0, 4.0]]).round(4).tolist()
    [[40.0, -5.6569], [-11.3137, 0.0]]
    """
    return _along_many("dctn", x, type, s, axes, norm)


def idctn(x, type=2, s=None, axes=None, norm=None):
    """dctn() undone.

    >>> idctn(dctn([[1.0, 2.0], [3.0, 4.0]])).round(6).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    return _along_many("idctn", x, type, s, axes, norm)
