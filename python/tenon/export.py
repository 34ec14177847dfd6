"""Functions that leave the process: traced, written to bytes, and read and called elsewhere; by the names of jax.export.

What is written is the Program, as text, with the arrays that it has captured: no code of Python's, and no native code, so
a file is good for every machine, and reading one runs nothing.
"""

import hashlib
import json
import math
import struct

import numpy as np

from tenon import _core, _extended, _stages, _transforms, _trees_as_json, numpy as tnp, tree
from tenon._shape_dtype import ShapeDtypeStruct
from tenon._trees_as_json import register_namedtuple_serialization, register_pytree_node_serialization
from tenon.errors import DifferentiationError, ParseError, TreeError, UnsupportedError

__all__ = ["Exported", "deserialize", "export", "register_namedtuple_serialization", "register_pytree_node_serialization"]


def export(fun_jit, *, platforms=None, disabled_checks=()):
    """A function that is called with the arguments of `fun_jit`, a function made by jit, or with a ShapeDtypeStruct in
    place of each array, and returns an Exported: the function for arguments of those shapes and dtypes. Static arguments
    are given as they are, and are none of the Exported's. `platforms` and `disabled_checks` are taken and have no effect.

    A ValueError where `fun_jit` is not made by jit; an UnsupportedError where it calls functions of Python's while it
    runs (pure_callback, debug.print), and a LeakError where it reads arrays of another function that is traced.

    >>> import tenon as tn, tenon.numpy as tnp
    >>> exported = export(tn.jit(lambda x: tnp.sin(x) * 2))(tn.ShapeDtypeStruct((3,), tnp.float32))
    >>> exported.out_avals
    (ShapeDtypeStruct(shape=(3,), dtype=float32),)
    >>> deserialize(exported.serialize()).call(tnp.zeros(3, tnp.float32))
    Array([0., 0., 0.], dtype=float32)
    """
    if not isinstance(fun_jit, _core.JitFunction):
        raise _core.OptionError(f"export: Function to be exported must be the result of `jit`, not {fun_jit!r:.80}.")

    def exported(*args, **kwargs):
        numbers, names = fun_jit._static
        fixed = {name: value for name, value in kwargs.items() if name in names}
        given = {name: value for name, value in kwargs.items() if name not in names}
        at = [n for n in range(len(args)) if n not in numbers]

        def function(*leaves, **keywords):
            placed = list(args)
            for n, x in zip(at, leaves, strict=True):
                placed[n] = x
            return fun_jit(*placed, **keywords, **fixed)

        specs = _stages.shapes((tuple(args[n] for n in at), given))
        made = Exported()
        made._function = function
        made.fun_name = getattr(fun_jit, "__name__", "function")
        made.in_tree = tree.structure(specs)
        made.in_avals = tuple(tree.leaves(specs))
        made._take(0, made._traced(0))
        return made

    return exported


class Exported:
    """A function for arguments of certain shapes and dtypes: what export() and deserialize() return.

    `call` is the function; `in_avals` and `out_avals` are its leaves, tuples of ShapeDtypeStruct, `in_tree` the structure
    of (positional arguments, those by keyword), `out_tree` that of the result. `fun_name` is its name, and `platforms`
    what it runs on.

    Derivatives and batches of `call` are those of the function. Of one that was read they are too, but that rules of the
    user's (custom_jvp, custom_vjp) are there for as many derivatives as serialize() was told.
    """

    platforms = ("cpu",)
    nr_devices = 1

    def __init__(self):
        self._function = None  # of one that was read
        self._programs = {}  # for how many derivatives: (Program, captured arrays, which results are weakly typed)
        self._has_rules = False

    def __repr__(self):
        return f"Exported({self.fun_name}: {list(self.in_avals)} -> {list(self.out_avals)})"

    def _traced(self, derivatives):
        args, kwargs = self.in_tree.unflatten(_stages.stand_ins(list(self.in_avals)))
        traced = _core.export_program(self._function, args, kwargs, derivatives)
        self.out_tree, self._has_rules = traced.result, self._has_rules or traced.has_rules
        return traced.program, traced.captures, traced.weak

    def _take(self, derivatives, parts):
        self._programs[derivatives] = parts
        program, _, weak = parts
        self.out_avals = tuple(ShapeDtypeStruct(*type_, weak_type=w)
                               for type_, w in zip(program.output_arrays(lambda *t: t), weak, strict=True))

    def _program(self, derivatives):
        """What is good for so many derivatives."""
        if not self._has_rules:
            derivatives = 0
        enough = [n for n in self._programs if n >= derivatives]
        if not enough and self._function is None:
            raise DifferentiationError(
                f"export: {self.fun_name} has rules of its own for derivatives, and was written with those of "
                f"{max(self._programs)}, and not of {derivatives}.\n  Write it with serialize(vjp_order={derivatives}).")
        if not enough:
            self._take(derivatives, self._traced(derivatives))
        return self._programs[min(enough, default=derivatives)]

    def call(self, *args, **kwargs):
        """The function. TreeError, a ValueError and a TypeError, where the arguments are not like `in_avals`."""
        leaves, structure = tree.flatten((args, kwargs))
        if structure != self.in_tree:
            raise TreeError(f"export: {self.fun_name} is called with {structure}, and was exported for {self.in_tree}.")
        arrays = [self._fitted(i, x) for i, x in enumerate(leaves)]
        program, captures, weak = self._program(_core.derivatives_ahead(arrays) if self._has_rules else 0)
        return self.out_tree.unflatten(_core.call_program(program, [*arrays, *captures], weak))

    def _fitted(self, i, x):
        wanted = self.in_avals[i]
        number = isinstance(x, (bool, int, float, complex)) and tnp.promote_types(type(x), wanted.dtype) == wanted.dtype
        x = tnp.asarray(x, wanted.dtype) if number else tnp.asarray(x)
        if (x.shape, x.dtype) != (wanted.shape, wanted.dtype):
            raise TreeError(f"export: argument{self.in_tree.names()[i]} of {self.fun_name} is {x.dtype.name}{list(x.shape)}, "
                            f"and was exported as {wanted.dtype.name}{list(wanted.shape)}.")
        return x

    def has_vjp(self):
        """Whether derivatives of `call` are those of the function."""
        return not self._has_rules or self._function is not None or max(self._programs) > 0

    def vjp(self):
        """The Exported of its reverse mode: a function of the leaves of the arguments and of cotangents of those of the
        result, which returns a tuple of cotangents of the arguments' leaves, zeros of the dtype float0 left out as None.

        >>> import tenon as tn
        >>> exported = export(tn.jit(lambda x, y: x * y))(2.0, 3.0)
        >>> [float(g) for g in exported.vjp().call(2.0, 3.0, 1.0)]
        [3.0, 2.0]
        """
        count = len(self.in_avals)

        def flat(*leaves):
            args, kwargs = self.in_tree.unflatten(leaves)
            return tuple(tree.leaves(self.call(*args, **kwargs)))

        def pulled(*leaves):
            slopes = _transforms.vjp(flat, *leaves[:count])[1](leaves[count:])
            return tuple(None if getattr(g, "dtype", None) == _extended.float0 else g for g in slopes)

        pulled.__name__ = f"vjp({self.fun_name})"
        return export(_transforms.jit(pulled))(*self.in_avals, *self.out_avals)

    def mlir_module(self):
        """The Program as text: there is no other form of it."""
        return self._programs[min(self._programs)][0].text()

    def serialize(self, vjp_order=0):
        """The function as bytes, which deserialize() reads. Rules of the user's are in it for `vjp_order` derivatives in a
        row; derivatives of a function that has none can be taken of any order.

        An UnsupportedError where trees have nodes that are not registered for it (register_pytree_node_serialization()),
        or keys of dicts that are no text, numbers or tuples of them."""
        program, captures, weak = self._program(vjp_order)
        if place := _core.host_function_of(program):
            raise UnsupportedError(f"export: {self.fun_name} calls a function of Python's, {place}, which cannot be written.")
        arrays = [np.ascontiguousarray(np.asarray(a)) for a in captures]
        data = b"".join(a.tobytes() for a in arrays)
        header = {
            "name": self.fun_name, "program": program.text(), "vjp_order": vjp_order, "rules": self._has_rules,
            "weak_in": [a.weak_type for a in self.in_avals], "weak_out": list(weak),
            "in": _trees_as_json.encoded(self.in_tree), "out": _trees_as_json.encoded(self.out_tree),
            "captures": [[a.dtype.name, list(a.shape)] for a in arrays]}
        text = json.dumps(header).encode()
        body = struct.pack("<Q", len(text)) + text + data
        return bytearray(_MAGIC + hashlib.sha256(body).digest() + body)


_MAGIC = b"tenon.export 1\n"
_DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
           "complex64", "complex128", *_extended.names)


def deserialize(blob):
    """The Exported that serialize() has written. A ParseError, a ValueError, where the bytes are not what it writes; a
    TreeError where a class of a tree's node is not registered here."""
    blob = bytes(blob)
    if not blob.startswith(_MAGIC):
        raise ParseError("deserialize: these bytes are not those of an exported function, of version 1.")
    digest, body = blob[len(_MAGIC):len(_MAGIC) + 32], blob[len(_MAGIC) + 32:]
    if hashlib.sha256(body).digest() != digest or len(body) < 8:
        raise ParseError("deserialize: the bytes were changed, or end before their time.")
    length, = struct.unpack_from("<Q", body)
    try:
        header = json.loads(body[8:8 + length])
    except (ValueError, RecursionError) as error:
        raise ParseError(f"deserialize: the header is no JSON: {error}.") from None
    return _read(header, body[8 + length:])


_FIELDS = {"name": str, "program": str, "vjp_order": int, "rules": bool, "weak_in": list, "weak_out": list, "in": list,
           "out": list, "captures": list}


def _read(header, data):
    if not isinstance(header, dict) or any(type(header.get(name)) is not type_ for name, type_ in _FIELDS.items()):
        raise ParseError(f"deserialize: the header has the fields {', '.join(_FIELDS)}.")
    made = Exported()
    made.fun_name, made._has_rules = header["name"], header["rules"]
    made.in_tree, made.out_tree = _trees_as_json.decoded(header["in"]), _trees_as_json.decoded(header["out"])
    program = _core.parse_program(header["program"], "exported program")
    captures, weak = _captures(header["captures"], data), _flags(header["weak_out"])
    inputs, outputs = (a(lambda *t: t) for a in (program.input_arrays, program.output_arrays))
    weak_in, count = _flags(header["weak_in"]), len(inputs) - len(captures)
    if (made.in_tree.num_leaves, made.out_tree.num_leaves, len(weak_in), len(weak)) != (count, len(outputs), count, len(outputs)):
        raise ParseError("deserialize: the Program has not as many inputs and outputs as the trees have leaves.")
    if [(a.shape, a.dtype) for a in captures] != inputs[count:]:
        raise ParseError("deserialize: the arrays beside the Program are not those that it takes.")
    made.in_avals = tuple(ShapeDtypeStruct(*type_, weak_type=w) for type_, w in zip(inputs, weak_in))
    made._take(header["vjp_order"], (program, captures, weak))
    return made


def _flags(given):
    if any(type(x) is not bool for x in given):
        raise ParseError("deserialize: a flag is true or false.")
    return given


def _captures(kinds, data):
    arrays, at = [], 0
    for kind in kinds:
        if not (isinstance(kind, list) and len(kind) == 2 and kind[0] in _DTYPES and isinstance(kind[1], list)
                and all(type(n) is int and n >= 0 for n in kind[1])):
            raise ParseError(f"deserialize: {kind!r:.60} is no kind of array.")
        dtype = _core.dtype(kind[0])
        count = math.prod(kind[1])
        if count * dtype.itemsize > len(data) - at:
            raise ParseError("deserialize: the bytes end before their arrays.")
        values = np.frombuffer(data, np.dtype(f"V{dtype.itemsize}"), count, at).view(dtype).reshape(kind[1])
        arrays.append(_core.from_memory(values, True))
        at += count * dtype.itemsize
    if at != len(data):
        raise ParseError("deserialize: there are bytes behind the arrays.")
    return arrays
