"""A Kalman filter of a falling, drifting body as one scan; its noise is found by gradients of the likelihood."""

import numpy as np

import tenon as tn
import tenon.numpy as tnp
from tenon import lax, optim, random

A = tnp.array([[1.0, 0.1], [0.0, 1.0]])  # position and velocity, a tenth of a second later
H = tnp.array([[1.0, 0.0]])              # the position is seen


def predicted(mean, cov, q):
    return A @ mean, A @ cov @ A.T + q * tnp.eye(2)


def filtered(log_noise, ys):
    """(log likelihood, means) of the observations."""
    q, r = tnp.exp(log_noise["process"]), tnp.exp(log_noise["sensor"])

    def step(state, y):
        mean, cov = predicted(*state, q)
        s = (H @ cov @ H.T)[0, 0] + r
        surprise = y - (H @ mean)[0]
        gain = (cov @ H.T)[:, 0] / s
        mean = mean + gain * surprise
        cov = cov - tnp.outer(gain, H @ cov)
        return (mean, cov), (-0.5 * (surprise ** 2 / s + tnp.log(2 * np.pi * s)), mean)

    _, (log_likelihoods, means) = lax.scan(step, (tnp.zeros(2), tnp.eye(2)), ys)
    return tnp.sum(log_likelihoods), means


def observations(key, n, q=0.01, r=0.25):
    def move(x, key):
        a, b = random.split(key)
        x = A @ x + tnp.sqrt(q) * random.normal(a, (2,))
        return x, (x, x[0] + tnp.sqrt(r) * random.normal(b))

    return lax.scan(move, tnp.array([0.0, 1.0]), random.split(key, n))[1]


def main(steps=300):
    truth, ys = observations(random.key(1), 500)
    opt = optim.adam(0.05)
    noise = {"process": tnp.array(0.0), "sensor": tnp.array(0.0)}
    state = opt.init(noise)

    @tn.jit
    def improve(noise, state):
        value, slope = tn.value_and_grad(lambda n: -filtered(n, ys)[0])(noise)
        updates, state = opt.update(slope, state, noise)
        return optim.apply_updates(noise, updates), state, value

    for _ in range(steps):
        noise, state, value = improve(noise, state)
    q, r = float(tnp.exp(noise["process"])), float(tnp.exp(noise["sensor"]))
    error = tnp.sqrt(tnp.mean((filtered(noise, ys)[1][:, 0] - truth[:, 0]) ** 2))
    print(f"process noise {q:.4f} (0.01), sensor noise {r:.3f} (0.25), error of the position {float(error):.3f}")
    return q, r, float(error)


if __name__ == "__main__":
    main()
