"""Namespaces that import a part of what they hold when it is first named: most programs need little of it."""

import importlib

from tenon._repeated import repeated


def later(namespace, modules=(), rooms=(), names=None):
    """(__getattr__, __dir__) of a module, whose globals are `namespace`. `modules` of its package become attributes; `names`
    says of which module of the package names are, "load save" of "files"; what else is public is looked for in `rooms`,
    modules of the package whose public names are all its own, functions of arrays. What is found is there as if it had been
    imported at once.

    >>> import tenon as tn
    >>> tn.export is tn.export, "export" in dir(tn)
    (True, True)
    """
    package, name_of_module = namespace["__package__"], namespace["__name__"]
    homes = {name: module for module, those in (names or {}).items() for name in those.split()}

    def module(name):
        return importlib.import_module(f"{package}.{name}")

    def enter(room):
        for name in room.__all__:
            namespace.setdefault(name, repeated(getattr(room, name)))

    def everything():
        for room in rooms:
            enter(module(room))
        return sorted({*namespace, *modules, *homes})

    def missing(name):
        if name in modules:
            return module(name)
        if name in homes:
            return namespace.setdefault(name, getattr(module(homes[name]), name))
        if name == "__all__":  # of `import *`
            return [each for each in everything() if not each.startswith("_")]
        for room in () if name.startswith("_") else rooms:
            enter(module(room))
            if name in namespace:
                return namespace[name]
        raise AttributeError(f"module {name_of_module!r} has no attribute {name!r}")

    return missing, everything
