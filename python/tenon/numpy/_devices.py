"""What the array API standard asks of a namespace: its device, default dtypes and capabilities."""

import numpy as np

from tenon import _core
from tenon.numpy import _dtypes

__all__ = ["Device"]


class Device:
    """The processor, the one device that there is.

    >>> Device()
    CpuDevice(id=0)
    """

    id, platform, device_kind, process_index = 0, "cpu", "cpu", 0

    def __repr__(self):
        return "CpuDevice(id=0)"

    def __str__(self):
        return "cpu:0"

    def __eq__(self, other):
        return isinstance(other, Device) or other == "cpu"

    def __hash__(self):
        return hash("cpu")


THE_DEVICE = Device()


def check_device(device):
    """ValueError where a device is none that is there."""
    if device is not None and not isinstance(device, Device) and device not in ("cpu", "cpu:0"):
        raise _core.OptionError(f"device {device!r}: there is one, 'cpu'.")


_KINDS = {"bool": "b", "signed integer": "i", "unsigned integer": "u", "integral": "iu", "real floating": "f",
          "complex floating": "c", "numeric": "iufc"}


class NamespaceInfo:
    """What __array_namespace_info__() of the array API standard returns."""

    def capabilities(self):
        """Which parts of the standard that are a choice are there."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self):
        """The device that arrays are made on."""
        return THE_DEVICE

    def devices(self):
        """All devices."""
        return (THE_DEVICE,)

    def default_dtypes(self, *, device=None):
        """The dtypes of arrays made without one."""
        check_device(device)
        return {"real floating": _dtypes.default("f"), "complex floating": _dtypes.default("c"),
                "integral": _dtypes.default("i"), "indexing": _dtypes.default("i")}

    def dtypes(self, *, device=None, kind=None):
        """dtypes by name: all, or those of a kind or several."""
        check_device(device)
        names = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
                 "complex64", "complex128")
        wanted = "".join(_KINDS[k] for k in ((kind,) if isinstance(kind, str) else kind or _KINDS))
        made = {name: np.dtype(name) for name in names}
        return {name: d for name, d in made.items() if d.kind in wanted and _core.canonical_dtype(d) == d}
