"""Hamiltonian Monte Carlo on a correlated normal distribution: the leapfrog and all steps are one compiled loop, the
step size is adapted while it warms up. usage: hmc.py [PICTURE.png]"""

import sys

import numpy as np

import tenon as tn
import tenon.numpy as tnp
from tenon import lax, random

from pictures import BLUE, GREY, ORANGE, panels

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
    for_momentum, for_count, for_choice = random.split(key, 3)
    p = random.normal(for_momentum, x.shape)
    # Of random length, so that no direction comes back to where it was each time.
    new, q = leapfrog(x, p, tnp.exp(log_step), random.randint(for_count, (), 1, 11))
    gain = energy(x) + 0.5 * p @ p - energy(new) - 0.5 * q @ q
    probability = tnp.minimum(1.0, tnp.exp(gain))
    x = tnp.where(random.uniform(for_choice) < probability, new, x)
    # Toward an acceptance of 0.8, as long as it warms up.
    return (x, log_step + warming * 0.1 * (probability - 0.8), warming), (x, probability, tnp.exp(log_step))


@tn.jit
def sample(key, start):
    """(the positions, f64[5000,2]; what was accepted; the step; probability and step of each transition of the warm-up)"""
    warm, go = random.split(key)
    (x, _, _), (_, *warm_up) = lax.scan(transition, (start, tnp.array(-2.0), 1.0), random.split(warm, 500))
    step = tnp.mean(warm_up[1][250:])
    _, (xs, accepted, _) = lax.scan(transition, (x, tnp.log(step), 0.0), random.split(go, 5000))
    return xs, tnp.mean(accepted), step, warm_up


def draw(path, xs, step, probabilities, steps):
    with panels(path, [["steps", "acceptance"], ["trace", "marginals"]], 6.4) as axes:
        axes["steps"].plot(steps, color=BLUE, label="adapted")
        axes["steps"].plot([250, 500], [step, step], "--", color=ORANGE, label="its mean, taken for the samples")
        axes["steps"].set(xlabel="transition of the warm-up", ylabel="step, units of x", ylim=0)
        axes["acceptance"].plot(probabilities, ".", ms=4, color=GREY, label="each")
        means = np.convolve(probabilities, np.full(50, 0.02), "valid")
        axes["acceptance"].plot(np.arange(50, 501), means, color=BLUE, lw=2, label="mean of 50")
        axes["acceptance"].axhline(0.8, color=ORANGE, ls="--", label="aim")
        axes["acceptance"].set(xlabel="transition of the warm-up", ylabel="probability of acceptance", ylim=0)
        for i, color in enumerate([BLUE, ORANGE]):
            mean, deviation = float(MEAN[i]), float(COVARIANCE[i, i]) ** 0.5
            z = np.linspace(-4, 4, 200)
            axes["trace"].plot(xs[:300, i], color=color, lw=1, label=f"x[{i}]")
            axes["marginals"].hist(xs[:, i], 40, density=True, color=color, alpha=0.4, label=f"x[{i}]")
            density = np.exp(-z ** 2 / 2) / deviation / (2 * np.pi) ** 0.5
            axes["marginals"].plot(mean + z * deviation, density, color=color, lw=2, label="exact")
        axes["trace"].set(xlabel="sample", ylabel="x")
        axes["marginals"].set(xlabel="x", ylabel="density, 1 / unit of x")


def main(picture=None):
    xs, accepted, step, warm_up = sample(random.key(0), tnp.zeros(2))
    print(f"accepted {float(accepted):.2f} with steps of {float(step):.2f}")
    print("mean      ", tnp.mean(xs, 0))
    print("covariance", tnp.cov(xs.T).tolist())
    if picture:
        draw(picture, *map(np.asarray, (xs, step, *warm_up)))
    return xs


if __name__ == "__main__":
    main(*sys.argv[1:])
