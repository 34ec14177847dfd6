"""The Python functions around the library's: a module for each namespace, with signatures, types and docstrings."""

import re

from bound import ARGUMENTS, RESULTS, bare, by_name, distinct, python_names

HEAD = '''from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any, Literal

from tenon._core import tn as _tn

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from tenon._core import Array, ArrayLike, Axis, DTypeLike, ShapeLike

'''
DTYPES = {"f32": "float32", "f64": "float64", "i32": "int32", "i64": "int64", "u8": "uint8", "u32": "uint32", "u64": "uint64", "bool_": "bool",
          "i8": "int8", "c64": "complex64", "c128": "complex128"}
RESERVED = {"lambda": "lambda_", "from": "from_"}  # words of Python's

# An example of a comment: a call of numbers, and what it gives, behind the last = where there is one.
EXAMPLE = re.compile(r"^ +(?:\w+::)*(\w+\([-\d., e]*\)) +// (?:.*= )?(.*)$")
NUMBER = re.compile(r"[-+]?[\d.]+(?:e[-+]?\d+)?(?: [-+] [\d.]+i)?")


def _default(library, space, type_, default):
    """A default of C++ as Python says it, None where C++ knows it alone."""
    if default in ("true", "false"):
        return default.capitalize()
    match = re.fullmatch(r"(?:\w+::)*(\w+)::(\w+)", default)
    if match and match[1] == "DType":
        return f'"{DTYPES[match[2]]}"'
    choice = match and library.inner("choices", space, type_)
    if choice:
        return repr(dict(zip(choice.names, python_names(choice)))[match[2]])
    return default.rstrip("f") if re.fullmatch(r"-?[\d.]+(e-?\d+)?f?", default) else "None"


def _annotation(library, space, type_):
    """The type of an argument for Python."""
    if type_ in ARGUMENTS:
        return ARGUMENTS[type_]
    outer = re.fullmatch(r"std::(optional|vector|span)<(?:const )?(.*)>", type_)
    if outer:
        inner = _annotation(library, space, outer[2])
        return f"{inner} | None" if outer[1] == "optional" else f"Sequence[{inner}]"
    choice = library.inner("choices", space, type_)
    return f"Literal[{', '.join(map(repr, python_names(choice)))}]" if choice else "Any"


def _parameter(library, space, argument):
    """An argument as a signature has it."""
    said = _annotation(library, space, argument.type)
    if argument.default is None:
        return f"{RESERVED.get(argument.name, argument.name)}: {said}"
    value = _default(library, space, argument.type, argument.default)
    if value == "None" and not said.endswith(("| None", "Any", "Axis")):
        said += " | None"
    return f"{RESERVED.get(argument.name, argument.name)}: {said} = {value}"


def _example(line):
    """The lines of an example for Python, whose tests run it; none of what is no call of numbers."""
    match = EXAMPLE.match(line)
    values = match and match[2].split(", ")
    if not values or not all(NUMBER.fullmatch(value) for value in values):
        return []
    values = [value.replace(" ", "").replace("i", "j") for value in values]
    if len(values) == 1:
        return [f'>>> f"{{{match[1]}:.7g}}"', repr(values[0])]
    return [f'>>> [f"{{y:.7g}}" for y in {match[1]}]', repr(values)]


def _docstring(doc):
    """A comment as a docstring, with those of its examples that Python can say."""
    text = [line for line in doc.splitlines() if not re.match(r"  +\S", line)]
    shown = [each for line in doc.splitlines() for each in _example(line)]
    lines = text + ([""] + shown if shown else [])
    body = "\n".join(f"    {line}".rstrip() for line in lines).lstrip().replace("\\", "\\\\")
    return f'    """{body}' + ('\n    """' if len(lines) > 1 else '"""')


def _function(library, bound):
    """The lines of a function around a bound one."""
    function, space = bound.function, bound.function.space
    parameters = [_parameter(library, space, a) for a in bound.positional]
    if bound.keywords:
        parameters += ["*", *(_parameter(library, space, a) for a in bound.keywords)]
    given = [RESERVED.get(a.name, a.name) for a in bound.positional]
    given += [f"{a.name}={RESERVED.get(a.name, a.name)}" for a in bound.keywords]
    result = f"tuple[{', '.join(RESULTS[m.type] for m in bound.record.members)}]" if bound.record else RESULTS[bare(function.result)]
    target = ".".join(["_tn", *space.split("::"), function.name] if space else ["_tn", function.name])
    return ["", f"def {function.name}({', '.join(parameters)}) -> {result}:", _docstring(function.doc),
            f"    return {target}({', '.join(given)})", ""]


def _module(library, space, bounds):
    """The text of a namespace's module: functions of which Python could call no overload by the same name."""
    single = {name: each[0] for name, each in by_name(bounds).items() if len(distinct(each)) == 1}
    lines = [f'"""Functions of {f"tn::{space}" if space else "tn"} by their names in C++. Written by tools/functions/bindings.py."""', "", HEAD]
    for bound in single.values():
        lines += _function(library, bound)
    return "\n".join([*lines, "", f"__all__ = {sorted(single)!r}", ""])


def modules(library, bounds):
    """(file name, text) of the modules of the package tenon._library."""
    yield "__init__.py", '"""The library\'s functions by their names in C++. Written by tools/functions/bindings.py."""\n'
    for space in sorted({b.function.space for b in bounds}):
        yield f"{space.replace('::', '_') or 'tn'}.py", _module(library, space, [b for b in bounds if b.function.space == space])
