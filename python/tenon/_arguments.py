"""Arguments by their numbers: argnums, static_argnums and their kin."""

import functools
import inspect

import numpy as np

from tenon import _core, tree
from tenon.numpy._creation import asarray


def numbers_of(argnums, name):
    """(a list of ints, whether one alone was given)."""
    if isinstance(argnums, (tuple, list)):
        return [_number(n, name) for n in argnums], False
    return [_number(argnums, name)], True


def from_front(numbers, count):
    """Numbers of `count` arguments, negative ones counted from the end."""
    return [n + count if n < 0 else n for n in numbers]


def _number(n, name):
    try:
        return n.__index__()
    except AttributeError:
        raise _core.OptionError(f"{name} is an int or a sequence of ints, not {n!r}.") from None


def axis_text(name):
    """The name of an axis, whatever is hashable, as text; of None, that of no axis."""
    if name is None:
        return ""
    hash(name)
    return name if isinstance(name, str) else f"{type(name).__name__} {name!r}"


def is_none(x):
    return x is None


def copied_containers(x):
    """x, where its own lists, dicts and sets, in each other and in tuples, are copies."""
    if type(x) in (list, tuple, set):
        return type(x)(map(copied_containers, x))
    return {key: copied_containers(value) for key, value in x.items()} if type(x) is dict else x


def as_arrays(arguments):
    """The arguments with Arrays in place of NumPy's, and of numbers."""
    taken = (np.ndarray, np.generic, bool, int, float, complex)
    return tree.map(lambda leaf: asarray(leaf) if isinstance(leaf, taken) else leaf, arguments)


def with_others(fun, at, args, /, *chosen, **kwargs):
    """fun(*args, **kwargs) with other arguments at the numbers `at`."""
    args = list(args)
    for n, x in zip(at, chosen, strict=True):
        args[n] = x
    return fun(*args, **kwargs)


def bind(fun, numbers, args):
    """(the function of the arguments that have other numbers, and of keywords; those arguments)."""
    if not numbers:
        return fun, args
    at = [n for n in range(len(args)) if n not in numbers]
    return functools.partial(with_others, fun, at, args), tuple(args[n] for n in at)


def positional(fun, args, kwargs):
    """All arguments by position, defaults among them."""
    if isinstance(fun, functools.partial):  # what it has bound already is its own
        if kwargs:
            raise _core.OptionError("The function is a functools.partial: a rule for it takes arguments by position alone. "
                                    f"Given by name: {', '.join(kwargs)}.")
        return args
    try:
        signature = inspect.signature(fun)
    except (ValueError, TypeError):
        return args
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    by_name = [name for name in bound.kwargs if name in kwargs]
    if by_name:
        raise _core.OptionError(f"A function with a rule of its own takes no keyword-only arguments: {', '.join(by_name)} of "
                                f"{getattr(fun, '__name__', fun)!r}.")
    return bound.args


def completed(fun, nums, names, kind):
    """Numbers and names, the one completed by the other that is given, where the function's signature tells."""
    if nums is None and names is None:
        return [], []
    alone = nums is None or names is None
    nums = [] if nums is None else numbers_of(nums, f"{kind}_argnums")[0]
    names = [] if names is None else [names] if isinstance(names, str) else list(names)
    for name in names:
        if not isinstance(name, str):
            raise _core.OptionError(f"{kind}_argnames is a str or a sequence of strs, not of {name!r}.")
    try:
        parameters = list(inspect.signature(fun).parameters.values())
    except (ValueError, TypeError):
        if any(n < 0 for n in nums):
            raise _core.OptionError(f"jit: {kind}_argnums counts from the end, and the function's arguments are not known.")
        if names and kind == "donate":  # given by position, they would not be donated
            raise _core.OptionError(f"jit: Getting the signature of {fun!r} failed. Pass donate_argnums instead of donate_argnames.")
        return nums, names
    positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    any_number = any(p.kind == p.VAR_POSITIONAL for p in parameters)
    any_name = any(p.kind == p.VAR_KEYWORD for p in parameters)
    for n in nums:
        if not any_number and not -len(positional) <= n < len(positional):
            raise _core.OptionError(f"jit: {kind}_argnums names argument {n}; the function has {len(positional)}.")
    nums = [n for n in from_front(nums, len(positional)) if n >= 0]
    all_names = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    without_names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL)]
    for name in names:
        if name not in all_names and (not any_name or name in without_names):
            raise _core.OptionError(f"jit: {kind}_argnames names '{name}'; by keyword the function has {all_names}.")
    if not alone:
        return sorted(nums), sorted(names)
    by_name = [positional.index(name) for name in names if name in positional]
    by_number = [positional[n] for n in nums if n < len(positional) and positional[n] in all_names]
    return sorted({*nums, *by_name}), sorted({*names, *by_number})


def of_arrays(fun, static_argnums, static_argnames):
    """Of a call, (`fun` with its static arguments bound, the other positional ones, those by keyword)."""
    static, names = completed(fun, None if static_argnums == () else static_argnums,
                              None if static_argnames == () else static_argnames, "static")

    def of_call(args, kwargs):
        bound, others = bind(fun, [n for n in static if n < len(args)], args)
        fixed = {name: kwargs.pop(name) for name in names if name in kwargs}
        return functools.partial(bound, **fixed) if fixed else bound, others, kwargs

    return of_call
