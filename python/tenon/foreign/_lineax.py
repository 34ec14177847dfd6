"""The linear solve of lineax: a system that has the derivatives of systems, whatever its solver does."""

import jax  # type: ignore
import numpy as np

from tenon import lax
from tenon.foreign._jaxprs import call, rule
from tenon.foreign._libraries import by_implementation, implementation_alone, in_a_rule


class _Solve:
    """What the primitive is given: a tree of lineax's objects, in which operands stand for the arrays."""

    def __init__(self, equation):
        self.equation = equation
        self.avals = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in equation.invars]
        places = iter(range(len(self.avals)))
        self.place = [next(places) if type(x) is object else None for x in equation.params["static"]]  # of those that are left out
        self.vector = jax.tree.leaves(self.parts(range(len(self.avals)))[2])

    def parts(self, operands):
        """operator, state, vector, options, solver, whether it raises."""
        p = self.equation.params
        return jax.tree.unflatten(p["treedef"], [x if i is None else operands[i] for x, i in zip(p["static"], self.place)])

    def of_vector(self, function, operands):
        """function(operands) as one of the vector alone: the leaves of what it returns."""

        def flat(given, vector):
            given = list(given)
            for i, x in zip(self.vector, vector):
                given[i] = x
            return jax.tree.leaves(function(given))

        jaxpr = jax.make_jaxpr(flat)(self.avals, [self.avals[i] for i in self.vector])
        return lambda vector: tuple(call(jaxpr, *operands, *vector))

    def product(self, operands):
        operator, _, vector, *_ = self.parts(operands)
        return operator.mv(vector)

    def transposed(self, operands):
        _, state, vector, options, solver, _ = self.parts(operands)
        state, options = solver.transpose(state, options)
        return solver.compute(state, vector, options)[0]

    def is_system(self):
        """Whether there are as many unknowns as equations: of others the derivatives are those of the pseudoinverse."""
        operator = self.parts(self.avals)[0]
        unknowns, equations = ([(a.shape, np.dtype(a.dtype)) for a in jax.tree.leaves(structure)]
                               for structure in (operator.in_structure(), operator.out_structure()))
        return unknowns == equations and all(dtype.kind == "f" for _, dtype in unknowns)


@rule("linear_solve")
def _linear_solve(equation, *operands):
    solve = _Solve(equation)
    if in_a_rule():
        # Tangents are such solves, which raise an error of a result that is not finite: no such test is linear in them.
        equation = equation.replace(params={**equation.params, "static": (*equation.params["static"][:-1], False)})
    if not solve.is_system():
        return by_implementation(equation, *operands)
    made = implementation_alone(equation, *operands)
    try:
        back = solve.of_vector(solve.transposed, operands)
    except Exception:  # of a product that JAX cannot transpose: no reverse mode but that of what is computed
        return made
    n = len(solve.vector)

    def solved(_, vector):
        given = list(operands)
        for i, x in zip(solve.vector, vector):
            given[i] = x
        return tuple(implementation_alone(equation, *given)[:n])

    x = lax.custom_linear_solve(solve.of_vector(solve.product, operands), tuple(operands[i] for i in solve.vector), solved,
                                lambda _, vector: back(vector))
    return [*x, *made[n:]]
