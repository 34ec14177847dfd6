"""A recurrent network of flax: its loss and gradient by tenon, to learn the sum of a sequence."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

import tenon as tn


class Model(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(1)(nn.RNN(nn.GRUCell(16))(x)[:, -1])


def main(steps=200):
    x = np.random.default_rng(0).normal(size=(64, 8, 1)).astype(np.float32)
    params = Model().init(jax.random.PRNGKey(0), x)
    loss = tn.from_jax(lambda p: jnp.mean((Model().apply(p, x) - x.sum(1)) ** 2))
    step = tn.jit(lambda p: tn.tree.map(lambda a, g: a - 0.05 * g, p, tn.grad(loss)(p)))
    for _ in range(steps):
        params = step(params)
    return float(loss(params))


if __name__ == "__main__":
    print("mean squared error", main())
