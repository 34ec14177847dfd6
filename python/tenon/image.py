"""Images in other sizes, with the names of jax.image."""

import enum
import operator

from tenon import _core, _repeated
from tenon.numpy import asarray

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]


class ResizeMethod(enum.Enum):
    """How elements of an image weigh in those of another size: the nearest alone, by straight lines, by Lanczos's windows of 3
    and 5, by cubes (Keys's, and PyTorch's), by covered area."""

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s):
        return _method("ResizeMethod.from_string", s)


_methods = {
    "nearest": ResizeMethod.NEAREST,
    **dict.fromkeys(["linear", "bilinear", "trilinear", "triangle"], ResizeMethod.LINEAR),
    "lanczos3": ResizeMethod.LANCZOS3, "lanczos5": ResizeMethod.LANCZOS5,
    **dict.fromkeys(["cubic", "bicubic", "tricubic"], ResizeMethod.CUBIC),
    **dict.fromkeys(["cubic-pytorch", "bicubic-pytorch"], ResizeMethod.CUBIC_PYTORCH),
    "area": ResizeMethod.AREA,
}


def _method(asker, name):
    if name not in _methods:
        raise _core.OptionError(f"{asker}: the method {name!r} is none of {', '.join(_methods)}.")
    return _methods[name]


def _name(asker, method):
    method = method if isinstance(method, ResizeMethod) else _method(asker, method)
    return method.name.lower().replace("_", "-")


def resize(image, shape, method, antialias=True, precision=None):
    """The image in another shape of the same rank; axes of one size stay as they are. `antialias`: where it shrinks, each element
    is a mean over all that it covers.

    >>> resize([0.0, 1.0], (4,), "linear").tolist()
    [0.0, 0.25, 0.75, 1.0]
    """
    return _core.tn.image.resize(asarray(image), shape, method=_name("resize", method), antialias=bool(antialias))


def scale_and_translate(image, shape, spatial_dims, scale, translation, method, antialias=True, precision=None):
    """The image in another shape, where what lies at p along spatial_dims[i] lies at p · scale[i] + translation[i]; zeros where no
    part of it does.

    >>> scale_and_translate([1.0, 2.0, 3.0], (3,), (0,), [1.0], [1.0], "linear").tolist()
    [0.0, 1.0, 2.0]
    """
    return _core.tn.image.scale_and_translate(asarray(image), shape, [operator.index(d) for d in spatial_dims], asarray(scale),
                                              asarray(translation), method=_name("scale_and_translate", method), antialias=bool(antialias))

_repeated.public(globals())
