"""Gradients of holomorphic functions, and beside arguments of integers."""

import functools

import numpy as np

from tenon import _core, _rule_references, numpy as tnp, tree
from tenon._arguments import from_front, with_others
from tenon._symbolic_zeros import float0, has_tangent
from tenon.errors import DifferentiationError


def checked_inputs(name, trees):
    """TypeError where an argument of a function that is said to be holomorphic is real."""
    _require_complex(f"{name} with holomorphic=True requires inputs with complex dtype", trees)


def _require_complex(text, made):
    for leaf in tree.leaves(made):
        kind = tnp.result_type(leaf)
        if kind.kind != "c":
            raise DifferentiationError(f"{text}, but got {kind.name}.")


def _one_number(name, value, holomorphic):
    kind = tnp.result_type(value)
    if tnp.shape(value) != ():
        raise DifferentiationError(f"{name}: Gradient only defined for scalar-output functions. Output had shape: {tnp.shape(value)}.")
    if holomorphic:
        _require_complex(f"{name} with holomorphic=True requires outputs with complex dtype", value)
    elif kind.kind in "biuc":
        raise DifferentiationError(f"{name} requires real-valued outputs (not {kind.name}). For holomorphic differentiation, pass "
                                   "holomorphic=True.")
    return tnp.ones((), kind)


def value_and_grad(fun, numbers, alone, has_aux, holomorphic, name):
    """(value, gradient) in the arguments of these numbers, by vjp(): the derivative itself of holomorphic functions, and
    zeros of the dtype float0 for integers."""

    def both(*args, **kwargs):
        at = from_front(numbers, len(args))
        chosen = tuple(args[n] for n in at)
        if holomorphic:
            checked_inputs(name, chosen)
        made = _rule_references.vjp(functools.partial(with_others, fun, at, args, **kwargs), chosen, has_aux)
        slopes = made[1](_one_number(name, made[0], holomorphic))
        return (made[0], made[2]) if has_aux else made[0], slopes[0] if alone else slopes

    return both


def jacobian(differentiated, numbers, holomorphic, name):
    """A Jacobian, whose arguments are complex where the function is said to be holomorphic, and else, by forward mode,
    real."""
    if not holomorphic and name == "jacrev":
        return differentiated

    @functools.wraps(differentiated)
    def checked(*args, **kwargs):
        chosen = [args[n] for n in numbers if -len(args) <= n < len(args)]
        if holomorphic:
            checked_inputs(name, chosen)
        else:
            _require_real(f"{name} requires real-valued inputs (input dtype that is a sub-dtype of np.floating)", chosen)
        return differentiated(*args, **kwargs)

    return checked


def jacrev_beside_integers(fun, numbers, alone, has_aux):
    """jacrev() in arguments some of whose leaves are integers: of those it is zeros of the dtype float0."""

    def jacobian(*args, **kwargs):
        at = from_front(numbers, len(args))
        leaves, structure = tree.flatten(tuple(args[n] for n in at))
        real = [has_tangent(tnp.result_type(leaf)) for leaf in leaves]
        results = []

        def of_real(given):
            given = iter(given)
            chosen = structure.unflatten([next(given) if of else leaf for of, leaf in zip(real, leaves)])
            made = with_others(fun, at, args, *chosen, **kwargs)
            results[:] = tree.flatten(made[0] if has_aux else made)
            return made

        of_leaves = with_real_results(of_real, has_aux)
        made = _core.jacobian(True, of_leaves, [0], True, has_aux, ([leaf for leaf, of in zip(leaves, real) if of],), {})
        of_result, structure_of_result = results

        def block(rows, result):
            rows = iter(rows)
            blocks = structure.unflatten([next(rows) if of else np.zeros(tnp.shape(result) + tnp.shape(leaf), float0)
                                          for of, leaf in zip(real, leaves)])
            return blocks[0] if alone else blocks

        rows = structure_of_result.flatten_up_to(made[0] if has_aux else made)
        blocks = structure_of_result.unflatten([block(*each) for each in zip(rows, of_result, strict=True)])
        return (blocks, made[1]) if has_aux else blocks

    return jacobian


def with_real_results(fun, has_aux):
    """The function, with a TypeError where a result of it is complex."""

    def checked(*args, **kwargs):
        made = fun(*args, **kwargs)
        result = made[0] if has_aux and isinstance(made, tuple) and len(made) == 2 else made
        _require_real("jacrev requires real-valued outputs (output dtype that is a sub-dtype of np.floating)", result)
        return made

    return checked


def _require_real(text, made):
    for leaf in tree.leaves(made):
        kind = getattr(leaf, "dtype", None)
        if getattr(kind, "kind", "f") == "c" or isinstance(leaf, complex):
            raise DifferentiationError(f"{text}, but got {'complex128' if kind is None else kind.name}. For holomorphic "
                                       "differentiation, pass holomorphic=True.")
