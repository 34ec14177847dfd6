"""A Kalman filter of a drifting body as one scan; its noise is found by gradients of the likelihood.
usage: kalman.py [PICTURE.png]"""

import sys

import numpy as np

import tenon as tn
import tenon.numpy as tnp
from tenon import lax, optim, random

from pictures import BLUE, GREY, ORANGE, panels

A = tnp.array([[1.0, 0.1], [0.0, 1.0]])  # position and velocity, a tenth of a second later
H = tnp.array([[1.0, 0.0]])              # the position is seen


def predicted(mean, cov, q):
    return A @ mean, A @ cov @ A.T + q * tnp.eye(2)


def filtered(log_noise, ys):
    """(log likelihood, means, covariances) of the observations."""
    q, r = tnp.exp(log_noise["process"]), tnp.exp(log_noise["sensor"])

    def step(state, y):
        mean, cov = predicted(*state, q)
        s = (H @ cov @ H.T)[0, 0] + r
        surprise = y - (H @ mean)[0]
        gain = (cov @ H.T)[:, 0] / s
        mean = mean + gain * surprise
        cov = cov - tnp.outer(gain, H @ cov)
        return (mean, cov), (-0.5 * (surprise ** 2 / s + tnp.log(2 * np.pi * s)), mean, cov)

    _, (log_likelihoods, *states) = lax.scan(step, (tnp.zeros(2), tnp.eye(2)), ys)
    return tnp.sum(log_likelihoods), *states


def observations(key, n, q=0.01, r=0.25):
    def move(x, key):
        a, b = random.split(key)
        x = A @ x + tnp.sqrt(q) * random.normal(a, (2,))
        return x, (x, x[0] + tnp.sqrt(r) * random.normal(b))

    return lax.scan(move, tnp.array([0.0, 1.0]), random.split(key, n))[1]


def draw(path, truth, ys, means, variances, likelihoods, of_truth):
    t, band, part = 0.1 * np.arange(1, 1 + len(ys)), 1.96 * variances ** 0.5, slice(80)
    with panels(path, [["position", "position"], ["error", "likelihood"]], 6.8) as axes:
        low, high = (means - band)[part], (means + band)[part]
        axes["position"].fill_between(t[part], low, high, color=BLUE, alpha=0.2, lw=0, label="95 %")
        axes["position"].plot(t[part], ys[part], ".", color=GREY, label="observed")
        axes["position"].plot(t[part], means[part], color=BLUE, label="filtered")
        axes["position"].plot(t[part], truth[part], "--", color=ORANGE, label="true")
        axes["position"].set(xlabel="time, s: the first 8 of 50", ylabel="position, m")
        axes["error"].fill_between(t, -band, band, color=BLUE, alpha=0.2, lw=0, label="95 %")
        axes["error"].plot(t, ys - truth, ".", ms=3, color=GREY, label="observed")
        axes["error"].plot(t, means - truth, color=BLUE, lw=1, label="filtered")
        axes["error"].set(xlabel="time, s", ylabel="error of the position, m")
        axes["likelihood"].plot(likelihoods, color=BLUE, label="of the noise found")
        axes["likelihood"].axhline(of_truth, color=ORANGE, ls="--", label="of the true noise")
        axes["likelihood"].set(xlabel="step of Adam", ylabel="log-likelihood, nats")


def main(picture=None, steps=300):
    truth, ys = observations(random.key(1), 500)
    opt = optim.adam(0.05)
    noise = {"process": tnp.array(0.0), "sensor": tnp.array(0.0)}
    state = opt.init(noise)

    @tn.jit
    def improve(noise, state):
        value, slope = tn.value_and_grad(lambda n: -filtered(n, ys)[0])(noise)
        updates, state = opt.update(slope, state, noise)
        return optim.apply_updates(noise, updates), state, value

    losses = []
    for _ in range(steps):
        noise, state, value = improve(noise, state)
        losses.append(float(value))
    q, r = float(tnp.exp(noise["process"])), float(tnp.exp(noise["sensor"]))
    _, means, covs = filtered(noise, ys)
    error = tnp.sqrt(tnp.mean((means[:, 0] - truth[:, 0]) ** 2))
    print(f"process noise {q:.4f} (0.01), sensor noise {r:.3f} (0.25), error of the position {float(error):.3f}")
    if picture:
        of_truth = filtered({"process": np.log(0.01), "sensor": np.log(0.25)}, ys)[0]
        arrays = map(np.asarray, (truth[:, 0], ys, means[:, 0], covs[:, 0, 0]))
        draw(picture, *arrays, -np.array(losses), float(of_truth))
    return q, r, float(error)


if __name__ == "__main__":
    main(*sys.argv[1:])
