"""The rates of predators and prey fitted to observations: gradients go through the integrator, a loop of Runge-Kutta
steps that keeps few of its states."""

import tenon as tn
import tenon.numpy as tnp
from tenon import lax, optim, random


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


TRUTH = {"birth": 1.1, "hunt": 0.4, "feed": 0.1, "death": 0.4}


def main(steps=400):
    times, start = tnp.linspace(0.0, 20.0, 101), tnp.array([10.0, 10.0])
    truth = {k: tnp.array(v) for k, v in TRUTH.items()}
    seen = solve(truth, start, times)
    seen = seen * (1 + 0.02 * random.normal(random.key(0), seen.shape))
    logs = {k: tnp.log(v) + 0.3 for k, v in truth.items()}
    opt = optim.chain(optim.clip_by_global_norm(1.0), optim.adam(optim.cosine_decay_schedule(0.03, steps)))
    state = opt.init(logs)

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
    found = {k: float(tnp.exp(v)) for k, v in logs.items()}
    print(f"loss {float(value):.5f}:", ", ".join(f"{k} {v:.3f} ({TRUTH[k]})" for k, v in found.items()))
    return found


if __name__ == "__main__":
    main()
