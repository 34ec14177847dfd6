"""Arrays that are written in place: the names of jax.ref."""

from tenon import _core, numpy as tnp
from tenon._core import Ref as Ref, freeze as freeze

__all__ = ["Ref", "addupdate", "empty_ref", "free_ref", "freeze", "get", "new_ref", "set", "swap"]


def new_ref(init_val, *, memory_space=None, kind=None):
    """A reference to a copy of an array. `memory_space` is taken and has no effect: there is one memory.

    Functions that are differentiated or batched may write to references from outside what has no tangent, and is the
    same in each lane. Of the kind "no_grad_no_remat" what is written loses its derivative. The backward of a custom_vjp
    reads and writes them when reverse mode comes by.

    >>> import tenon.numpy as tnp
    >>> r = new_ref(tnp.array([1.0, 2.0]))
    >>> r[0] = 5.0
    >>> r[...]
    Array([5., 2.], dtype=float64)
    """
    del memory_space
    if kind not in (None, "no_grad_no_remat"):
        raise _core.OptionError(f"new_ref: kind is None or 'no_grad_no_remat', not {kind!r}.")
    return _core.new_ref(init_val, kind is not None)


def empty_ref(ty, memory_space=None):
    """A reference to zeros of a shape and dtype.

    >>> import tenon as tn
    >>> empty_ref(tn.ShapeDtypeStruct((2,), "float32")).get().tolist()
    [0.0, 0.0]
    """
    return new_ref(tnp.zeros(ty.shape, ty.dtype), memory_space=memory_space)


def free_ref(ref):
    """Ends a reference: what uses it afterwards is an error."""
    _core.freeze(ref)


def get(ref, idx=None):
    """ref[idx], of the whole without an index."""
    return ref[... if idx is None else idx]


def set(ref, idx, value):  # noqa: A001
    """ref[idx] = value; the whole where the index is None."""
    ref[... if idx is None else idx] = value


def swap(ref, idx, value):
    """ref[idx] = value; what was there before is returned."""
    before = get(ref, idx)
    set(ref, idx, value)
    return before


def addupdate(ref, idx, x):
    """ref[idx] += x."""
    set(ref, idx, get(ref, idx) + x)


class _Part:
    """ref.at[idx]: what is read and written in a part of a reference."""

    __slots__ = ("_of", "_idx")

    def __init__(self, of, idx):
        self._of, self._idx = of, idx

    def __getitem__(self, idx):
        return self._of[self._idx][idx]

    def __setitem__(self, idx, value):
        self._of[self._idx] = self._of[self._idx].at[idx].set(value)

    @property
    def shape(self):
        return self._of[self._idx].shape

    @property
    def dtype(self):
        return self._of.dtype

    @property
    def ndim(self):
        return len(self.shape)

    def __repr__(self):
        return f"{self._of!r}.at[{self._idx!r}]"


class _At:
    """What makes parts of a reference, or of a part."""

    __slots__ = ("_of",)

    def __init__(self, of):
        self._of = of

    def __getitem__(self, idx):
        return _Part(self._of, idx)


def _add_methods(kind):
    """The methods that references and parts of them share."""
    kind.at = property(_At, doc="r.at[i] is a part of the reference: r.at[i][k] = x writes to the elements k of r[i].")
    kind.get = lambda self, idx=...: self[idx]
    kind.set = lambda self, value, idx=...: self.__setitem__(idx, value)
    kind.swap = lambda self, value, idx=...: swap(self, idx, value)
    kind.addupdate = lambda self, value, idx=...: addupdate(self, idx, value)


_add_methods(Ref)
_add_methods(_Part)
