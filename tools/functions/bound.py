"""Which functions of the public headers Python has, and how: the form of each parameter, the names that errors and choices have."""

import re
from typing import NamedTuple

# How errors call what has another name in Python.
CALLED = {"without": "delete", "move_axis": "moveaxis", "unique_all": "unique", "sort_together": "sort", "linspace_and_step": "linspace",
          "ravel_index": "ravel_multi_index", "vector_norm": "norm", "matrix_norm": "norm", "weighted_mean": "average",
          "intersection_and_places": "intersect1d", "dot_product_attention_sums": "dot_product_attention", "permuted": "permutation",
          "chosen": "choice", "largest": "max", "smallest": "min", "amax": "max", "amin": "min", "lu_factor": "lu", "pivoted_qr": "qr",
          "eig_of_both_sides": "eig"}
# Names of choices in Python that are not those in C++.
NAMES = {
    "linalg::MatrixNorm": {"frobenius": "fro", "nuclear": "nuc", "one": "1", "minus_one": "-1", "two": "2", "minus_two": "-2",
                           "infinity": "inf", "minus_infinity": "-inf"},
    "signal::ConvolutionMethod": {"automatic": "auto"},
    "image::ResizeMethod": {"cubic_pytorch": "cubic-pytorch"},
    "nn::initializers::Fan": {"in": "fan_in", "out": "fan_out", "average": "fan_avg", "geometric_average": "fan_geo_avg"},
    "stats::Ties": {"least": "min", "greatest": "max"},
    "ChooseMode": {"refuse": "raise"},
    "Padding": {"valid": "VALID", "same": "SAME", "same_lower": "SAME_LOWER"},
    "WindowReduction": {"sum": "add", "prod": "mul", "bit_and": "and", "bit_or": "or", "bit_xor": "xor"},
    "random::Generator": {"philox4x32": "rbg", "pcg64dxsm": "pcg"},
}
# Namespaces that are none of users.
INTERNAL = ("api_detail", "detail")
# Functions of these namespaces compile themselves: beside tn.debug_nans each is one Program.
COMPILED = ("special",)

# Arguments that Python has a form for (python/src/library_values.h), beside choices and what is made of both; and results. Each
# with its type in Python.
ARGUMENTS = {"Operand": "ArrayLike", "Array": "ArrayLike", "Arrays": "Sequence[ArrayLike]", "MaybeArray": "ArrayLike | None",
             "MaybeShape": "ShapeLike | None", "bool": "builtins.bool", "double": "float", "std::int64_t": "int", "std::string": "str",
             "std::string_view": "str", "DType": "DTypeLike", "Dim": "int", "Shape": "ShapeLike", "Axes": "Axis", "Bins": "Any",
             "BinRange": "Any", "std::function<Array (const Array& segments)>": "Any",
             "std::function<Array (const Array& eigenvalues)>": "Any"}
RESULTS = {"Array": "Array", "Arrays": "list[Array]", "std::vector<Array>": "list[Array]", "std::pair<Array, Array>": "tuple[Array, Array]",
           "bool": "builtins.bool", "std::int64_t": "int", "Dim": "int", "DType": "np.dtype[Any]", "MaybeArray": "Array | None",
           "std::optional<Array>": "Array | None", "std::vector<std::vector<std::int64_t>>": "list[list[int]]"}
# Records that are arguments themselves: a tuple of their members. Those of options are arguments by keyword.
VALUES = ("PadWidth", "ConvolutionAxes", "DotAxes")
SOURCES = ("Source", "Where")  # the user's line, which the module finds itself


class Argument(NamedTuple):
    """What Python gives for a parameter, or for a member of one: `default` is C++, None where it must be given; `source` is the
    parameter's name."""

    name: str
    type: str
    default: str | None
    source: str | None


def bare(type_):
    """A type without `const` and `&`."""
    return type_.removeprefix("const ").removesuffix("&").strip()


def parts(type_):
    """The types in a template of the standard library whose form follows from theirs: none where it is no such template."""
    outer = re.fullmatch(r"std::(?:optional|vector|pair|variant|span)<(?:const )?(.*)>", type_)
    if not outer:
        return []
    inner, depth = [""], 0
    for c in outer[1]:
        depth += {"<": 1, ">": -1}.get(c, 0)
        if c == "," and depth == 0:
            inner.append("")
        else:
            inner[-1] += c
    return [part.strip() for part in inner]


def full_name(each):
    """The name of a record or a choice inside tenon."""
    return f"{each.space}::{each.name}" if each.space else each.name


def python_names(choice):
    """The names of a choice in Python."""
    return [NAMES.get(full_name(choice), {}).get(each, each) for each in choice.names]


class Bound:
    """A function as Python has it: arguments by position and by keyword, and `record`, that of its results, or None. `problem` is
    the type that Python has no form for."""

    def __init__(self, library, function):
        self.library, self.function = library, function
        self.positional, self.keywords, self.problem = [], [], None
        for parameter in function.parameters:
            self._take(parameter)
        result = bare(function.result)
        self.record = None if result in RESULTS else library.inner("records", function.space, result)
        if result not in RESULTS and (self.record is None or any(m.type not in RESULTS for m in self.record.members)):
            self.problem = self.problem or function.result
        names = [argument.name for argument in self.arguments]
        if len(set(names)) < len(names):
            self.problem = self.problem or "two parameters of a name"

    @property
    def arguments(self):
        return self.positional + self.keywords

    @property
    def called(self):
        """What errors call the function."""
        name = CALLED.get(self.function.name, self.function.name)
        return f"random.{name}" if self.function.space.startswith("random") else name

    def _known(self, type_):
        """Whether Python has a form for an argument of this type."""
        if type_ in ARGUMENTS:
            return True
        if parts(type_):
            return all(map(self._known, parts(type_)))
        space = self.function.space
        return self.library.inner("choices", space, type_) is not None or \
            (type_ in VALUES and self.library.inner("records", space, type_) is not None)

    def _take(self, parameter):
        type_ = bare(parameter.type)
        if type_ in SOURCES:
            return
        if type_ == "Axes":
            self.positional.append(Argument("axis", type_, parameter.default, parameter.name))
            self.keywords.append(Argument("keepdims", "bool", "false", None))
        elif self._known(type_):
            self.positional.append(Argument(parameter.name, type_, parameter.default, parameter.name))
        else:
            record = self.library.inner("records", self.function.space, type_)
            members = [] if record is None else record.members
            if not members or any(m.default is None or not self._known(m.type) or m.type == "Axes" for m in members):
                self.problem = self.problem or parameter.type
            else:
                self.keywords += [Argument(m.name, m.type, m.default, parameter.name) for m in members]


def bound_functions(library):
    """Those that Python has a form for, and the others."""
    there, absent = [], []
    for function in library.functions:
        if function.space not in INTERNAL:
            made = Bound(library, function)
            (absent if made.problem else there).append(made)
    return there, absent


def by_name(bounds):
    """Name -> the functions that have it."""
    named = {}
    for bound in bounds:
        named.setdefault(bound.function.name, []).append(bound)
    return named


def distinct(bounds):
    """Functions of one name without those that Python cannot tell from another: `const Array&` and `const Operand&` are alike."""
    seen, kept = set(), []
    for bound in bounds:
        key = tuple("Array" if a.type == "Operand" else a.type for a in bound.positional), tuple(a.name for a in bound.keywords)
        if key not in seen:
            seen.add(key)
            kept.append(bound)
    return kept
