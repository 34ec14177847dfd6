#!/usr/bin/env python3
"""Writes what binds the library's functions to Python, by what the public headers declare: C++ for the module, which makes
tenon._core.tn.SPACE.NAME of tn::SPACE::NAME, and tenon/_library/SPACE.py, Python functions with signatures and docstrings.

    bindings.py FOLDER_OF_CPP FOLDER_OF_PYTHON

A function is bound where Python has a form for all of its types. The members of its options follow its parameters, by keyword;
axes are `axis` and `keepdims`; a choice is its name; a record of results is a tuple. Files that stay as they are are not written.
"""

import pathlib
import re
import sys

import headers

# How errors call what has another name in Python.
CALLED = {"without": "delete", "move_axis": "moveaxis", "unique_all": "unique", "linspace_and_step": "linspace",
          "ravel_index": "ravel_multi_index", "vector_norm": "norm", "matrix_norm": "norm", "weighted_mean": "average",
          "intersection_and_places": "intersect1d", "dot_product_attention_sums": "dot_product_attention", "permuted": "permutation", "chosen": "choice", "lu_factor": "lu", "pivoted_qr": "qr", "eig_of_both_sides": "eig"}
# Names of choices in Python that are not those in C++.
NAMES = {
    "linalg::MatrixNorm": {"frobenius": "fro", "nuclear": "nuc", "one": "1", "minus_one": "-1", "two": "2", "minus_two": "-2",
                           "infinity": "inf", "minus_infinity": "-inf"},
    "signal::ConvolutionMethod": {"automatic": "auto"},
    "image::ResizeMethod": {"cubic_pytorch": "cubic-pytorch"},
    "stats::Ties": {"least": "min", "greatest": "max"},
    "ChooseMode": {"refuse": "raise"},
    "Padding": {"valid": "VALID", "same": "SAME", "same_lower": "SAME_LOWER"},
    "WindowReduction": {"sum": "add", "prod": "mul", "bit_and": "and", "bit_or": "or", "bit_xor": "xor"},
    "random::Generator": {"philox4x32": "rbg", "pcg64dxsm": "pcg"},
}
# Functions of these namespaces compile themselves: beside tn.debug_nans each is one Program.
INTERNAL = ("api_detail", "detail")
COMPILED = ("special",)

PLAIN = {"Operand", "Array", "Arrays", "MaybeArray", "MaybeShape", "bool", "double", "std::int64_t", "std::string", "std::string_view", "DType",
         "Dim", "Shape", "Axes", "std::vector<Dim>", "std::vector<std::int64_t>", "std::span<const Array>", "std::vector<Array>",
         "std::span<const std::int64_t>", "Bins", "BinRange",
         "std::function<Array (const Array& segments)>"}
# Records that are arguments themselves: a tuple of their members.
VALUES = ("PadWidth", "ConvolutionAxes", "DotAxes")
SOURCES = ("Source", "Where")  # the user's line, which the module finds itself
RESULTS = {"Array", "Arrays", "std::vector<Array>", "std::pair<Array, Array>", "bool", "std::int64_t", "Dim", "DType", "std::optional<Array>",
           "MaybeArray"}


def _split(inner):
    """The arguments of a template."""
    parts, depth = [""], 0
    for c in inner:
        depth += {"<": 1, ">": -1}.get(c, 0)
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts]


def bare(type_):
    """A type without `const` and `&`."""
    return type_.removeprefix("const ").removesuffix("&").strip()


class Bound:
    """A function with what each side of its binding needs."""

    def __init__(self, library, function):
        self.library, self.function = library, function
        self.positional, self.keywords, self.problem = [], [], None
        for parameter in function.parameters:
            self._take(parameter)
        result = bare(function.result)
        self.record = None
        if result not in RESULTS:
            self.record = library.inner("records", function.space, result)
            if self.record is None or any(m.type not in RESULTS for m in self.record.members):
                self.problem = self.problem or function.result
        names = [name for name, *_ in self.positional] + [name for name, *_ in self.keywords]
        if len(set(names)) < len(names):
            self.problem = self.problem or "two parameters of a name"

    def _known(self, type_):
        """Whether Python has a form for an argument of this type."""
        outer = re.fullmatch(r"std::(?:optional|vector|pair|variant|span)<(?:const )?(.*)>", type_)
        if outer and type_ not in PLAIN:
            return all(self._known(inner) for inner in _split(outer[1]))
        space = self.function.space
        return type_ in PLAIN or self.library.inner("choices", space, type_) is not None or \
            (type_ in VALUES and self.library.inner("records", space, type_) is not None)

    def _take(self, parameter):
        type_ = bare(parameter.type)
        if type_ in SOURCES:
            return
        if type_ == "Axes":
            self.positional.append(("axis", type_, parameter.default, parameter.name))
            self.keywords.append(("keepdims", "bool", "false", None))
        elif self._known(type_):
            self.positional.append((parameter.name, type_, parameter.default, parameter.name))
        else:
            record = self.library.inner("records", self.function.space, type_)
            members = [] if record is None else record.members
            if not members or any(m.default is None or not self._known(m.type) or m.type == "Axes" for m in members):
                self.problem = self.problem or parameter.type
                return
            self.keywords += [(m.name, m.type, m.default, parameter.name) for m in members]

    @property
    def called(self):
        name = CALLED.get(self.function.name, self.function.name)
        return f"random.{name}" if self.function.space.startswith("random") else name


def bound_functions(library):
    """Those that Python has a form for, and for the others what it has none for."""
    there, absent = [], []
    for function in library.functions:
        if function.space in INTERNAL:
            continue
        made = Bound(library, function)
        (absent if made.problem else there).append(made)
    return there, absent


# --- C++ ---

def _variable(name):
    return f"the_{name}"


def _order(bound):
    """Functions of one name in the order in which they are tried: numbers and lists of them before arrays."""
    loose = [type_ in ("Operand", "Array") for _, type_, _, _ in bound.positional]
    return loose, len(bound.keywords)


def _definition(bound, differing):
    """The call of module.def of a function; `differing` are the positions in which others of its name have other types."""
    function = bound.function
    space = f"tenon::{function.space}" if function.space else "tenon"
    given = [name for name, *_ in bound.positional] + [name for name, *_ in bound.keywords]
    lines = [f'  module.def("{function.name}", []({", ".join(f"nb::handle {name}" for name in given)}) {{']
    for i in differing:
        name, type_, *_ = bound.positional[i]
        lines.append(f"    require_fits<{type_}>({name});")
    lines.append(f'    constexpr const char* called_as = "{bound.called}";')
    axes = next((source for name, type_, _, source in bound.positional if type_ == "Axes"), None)
    passed = {}
    for name, type_, default, source in bound.positional:
        if type_ == "Axes":
            lines.append(f"    const Axes {_variable(source)} = axes_from(axis, !keepdims.is_none() && "
                         "Argument<bool>::taken({called_as, \"keepdims\"}, keepdims));")
            passed[source] = _variable(source)
            continue
        value = f'taken<{type_}>({{called_as, "{name}"}}, {name})'
        if default is not None and not re.fullmatch(r"std::optional<.*>|Maybe\w+", type_):
            otherwise = f"Kept<{type_}>{{}}" if default == "{}" else f"Kept<{type_}>({default})"
            value = f"{name}.is_none() ? {otherwise} : {value}"
        lines.append(f"    const Kept<{type_}> {_variable(name)} = {value};")
        passed[source] = f"passed<{type_}>({_variable(name)})"
    for parameter in function.parameters:
        record = bare(parameter.type)
        if parameter.name in passed or record in SOURCES:
            continue
        lines.append(f"    {record} {_variable(parameter.name)};")
        for name, _, _, source in bound.keywords:
            if source == parameter.name:
                lines.append(f'    set({_variable(source)}.{name}, {{called_as, "{name}"}}, {name});')
        passed[parameter.name] = _variable(parameter.name)
    arguments = ["Source()" if bare(p.type) in SOURCES else passed[p.name] for p in function.parameters]
    operands = [name for name, type_, *_ in bound.positional if type_ == "Operand"]
    if function.space in COMPILED and operands and len(operands) == len([t for _, t, *_ in bound.positional if "Array" in t or t == "Operand"]):
        for i, name in enumerate(operands):
            arguments = [a.replace(f"passed<Operand>({_variable(name)})", f"op(in[{i}])") for a in arguments]
        run = (f"called(called_as, [&](const Arrays& in) {{ return {space}::{function.name}({', '.join(arguments)}); }}, "
               f"{{{', '.join(_variable(name) for name in operands)}}})")
    else:
        run = f"call_op(called_as, [&] {{ return {space}::{function.name}({', '.join(arguments)}); }})"
    if bound.record:
        lines.append(f"    const {bare(function.result)} made = {run};")
        lines.append(f"    return tuple_of({', '.join(f'made.{m.name}' for m in bound.record.members)});")
    else:
        lines.append(f"    return object_of({run});")
    annotations = [f'nb::arg("{name}")' + (" = nb::none()" if default is not None else "") for name, _, default, _ in bound.positional]
    if bound.keywords:
        annotations.append("nb::kw_only()")
        annotations += [f'nb::arg("{name}") = nb::none()' for name, *_ in bound.keywords]
    lines.append("  }" + "".join(f", {a}" for a in annotations) + ");")
    del axes
    return lines


def _differing(bound, others):
    """The positions of a function's parameters at which another of its name and number of parameters has another type."""
    places = set()
    for other in others:
        if other is not bound and len(other.positional) == len(bound.positional):
            places |= {i for i, (mine, its) in enumerate(zip(bound.positional, other.positional)) if mine[1] != its[1]}
    return sorted(places)


def _distinct(bounds):
    """Functions without those that Python cannot tell from another: the same parameters, as `const Array&` and `const Operand&`."""
    seen, kept = set(), []
    for bound in bounds:
        key = tuple("Array" if t == "Operand" else t for _, t, *_ in bound.positional), tuple(n for n, *_ in bound.keywords)
        if key not in seen:
            seen.add(key)
            kept.append(bound)
    return kept


def stem(header):
    return header.removeprefix("tenon/").removesuffix(".h").replace("/", "_")


def definitions(library, header, bounds):
    """The file of the functions of one header."""
    lines = [f"// The functions of {header} in Python. Written by tools/functions/bindings.py.", f'#include "{header}"', "",
             '#include "library.h"', '#include "library_values.h"', "", "namespace tenon::python {", "", *_values(library, bounds)]
    spaces = sorted({b.function.space for b in bounds})
    for space in spaces:
        lines += ["namespace {", f"void add_{stem(header)}_{space.replace('::', '_') or 'tn'}(nb::module_ module) {{"]
        around = space.split("::") if space else []
        lines += [f"  using namespace tenon::{'::'.join(around[:depth])};" for depth in range(1, len(around) + 1)]
        named = {}
        for bound in bounds:
            if bound.function.space == space:
                named.setdefault(bound.function.name, []).append(bound)
        for each in named.values():
            each = _distinct(sorted(each, key=_order))
            for bound in each:
                lines += _definition(bound, _differing(bound, each))
        lines += ["}", "}  // namespace", ""]
    lines.append(f"void add_{stem(header)}(nb::module_& module) {{")
    for space in spaces:
        lines.append(f"  add_{stem(header)}_{space.replace('::', '_') or 'tn'}(space_of(module, \"{space}\"));")
    if not spaces:
        lines.append("  static_cast<void>(module);")
    lines += ["}", "", "}  // namespace tenon::python", ""]
    return "\n".join(lines)


def _values(library, bounds):
    """The lines that say how choices and records among the arguments of functions are taken."""
    types = {}
    for bound in bounds:
        for _, type_, *_ in bound.positional + bound.keywords:
            for word in re.findall(r"[\w:]+", type_):
                for kind in ("choices", "records"):
                    each = library.inner(kind, bound.function.space, word)
                    if each and (kind == "choices" or each.name in VALUES):
                        types[f"tenon::{each.space}::{each.name}" if each.space else f"tenon::{each.name}"] = each
    lines = []
    for name, each in types.items():
        lines.append("template <>")
        if hasattr(each, "names"):
            entries = ", ".join(f'{{"{said}", {name}::{one}}}' for one, said in zip(each.names, python_names(each)))
            lines += [f"struct Choices<{name}> {{", f"  static constexpr Named<{name}> all[] = {{{entries}}};", "};"]
        else:
            members = ", ".join(f"python::taken<{m.type}>(asked, given[{i}])" for i, m in enumerate(each.members))
            lines += [f"struct Argument<{name}> : Same<{name}> {{", f"  static {name} taken(const Asked& asked, nb::handle given) {{",
                      f"    require_members(asked, given, {len(each.members)});", f"    return {{{members}}};", "  }", "};"]
    return lines


def entry(used):
    """The file that adds all of them."""
    lines = ["// The library's functions in Python. Written by tools/functions/bindings.py.", '#include "library.h"', "",
             "namespace tenon::python {", "", *[f"void add_{stem(header)}(nb::module_& module);" for header in used], "",
             "void add_library(nb::module_& parent) {", '  nb::module_ module = parent.def_submodule("tn");',
             *[f"  add_{stem(header)}(module);" for header in used], "}", "", "}  // namespace tenon::python", ""]
    return "\n".join(lines)


# --- Python ---

def python_default(library, bound, type_, default):
    """A default of C++ as Python says it."""
    if default in ("{}", None) or default == "std::nullopt":
        return "None"
    if default in ("true", "false"):
        return default.capitalize()
    match = re.fullmatch(r"(?:\w+::)*(\w+)::(\w+)", default)
    if match and match[1] == "DType":
        return f'"{DTYPES[match[2]]}"'
    choice = match and library.inner("choices", bound.function.space, type_)
    if choice:
        return repr(dict(zip(choice.names, python_names(choice)))[match[2]])
    return default.rstrip("f") if re.fullmatch(r"-?[\d.]+(e-?\d+)?f?", default) else "None"


DTYPES = {"f32": "float32", "f64": "float64", "i32": "int32", "i64": "int64", "u8": "uint8", "u32": "uint32", "u64": "uint64", "bool_": "bool",
          "i8": "int8", "c64": "complex64", "c128": "complex128"}
RESERVED = {"lambda": "lambda_", "from": "from_"}  # words of Python's


# An example of a comment: a call of numbers, and what it gives, behind the last = where there is one.
EXAMPLE = re.compile(r"^ +(?:\w+::)*(\w+\([-\d., e]*\)) +// (?:.*= )?(.*)$")
NUMBER = re.compile(r"[-+]?[\d.]+(?:e[-+]?\d+)?(?: [-+] [\d.]+i)?")


def example(line):
    """The lines of an example for Python, whose tests run it; none of what is no call of numbers."""
    match = EXAMPLE.match(line)
    values = match and match[2].split(", ")
    if not values or not all(NUMBER.fullmatch(value) for value in values):
        return []
    values = [value.replace(" ", "").replace("i", "j") for value in values]
    if len(values) == 1:
        return [f'>>> f"{{{match[1]}:.7g}}"', repr(values[0])]
    return [f'>>> [f"{{y:.7g}}" for y in {match[1]}]', repr(values)]


def docstring(doc):
    """A comment as a docstring, with those of its examples that Python can say."""
    text = [line for line in doc.splitlines() if not re.match(r"  +\S", line)]
    shown = [each for line in doc.splitlines() for each in example(line)]
    lines = text + ([""] + shown if shown else [])
    body = "\n".join(f"    {line}".rstrip() for line in lines).lstrip().replace("\\", "\\\\")
    return f'    """{body}' + ('\n    """' if len(lines) > 1 else '"""')


ANNOTATIONS = {"Operand": "ArrayLike", "Array": "ArrayLike", "Arrays": "Sequence[ArrayLike]", "MaybeArray": "ArrayLike | None",
               "MaybeShape": "ShapeLike | None", "bool": "builtins.bool", "double": "float", "std::int64_t": "int", "std::string": "str",
               "std::string_view": "str", "DType": "DTypeLike", "Dim": "int", "Shape": "ShapeLike", "Axes": "Axis"}
ANNOTATED_RESULTS = {"Array": "Array", "Arrays": "list[Array]", "std::vector<Array>": "list[Array]", "bool": "builtins.bool",
                     "std::pair<Array, Array>": "tuple[Array, Array]", "std::int64_t": "int", "Dim": "int",
                     "DType": "np.dtype[Any]", "MaybeArray": "Array | None", "std::optional<Array>": "Array | None"}


def annotation(library, space, type_):
    """The type of an argument for Python."""
    if type_ in ANNOTATIONS:
        return ANNOTATIONS[type_]
    outer = re.fullmatch(r"std::(optional|vector|span)<(?:const )?(.*)>", type_)
    if outer:
        inner = annotation(library, space, outer[2])
        return f"{inner} | None" if outer[1] == "optional" else f"Sequence[{inner}]"
    choice = library.inner("choices", space, type_)
    return f"Literal[{', '.join(map(repr, python_names(choice)))}]" if choice else "Any"


def python_names(choice):
    """The names of a choice in Python."""
    full = f"{choice.space}::{choice.name}" if choice.space else choice.name
    return [NAMES.get(full, {}).get(each, each) for each in choice.names]


def python_function(library, bound):
    """A function of Python's around a bound one."""
    function = bound.function

    def parameter(name, type_, default):
        said = annotation(library, function.space, type_)
        value = None if default is None else python_default(library, bound, type_, default)
        if value == "None" and not said.endswith(("| None", "Any", "Axis")):
            said += " | None"
        return f"{RESERVED.get(name, name)}: {said}" + ("" if value is None else f" = {value}")

    parameters = [parameter(n, t, d) for n, t, d, _ in bound.positional]
    keywords = [parameter(n, t, d) for n, t, d, _ in bound.keywords]
    given = [RESERVED.get(n, n) for n, *_ in bound.positional] + [f"{n}={RESERVED.get(n, n)}" for n, *_ in bound.keywords]
    signature = ", ".join(parameters + (["*"] + keywords if keywords else []))
    members = bound.record and ", ".join(ANNOTATED_RESULTS[m.type] for m in bound.record.members)
    result = f"tuple[{members}]" if members else ANNOTATED_RESULTS[bare(function.result)]
    target = f"_tn.{function.space.replace('::', '.')}.{function.name}" if function.space else f"_tn.{function.name}"
    return [f"def {function.name}({signature}) -> {result}:", docstring(function.doc), f"    return {target}({', '.join(given)})", "", ""]


def python_module(library, space, bounds):
    """The module of a namespace: functions that have no overload which Python could call by the same name."""
    lines = [f'"""Functions of {f"tn::{space}" if space else "tn"} by their names in C++. Written by tools/functions/bindings.py."""',
             "", "from __future__ import annotations", "", "import builtins", "from typing import TYPE_CHECKING, Any, Literal", "",
             "from tenon._core import tn as _tn", "", "if TYPE_CHECKING:", "    from collections.abc import Sequence", "", "    import numpy as np", "",
             "    from tenon._core import Array, ArrayLike, Axis, DTypeLike, ShapeLike", "", ""]
    named = {}
    for bound in bounds:
        named.setdefault(bound.function.name, []).append(bound)
    single = {name: each[0] for name, each in named.items() if len(_distinct(each)) == 1}
    for bound in single.values():
        lines += python_function(library, bound)
    lines += [f"__all__ = {sorted(single)!r}", ""]
    return "\n".join(lines)


def write(path, text):
    """Writes a file unless it has this text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main():
    cpp, python = map(pathlib.Path, sys.argv[1:])
    library = headers.read()
    there, _ = bound_functions(library)
    used = headers.names()
    for header in used:
        write(cpp / f"library_{stem(header)}.cpp", definitions(library, header, [b for b in there if b.function.header == header]))
    write(cpp / "library_entry.cpp", entry(used))
    spaces = {}
    for bound in there:
        spaces.setdefault(bound.function.space, []).append(bound)
    write(python / "__init__.py", '"""The library\'s functions by their names in C++. Written by tools/functions/bindings.py."""\n')
    for space, bounds in spaces.items():
        write(python / f"{space.replace('::', '_') or 'tn'}.py", python_module(library, space, bounds))


if __name__ == "__main__":
    main()
