"""Models of sequences, of which nothing is stored that has an element for each pair of steps, or that a loss needs of each
step only: attention that looks up what came before, and a recurrent network with three losses.
usage: sequences.py [PICTURE.png]"""

import re
import sys

import numpy as np

import tenon as tn
import tenon.numpy as tnp
from tenon import lax, nn, optim, random

from pictures import BLUE, GREEN, GREY, ORANGE, PURPLE, panels, tell


def trained(loss, params, of_steps):
    """What Adam makes of params, and what `loss(params, of_step)`, a number and more, was at each step."""
    opt = optim.adam(1e-2)

    def step(carry, of_step):
        params, state = carry
        told, slope = tn.value_and_grad(loss, has_aux=True)(params, of_step)
        updates, state = opt.update(slope, state, params)
        return (optim.apply_updates(params, updates), state), told

    (params, _), history = lax.scan(step, (params, opt.init(params)), of_steps)
    return params, history


# --- attention that recalls: a random order of tokens comes twice; behind a token of the second time comes what came then.
TOKENS, HEADS, WIDTH = 24, 2, 32


def scores(q, k):
    """Of each query to the keys up to its own place."""
    places = tnp.arange(q.shape[1])
    of_pairs = tnp.einsum("hid,hjd->hij", q, k) / np.sqrt(q.shape[-1])
    return tnp.where(places[None, :] <= places[:, None], of_pairs, -1e30)


def attention(q, k, v):
    return tnp.einsum("hij,hjd->hid", nn.softmax(scores(q, k)), v)


def projections(params, tokens):
    """Queries of each token; keys of the token before it; its values. Heads lie in front."""
    now = params["embedding"][tokens]
    before = tnp.concatenate([tnp.zeros((1, WIDTH)), now[:-1]])
    heads = lambda x, w: tnp.moveaxis((x @ w).reshape(len(tokens), HEADS, -1), 1, 0)
    return heads(now, params["query"]), heads(before, params["key"]), heads(now, params["value"])


def logits(params, tokens):
    found = attention(*projections(params, tokens))
    return tnp.moveaxis(found, 0, 1).reshape(len(tokens), -1) @ params["out"]


def recall_loss(params, batch):
    """Cross entropy of the next token, of the second time alone."""
    def of_one(tokens):
        of_next = nn.log_softmax(logits(params, tokens[:-1]))[TOKENS:]
        wanted = tokens[TOKENS + 1:]
        return -tnp.mean(tnp.take_along_axis(of_next, wanted[:, None], 1)), tnp.mean(tnp.argmax(of_next, 1) == wanted)

    losses, right = tn.vmap(of_one)(batch)
    return tnp.mean(losses), tnp.mean(right)


def twice(key, count):
    order = tn.vmap(lambda k: random.permutation(k, TOKENS))(random.split(key, count))
    return tnp.concatenate([order, order], 1)


def trained_recall(key, steps, batch=32):
    keys = random.split(key, 6)
    shapes = {"embedding": (TOKENS, WIDTH), "query": (WIDTH, WIDTH), "key": (WIDTH, WIDTH), "value": (WIDTH, WIDTH),
              "out": (WIDTH, TOKENS)}
    params = {name: 0.3 * random.normal(k, shape) for k, (name, shape) in zip(keys, shapes.items())}
    params |= {"query": tnp.eye(WIDTH), "key": tnp.eye(WIDTH)}  # a token looks for itself
    return trained(lambda params, key: recall_loss(params, twice(key, batch)), params, random.split(keys[5], steps))


# --- a recurrent network that says what comes next, with states that are small and change little.
UNITS = 32
WEIGHTS = {"error": 1.0, "activity": 0.02, "roughness": 0.1}


def states(params, signal):
    def step(h, x):
        h = tnp.tanh(params["recurrent"] @ h + params["input"] * x + params["bias"])
        return h, h

    return lax.scan(step, tnp.zeros(UNITS), signal)[1]


def losses(params, signal):
    hs = states(params, signal[:-1])
    return {
        "error": tnp.mean((hs @ params["output"] - signal[1:]) ** 2),
        "activity": tnp.mean(hs ** 2),
        "roughness": tnp.mean((hs[1:] - hs[:-1]) ** 2),
    }


def total(params, signal):
    parts = losses(params, signal)
    return sum(WEIGHTS[name] * part for name, part in parts.items()), parts


def trained_network(key, signal, steps):
    keys = random.split(key, 3)
    params = {"recurrent": random.normal(keys[0], (UNITS, UNITS)) * 0.9 / np.sqrt(UNITS), "input": random.normal(keys[1], (UNITS,)),
              "bias": tnp.zeros(UNITS), "output": random.normal(keys[2], (UNITS,)) / UNITS}
    params, (_, parts) = trained(lambda params, _: total(params, signal), params, tnp.arange(steps))
    return params, parts


def beats(key, n):
    t = tnp.arange(n) / 8
    return tnp.sin(t) * tnp.sin(0.13 * t) + 0.05 * random.normal(key, (n,))


# --- what they take
def bytes_between(f, *args):
    """Of intermediate values, as explain says it."""
    told = re.search(r"([\d,]+) bytes of intermediate values", tn.explain(f)(*args))
    return int(told[1].replace(",", "")) if told else 0


def sizes_of_attention(lengths):
    """Bytes of all scores of 8 heads of 64 features, and of what the gradient keeps in between: some rows of the scores."""
    found = []
    for n in lengths:
        x = tnp.zeros((8, n, 64))
        slope = tn.grad(lambda q, k, v: tnp.sum(attention(q, k, v) ** 2), argnums=(0, 1, 2))
        found.append((8 * n * n * x.dtype.itemsize, bytes_between(slope, x, x, x)))
    return np.array(found)


def draw(path, found):
    with panels(path, [["recall", "map"], ["signal", "losses"], ["memory", "memory"]], 9.5, 3) as axes:
        steps = np.arange(len(found["right"])) + 1
        axes["recall"].plot(steps, found["entropy"], color=BLUE, label="cross entropy, nats")
        axes["recall"].plot(steps, found["right"], color=ORANGE, label="share that is right")
        axes["recall"].set(xlabel="step of Adam")
        axes["map"].imshow(found["weights"], cmap="Blues", vmax=1, interpolation="nearest")
        axes["map"].plot([], [], color=BLUE, label="weight of the key, 0 to 1")
        axes["map"].set(xlabel="place of the key", ylabel="place of the query")
        axes["map"].grid(False)
        last = slice(-200, None)
        axes["signal"].plot(found["signal"][1:][last], ".", color=GREY, markersize=3, label="signal")
        axes["signal"].plot(found["said"][last], color=ORANGE, label="said one step before")
        axes["signal"].set(xlabel="time, steps")
        for (name, part), color in zip(found["parts"].items(), (BLUE, ORANGE, GREEN)):
            axes["losses"].loglog(np.arange(len(part)) + 1, part, color=color, label=name)
        axes["losses"].set(xlabel="step of Adam")
        lengths, sizes = found["memory"]
        axes["memory"].loglog(lengths, sizes[:, 0], "o-", color=GREY, label="all scores of 8 heads")
        axes["memory"].loglog(lengths, sizes[:, 1], "o-", color=PURPLE, label="intermediate values of the gradient")
        axes["memory"].set_xscale("log", base=2)
        axes["memory"].set(xlabel="length of the sequence", ylabel="bytes")


def main(picture=None, steps=400, lengths=(256, 512, 1024, 2048, 4096, 8192)):
    keys = random.split(random.key(2), 5)
    params, (entropy, right) = tn.jit(lambda key: trained_recall(key, steps))(keys[0])
    tokens = twice(keys[1], 1)[0]
    q, k, _ = projections(params, tokens)
    found = {"entropy": entropy, "right": right, "weights": nn.softmax(scores(q, k)).max(0)}

    signal = beats(keys[2], 2000)
    network, parts = tn.jit(lambda key, signal: trained_network(key, signal, steps))(keys[3], signal)
    found |= {"signal": signal, "parts": parts, "said": states(network, signal[:-1]) @ network["output"]}
    found["memory"] = np.array(lengths), sizes_of_attention(lengths)
    results = {
        "right": float(right[-20:].mean()),
        "losses": {name: [float(part[0]), float(part[-1])] for name, part in parts.items()},
        "bytes of scores and of intermediate values": found["memory"][1][-1].tolist(),
    }
    return tell(results, picture, draw, found)


if __name__ == "__main__":
    main(*sys.argv[1:])
