"""The model of co2_forecaster.py, a GRU, and how it is trained; as in examples/co2_forecaster.cpp."""

import tenon as tn
import tenon.numpy as tnp
from tenon import lax, nn, random, tree

YEAR, HORIZON, HISTORY = 52, 52, 104
HIDDEN, BATCH, EVERY = 32, 32, 25


def cell(m, h, x):
    a, b = tnp.split(x @ m["w"] + m["b"], 3), tnp.split(h @ m["u"], 3)
    reset, update = nn.sigmoid(a[0] + b[0]), nn.sigmoid(a[1] + b[1])
    candidate = tnp.tanh(a[2] + reset * (b[2] + m["bn"]))
    return candidate + update * (h - candidate)


def forecast(m, window):
    """f32[52]: the weeks behind a window, f32[104,2]; the model's own forecasts are fed back."""

    def go_on(state, _):
        h, x = state
        h = cell(m, h, x)
        following = x[0] + h @ m["readout"] + m["offset"]
        return (h, tnp.stack([following, tnp.ones_like(following)])), following

    h, _ = lax.scan(lambda h, x: (cell(m, h, x), None), tnp.zeros(HIDDEN, tnp.float32), window[:-1])
    return lax.scan(go_on, (h, window[-1]), None, length=HORIZON)[1]


forecasts = tn.vmap(forecast, in_axes=(None, 0))


def loss(m, windows):
    seen, ahead = windows[:, :HISTORY], windows[:, HISTORY:]
    return tnp.mean(tnp.square(forecasts(m, seen) - ahead[..., 0]), where=ahead[..., 1] > 0)


def decay(by):
    by = tnp.float32(by)
    return lambda a, b: by * a + (1 - by) * b


@tn.jit
def step(state, rise, end, key, t):
    """One step of Adam on windows before week `end`: the loss, and (model, two moments, average of late models)."""
    model, mean, square, average = state
    starts = random.randint(key, (BATCH, 1), YEAR, end - (HISTORY + HORIZON), tnp.int32)
    value, slope = tn.value_and_grad(loss)(model, rise[starts + tnp.arange(HISTORY + HORIZON)])
    mean = tree.map(decay(0.9), mean, slope)
    square = tree.map(decay(0.999), square, tree.map(tnp.square, slope))
    rate = 2e-3 * tnp.sqrt(1 - 0.999 ** t) / (1 - 0.9 ** t)
    model = tree.map(lambda p, a, b: p - rate * a / (tnp.sqrt(b) + 1e-8), model, mean, square)
    return value, (model, mean, square, tree.map(decay(0.98), average, model))


def train(rise, end, steps):
    """(models, one every 25 steps; losses) of a training on the weeks before `end`."""
    draw = lambda seed, shape, scale: scale * random.normal(random.key(seed), shape, tnp.float32)
    zeros = lambda *shape: tnp.zeros(shape, tnp.float32)
    model = {"w": draw(1, (2, 3 * HIDDEN), 0.5), "u": draw(2, (HIDDEN, 3 * HIDDEN), 0.15), "b": zeros(3 * HIDDEN),
             "bn": zeros(HIDDEN), "readout": draw(3, (HIDDEN,), 0.01), "offset": zeros()}
    nothing = tree.map(tnp.zeros_like, model)
    state, models, losses = (model, nothing, nothing, model), [], []
    for i in range(1, steps + 1):
        value, state = step(state, rise, end, random.key(i), tnp.float32(i))
        losses.append(float(value))
        if i % EVERY == 0 or i == steps:
            models.append(state[-1])
    return models, losses
