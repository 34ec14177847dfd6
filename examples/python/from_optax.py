"""A regression by an optimizer of optax: a whole step is a function of JAX, compiled by tenon."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

import tenon as tn


def main(steps=200):
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(optax.cosine_decay_schedule(0.1, steps)))
    X = np.random.default_rng(0).normal(size=(100, 3)).astype(np.float32)
    y = X @ np.array([1, -2, 3], np.float32)

    @tn.from_jax
    def step(w, state):
        updates, state = optimizer.update(jax.grad(lambda w: jnp.mean((X @ w - y) ** 2))(w), state)
        return optax.apply_updates(w, updates), state

    w = np.zeros(3, np.float32)
    state = optimizer.init(w)
    for _ in range(steps):
        w, state = step(w, state)
    return np.asarray(w)


if __name__ == "__main__":
    print("weights", main())
