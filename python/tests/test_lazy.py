"""What `import tenon` imports at once, and that all the rest is there when it is named."""

import pickle
import subprocess
import sys

import pytest

import tenon as tn

# Of the standard library, what only rare calls need; NumPy may have it.
RARE = {"dataclasses", "hashlib", "html", "html.entities", "json", "mmap", "platform", "string", "tempfile"}
AT_ONCE = {"tenon.errors", "tenon.numpy", "tenon.ref", "tenon.tree", "tenon.tree_util"}  # of the public modules


def python(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_rare_modules_are_not_imported_at_once():
    names = python("import sys, numpy; before = set(sys.modules); import tenon; print(*sorted(set(sys.modules) - before))").split()
    assert not RARE & set(names), RARE & set(names)
    assert {name for name in names if name.startswith("tenon.") and "._" not in name} == AT_ONCE


def test_libraries_are_not_opened_at_once():
    opened = python("import tenon; print(open('/proc/self/maps').read())")
    assert "libtenon.so" in opened
    for library in ("hwy", "tenon_sort", "tenon_codegen", "tenon_fft", "tenon_lapack"):
        assert f"lib{library}" not in opened


@pytest.mark.parametrize("module", ["tenon", "tenon.numpy", "tenon.lax", "tenon.random", "tenon.scipy", "tenon.tree_util"])
def test_names_are_the_same_however_they_are_reached(module):
    # In a process of its own: other tests import modules that are listed from then on.
    listed = python(f"import {module} as m; print(*(name for name in dir(m) if not name.startswith('_')))").split()
    assert len(listed) == len(set(listed))
    code = f"""if True:
        import importlib, sys
        def one(name):  # in a fresh namespace, each by its own
            module = importlib.import_module({module!r})
            return getattr(module, name)
        names = {listed!r}
        kinds = [type(one(name)).__name__ for name in names]
        space = {{}}
        exec("from {module} import *", space)
        module = importlib.import_module({module!r})
        for name in names:
            assert getattr(module, name) is getattr(module, name), name
            assert space.get(name, getattr(module, name)) is getattr(module, name), name
        assert [name for name in dir(module) if not name.startswith("_")] == names
        print(len(kinds))"""
    assert int(python(code)) == len(listed)


@pytest.mark.parametrize("statement", [
    "from tenon.lax import *; lgamma, dynamic_slice, psum, scan, linalg",
    "from tenon.numpy import *; unique, polyfit, hanning, histogram, packbits, fft, sin",
    "from tenon.random import *; gamma, key", "from tenon import *; lax, ds, save, io_callback, grad",
    "from tenon.lax import linalg, _slices, gather", "import tenon.lax.linalg", "import tenon.numpy.fft as f; f.rfft",
    "import tenon; tenon.lax.linalg.lu; tenon.scipy.stats.norm.pdf", "import tenon.numpy as tnp; tnp.linalg.det; tnp.i0",
    "from tenon.tree_util import DictKey, keystr", "import tenon; tenon.typing.ArrayLike"])
def test_import_statements(statement):
    python(statement)


def test_what_is_not_there():
    for module in (tn, tn.numpy, tn.lax, tn.random, tn.tree_util):
        with pytest.raises(AttributeError, match=rf"^module '{module.__name__}' has no attribute 'nothing'$"):
            module.nothing
        assert not hasattr(module, "_nothing")
    with pytest.raises(ImportError, match="cannot import name 'nothing' from 'tenon.lax'"):
        from tenon.lax import nothing  # noqa: F401


@pytest.mark.parametrize("function", [tn.lax.gather, tn.numpy.unique, tn.random.gamma, tn.pure_callback, tn.save, tn.device_put])
def test_functions_of_later_modules_are_pickled_by_name(function):
    told = python(f"import pickle; print(pickle.loads({pickle.dumps(function)!r}).__name__)")
    assert told.strip() == function.__name__


def test_keys_of_paths_are_imported_by_what_needs_them():
    code = """if True:
        import sys, tenon as tn
        assert "tenon._keys" not in sys.modules
        print(tn.tree.leaves_with_path({"a": [1]})[0][0], tn.tree_util.flatten_one_level_with_keys((1,))[0][0][0].idx)"""
    assert python(code).split("\n")[0] == "(DictKey(key='a'), SequenceKey(idx=0)) 0"
