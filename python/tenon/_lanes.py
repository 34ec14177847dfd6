"""vmap() of functions whose arguments hold references: each lane has a reference to its part."""

from tenon import _core, _rule_references, tree


def _is_ref(x):
    return isinstance(x, _core.Ref)


def holds_references(args):
    return any(map(_is_ref, tree.leaves(args)))


def _axes(in_axes, args):
    """The axis of each leaf of the arguments."""
    axes, structure = tree.flatten(in_axes, is_leaf=lambda x: x is None)
    if structure == tree.structure(0):
        return axes * len(tree.leaves(args))
    parts = structure.flatten_up_to(args)
    return [axis for axis, part in zip(axes, parts, strict=True) for _ in tree.leaves(part)]


def over_references(batched, fun, in_axes, out_axes, args, kwargs):
    """batched(fun, in_axes, out_axes, args, kwargs), where args holds references: what lanes write to their parts is written
    to the whole, along the same axis."""
    leaves, structure = tree.flatten(args)
    places = [i for i, leaf in enumerate(leaves) if _is_ref(leaf)]
    refs, axes = [leaves[i] for i in places], _axes(in_axes, args)
    _rule_references.references(refs)
    written = [False] * len(refs)

    def lane(*given, **keywords):
        parts = list(tree.leaves(given))
        before = [parts[i] for i in places]
        for i in places:
            parts[i] = _core.new_ref(parts[i])
        made = fun(*structure.unflatten(parts), **keywords)
        after = [parts[i][...] for i in places]
        written[:] = [not _core.same_value(a, b) for a, b in zip(after, before, strict=True)]
        return made, after

    values = structure.unflatten([leaf[...] if _is_ref(leaf) else leaf for leaf in leaves])
    made, after = batched(lane, in_axes, (out_axes, [axes[i] for i in places]), values, kwargs)
    for ref, value, wrote in zip(refs, after, written, strict=True):
        if wrote:
            ref[...] = value
    return made
