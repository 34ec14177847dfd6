"""Arguments by their numbers: argnums, static_argnums and their kin."""


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
        raise TypeError(f"{name} is an int or a sequence of ints, not {n!r}.") from None


def bind(fun, numbers, args):
    """(the function of the arguments that have other numbers, those)."""
    if not numbers:
        return fun, args
    fixed = {n: args[n] for n in numbers}

    def rest(*others):
        others = iter(others)
        return fun(*(fixed[i] if i in fixed else next(others) for i in range(len(args))))

    return rest, tuple(a for i, a in enumerate(args) if i not in fixed)
