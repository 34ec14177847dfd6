"""Hamiltonian Monte Carlo on a correlated normal distribution: the leapfrog and all steps are one compiled loop, the
step size is adapted while it warms up."""

import tenon as tn
import tenon.numpy as tnp
from tenon import lax, random

COVARIANCE = tnp.array([[2.0, 0.9], [0.9, 1.0]])
MEAN = tnp.array([1.0, -2.0])


def energy(x):
    d = x - MEAN
    return 0.5 * d @ tnp.linalg.solve(COVARIANCE, d)


def leapfrog(x, p, step, count):
    def turn(_, state):
        x, p = state
        p = p - 0.5 * step * tn.grad(energy)(x)
        x = x + step * p
        return x, p - 0.5 * step * tn.grad(energy)(x)

    return lax.fori_loop(0, count, turn, (x, p))


def transition(state, key):
    x, log_step, warming = state
    for_momentum, for_choice = random.split(key)
    p = random.normal(for_momentum, x.shape)
    new, q = leapfrog(x, p, tnp.exp(log_step), 10)
    gain = energy(x) + 0.5 * p @ p - energy(new) - 0.5 * q @ q
    probability = tnp.minimum(1.0, tnp.exp(gain))
    x = tnp.where(random.uniform(for_choice) < probability, new, x)
    # Toward an acceptance of 0.8, as long as it warms up.
    return (x, log_step + warming * 0.05 * (probability - 0.8), warming), (x, probability)


@tn.jit
def sample(key, start):
    warm, go = random.split(key)
    (x, log_step, _), _ = lax.scan(transition, (start, tnp.array(-2.0), 1.0), random.split(warm, 500))
    _, (xs, accepted) = lax.scan(transition, (x, log_step, 0.0), random.split(go, 5000))
    return xs, tnp.mean(accepted), tnp.exp(log_step)


def main():
    xs, accepted, step = sample(random.key(0), tnp.zeros(2))
    print(f"accepted {float(accepted):.2f} with steps of {float(step):.2f}")
    print("mean      ", tnp.mean(xs, 0))
    print("covariance", tnp.cov(xs.T).tolist())
    return xs


if __name__ == "__main__":
    main()
