"""A network of equinox fitted to a curve: its loss is traced by JAX, differentiated and compiled by tenon."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import tenon as tn


def main(steps=300):
    model = eqx.nn.MLP(1, 1, 32, 2, activation=jnp.tanh, key=jax.random.PRNGKey(0))
    params, rest = eqx.partition(model, eqx.is_array)
    x = np.linspace(-2, 2, 64, dtype=np.float32)[:, None]
    y = np.sin(2 * x)

    @tn.from_jax
    def loss(params):
        return jnp.mean((jax.vmap(eqx.combine(params, rest))(x) - y) ** 2)

    step = tn.jit(lambda p: tn.tree.map(lambda a, g: a - 0.1 * g, p, tn.grad(loss)(p)))
    for _ in range(steps):
        params = step(params)
    return float(loss(params))


if __name__ == "__main__":
    print("mean squared error", main())
