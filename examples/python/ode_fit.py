"""The rates of predators and prey fitted to observations: gradients go through the integrator, a loop of Runge-Kutta
steps that keeps few of its states. usage: ode_fit.py [PICTURE.png]"""

import sys

import numpy as np

import tenon as tn
import tenon.numpy as tnp
from tenon import lax, optim, random

from pictures import BLUE, GREEN, ORANGE, PURPLE, panels


def slope(y, p):
    prey, predators = y
    return tnp.stack([p["birth"] * prey - p["hunt"] * prey * predators, p["feed"] * prey * predators - p["death"] * predators])


def solve(p, start, times):
    """The states at times, from one to the next by ten steps of order 4."""

    def step(_, state):
        y, h = state
        k1 = slope(y, p)
        k2 = slope(y + 0.5 * h * k1, p)
        k3 = slope(y + 0.5 * h * k2, p)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(y + h * k3, p)), h

    def interval(y, h):
        y, _ = lax.fori_loop(0, 10, step, (y, h / 10))
        return y, y

    return lax.scan(interval, start, tnp.diff(times), checkpoint=tn.binomial(8))[1]


TRUTH = {"birth": 1.1, "hunt": 0.4, "feed": 0.1, "death": 0.4}  # a year; of hunt and feed, for each thousand animals too


def draw(path, times, seen, fits, rates, losses):
    with panels(path, [["animals", "animals"], ["rates", "loss"]], 6.8) as axes:
        for i, (color, kind) in enumerate(((BLUE, "prey"), (ORANGE, "predators"))):
            axes["animals"].plot(times, seen[:, i], ".", color=color, label=f"{kind}, seen")
            for name, style in ("first guess", ":"), ("fit", "-"):
                axes["animals"].plot(times, fits[name][:, i], style, color=color, label=name)
        axes["animals"].set(xlabel="time, years", ylabel="thousands of animals", yscale="log")
        for (rate, true), color in zip(TRUTH.items(), (BLUE, ORANGE, GREEN, PURPLE)):
            axes["rates"].plot([found[rate] / true for found in rates], color=color, label=rate)
        axes["rates"].set(xlabel="step of Adam", ylabel="rate / true rate")
        axes["loss"].semilogy(losses, color=BLUE, label="loss")
        axes["loss"].axhline(0.02 ** 2, color=ORANGE, ls="--", label="variance of the noise")
        axes["loss"].set(xlabel="step of Adam", ylabel="mean square of log(fit / seen)")


def main(picture=None, steps=400):
    times, start = tnp.linspace(0.0, 20.0, 101), tnp.array([10.0, 10.0])
    truth = {k: tnp.array(v) for k, v in TRUTH.items()}
    seen = solve(truth, start, times)
    seen = seen * (1 + 0.02 * random.normal(random.key(0), seen.shape))
    logs = {k: tnp.log(v) + 0.3 for k, v in truth.items()}
    opt = optim.chain(optim.clip_by_global_norm(1.0), optim.adam(optim.cosine_decay_schedule(0.03, steps)))
    state, rates, losses = opt.init(logs), [tn.tree.map(tnp.exp, logs)], []

    @tn.jit
    def improve(logs, state):
        def loss(logs):
            made = solve(tn.tree.map(tnp.exp, logs), start, times)
            return tnp.mean((tnp.log(made) - tnp.log(seen)) ** 2)

        value, g = tn.value_and_grad(loss)(logs)
        updates, state = opt.update(g, state, logs)
        return optim.apply_updates(logs, updates), state, value

    for _ in range(steps):
        logs, state, value = improve(logs, state)
        losses.append(float(value))
        rates.append(tn.tree.map(tnp.exp, logs))
    found = {k: float(v) for k, v in rates[-1].items()}
    print(f"loss {losses[-1]:.5f}:", ", ".join(f"{k} {v:.3f} ({TRUTH[k]})" for k, v in found.items()))
    if picture:
        fits = {"first guess": solve(rates[0], start, times), "fit": solve(rates[-1], start, times)}
        draw(picture, times[1:], seen, fits, rates, losses)
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
