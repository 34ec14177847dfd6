"""Trees in files of the format safetensors: save(file, tree), load(file).

The format: eight bytes of the header's length, a header in JSON that names dtype, shape and place of each array, then
the arrays' bytes. Source: https://github.com/huggingface/safetensors#format.
"""

import json
import math
import os
import tempfile

import numpy as np

from tenon import _core, numpy as tnp, tree_util
from tenon.errors import DTypeError, ParseError, ShapeError, TreeError

__all__ = ["load", "save"]

_names = {"bool": "BOOL", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64", "uint8": "U8", "uint16": "U16",
          "uint32": "U32", "uint64": "U64", "float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64",
          "complex64": "C64", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2",
          "float8_e8m0fnu": "F8_E8M0"}
_dtypes = {name: dtype for dtype, name in _names.items()}
_largest_header = 100_000_000


def _name(path):
    """The place of a leaf as a name: keys and fields with dots between."""
    return tree_util.keystr(path, simple=True, separator=".")


def save(file, tree, metadata=None):
    """The arrays of a tree under the names of their places: "layers.0.bias"; of a lone array "array". The file is
    replaced as a whole. `metadata`: a dict of texts. complex128 and the other floats of 8 bits than
    float8_e4m3fn, float8_e5m2 and float8_e8m0fnu have no name in the format: ValueError."""
    header = {} if metadata is None else {"__metadata__": dict(metadata)}
    arrays, at = [], 0
    for path, leaf in tree_util.tree_leaves_with_path(tree):
        name, x = _name(path) or "array", np.asarray(leaf)
        dtype = _core.positive(leaf).dtype.name
        if dtype not in _names:
            raise DTypeError(f"save: {name} is of {dtype}, which the format does not have.")
        if name in header:
            raise TreeError(f"save: two leaves have the name {name!r}.")
        header[name] = {"dtype": _names[dtype], "shape": list(x.shape), "data_offsets": [at, at + x.nbytes]}
        arrays.append(np.ascontiguousarray(x))
        at += x.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    file = os.fspath(file)
    with tempfile.NamedTemporaryFile(dir=os.path.dirname(file) or ".", delete=False) as out:
        try:
            out.write(len(text).to_bytes(8, "little") + text)
            for x in arrays:
                out.write(x.tobytes())
            out.close()
            os.replace(out.name, file)
        except BaseException:
            os.unlink(out.name)
            raise


def _header(bytes_, file):
    if len(bytes_) < 8:
        raise ParseError(f"load: {file} is too short for a file of safetensors.")
    length = int.from_bytes(bytes_[:8], "little")
    if length > min(_largest_header, len(bytes_) - 8):
        raise ParseError(f"load: {file} says that its header has {length} bytes, the file has {len(bytes_)}.")
    try:
        header = json.loads(bytes(bytes_[8:8 + length]), object_pairs_hook=_once)
    except (ValueError, RecursionError):
        raise ParseError(f"load: the header of {file} is no JSON, or gives a name twice.") from None
    if not isinstance(header, dict):
        raise ParseError(f"load: the header of {file} names no arrays.")
    header.pop("__metadata__", None)
    return header, 8 + length


def _once(pairs):
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a name is there twice")
    return dict(pairs)


def _is_count(n):
    return type(n) is int and 0 <= n < 2**63   # of bool's and float's type are none


def _place(name, entry, file):
    """(name of the dtype, shape, first byte, byte after the last) of an array."""
    entry = entry if isinstance(entry, dict) else {}
    dtype, shape, place = entry.get("dtype"), entry.get("shape"), entry.get("data_offsets")
    lists = isinstance(shape, list) and isinstance(place, list) and len(place) == 2
    if not lists or not isinstance(dtype, str) or not all(map(_is_count, shape + place)):
        raise ParseError(f"load: the header of {file} describes {name!r} as {entry!r:.80}.")
    return dtype, shape, *place


def _require_no_overlap(places, size, file):
    """The format has each byte of the data in one array, and no byte in none."""
    at = 0
    for begin, end, name in sorted((begin, end, name) for name, (_, _, begin, end) in places.items()):
        if begin != at:
            raise ParseError(f"load: {name!r} in {file} begins at byte {begin}, where the array before it ends at {at}.")
        at = end
    if at != size:
        raise ParseError(f"load: the arrays of {file} have {at} bytes, its data {size}.")


def _array(data, name, place, file):
    dtype, shape, begin, end = place
    if dtype not in _dtypes:
        raise ParseError(f"load: {name!r} in {file} is of dtype {dtype!r}, which arrays do not have.")
    dtype, count = _core.dtype(_dtypes[dtype]), math.prod(shape)
    if not begin <= end <= len(data) or end - begin != count * dtype.itemsize:
        raise ParseError(f"load: {name!r} in {file} should have {count * dtype.itemsize} bytes at {begin} to {end}.")
    x = np.frombuffer(data, dtype=dtype, count=count, offset=begin) if count else np.zeros((), dtype)[None][:0]
    try:
        return _core.from_memory(x.reshape(shape), True)
    except ValueError:
        raise ParseError(f"load: {name!r} in {file} has a shape that no array has, {shape!r:.80}.") from None


def load(file, like=None):
    """The arrays of a file, a dict by name. With `like`, a tree whose leaves are those that save() gave these names:
    structure, shapes and dtypes have to be the same.

    Raises ParseError where the file is damaged, TreeError, ShapeError or DTypeError where it is not like the tree."""
    with open(file, "rb") as f:
        bytes_ = f.read()
    header, start = _header(bytes_, file)
    data = memoryview(bytes_)[start:]
    places = {name: _place(name, entry, file) for name, entry in header.items()}
    arrays = {name: _array(data, name, place, file) for name, place in places.items()}
    _require_no_overlap(places, len(data), file)
    if like is None:
        return arrays
    leaves, structure = tree_util.tree_flatten(like)
    names = [_name(path) or "array" for path in structure.paths()]
    if {*names} != {*arrays}:
        missing, more = sorted({*names} - {*arrays}), sorted({*arrays} - {*names})
        raise TreeError(f"load: {file} lacks {missing} and has {more} more than the tree.")
    for name, leaf in zip(names, leaves):
        _require_same(file, name, arrays[name], leaf)
    return structure.unflatten([arrays[name] for name in names])


def _require_same(file, name, x, leaf):
    if x.shape != tnp.shape(leaf):
        raise ShapeError(f"load: {name!r} in {file} has shape {x.shape}, the tree's leaf {tnp.shape(leaf)}.")
    if x.dtype != tnp.result_type(leaf):
        raise DTypeError(f"load: {name!r} in {file} is of {x.dtype}, the tree's leaf of {tnp.result_type(leaf)}.")
