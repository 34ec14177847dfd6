"""What the public headers declare: functions of arrays with their parameters, defaults and comments, and the records and
choices that they take and return. The headers are those that tenon/tenon.h includes."""

import dataclasses
import re

from cxxheaderparser.parser import CxxParser
from cxxheaderparser.types import NameSpecifier

from public_headers import ROOT, names, rooms


@dataclasses.dataclass
class Parameter:
    """A parameter of a function or a member of a record; `default` is C++, None where there is none."""

    type: str
    name: str
    default: str | None


@dataclasses.dataclass
class Declared:
    space: str  # the namespace inside tenon, "" for tenon itself
    name: str

    @property
    def cpp(self):
        return f"{self.space}::{self.name}" if self.space else self.name


@dataclasses.dataclass
class Function(Declared):
    result: str
    parameters: list[Parameter]
    doc: str
    header: str


@dataclasses.dataclass
class Class(Declared):
    """A class of its public functions; a `record` is one whose members are public."""

    functions: list[Function]
    record: bool
    header: str


@dataclasses.dataclass
class Object(Declared):
    """A constant of a type: a distribution."""

    type: str
    header: str


@dataclasses.dataclass
class Record:
    space: str
    name: str
    members: list[Parameter]
    header: str


@dataclasses.dataclass
class Choice:
    space: str
    name: str
    names: list[str]
    header: str


@dataclasses.dataclass
class Library:
    functions: list[Function] = dataclasses.field(default_factory=list)
    records: list[Record] = dataclasses.field(default_factory=list)
    choices: list[Choice] = dataclasses.field(default_factory=list)
    templates: list[Function] = dataclasses.field(default_factory=list)
    classes: list[Class] = dataclasses.field(default_factory=list)
    objects: list[Object] = dataclasses.field(default_factory=list)

    def inner(self, kind, space, name):
        """The record or choice that a type's name means in a namespace; None where it is none."""
        around = space.split("::") if space else []
        for depth in range(len(around), -1, -1):
            full = "::".join([*around[:depth], name])
            for each in getattr(self, kind):
                if full == (f"{each.space}::{each.name}" if each.space else each.name):
                    return each
        return None


class _Visitor:
    """Takes what stands in a header; comments are those directly before a declaration or a group of them."""

    def __init__(self, library, header):
        self.library, self.header = library, header
        self.spaces, self.classes, self.functions, self.doc = [], [], [], ""

    def __getattr__(self, name):
        if name.startswith("on_"):
            return lambda *given: None
        raise AttributeError(name)

    def _note(self, doxygen):
        if doxygen:
            self.doc = re.sub(r"^/// ?", "", doxygen, flags=re.M)

    @property
    def _space(self):
        return "::".join(name for name in self.spaces if name)[len("tenon"):].removeprefix("::")

    def on_namespace_start(self, state):
        self.spaces.append("::".join(state.namespace.names))
        return True

    def on_namespace_end(self, state):
        self.spaces.pop()

    def on_class_start(self, state):
        declared = state.class_decl
        self._note(declared.doxygen)
        name = declared.typename.segments[-1]
        bases = [self.library.inner("records", self._space, base.typename.format()) for base in declared.bases]
        members = [dataclasses.replace(m) for base in bases if base for m in base.members]
        self.classes.append(Record(self._space, getattr(name, "name", ""), members, self.header))
        self.functions.append([])
        return True

    def on_class_field(self, state, field):
        if not field.static:
            default = None if field.value is None else field.value.format()
            self.classes[-1].members.append(Parameter(field.type.format(), field.name or "", default))

    def on_class_method(self, state, method):
        if method.constructor:  # what it makes of the members is not said here
            for member in self.classes[-1].members:
                member.default = "{}"
        elif method.access == "public" and not method.destructor:
            within = "::".join(filter(None, [self._space, *(each.name for each in self.classes)]))
            self.functions[-1].append(Function(within, method.name.segments[-1].name, "", [], self.doc, self.header))

    def on_class_end(self, state):
        record, functions, is_struct = self.classes.pop(), self.functions.pop(), state.class_decl.classkey == "struct"
        if not self.classes and is_struct:
            self.library.records.append(record)
        functions = [f for f in functions if f.name == "operator()" or not f.name.startswith("operator")]
        if not self.classes and functions:
            self.library.classes.append(Class(record.space, record.name, functions, is_struct, self.header))

    def on_variable(self, state, variable):
        self.library.objects.append(Object(self._space, variable.name.segments[-1].name, variable.type.format(), self.header))

    def on_enum(self, state, enum):
        self._note(enum.doxygen)
        last = enum.typename.segments[-1]
        if isinstance(last, NameSpecifier) and not self.classes:
            self.library.choices.append(Choice(self._space, last.name, [each.name for each in enum.values], self.header))

    def on_function(self, state, function):
        self._note(function.doxygen)
        name = function.name.segments[-1].name
        if name.startswith("operator") or not self.spaces or not self.spaces[0].startswith("tenon"):
            return
        parameters = [Parameter(p.type.format(), p.name or "", None if p.default is None else p.default.format())
                      for p in function.parameters]
        result = "" if function.return_type is None else function.return_type.format()
        made = Function(self._space, name, result, parameters, self.doc, self.header)
        (self.library.templates if function.template else self.library.functions).append(made)


def _plain(text):
    """A header as the parser takes it: comments as those of documents, a `using` declaration for each name, no macros."""
    text = re.sub(r"^#(?:un)?def(?:.*\\\n)*.*$", "", text, flags=re.M)
    text = re.sub(r"^ *(?:BOOST_DESCRIBE|TENON)_\w+\(.*$", "", text, flags=re.M)
    text = re.sub(r"^using ([^;=]+);", lambda m: " ".join(f"using {name.strip()};" for name in m[1].split(",")), text, flags=re.M)
    return re.sub(r"^(\s*)// ?(?=.)", r"\1/// ", text, flags=re.M)


def read(of=None):
    """What all public headers declare, or these."""
    library = Library()
    for header in names() if of is None else of:
        CxxParser(header, _plain((ROOT / header).read_text()), _Visitor(library, header)).parse()
    return library
