#!/usr/bin/env python3
"""Writes docs/functions.md: each function of the public headers by its name in C++, its names in Python, and what tests compare
it with. Needs tenon and the parser of headers. With --check it compares instead.

A Python function has the name of a C++ function where it is the same one, where it calls it, or where a table here says so; a
test covers a name that it uses. A function without a name or a test is an error.
"""

import argparse
import collections
import importlib
import inspect
import re
import sys

import headers

ROOT = headers.ROOT
DOCUMENT = ROOT / "docs/functions.md"
# Python's modules of public functions.
MODULES = ("", "numpy", "numpy.linalg", "numpy.fft", "linalg", "lax", "lax.linalg", "nn", "nn.initializers", "random", "image", "optim", "scipy.special",
           "scipy.linalg", "scipy.fft", "scipy.signal", "scipy.ndimage", "scipy.interpolate", "scipy.stats", "scipy.cluster.vq",
           "scipy.sparse.linalg", "scipy.integrate", "scipy.optimize", "scipy.spatial.transform", "files", "debug", "ref")
# In which of them a function of a namespace is looked for by its own name, the first first.
HOMES = {"": ("numpy", "lax", "nn", ""), "linalg": ("numpy.linalg", "linalg", "lax.linalg", "scipy.linalg"), "fft": ("numpy.fft", "scipy.fft"),
         "special": ("scipy.special",), "nn": ("nn",), "nn::initializers": ("nn.initializers",), "random": ("random",), "image": ("image",),
         "optim": ("optim",), "signal": ("scipy.signal",), "ndimage": ("scipy.ndimage",), "interpolate": ("scipy.interpolate", "numpy"),
         "stats": ("scipy.stats",), "cluster": ("scipy.cluster.vq",), "order": ("numpy",), "spatial": ("scipy.spatial.transform",)}
# What tests call a module, where that is not the last part of its name.
CALLED = {"": ("tn",), "numpy": ("tnp", "np", "numpy")}
# What the tests of a file compare with.
AGAINST = {
    "numpy_calls.py": "NumPy", "shape_calls.py": "NumPy", "lax_calls.py": "NumPy", "test_numpy.py": "NumPy", "test_numpy_names.py": "NumPy",
    "test_numpy_edges.py": "NumPy", "test_fft.py": "NumPy", "test_linalg.py": "NumPy", "test_bits.py": "NumPy", "test_narrow_products.py": "NumPy",
    "test_attention.py": "NumPy", "test_spectra.py": "SciPy", "test_scipy.py": "SciPy", "test_stats.py": "SciPy", "test_kde.py": "SciPy",
    "test_signal_functions.py": "SciPy", "test_fields.py": "SciPy", "test_extremes.py": "mpmath", "test_gamma.py": "known values",
    "test_incomplete.py": "values to 40 digits", "test_loops.py": "loops and branches of Python's",
    "test_random.py": "distribution functions", "test_convolution.py": "sums as written",
    "test_windows.py": "sums as written", "test_slices.py": "loops", "test_solvers.py": "closed forms", "test_collectives.py": "JAX",
    "test_agreement.py": "JAX", "test_foreign_primitives.py": "JAX", "test_rest.py": "known values", "test_nn.py": "known values",
    "test_complex_functions.py": "NumPy", "test_complex.py": "known values", "test_transforms.py": "formulas and loops",
    "test_custom_rules.py": "formulas", "test_policies.py": "gradients without checkpoints", "test_jit.py": "known values", "test_lists.py": "Python's lists",
    "test_refs.py": "NumPy", "test_ref_states.py": "known values", "test_placement.py": "known values",
}
# Tests of a namespace alone: of others' functions they say what stands behind the name of its module.
OF_ONE = {"test_random.py", "test_linalg.py", "test_spectra.py", "test_stats.py", "test_fft.py", "test_signal_functions.py", "test_kde.py"}
# Where the names of a namespace are those of others, too, its tests alone count; those of some headers are here, too.
TESTED = {**dict.fromkeys(("tenon/api/grad.h", "tenon/api/jacobian.h", "tenon/api/tangents.h", "tenon/api/vmap.h", "tenon/api/custom.h"),
                          ("test_transforms.py", "test_custom_rules.py", "test_policies.py", "lax_calls.py")),
          "tenon/api/jit.h": ("test_jit.py", "test_transforms.py"), "tenon/api/list.h": ("test_lists.py",),
          "tenon/api/ref.h": ("test_refs.py", "test_ref_states.py"),
          "tenon/api/placement.h": ("test_placement.py",), "tenon/api/residuals.h": ("test_policies.py", "test_transforms.py", "test_rest.py"),
          "random": ("test_random.py", "test_rest.py", "test_numpy_edges.py"), "optim": ("test_rest.py",), "image": ("test_fields.py",),
          "special": ("test_stats.py", "test_gamma.py", "test_incomplete.py", "test_extremes.py", "test_numpy_names.py"),
          "signal": ("test_signal_functions.py",), "stats": ("test_stats.py", "test_kde.py"), "nn": ("lax_calls.py", "test_nn.py"),
          "nn::initializers": ("test_nn.py", "test_rest.py"), "fft": ("test_fft.py", "test_signal_functions.py"),
          "linalg": ("test_linalg.py", "test_spectra.py", "test_scipy.py", "test_solvers.py", "test_foreign_primitives.py"), "cluster": ("test_fields.py",),
          "ndimage": ("test_fields.py",), "interpolate": ("test_fields.py", "numpy_calls.py"), "spatial": ("test_fields.py",)}


def public_names():
    """Name -> what has it, of all public modules."""
    names = {}
    for module in MODULES:
        imported = importlib.import_module(f"tenon.{module}".rstrip("."))
        for name in getattr(imported, "__all__", None) or dir(imported):
            value = getattr(imported, name)
            if callable(value) and not name.startswith("_"):
                names[f"{module}.{name}".lstrip(".")] = value
    return names


def is_module(name):
    """Whether the package has a public module of this name, as a distribution is one."""
    home, _, last = name.rpartition(".")
    return home in MODULES and inspect.ismodule(getattr(importlib.import_module(f"tenon.{home}".rstrip(".")), last, None))


def called_by(value):
    """The functions of _core.tn that a Python function's text names, and those that stand beside it in its module."""
    try:
        text = inspect.getsource(inspect.unwrap(value))
    except (TypeError, OSError):
        return set()
    return set(re.findall(r"\b_core\.tn\.((?:\w+\.)*\w+)", text)) | {f"random.{n}" for n in re.findall(r"\b_random\.(\w+)\b", text)} | \
        {f"nn.{n}" for n in re.findall(r"\b_nn\.(\w+)\b", text)}


def python_names(functions):
    """Name of a C++ function, class or object -> the names that Python's have that are it."""
    names = public_names()
    found = collections.defaultdict(list, {key: [name] if isinstance(name, str) else list(name) for key, name in BESIDE.items()})
    for full, value in names.items():
        module = getattr(value, "__module__", "") or ""
        keys = [f"{path.replace('.', '::')}" for path in called_by(value)]
        if module.startswith("tenon._library."):
            space = module.rsplit(".", 1)[1]
            keys.append(value.__name__ if space == "tn" else f"{space}::{value.__name__}")
        for key in keys:
            if key not in BESIDE:
                found[key].append(full)
    for function in functions:
        if not found[function.cpp]:
            candidates = [f"{home}.{function.name}".lstrip(".") for home in HOMES.get(function.space, ())]
            found[function.cpp] = [name for name in candidates if name in names or is_module(name)][:1]
    return found


# Functions that the bindings do not know, as they take functions, files or structures: what does the same in Python.
BESIDE = {
    "optim::scale_by_learning_rate": "optim.sgd", "optim::minimize": "scipy.optimize.minimize", "odeint": "scipy.integrate.odeint", "odeint_end": "experimental.ode.odeint_end", "linalg::cg": "scipy.sparse.linalg.cg",
    "linalg::bicgstab": "scipy.sparse.linalg.bicgstab", "linalg::gmres": "scipy.sparse.linalg.gmres", "switch_case": "lax.switch",
    **dict.fromkeys(("select_and_scatter", "select_and_scatter_add", "select_and_gather_add"), "from_jax"),
    "associative_scan": "lax.associative_scan", "take": "numpy.take",
    "take_along_axis": "numpy.take_along_axis", "index": "Array.__getitem__", "host_call": "pure_callback", "debug_print": "debug.print",
    "explain": "explain", "hoist_reductions": "hoist_reductions", "make_ref": "new_ref", "borrow": "numpy.asarray", "from": "numpy.asarray",
    "copy_of": "numpy.array", "to_dlpack": "Array.__dlpack__", "from_dlpack": "numpy.from_dlpack", "save": "files.save", "load": "files.load",
    "zeros_like": "numpy.zeros_like", "ones_like": "numpy.ones_like", "lowest": "numpy.finfo", "highest": "numpy.finfo",
    "list_rules": "list_rules", "library_rule": "library_rule", "rule": "rule", "update_at": "Array.at", "elements": "Array.tolist",
    "histogram2d": "numpy.histogram2d", "convolution_axes": "lax.conv_dimension_numbers", "stddev": "numpy.std", "amax": "numpy.max",
    "amin": "numpy.min", "is_nan": "numpy.isnan", "is_inf": "numpy.isinf", "is_finite": "numpy.isfinite", "max": ("numpy.max", "numpy.maximum"),
    "min": ("numpy.min", "numpy.minimum"), "convert": "lax.convert_element_type", "bitcast": "lax.bitcast_convert_type", "popcount": "lax.population_count",
    "countl_zero": "lax.clz", "mulhi": "lax.mulhi", "ravel_pytree": "flatten_util.ravel_pytree", "custom_vmap": "custom_batching.custom_vmap", "sign_bit": "numpy.signbit", "is_close": "numpy.isclose", "norm": "numpy.linalg.norm",
    "order::largest": "numpy.max", "order::smallest": "numpy.min", "shift_left": "numpy.left_shift", "shift_right": "numpy.right_shift",
    "scatter_set": "Array.at", "stats::distribution": "scipy.stats", "asin": "numpy.arcsin", "acos": "numpy.arccos", "atan": "numpy.arctan",
    "atan2": "numpy.arctan2", "asinh": "numpy.arcsinh", "acosh": "numpy.arccosh", "atanh": "numpy.arctanh", "signal::hann": "scipy.signal.welch",
    "remainder": "numpy.remainder", "trace": "make_program", "Jitted": "jit", "List": "List", "Ref": "Ref", "RefPart": "Ref.at",
    "IndexedUpdate": "Array.at", "SavedResiduals": "saved_residuals", "stats::GaussianKde": "scipy.stats.gaussian_kde",
    "stats::GaussianKde::init": "scipy.stats.gaussian_kde", "stats::GaussianKde::pdf": "scipy.stats.gaussian_kde.evaluate",
    "binomial": "binomial", "load_table": "numpy.loadtxt of NumPy", "save_table": "numpy.savetxt of NumPy",
}
# What the library's own headers need of each other.
HELPERS = set("""times_i words_of row_at stop_unless slice_inside in_a_row starts_of_runs index_dtype along_axis require_at_most
    first_in_order in_order summed_in gather_at scatter_at host_function host_sizes is_host_call is_all_gather numerics_here
    widened window size_as_array array_as_size array_as_bound add_batch_axis apply_updates_flat decaying_mean decaying_mean_of_squares decaying_sum adam_step lion_step over_root clipping_factor scaled when
    effective_number bandwidth_of""".split())
# Classes that C++ alone has: what arguments are made of, and what is returned for a while.
ALONE = set("""BatchedTree Raveled Unravel Elements Bins Initializer LearningRate Prepared UnderContext AxisTree NamedAxis IndexPart Axes All Jacobian""".split())
# Public headers without rows, and why.
WITHOUT = {"tenon/api/std_functions.h": "what std::sin(x) says of arrays", "tenon/api/numerics.h": "an object while which traces are strict"}


def words_of(text):
    """(what stands in front of it with a dot, name) of all names in a text."""
    paths = re.findall(r"\w+(?:\.\w+)*", text)
    return {pair for path in paths for pair in zip(["", *path.split(".")], path.split("."))}


# What tests call modules.
_ALIASES = {module: CALLED.get(module, (module.rsplit(".", 1)[-1],)) for module in MODULES}


def said(name, words, alone):
    """Whether a text says a name: behind the name of its module, or, with `alone`, behind nothing that another module is called. A
    call of an object is said by its class."""
    module, _, last = name.removesuffix(".__call__").rpartition(".")
    own = set(_ALIASES.get(module, ()))
    of_others = {alias for aliases in _ALIASES.values() for alias in aliases} - own
    return any(word == last and (before in own or (alone and before not in of_others)) for before, word in words)


class Tests:
    """The words of the tests: which file uses a name."""

    def __init__(self):
        texts = {p.name: p.read_text() for p in sorted((ROOT / "python/tests").glob("*.py"))}
        # A list of what other files test is no test.
        self.python = {name: words_of(text.partition("\nELSEWHERE = ")[0]) for name, text in texts.items()}
        self.cpp = {str(p.relative_to(ROOT)): set(re.findall(r"(?:(\w+)::)?(\w+)\b", p.read_text()))
                    for p in sorted((ROOT / "tests").glob("*/*.*")) if p.suffix in (".cpp", ".h")}

    def of(self, function, names):
        """What the function is compared with: by Python's tests of its names, or by those in C++."""
        own = next((key for key in (function.header, function.space, function.space.partition("::")[0]) if key in TESTED), None)
        for file in TESTED.get(own, AGAINST):
            if any(said(name, self.python.get(file, set()), own is not None or file not in OF_ONE) for name in names):
                return f"{AGAINST[file]}: `python/tests/{file}`"
        space = function.space.rsplit("::", 1)[-1] or "tn"
        for qualifier in (space, "", "first_values"):
            for file, pairs in self.cpp.items():
                if (qualifier, function.name) in pairs:
                    return f"{AGAINST_CPP.get(file, 'known values')}: `{file}`"
        return None


AGAINST_CPP = {"tests/api/special_table.h": "SciPy"}


def public(library):
    """The functions, classes and objects that users see; of records of a namespace their functions, too."""
    types = {c.cpp: c for c in library.classes if "detail" not in c.space and c.name not in ALONE}
    objects = [o for o in library.objects if f"{o.space}::{re.sub('^const |<.*', '', o.type)}" in types]
    of_objects = {f"{o.space}::{re.sub('^const |<.*', '', o.type)}" for o in objects}
    classes = [c for name, c in types.items() if name not in of_objects]
    functions = [f for f in library.functions + library.templates if "detail" not in f.space and not f.name.endswith("_op")]
    functions += [f for c in classes if c.record and c.space for f in c.functions]
    return [each for each in [*functions, *classes, *objects] if each.name not in HELPERS]


def method_names(found, each):
    """The name of a record's function in Python: that of the class there, and its own."""
    name = "__call__" if each.name == "operator()" else each.name
    return [f"{of}.{name}" for of in found.get(each.space, ()) if hasattr(public_names()[of], name)]


def rows():
    """Header -> C++ name -> (names in Python, tests); and the functions that have no test or no name."""
    all_public = public(headers.read(headers.rooms()))
    found, tests = python_names(all_public), Tests()
    made, holes = collections.defaultdict(dict), []
    for each in all_public:
        names = sorted(set(found[each.cpp]))[:3] or method_names(found, each)
        against = tests.of(each, names)
        said_so = ", ".join(f"`{name}`" for name in names) or None
        made[each.header].setdefault(each.cpp, (said_so, against))
    for header, rows_of_it in made.items():
        holes += [f"{header}: {name}: {'no name in Python' if names is None else 'no test'}"
                  for name, (names, against) in rows_of_it.items() if names is None or against is None]
    holes += [f"{header}: no row" for header in headers.rooms() if header not in made and header not in WITHOUT]
    return made, holes


def document(made):
    """The text of the table."""
    lines = ["# Functions: their names in C++ and in Python, and what tests compare them with", "",
             "Generated by `tools/functions/table.py` from the public headers, the Python package and the tests. A name in Python is one",
             "inside `tenon`, the same function or one that calls it. Beside the test that is named, a function's ops are tested as",
             "`docs/tests.md` shows.", ""]
    for header, each in sorted(made.items()):
        lines += [f"## `{header}`", "", "| C++ | Python | tested against |", "|---|---|---|",
                  *(f"| `{name}` | {said} | {against} |" for name, (said, against) in each.items()), ""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    options = parser.parse_args()
    made, holes = rows()
    if holes:
        sys.exit("\n".join(["functions of the public headers without a name in Python or a test:", *holes]))
    if not options.check:
        DOCUMENT.write_text(document(made))
    elif DOCUMENT.read_text() != document(made):
        sys.exit("docs/functions.md is old: run tools/functions/table.py")


if __name__ == "__main__":
    main()
