"""Small functions of JAX's inner modules that its tests use: maps, zips, promotion of dtypes."""

import functools

import numpy as np
import tenon.dtypes as td
import tenon.numpy as tnp
from dtype_table import to_complex, to_inexact
from holes import Alias


def promote(to):
    def promoted(*xs):
        dtype = to(td.result_type(*xs))
        return [tnp.asarray(x, dtype) for x in xs]
    return promoted


def equally_long(xs, who):
    xs = [list(x) for x in xs]
    if len({len(x) for x in xs}) > 1:
        raise ValueError(f"{who}() argument lengths differ")
    return xs


def safe_map(f, *xs):
    return [f(*x) for x in zip(*equally_long(xs, "safe_map"))]


def safe_zip(*xs):
    return list(zip(*equally_long(xs, "safe_zip")))


def foreach(f, *xs):
    safe_map(f, *xs)


def unzip2(pairs):
    pairs = list(pairs)
    return tuple(p[0] for p in pairs), tuple(p[1] for p in pairs)


def split_list(xs, sizes):
    xs, parts = list(xs), []
    for size in sizes:
        parts.append(xs[:size])
        xs = xs[size:]
    return parts + [xs]


def subvals(xs, pairs):
    xs = list(xs)
    for i, value in pairs:
        xs[i] = value
    return tuple(xs)


def tuple_update(xs, i, value):
    return (*xs[:i], value, *xs[i + 1:])


def curry(f):
    return functools.wraps(f)(lambda *args: functools.partial(functools.partial, f)(*args))


def install():
    Alias("jax._src.numpy.util", dict(promote_dtypes_inexact=promote(to_inexact), promote_dtypes_complex=promote(to_complex)))
    Alias("jax._src.util", dict(
        safe_map=safe_map, safe_zip=safe_zip, unzip2=unzip2, split_list=split_list, subvals=subvals, tuple_update=tuple_update,
        curry=curry, foreach=foreach, prod=np.prod, partial=functools.partial, NumpyComplexWarning=np.exceptions.ComplexWarning))
