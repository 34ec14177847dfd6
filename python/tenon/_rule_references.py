"""References among the arguments of functions with rules."""

from tenon import _core, errors


def references(args):
    """The leaves of the arguments, where a reference is among them; throws where one is there twice."""
    from tenon import tree

    leaves = tree.leaves(args)
    seen = set()
    for leaf in leaves:
        if not isinstance(leaf, _core.Ref):
            continue
        if id(leaf) in seen:
            raise errors.TreeError(f"a function with a rule: one reference, {leaf!r}, is there under two names. Pass it once.")
        seen.add(id(leaf))
    return leaves if seen else None


def refuse(op, who, made):
    """Throws where a reference is in what a function returned."""
    from tenon import tree

    for leaf in tree.leaves(made):
        if isinstance(leaf, _core.Ref):
            raise errors.TreeError(f"{op}: {who} returned a mutable array, {leaf!r}, which is no value. Return what is in "
                                   "it, r[...].")


def refuse_made_here(who, made):
    """Throws where a reference that the trace that is open has made is in what a function returned."""
    from tenon import tree

    for leaf in tree.leaves(made):
        if isinstance(leaf, _core.Ref) and _core.made_here(leaf):
            raise errors.TreeError(f"{who} returned a mutable array, {leaf!r}, that was made in the function that is "
                                   "differentiated. Return what is in it, r[...].")


def of_values(op, fun, args, by_value):
    """(a function of values where `by_value` says so of the leaves of the arguments, those arguments): it makes references
    of the values and calls `fun`, which reads them."""
    from tenon import tree

    leaves, structure = tree.flatten(args)

    def of_arrays(*given):
        parts = [_core.new_ref(part) if of else part for part, of in zip(tree.leaves(given), by_value, strict=True)]
        before = [part[...] if of else None for part, of in zip(parts, by_value)]
        made = fun(*structure.unflatten(parts))
        for part, value, of in zip(parts, before, by_value):
            if of and not _core.same_value(part[...], value):
                raise errors.RuntimeError(
                    f"{op}: the function writes to a reference that is an argument of what is differentiated. Return "
                    "what is to be written, or leave the reference outside.")
        return made

    return of_arrays, structure.unflatten([leaf[...] if of else leaf for leaf, of in zip(leaves, by_value)])
