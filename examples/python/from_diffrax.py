"""A solver of diffrax with adaptive steps: the period of a pendulum at growing amplitudes, all lanes at once by tn.vmap."""

import diffrax
import jax.numpy as jnp
import numpy as np

import tenon as tn


def swing(amplitude):
    """The angle after one period of small swings."""
    term = diffrax.ODETerm(lambda t, y, args: jnp.stack([y[1], -jnp.sin(y[0])]))
    made = diffrax.diffeqsolve(term, diffrax.Tsit5(), 0.0, 2 * jnp.pi, 0.1, jnp.stack([amplitude, 0 * amplitude]),
                               stepsize_controller=diffrax.PIDController(rtol=1e-6, atol=1e-6), throw=False)
    return made.ys[0, 0]


def main():
    amplitudes = np.array([0.1, 0.5, 1.0, 2.0], np.float32)
    return np.asarray(tn.jit(tn.vmap(tn.from_jax(swing)))(amplitudes)) / amplitudes


if __name__ == "__main__":
    print("angle after one period of small swings, relative to the start:", main())
