#!/usr/bin/env python3
"""Checks how the house is built: which floor includes which, who may use which library and locks, which modules and folders of
the Python package import each other in a circle, at the top or inside of functions, and how large rooms grow.

    python3 tools/check_floors.py [ROOT]

A wrong include or lock and a circle are errors (exit status 1), and so are more decisions by the names of ops than OPS_BY_NAME; a file over 600 lines or a function over 80 is a warning.
"""
import ast
import graphlib
import re
import sys
from pathlib import Path

FLOORS = ["base", "runtime", "kernel", "ir", "ops", "eval", "transform", "rewrite", "compile", "api", "python"]

# Libraries that only some folders of what we ship may see: (what the include starts with, the folders, why).
GUESTS = [
    (("llvm/", "llvm-c/"), ("tenon/compile/cpu/",), "LLVM stays inside tenon/compile/cpu"),
    (("libxsmm",), ("tenon/runtime/",), "libxsmm stays inside tenon/runtime"),
    (("hwy/",), ("tenon/runtime/sorting/library/",), "Highway stays inside tenon/runtime/sorting/library"),
    (("nanobind/", "Python.h", "pybind11/"), ("tenon/python/",), "Python stays inside tenon/python"),
]
# Forks know nothing of locks other than these rooms'.
LOCKS = re.compile(r"\bstd::(\w*_)?mutex\b|\bstd::(once_flag|call_once|condition_variable)\b")
LOCK_ROOMS = ("tenon/base/fork.", "tenon/runtime/memory/allocator.cpp")
# Floors above ops know ops by their traits and their element forms (tenon/ops/element_form.h). Places that still ask
# for a name; this number only falls. Rules are no such places: each is an identity of ops, which it names.
OPS_BY_NAME = 0
RULES = "tenon/rewrite/rules/"
ABOVE_OPS = ("tenon/transform/", "tenon/rewrite/", "tenon/compile/", "tenon/api/", "tenon/eval/")
SHIPPED = ("tenon/", "cli/", "examples/")
FILE_LINES, FUNCTION_LINES = 600, 80
FOLDERS = ("tenon", "cli", "examples", "bench", "tests")
PACKAGE = "python/tenon"
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)


def floor_of(path):
    """The floor of a file of the library by its path below the root; None outside; above all floors for tenon/tenon.h."""
    parts = path.split("/")
    if parts[0] != "tenon":
        return None
    if len(parts) == 2:
        return -1 if parts[1] == "version.h" else len(FLOORS)
    return FLOORS.index(parts[1]) if parts[1] in FLOORS else None


def includes(text):
    """(line number, target) of every include."""
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start(1)) + 1, match.group(1)


def include_errors(path, texts, pulls_llvm):
    """What is wrong with the includes of one file; pulls_llvm(path) says whether a header brings LLVM with it."""
    own = floor_of(path)
    if path.startswith("tenon/") and own is None:
        yield f"{path}: no floor is called {path.split('/')[1]!r}; the floors are {', '.join(FLOORS)}"
    for line, target in includes(texts[path]):
        here = f"{path}:{line}"
        for starts, folders, why in GUESTS:
            if target.startswith(starts) and path.startswith(SHIPPED) and not path.startswith(folders):
                yield f"{here}: includes {target}: {why}"
        if target.startswith("tenon/"):
            other = floor_of(target)
            if own is not None and (other is None or other > own):
                name = FLOORS[own] if 0 <= own < len(FLOORS) else path
                yield f"{here}: {name} includes {target}, which is on a higher floor"
            if path.startswith("examples/") and target not in ("tenon/tenon.h", "tenon/version.h"):
                yield f"{here}: an example includes {target}; users include tenon/tenon.h only"
            if path.startswith(SHIPPED) and not path.startswith("tenon/compile/cpu/") and pulls_llvm(target):
                yield f"{here}: {target} brings LLVM headers with it"
        elif f"{path.rsplit('/', 1)[0]}/{target}" in texts and path.startswith("tenon/"):
            yield f'{here}: includes "{target}"; inside the library write "tenon/floor/file.h"'


def lock_errors(path, text):
    """Where a file of the library has locks of its own."""
    if path.startswith("tenon/") and not path.startswith(LOCK_ROOMS):
        text = without_comments_and_strings(text)
        for match in LOCKS.finditer(text):
            yield (f"{path}:{text.count(chr(10), 0, match.start()) + 1}: {match.group(0)}: the child of a fork could find it "
                   "locked for ever; use ForkMutex (tenon/base/fork.h)")


# Types as headers define them at the left edge, and the namespaces around; specialisations have an argument list behind the name.
SCOPE = re.compile(r"^namespace (?P<opened>[\w:]+) \{|^(?P<closed>\})  // namespace|"
                   r"^(?:struct|class|enum class|union) (?P<type>\w+)(?: final)?(?: : [^;{]*)? \{", re.M)


def types_defined_twice(texts):
    """Of each type that two headers of the library define by one name: code that both make is linked as if it were one's."""
    defined = {}
    for path, text in texts.items():
        if not (path.startswith("tenon/") and path.endswith(".h")):
            continue
        scope = []
        for match in SCOPE.finditer(text):
            if match["opened"]:
                scope.append(match["opened"])
            elif match["closed"]:
                del scope[-1:]
            else:
                defined.setdefault("::".join([*scope, match["type"]]), []).append(
                    f"{path}:{text.count(chr(10), 0, match.start()) + 1}")
    for name, places in defined.items():
        if len(places) > 1:
            yield f"{name} is defined twice: {', '.join(places)}"


def ops_by_name(texts):
    """(path, line number, name) where a floor above ops compares with the name of an op, or looks one up by its name."""
    names = {name for path, text in texts.items() if path.startswith("tenon/ops/")
             for name in re.findall(r'\.name\s*=\s*"(\w+)"', text)}
    asks = re.compile(r'(?:[=!]=|find_op\()\s*"(\w+)"|"(\w+)"\s*[=!]=')
    for path, text in texts.items():
        if path.startswith(ABOVE_OPS) and not path.startswith(RULES):
            for match in asks.finditer(text):
                if (name := match[1] or match[2]) in names:
                    yield path, text.count("\n", 0, match.start()) + 1, name


def module_of(path):
    """The name of a Python file below the folder of its package's folder: tenon/lax/__init__.py is tenon.lax."""
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def statements(body):
    """The statements of a module, those inside of other statements and of functions too; none for checkers of types alone."""
    for statement in body:
        yield statement
        of_types = isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test)
        for part in ("orelse",) if of_types else ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(statement, part, [])
            for each in inner:
                yield from statements([each] if isinstance(each, ast.stmt) else each.body)


def imports_of(module, is_package, text, modules):
    """Module of `modules` -> the line on which this one imports it, wherever that stands. A package is imported before its modules,
    except those that this one lies in itself: they are there already."""
    around, found = module if is_package else module.rpartition(".")[0], {}

    def note(name, line):
        while name and not f"{module}.".startswith(f"{name}."):
            if name in modules:
                found.setdefault(name, line)
            name = name.rpartition(".")[0]

    for statement in statements(ast.parse(text).body):
        if isinstance(statement, ast.Import):
            for each in statement.names:
                note(each.name, statement.lineno)
        elif isinstance(statement, ast.ImportFrom):
            above = around.split(".")[:len(around.split(".")) - statement.level + 1] if statement.level else []
            base = ".".join([*above, *filter(None, [statement.module])])
            for each in statement.names:
                full = f"{base}.{each.name}"
                if full in modules:
                    note(full, statement.lineno)
                elif base in modules and f"{module}.".startswith(f"{base}.") and base != module:
                    found.setdefault(base, statement.lineno)  # a name that the package around has to have already
                else:
                    note(base, statement.lineno)
    return found


def import_circles(root):
    """A circle among the modules of the Python package; none where there is none. A package counts as importing every module in
    its folder, which it does at once or when the module is first named; so no two folders import each other either."""
    folder = root / PACKAGE
    files = {module_of(path.relative_to(folder.parent)): path for path in sorted(folder.rglob("*.py"))}
    compiled = {module_of(path.relative_to(folder.parent)) for path in folder.rglob("*.pyi")} - set(files)
    imports = {module: imports_of(module, path.name == "__init__.py", path.read_text(), files.keys() | compiled)
               for module, path in files.items()}
    for module, path in files.items():
        if path.name == "__init__.py":
            inside = (other for other in files if other.rpartition(".")[0] == module)
            imports[module].update((other, None) for other in inside if other not in imports[module])
    try:
        graphlib.TopologicalSorter(imports).prepare()
    except graphlib.CycleError as error:
        circle = error.args[1][::-1]  # each imports the next one
        said = [f"{a} holds {b}" if imports[a][b] is None else f"{a} imports {b} ({files[a].relative_to(root)}:{imports[a][b]})"
                for a, b in zip(circle, circle[1:])]
        yield f"a circle of imports: {', '.join(said)}; move what both need to a module below them"


def llvm_test(texts):
    """A function that says whether a header includes LLVM, itself or through others of ours."""
    known = {}

    def pulls(path):
        if path not in known:
            known[path] = False   # cuts cycles
            targets = [target for _, target in includes(texts.get(path, ""))]
            known[path] = any(t.startswith(GUESTS[0][0]) or (t in texts and pulls(t)) for t in targets)
        return known[path]

    return pulls


def without_comments_and_strings(text):
    """The same text with comments, string and character literals blanked; line breaks stay."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.S)
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group(0)), text)


def functions(text):
    """(first line, number of lines) of each outermost function body, found by its braces."""
    text = without_comments_and_strings(text)
    stack, start, line, last = [], 0, 1, 0   # stack: is this brace a function? last: where the text before a brace begins
    for i, c in enumerate(text):
        if c == "\n":
            line += 1
        elif c == "{":
            before = text[last:i]
            scope = re.search(r"\b(namespace|class|struct|union|enum|extern)\b[^()=]*$", before)
            function = not scope and ")" in before and True not in stack
            stack.append(function)
            if function:
                start = line
            last = i + 1
        elif c == "}":
            if stack and stack.pop():
                yield start, line - start + 1
            last = i + 1
        elif c == ";":
            last = i + 1


def main(root):
    paths = sorted(p for folder in FOLDERS for ext in ("h", "cpp") for p in (root / folder).rglob(f"*.{ext}"))
    texts = {str(p.relative_to(root)): p.read_text(errors="replace") for p in paths}
    pulls_llvm, errors, warnings = llvm_test(texts), [], []
    for path, text in texts.items():
        errors += include_errors(path, texts, pulls_llvm)
        errors += lock_errors(path, text)
        if (count := text.count("\n")) > FILE_LINES:
            warnings.append(f"{path}: {count} lines; look for the seam (limit {FILE_LINES})")
        warnings += [f"{path}:{first}: a function of {count} lines (limit {FUNCTION_LINES})"
                     for first, count in functions(text) if count > FUNCTION_LINES]
    errors += types_defined_twice(texts)
    errors += import_circles(root)
    by_name = list(ops_by_name(texts))
    if len(by_name) > OPS_BY_NAME:
        errors.append(f"{len(by_name)} decisions by the names of ops, at most {OPS_BY_NAME} were there: a fact of an op stands on "
                      "the op, as a trait or in its form; "
                      + ", ".join(f"{path}:{line} ({name})" for path, line, name in by_name))
    if len(by_name) < OPS_BY_NAME and "tenon/ops/element_form.h" in texts:
        errors.append(f"OPS_BY_NAME is {OPS_BY_NAME}, {len(by_name)} are left: lower it")
    for warning in warnings:
        print(f"warning: {warning}")
    for error in errors:
        print(f"error: {error}")
    print(f"floors: {len(texts)} files, {len(errors)} errors, {len(warnings)} warnings")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent)))
