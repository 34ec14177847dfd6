"""Runs the cells of a document in one namespace and keeps what each printed, gave and assigned: run_cells.py DOCUMENT RESULTS.

`jax` is what the process finds by that name: JAX itself, or under `python -m tenon.as_jax` Tenon.
"""

import ast
import contextlib
import io
import linecache
import os
import pickle
import signal
import sys
import time
import traceback
import types
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from cells import as_python, cells_of, is_notebook

import numpy as np

SECONDS_A_CELL, SECONDS_A_DOCUMENT = 60, 400
PLAIN = "import jax\nimport jax.numpy as jnp\nimport numpy as np\nfrom functools import partial"


def numbers(value, depth=0):
    """A tree of NumPy's arrays of what is numeric in a value; None where nothing is."""
    if isinstance(value, (bool, int, float, complex, np.generic)):
        return np.asarray(value)
    if isinstance(value, (list, tuple, dict)) and depth < 4 and len(value) <= 200:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        found = {str(k): numbers(v, depth + 1) for k, v in items}
        return found if any(v is not None for v in found.values()) else None
    if not isinstance(value, type) and all(hasattr(value, n) for n in ("shape", "dtype", "__array__")):
        try:
            array = np.asarray(value)
        except Exception:
            return None
        return array if array.size <= 200_000 and array.dtype != object else None
    return None


def data_without_network():
    """What the examples would fetch."""
    def mnist(*args, **kwargs):
        draw = np.random.RandomState(0)
        images = draw.rand(256, 784).astype(np.float32)
        labels = np.eye(10, dtype=np.float32)[draw.randint(0, 10, 256)]
        return images, labels, images[:64], labels[:64]
    package, module = types.ModuleType("examples"), types.ModuleType("examples.datasets")
    module.mnist, package.datasets = mnist, module
    sys.modules |= {"examples": package, "examples.datasets": module}


def names_assigned(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from ((alias.asname or alias.name).split(".")[0] for alias in node.names)


def raise_timeout(*_):
    raise TimeoutError(f"the cell took more than {SECONDS_A_CELL} s")


def run_cell(number, source, names):
    result = dict(number=number, source=source, status="ok", value=None, numbers=None)
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return result | dict(status="no code", assigned=[])
    result["assigned"] = sorted(set(names_assigned(tree)))
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr) and not source.rstrip().endswith(";"):
        last = ast.Expression(tree.body.pop().value)
    file, printed = f"<cell {number}>", io.StringIO()
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        signal.alarm(SECONDS_A_CELL)
        try:
            exec(compile(tree, file, "exec"), names)
            value = eval(compile(last, file, "eval"), names) if last is not None else None
            if value is not None:
                result |= dict(value=repr(value)[:4000], numbers=numbers(value))
            barrier = getattr(sys.modules.get("jax"), "effects_barrier", None)
            if barrier is not None:
                barrier()
        except BaseException as error:
            signal.alarm(0)
            frames = traceback.extract_tb(error.__traceback__)
            result |= dict(status="raises", kind=type(error).__name__, kinds=[c.__name__ for c in type(error).__mro__],
                           message=str(error)[:1500], line=next((f.line for f in reversed(frames) if f.filename.startswith("<cell")), ""))
        finally:
            signal.alarm(0)
    return result | dict(printed=printed.getvalue()[:8000])


def main(document, results):
    os.environ["MPLBACKEND"] = "Agg"
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, raise_timeout)
    data_without_network()
    names = {"__name__": "__main__"}
    if not is_notebook(document.read_text()):
        with contextlib.suppress(Exception):
            exec(PLAIN, names)
    done, seen, start = [], {}, time.time()
    for number, cell in enumerate(cells_of(document)):
        if time.time() - start > SECONDS_A_DOCUMENT:
            break
        source = as_python(cell).replace("num_epochs = 10", "num_epochs = 2")
        if "import jax" in source and "environ" not in source:
            with contextlib.suppress(Exception):
                exec("import jax", {})   # which draws numbers itself
        np.random.seed(number)   # cells that draw without a seed draw the same numbers for both
        result = run_cell(number, source, names)
        result["variables"] = {}
        for name, value in list(names.items()):
            if not name.startswith("_") and seen.get(name) != id(value):
                seen[name] = id(value)
                try:
                    result["variables"][name] = numbers(value)
                except Exception:   # whatever an object says when it is asked for its shape
                    result["variables"][name] = None
        done.append(result)
    Path(results).write_bytes(pickle.dumps(done))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
