#!/usr/bin/env python3
"""Writes what binds the library's functions to Python, by what the public headers declare: C++ for the module, which makes
tenon._core.tn.SPACE.NAME of tn::SPACE::NAME, and tenon/_library/SPACE.py, Python functions with signatures and docstrings.

    bindings.py FOLDER_OF_CPP FOLDER_OF_PYTHON

A function is bound where Python has a form for all of its types. The members of its options follow its parameters, by keyword;
axes are `axis` and `keepdims`; a choice is its name; a record of results is a tuple. A file that has its text is not written.
"""

import pathlib
import re
import sys

import headers
import python_functions
from bound import COMPILED, SOURCES, VALUES, bare, bound_functions, by_name, distinct, full_name, python_names


def _kept(name):
    """The variable of an argument that C++ has taken."""
    return f"the_{name}"


def _taken(argument):
    """(the line that takes an argument from Python, how it is passed on)."""
    name, type_, default, source = argument
    if type_ == "Axes":
        keeps = '!keepdims.is_none() && Argument<bool>::taken({called_as, "keepdims"}, keepdims)'
        return f"    const Axes {_kept(source)} = axes_from(axis, {keeps});", _kept(source)
    value = f'taken<{type_}>({{called_as, "{name}"}}, {name})'
    if default is not None and not re.fullmatch(r"std::optional<.*>|Maybe\w+", type_):
        otherwise = f"Kept<{type_}>{{}}" if default == "{}" else f"Kept<{type_}>({default})"
        value = f"{name}.is_none() ? {otherwise} : {value}"
    return f"    const Kept<{type_}> {_kept(name)} = {value};", f"passed<{type_}>({_kept(name)})"


def _options(parameter, keywords):
    """The lines that make a record of options."""
    return [f"    {bare(parameter.type)} {_kept(parameter.name)};",
            *(f'    set({_kept(parameter.name)}.{a.name}, {{called_as, "{a.name}"}}, {a.name});'
              for a in keywords if a.source == parameter.name)]


def _call(bound, passed):
    """The expression that runs a function; `passed` maps its parameters to what they are given."""
    function = bound.function
    arguments = ["Source()" if bare(p.type) in SOURCES else passed[p.name] for p in function.parameters]
    space = f"tenon::{function.space}" if function.space else "tenon"
    operands = [a.name for a in bound.positional if a.type == "Operand"]
    if function.space not in COMPILED or not operands:
        call = "call_transformation" if any("std::function" in a.type for a in bound.arguments) else "call_op"
        return f"{call}(called_as, [&] {{ return {space}::{function.name}({', '.join(arguments)}); }})"
    for i, name in enumerate(operands):
        arguments = [f"op(in[{i}])" if a == f"passed<Operand>({_kept(name)})" else a for a in arguments]
    return (f"called(called_as, [&](const Arrays& in) {{ return {space}::{function.name}({', '.join(arguments)}); }}, "
            f"{{{', '.join(map(_kept, operands))}}})")


def _definition(bound, differing):
    """The call of module.def of a function; `differing` are the arguments in which others of its name have other types."""
    function = bound.function
    lines = [f'  module.def("{function.name}", []({", ".join(f"nb::handle {a.name}" for a in bound.arguments)}) {{',
             *(f"    require_fits<{a.type}>({a.name});" for a in differing),
             f'    constexpr const char* called_as = "{bound.called}";']
    passed = {}
    for argument in bound.positional:
        line, passed[argument.source] = _taken(argument)
        lines.append(line)
    for parameter in function.parameters:
        if parameter.name not in passed and bare(parameter.type) not in SOURCES:
            lines += _options(parameter, bound.keywords)
            passed[parameter.name] = _kept(parameter.name)
    run = _call(bound, passed)
    if bound.record:
        lines += [f"    const {bare(function.result)} made = {run};",
                  f"    return tuple_of({', '.join(f'made.{m.name}' for m in bound.record.members)});"]
    else:
        lines.append(f"    return object_of({run});")
    named = [f'nb::arg("{a.name}")' + ("" if a.default is None else " = nb::none()") for a in bound.positional]
    if bound.keywords:
        named += ["nb::kw_only()", *(f'nb::arg("{a.name}") = nb::none()' for a in bound.keywords)]
    return [*lines, "  }" + "".join(f", {each}" for each in named) + ");"]


def _order(bound):
    """Functions of one name in the order in which they are tried: numbers and lists of them before arrays."""
    return [a.type in ("Operand", "Array") for a in bound.positional], len(bound.keywords)


def _differing(bound, others):
    """The arguments for which another function of this name and number of arguments has another type."""
    alike = [other for other in others if other is not bound and len(other.positional) == len(bound.positional)]
    return [a for i, a in enumerate(bound.positional) if any(other.positional[i].type != a.type for other in alike)]


def stem(header):
    """What a header's bindings are called by."""
    return header.removeprefix("tenon/").removesuffix(".h").replace("/", "_")


def _adder(header, space):
    return f"add_{stem(header)}_{space.replace('::', '_') or 'tn'}"


def _is_taken(each):
    """Whether a record or a choice is an argument by itself."""
    return hasattr(each, "names") or each.name in VALUES


def choices(library, header):
    """The header that says how the choices and records of one header are taken."""
    lines = [f"// How Python gives the choices of {header}. Written by tools/functions/bindings.py.", "#pragma once", "",
             f'#include "{header}"', "", '#include "library_values.h"', "", "namespace tenon::python {", ""]
    for each in filter(_is_taken, library.choices + library.records):
        if each.header != header:
            continue
        name = f"tenon::{full_name(each)}"
        lines.append("template <>")
        if hasattr(each, "names"):
            entries = ", ".join(f'{{"{said}", {name}::{one}}}' for one, said in zip(each.names, python_names(each)))
            lines += [f"struct Choices<{name}> {{", f"  static constexpr Named<{name}> all[] = {{{entries}}};", "};"]
        else:
            members = ", ".join(f"python::taken<{m.type}>(asked, given[{i}])" for i, m in enumerate(each.members))
            lines += [f"struct Argument<{name}> : Same<{name}> {{", f"  static {name} taken(const Asked& asked, nb::handle given) {{",
                      f"    require_members(asked, given, {len(each.members)});", f"    return {{{members}}};", "  }", "};"]
    return "\n".join([*lines, "", "}  // namespace tenon::python", ""])


def _choices_of(library, bounds):
    """The headers of the choices and records among the arguments of functions."""
    found = (library.inner(kind, bound.function.space, word) for bound in bounds for argument in bound.arguments
             for word in re.findall(r"[\w:]+", argument.type) for kind in ("choices", "records"))
    return sorted({each.header for each in found if each and _is_taken(each)})


def definitions(library, header, bounds):
    """The file of the functions of one header."""
    lines = [f"// The functions of {header} in Python. Written by tools/functions/bindings.py.", f'#include "{header}"', "",
             '#include "library.h"', '#include "library_values.h"',
             *(f'#include "choices_{stem(each)}.h"' for each in _choices_of(library, bounds)), "", "namespace tenon::python {", ""]
    spaces = sorted({b.function.space for b in bounds})
    for space in spaces:
        around = space.split("::") if space else []
        lines += ["namespace {", f"void {_adder(header, space)}(nb::module_ module) {{",
                  *(f"  using namespace tenon::{'::'.join(around[:depth])};" for depth in range(1, len(around) + 1))]
        for each in by_name(b for b in bounds if b.function.space == space).values():
            each = distinct(sorted(each, key=_order))
            for bound in each:
                lines += _definition(bound, _differing(bound, each))
        lines += ["}", "}  // namespace", ""]
    lines += [f"void add_{stem(header)}({'nb::module_& module' if spaces else 'nb::module_&'}) {{",
              *(f'  {_adder(header, space)}(space_of(module, "{space}"));' for space in spaces), "}", "", "}  // namespace tenon::python", ""]
    return "\n".join(lines)


def entry(used):
    """The file that adds the functions of all headers."""
    lines = ["// The library's functions in Python. Written by tools/functions/bindings.py.", '#include "library.h"', "",
             "namespace tenon::python {", "", *[f"void add_{stem(header)}(nb::module_& module);" for header in used], "",
             "void add_library(nb::module_& parent) {", '  nb::module_ module = parent.def_submodule("tn");',
             *[f"  add_{stem(header)}(module);" for header in used], "}", "", "}  // namespace tenon::python", ""]
    return "\n".join(lines)


def write(path, text):
    """Writes a file unless it has this text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main():
    cpp, python = map(pathlib.Path, sys.argv[1:])
    library, used = headers.read(), headers.names()
    there, _ = bound_functions(library)
    for header in used:
        write(cpp / f"choices_{stem(header)}.h", choices(library, header))
        write(cpp / f"library_{stem(header)}.cpp", definitions(library, header, [b for b in there if b.function.header == header]))
    write(cpp / "library_entry.cpp", entry(used))
    for name, text in python_functions.modules(library, there):
        write(python / name, text)


if __name__ == "__main__":
    main()
