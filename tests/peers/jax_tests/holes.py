"""Modules in JAX's place: each of their names is Tenon's, or a hole.

A hole is a name that Tenon lacks. While a file of tests is imported it takes whatever is done with it, so that the file's other
tests can run. While a test runs, whoever uses a hole ends the test: as skipped where the name is out of scope (devices, XLA,
jaxprs, JAX's internals), else as failed.
"""

import functools
import importlib.abc
import importlib.machinery
import inspect
import sys
import types
import unittest

RUNNING = [False]   # whether a test runs


class OutOfScope(unittest.SkipTest):
    """The test is about something that Tenon does not promise."""


class MissingFeature(AttributeError, NotImplementedError):
    """The test uses a public name of JAX's that Tenon lacks."""


def out_of_scope(why):
    raise OutOfScope("out of scope: " + why)


class Hole:
    """A name that is not there, and all that is reached through it."""

    def __init__(self, path, scope):
        object.__setattr__(self, "_path", path)
        object.__setattr__(self, "_scope", scope)
        object.__setattr__(self, "__name__", path.split(".")[-1].replace("()", ""))

    def _use(self, *_):
        if self._scope:
            out_of_scope(self._path)
        raise MissingFeature("missing: " + self._path)

    def _use_in_test(self):
        if RUNNING[0]:
            self._use()

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Hole(f"{self._path}.{name}", self._scope)

    def __call__(self, *args, **kwargs):
        self._use_in_test()
        if len(args) == 1 and not kwargs:   # a decorator
            if inspect.isfunction(args[0]):
                return functools.wraps(args[0])(lambda *a, **k: self._use())
            if inspect.isclass(args[0]):
                return args[0]
        return Hole(self._path + "()", self._scope)

    def __instancecheck__(self, x):
        self._use_in_test()
        return False

    def __iter__(self):
        self._use_in_test()
        return iter(())

    def __bool__(self):
        self._use_in_test()
        return False

    def __enter__(self):
        self._use_in_test()
        return self

    def __exit__(self, *exception):
        return False

    def __getitem__(self, key):
        return Hole(self._path + "[]", self._scope)

    def __setattr__(self, name, value):
        pass

    def __setitem__(self, key, value):
        pass

    def __mro_entries__(self, bases):
        return ()

    def __contains__(self, x):
        return False

    def __len__(self):
        return 0

    def __eq__(self, other):
        return self is other

    def __hash__(self):
        return hash(self._path)

    def __repr__(self):
        return f"<{self._path}>"

    def __or__(self, other):
        return self

    __ror__ = __add__ = __radd__ = __or__
    __lt__ = __gt__ = __le__ = __ge__ = __sub__ = __mul__ = __float__ = __int__ = __index__ = __array__ = _use


class Alias(types.ModuleType):
    """A module whose names are those of `table`, then of the modules `targets`; others are holes.

    scope: whether holes are out of scope; `out` names those that are in any case.
    """

    def __init__(self, name, table=None, targets=(), scope=True, out=()):
        super().__init__(name)
        self.__dict__.update(_targets=tuple(targets), _scope=scope, _out=frozenset(out), __path__=[], __file__=__file__)
        self.__dict__.update(table or {})
        sys.modules[name] = self
        parent, _, child = name.rpartition(".")
        if parent in sys.modules:
            sys.modules[parent].__dict__.setdefault(child, self)

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        full = f"{self.__name__}.{name}"
        if full in sys.modules:
            return sys.modules[full]
        for target in self._targets:
            value = getattr(target, name, self)
            if value is not self and not name.startswith("_"):
                return value
        scope = self._scope or name in self._out or name.endswith("_p") or name.startswith("_")
        if not scope and RUNNING[0]:
            raise MissingFeature("missing: " + full)
        return Hole(full, scope)

    def __dir__(self):
        return sorted({*self.__dict__, *(n for t in self._targets for n in dir(t) if not n.startswith("__"))})


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds every other module below jax: one of holes. It comes first, so that an installed JAX is not seen."""

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("jax", "jaxlib"):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return Alias(spec.name)

    def exec_module(self, module):
        pass
