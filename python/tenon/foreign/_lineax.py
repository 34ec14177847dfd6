"""The linear solve of lineax: a system that has the derivatives of systems, whatever its solver does."""

import jax  # type: ignore

from tenon import lax
from tenon.foreign._jaxprs import by_implementation, call, rule


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

    def is_square(self):
        operator = self.parts(self.avals)[0]
        return jax.tree.leaves(operator.in_structure()) == jax.tree.leaves(operator.out_structure()) and all(
            a.dtype.kind == "f" for a in jax.tree.leaves(operator.in_structure()))


@rule("linear_solve")
def _linear_solve(equation, *operands):
    solve = _Solve(equation)
    if not solve.is_square():
        return by_implementation(equation, *operands)
    product, back = solve.of_vector(solve.product, operands), solve.of_vector(solve.transposed, operands)
    n = len(solve.vector)

    def solved(_, vector):
        given = list(operands)
        for i, x in zip(solve.vector, vector):
            given[i] = x
        made = by_implementation(equation, *given)
        return tuple(made[:n]), tuple(made[n:])

    x, more = lax.custom_linear_solve(product, tuple(operands[i] for i in solve.vector), solved,
                                      lambda _, vector: (back(vector), ()), has_aux=True)
    return [*x, *more]
