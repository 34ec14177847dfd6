"""References among the arguments of functions with rules."""

from tenon import _core, errors, tree


def _in(made):
    """The references among the leaves of a tree."""
    return [leaf for leaf in tree.leaves(made) if isinstance(leaf, _core.Ref)]


def references(args):
    """The leaves of the arguments, where a reference is among them; throws where one is there twice."""
    seen = set()
    for leaf in _in(args):
        if id(leaf) in seen:
            raise errors.TreeError(f"a function with a rule: one reference, {leaf!r}, is there under two names. Pass it once.")
        seen.add(id(leaf))
    return tree.leaves(args) if seen else None


def refuse(op, who, made):
    """Throws where a reference is in what a function returned."""
    for leaf in _in(made):
        raise errors.TreeError(f"{op}: {who} returned a mutable array, {leaf!r}, which is no value. Return what is in it, "
                               "r[...].")


def refuse_made_here(who, made):
    """Throws where a reference that the trace that is open has made is in what a function returned."""
    for leaf in _in(made):
        if _core.made_here(leaf):
            raise errors.TreeError(f"{who} returned a mutable array, {leaf!r}, that was made in the function that is "
                                   "differentiated. Return what is in it, r[...].")


def of_values(fun, args, by_value):
    """(a function of values where `by_value` says so of the leaves of the arguments, those arguments): it makes references
    of the values, calls `fun`, and returns what that returns and what is in each reference where that has changed."""
    leaves, structure = tree.flatten(args)

    def of_arrays(*given):
        parts = [_core.new_ref(part) if of else part for part, of in zip(tree.leaves(given), by_value, strict=True)]
        before = [part[...] if of else None for part, of in zip(parts, by_value)]
        made = fun(*structure.unflatten(parts))
        after = [part[...] if of else None for part, of in zip(parts, by_value)]
        return made, [None if not of or _core.same_value(a, b) else b for of, a, b in zip(by_value, before, after)]

    return of_arrays, structure.unflatten([leaf[...] if of else leaf for leaf, of in zip(leaves, by_value)])


def only_read(op, fun, args, by_value):
    """The same of a function that writes to none of these."""
    of_arrays, values = of_values(fun, args, by_value)

    def read(*given):
        made, after = of_arrays(*given)
        if any(value is not None for value in after):
            raise errors.RuntimeError(f"{op}: the function writes to a reference that was made in what is differentiated. "
                                      "Return what is to be written, or make the reference outside.")
        return made

    return read, values


def vjp(fun, primals, has_aux):
    """vjp() at a tuple of arguments. To references among them what the function wrote to them is written."""
    leaves = references(primals)
    if leaves is None:
        return _core.vjp(fun, primals, has_aux)
    of_arrays, values = of_values(fun, primals, [isinstance(leaf, _core.Ref) for leaf in leaves])

    def with_last_values(*given):
        made, after = of_arrays(*given)
        return (made[0], (made[1], after)) if has_aux else (made, (None, after))

    result, pull, (aux, after) = _core.vjp(with_last_values, values, True)
    for leaf, value in zip(leaves, after):
        if value is not None:
            leaf[...] = value
    return (result, pull, aux) if has_aux else (result, pull)
