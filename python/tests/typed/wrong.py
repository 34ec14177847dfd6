"""Mistakes; test_types.py sees that each of the lines marked so, and no other, is one for a checker. It is not run."""

import tenon as tn
import tenon.numpy as tnp
from tenon import lax


@tn.jit
def f(x: tn.Array, n: int) -> tn.Array:
    return x * n


x = tnp.ones(3) + tn.Array()
f(x)  # wrong
f(x, "3")  # wrong
f(x, m=3)  # wrong
f(x, 3).summ()  # wrong
text: str = f(x, 3)  # wrong
tn.jit(f, static=1)  # wrong
tn.jit(3)  # wrong
tn.vmap(f, axis=0)  # wrong
tn.vmap(f)(x, "3")  # wrong
tn.grad(f, argnums="x")  # wrong
f(x, 3).at[0].put(1)  # wrong
f(x, 3)[0] = 1.0  # wrong
f(x, 3).shape = (3,)  # wrong
lax.scan(f, x, length="3")  # wrong
lax.while_loop(f, 3, x)  # wrong
tn.List(3)  # wrong
tn.List().append(x)  # wrong
tn.make_program(f)(x, 3).texts()  # wrong
tnp.sum(x, keepdim=True)  # wrong
tnp.sum(x, keepdims="yes")  # wrong
tnp.reshape(x, "3")  # wrong
lax.top_k(x, k="1")  # wrong
