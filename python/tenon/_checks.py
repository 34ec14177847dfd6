"""Functions written in Python of ops that compute more than they use, beside tn.debug_nans."""

import functools

from tenon import _core


def whole(fun):
    """A decorator: of the function's results alone NaN and infinities are told, not of what is made on the way."""

    @functools.wraps(fun)
    def checked(*args, **kwargs):
        if not _core.watching():
            return fun(*args, **kwargs)
        _core.hold_checks(True)
        try:
            made = fun(*args, **kwargs)
        finally:
            _core.hold_checks(False)
        for leaf in _core.tree.leaves(made):
            _core.require_finite(leaf)
        return made

    return checked
