"""What tells a compiler of JAX how to go about a program: taken, and of no effect where there is nothing to tell."""

import enum
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from tenon import _core, numpy as tnp, tree
from tenon.errors import DTypeError
from tenon.numpy._creation import asarray

__all__ = [
    "DotDimensionNumbers", "Precision", "PrecisionLike", "composite", "dce_sink", "optimization_barrier",
    "padtype_to_pads", "platform_dependent", "shape_as_value", "stage", "stop_gradient",
]


class Precision(enum.Enum):
    """How exact products are: always as HIGHEST says, in the operands' dtype. Taken, and of no effect."""

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2


PrecisionLike: TypeAlias = None | str | Precision | tuple[str, str] | tuple[Precision, Precision]
DotDimensionNumbers: TypeAlias = tuple[tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]]


def optimization_barrier(operand, /):
    """The tree. What is moved over this place is decided by its cost, and results do not depend on it.

    >>> optimization_barrier((1, 2))
    (1, 2)
    """
    return operand


def stop_gradient(x):
    """The tree, through whose leaves no derivative flows. What has none, integers and bools, stays as it is.

    >>> import tenon as tn
    >>> tn.grad(lambda x: x * stop_gradient({"a": x})["a"])(3.0)
    Array(3., dtype=float64, weak_type=True)
    """
    return tree.map(lambda leaf: _core.stop_gradient(leaf) if _has_derivative(leaf) else leaf, x)


def _has_derivative(leaf):
    if isinstance(leaf, (bool, int, float, complex)):
        return isinstance(leaf, (float, complex))
    if not hasattr(leaf, "dtype"):
        raise DTypeError(f"lax.stop_gradient: {leaf!r}, a {type(leaf).__name__}, is no array.")
    return getattr(leaf.dtype, "kind", "O") in "fcV"


def dce_sink(val, *, prevent_mlir_dce=False):
    """Nothing: what no result needs is not computed."""


def stage(x, /):
    """x as an array.

    >>> stage(2.0).shape
    ()
    """
    return asarray(x)


def composite(decomposition, name, version=0):
    """The function: there is no back end that has another one by this name.

    >>> composite(lambda x, *, k: x + k, "my.add")(1, k=2)
    3
    """

    def composed(*args, **attributes):
        return decomposition(*args, **attributes)

    composed.__name__ = name
    return composed


def platform_dependent(*args: Any, default=None, **per_platform):
    """The branch named `cpu`, or else `default`, of the arguments.

    >>> platform_dependent(3, cpu=lambda x: -x, cuda=lambda x: x)
    -3
    """
    for name, branch in {**per_platform, "default": default}.items():
        if branch is not None and not callable(branch):
            raise _core.OptionError(f"lax.platform_dependent: the '{name}' branch must be a callable.")
    if "gpu" in per_platform:
        raise _core.OptionError("Use 'cuda' or 'rocm' for lax.platform_dependent.")
    chosen = per_platform.get("cpu", default)
    if chosen is None:
        raise NotImplementedError("lax.platform_dependent: no branch for 'cpu', and no default.")
    return chosen(*args)


def shape_as_value(shape):
    """The sizes as a vector of integers.

    >>> shape_as_value((2, 3)).tolist()
    [2, 3]
    """
    return tnp.array(np.asarray(shape, "int64"))


def padtype_to_pads(in_shape, window_shape, window_strides, padding):
    """(before, behind) for each axis: how many elements windows need beside it. "VALID": none; "SAME": so many that
    there is a window for every stride, an odd one behind; "SAME_LOWER": before.

    >>> padtype_to_pads((7, 8), (3, 2), (2, 1), "SAME")
    [(1, 1), (0, 1)]
    """
    if not isinstance(padding, str):
        raise _core.OptionError(f"Unknown padding type: {padding}.")
    kind = padding.upper()
    if kind not in ("VALID", "SAME", "SAME_LOWER"):
        raise RuntimeError(f"Unrecognized padding type: expected 'VALID', 'SAME', or 'SAME_LOWER', got {padding}.")
    if kind == "VALID":
        return [(0, 0)] * len(in_shape)
    wanted = [max(0, (-(-int(n) // int(s)) - 1) * int(s) + int(w) - int(n)) for n, w, s in zip(in_shape, window_shape, window_strides)]
    return [(p // 2, p - p // 2) if kind == "SAME" else (p - p // 2, p // 2) for p in wanted]
