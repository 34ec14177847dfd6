"""python -m tenon.as_jax script.py arguments…: runs a script in which `import jax` gives tenon's names.

jax, jax.numpy, jax.lax, jax.random, jax.nn, jax.tree, jax.tree_util and their kin are tenon's modules of those names
(docs/python-names.md tells which names are there). A name that is missing is an AttributeError or ImportError that names
it, at the line that asks for it. 64-bit data becomes 32-bit unless JAX_ENABLE_X64 is set, as in JAX. `install()` does the
same for the process that calls it, before anything imports JAX.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import runpy
import sys
import types

from tenon._config import config

# What each module of JAX's is; those without a counterpart of their own have the names that are said below.
_modules = {
    "jax": "tenon", "jax.numpy": "tenon.numpy", "jax.numpy.linalg": "tenon.linalg", "jax.numpy.fft": "tenon.fft",
    "jax.lax": "tenon.lax", "jax.lax.linalg": "tenon.lax.linalg", "jax.random": "tenon.random", "jax.nn": "tenon.nn",
    "jax.nn.initializers": "tenon.nn.initializers", "jax.tree": "tenon.tree", "jax.tree_util": "tenon.tree_util",
    "jax.ops": "tenon.ops", "jax.dtypes": "tenon.dtypes", "jax.typing": "tenon.typing", "jax.errors": "tenon.errors",
    "jax.debug": "tenon.debug", "jax.flatten_util": "tenon.flatten_util", "jax.test_util": "tenon.test_util",
    "jax.custom_derivatives": "tenon.custom_derivatives", "jax.custom_batching": "tenon.custom_batching",
    "jax.ad_checkpoint": "tenon.ad_checkpoint", "jax.ad": "tenon.ad", "jax.ref": "tenon.ref",
    "jax.scipy": "tenon.scipy", "jax.scipy.special": "tenon.scipy.special", "jax.scipy.linalg": "tenon.scipy.linalg",
    **{f"jax.scipy.{name}": f"tenon.scipy.{name}" for name in (
        "cluster", "cluster.vq", "fft", "integrate", "interpolate", "ndimage", "signal", "spatial", "spatial.transform")},
    "jax.image": "tenon.image", "jax.scipy.stats": "tenon.scipy.stats", "jax.scipy.stats.norm": "tenon.scipy.stats.norm",
    "jax.scipy.optimize": "tenon.scipy.optimize", "jax.scipy.sparse": "tenon.scipy.sparse",
    "jax.scipy.sparse.linalg": "tenon.scipy.sparse.linalg", "jax.experimental.ode": "tenon.experimental.ode",
    "jax.custom_batching": "tenon.custom_batching", "jax.ref": "tenon.ref", "jax.experimental": None,
}

# Names of modules without a counterpart that are elsewhere in tenon, (module, name).
_elsewhere = {"jax.experimental": {"io_callback": ("tenon", "io_callback"), "enable_x64": ("tenon", "enable_x64")}}


class _AsJax(types.ModuleType):
    """A module of JAX's name with the names of one of tenon's."""

    def __init__(self, name, target):
        super().__init__(name, f"{name}, as tenon has it.")
        self.__dict__.update(_target=target, __path__=[], __package__=name)

    def __getattr__(self, name):
        full = f"{self.__name__}.{name}"
        if full in _modules and importlib.util.find_spec(full) is not None:
            return importlib.import_module(full)
        if name in _elsewhere.get(self.__name__, ()):
            module, theirs = _elsewhere[self.__name__][name]
            return getattr(importlib.import_module(module), theirs)
        if self._target is not None and hasattr(self._target, name):
            return getattr(self._target, name)
        raise AttributeError(f"{full} is not among the names that tenon has (docs/python-names.md lists them). Where a "
                             "program needs it, run the program with JAX and bind its functions with tn.from_jax.")

    def __dir__(self):
        return sorted({*dir(self._target), *_elsewhere.get(self.__name__, ())})


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name not in _modules or (_modules[name] and importlib.util.find_spec(_modules[name]) is None):
            if name.split(".")[0] == "jax":
                raise ModuleNotFoundError(f"No module named {name!r}: it is not among the modules that tenon has in the "
                                          "place of JAX's.", name=name)
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        theirs = _modules[spec.name]
        return _AsJax(spec.name, None if theirs is None else importlib.import_module(theirs))

    def exec_module(self, module):
        if module.__name__ == "jax":
            config.x64 = os.environ.get("JAX_ENABLE_X64", "").lower() in ("1", "true", "t", "on", "yes", "y")


def install():
    """From here on `import jax` gives tenon's names in this process."""
    if isinstance(sys.modules.get("jax"), _AsJax):
        return
    if "jax" in sys.modules:
        raise RuntimeError("as_jax: JAX has been imported already; install() comes before.")
    sys.meta_path.insert(0, _Finder())


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: python -m tenon.as_jax script.py arguments…")
    sys.argv = sys.argv[1:]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    install()
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
