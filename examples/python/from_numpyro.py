"""A model of numpyro: the most probable parameters by gradients that tenon takes of its density."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer.util import log_density

import tenon as tn


def model(y):
    mean = numpyro.sample("mean", dist.Normal(0.0, 10.0))
    numpyro.sample("y", dist.StudentT(4.0, mean, 1.0).expand([y.shape[0]]).to_event(1), obs=y)


def main(steps=100):
    y = np.array([1.9, 2.1, 2.0, 1.8, 2.2, 30.0], np.float32)  # with an outlier
    density = tn.from_jax(lambda p: log_density(model, (jnp.asarray(y),), {}, p)[0])
    step = tn.jit(lambda p: tn.tree.map(lambda a, g: a + 0.05 * g, p, tn.grad(density)(p)))
    p = {"mean": np.float32(0)}
    for _ in range(steps):
        p = step(p)
    return float(p["mean"])


if __name__ == "__main__":
    print("mean", main())
