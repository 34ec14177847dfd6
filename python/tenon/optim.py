"""Optimisers as pure functions on trees: opt.init(params) -> state, opt.update(grads, state, params) -> (updates, state).

>>> import tenon as tn
>>> opt = adam(0.1)
>>> params = {"w": tn.numpy.array(1.0)}
>>> state = opt.init(params)
>>> updates, state = opt.update(tn.grad(lambda p: p["w"] ** 2)(params), state, params)
>>> float(apply_updates(params, updates)["w"]) < 1.0
True
"""

import math
from typing import Callable, NamedTuple

from tenon import numpy as tnp
from tenon import tree

__all__ = [
    "Optimizer", "adam", "adamw", "add_decayed_weights", "apply_updates", "chain", "clip", "clip_by_global_norm",
    "constant_schedule", "cosine_decay_schedule", "exponential_decay", "global_norm", "linear_schedule", "lion",
    "momentum", "scale", "sgd", "warmup_cosine_decay_schedule",
]


class Optimizer(NamedTuple):
    """Two functions: init(params) -> state and update(grads, state, params=None) -> (updates, state)."""

    init: Callable
    update: Callable


def apply_updates(params, updates):
    """params + updates, each leaf in its dtype."""
    return tree.map(lambda p, u: tnp.asarray(p + u, tnp.result_type(p)), params, updates)


def global_norm(updates):
    """The Euclidean norm of all leaves together."""
    return tnp.sqrt(sum(tnp.sum(tnp.square(tnp.abs(x))) for x in tree.leaves(updates)))


def _zeros(params):
    return tree.map(tnp.zeros_like, params)


def _stateless(update):
    return Optimizer(lambda params: (), lambda grads, state, params=None: (update(grads, params), state))


def scale(factor):
    """The updates times a number."""
    return _stateless(lambda grads, params: tree.map(lambda g: g * factor, grads))


def clip(max_delta):
    """The updates limited to [-max_delta, max_delta]."""
    return _stateless(lambda grads, params: tree.map(lambda g: tnp.clip(g, -max_delta, max_delta), grads))


def clip_by_global_norm(max_norm):
    """The updates made shorter where they are longer than max_norm together."""

    def update(grads, params):
        norm = global_norm(grads)
        factor = tnp.where(norm > max_norm, max_norm / tnp.where(norm > max_norm, norm, 1), 1)
        return tree.map(lambda g: tnp.asarray(g * factor, tnp.result_type(g)), grads)

    return _stateless(update)


def add_decayed_weights(weight_decay):
    """The updates plus the parameters times a number."""
    return _stateless(lambda grads, params: tree.map(lambda g, p: g + weight_decay * p, grads, params))


def chain(*parts):
    """One optimiser after another: each takes what the one before gives."""

    def update(grads, state, params=None):
        states = []
        for part, s in zip(parts, state):
            grads, s = part.update(grads, s, params)
            states.append(s)
        return grads, tuple(states)

    return Optimizer(lambda params: tuple(part.init(params) for part in parts), update)


def _stepped(learning_rate):
    """By a learning rate, a number or a function of the number of steps before."""
    if not callable(learning_rate):
        return scale(-learning_rate)

    def update(grads, count, params=None):
        return tree.map(lambda g: tnp.asarray(-learning_rate(count) * g, tnp.result_type(g)), grads), count + 1

    return Optimizer(lambda params: tnp.zeros((), tnp.int32), update)


def sgd(learning_rate, momentum=None, nesterov=False):
    """Steps against the gradient; with `momentum` against a decaying sum of gradients."""
    if momentum is None:
        return _stepped(learning_rate)
    return chain(_trace(momentum, nesterov), _stepped(learning_rate))


def momentum(learning_rate, decay=0.9, nesterov=False):
    """sgd with momentum."""
    return sgd(learning_rate, decay, nesterov)


def _trace(decay, nesterov):
    def update(grads, trace, params=None):
        trace = tree.map(lambda g, t: g + decay * t, grads, trace)
        return (tree.map(lambda g, t: g + decay * t, grads, trace) if nesterov else trace), trace

    return Optimizer(_zeros, update)


class AdamState(NamedTuple):
    count: object  # type: ignore[assignment]
    mu: object
    nu: object


def _by_adam(b1, b2, eps, eps_root):
    def init(params):
        return AdamState(tnp.zeros((), tnp.int32), _zeros(params), tree.map(lambda p: tnp.abs(tnp.zeros_like(p)), params))

    def update(grads, state, params=None):
        count = state.count + 1
        mu = tree.map(lambda g, m: b1 * m + (1 - b1) * g, grads, state.mu)
        nu = tree.map(lambda g, v: b2 * v + (1 - b2) * tnp.square(tnp.abs(g)), grads, state.nu)

        def step(m, v):
            t = tnp.asarray(count, v.dtype)
            first = m / (1 - b1 ** t)
            second = v / (1 - b2 ** t)
            return tnp.asarray(first / (tnp.sqrt(second + eps_root) + eps), m.dtype)

        return tree.map(step, mu, nu), AdamState(count, mu, nu)

    return Optimizer(init, update)


def adam(learning_rate, b1=0.9, b2=0.999, eps=1e-8, eps_root=0.0):
    """Adam (Kingma and Ba, 2015)."""
    return chain(_by_adam(b1, b2, eps, eps_root), _stepped(learning_rate))


def adamw(learning_rate, b1=0.9, b2=0.999, eps=1e-8, eps_root=0.0, weight_decay=1e-4):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019)."""
    return chain(_by_adam(b1, b2, eps, eps_root), add_decayed_weights(weight_decay), _stepped(learning_rate))


def lion(learning_rate, b1=0.9, b2=0.99, weight_decay=1e-3):
    """Lion: the sign of a mean of gradients (Chen et al., 2023)."""

    def update(grads, mu, params=None):
        steps = tree.map(lambda g, m: tnp.sign(b1 * m + (1 - b1) * g), grads, mu)
        return steps, tree.map(lambda g, m: b2 * m + (1 - b2) * g, grads, mu)

    return chain(Optimizer(_zeros, update), add_decayed_weights(weight_decay), _stepped(learning_rate))


# --- schedules: learning rates as functions of the number of steps before ---


def constant_schedule(value):
    """Always the same."""
    return lambda count: value


def linear_schedule(init_value, end_value, transition_steps):
    """A line from one value to another."""

    def schedule(count):
        part = tnp.clip(count / max(transition_steps, 1), 0, 1)
        return init_value + (end_value - init_value) * part

    return schedule


def exponential_decay(init_value, transition_steps, decay_rate):
    """init_value · decay_rate^(count / transition_steps)."""
    return lambda count: init_value * decay_rate ** (count / transition_steps)


def cosine_decay_schedule(init_value, decay_steps, alpha=0.0):
    """Half a cosine from init_value to alpha · init_value."""

    def schedule(count):
        part = tnp.clip(count / max(decay_steps, 1), 0, 1)
        return init_value * ((1 - alpha) * 0.5 * (1 + tnp.cos(math.pi * part)) + alpha)

    return schedule


def warmup_cosine_decay_schedule(init_value, peak_value, warmup_steps, decay_steps, end_value=0.0):
    """A line up to the peak, then half a cosine down."""
    up = linear_schedule(init_value, peak_value, warmup_steps)
    down = cosine_decay_schedule(peak_value, decay_steps - warmup_steps, end_value / peak_value)
    return lambda count: tnp.where(count < warmup_steps, up(count), down(count - warmup_steps))
