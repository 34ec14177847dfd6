"""What has derivatives by rules of the user's own: the names of jax.custom_derivatives."""

from tenon._custom_rules import closure_convert as closure_convert, custom_jvp as custom_jvp, custom_vjp as custom_vjp
from tenon._linear import custom_gradient as custom_gradient, linear_call as linear_call
from tenon._symbolic_zeros import (
    CustomVJPPrimal as CustomVJPPrimal,
    SymbolicZero as SymbolicZero,
    custom_vjp_primal_tree_values as custom_vjp_primal_tree_values,
    zero_from_primal as zero_from_primal,
)

__all__ = ["CustomVJPPrimal", "SymbolicZero", "closure_convert", "custom_gradient", "custom_jvp", "custom_vjp",
           "custom_vjp_primal_tree_values", "linear_call", "zero_from_primal"]
