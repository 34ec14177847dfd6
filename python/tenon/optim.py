"""Optimisers as pure functions on trees: opt.init(params) -> state, opt.update(grads, state, params) -> (updates, state).

>>> import tenon as tn
>>> opt = adam(0.1)
>>> params = {"w": tn.numpy.array(1.0)}
>>> state = opt.init(params)
>>> updates, state = opt.update(tn.grad(lambda p: p["w"] ** 2)(params), state, params)
>>> float(apply_updates(params, updates)["w"]) < 1.0
True
"""

from typing import Callable, NamedTuple

from tenon import _core, tree
from tenon import numpy as tnp

_rules = _core.optim  # of leaves: the library's, which optimisers of C++ are made of too

__all__ = [
    "Optimizer", "adagrad", "adam", "adamw", "add_decayed_weights", "apply_updates", "chain", "clip", "clip_by_global_norm",
    "constant_schedule", "cosine_decay_schedule", "exponential_decay", "global_norm", "linear_schedule", "lion",
    "momentum", "rmsprop", "scale", "sgd", "warmup_cosine_decay_schedule",
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
    return _rules.norm(tree.leaves(updates))


def _zeros(params):
    return tree.map(tnp.zeros_like, params)


def _stateless(update):
    return Optimizer(lambda params: (), lambda grads, state, params=None: (update(grads, params), state))


def scale(factor):
    """The updates times a number."""
    return _stateless(lambda grads, params: tree.map(lambda g: _rules.scaled(g, factor), grads))


def clip(max_delta):
    """The updates limited to [-max_delta, max_delta]."""
    return _stateless(lambda grads, params: tree.map(lambda g: tnp.clip(g, -max_delta, max_delta), grads))


def clip_by_global_norm(max_norm):
    """The updates made shorter where they are longer than max_norm together."""

    def update(grads, params):
        factor = _rules.clipping_factor(global_norm(grads), max_norm)
        return tree.map(lambda g: _rules.scaled(g, factor), grads)

    return _stateless(update)


def add_decayed_weights(weight_decay):
    """The updates plus the parameters times a number."""
    return _stateless(lambda grads, params: tree.map(lambda g, p: _rules.decaying_sum(g, p, weight_decay), grads, params))


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
        rate = -learning_rate(count)
        return tree.map(lambda g: _rules.scaled(g, rate), grads), count + 1

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
        trace = tree.map(lambda g, t: _rules.decaying_sum(g, t, decay), grads, trace)
        return (tree.map(lambda g, t: _rules.decaying_sum(g, t, decay), grads, trace) if nesterov else trace), trace

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
        mu = tree.map(lambda g, m: _rules.decaying_mean(g, m, b1), grads, state.mu)
        nu = tree.map(lambda g, v: _rules.decaying_mean_of_squares(g, v, b2), grads, state.nu)
        steps = tree.map(lambda m, v: _rules.adam_step(m, v, count, b1, b2, eps, eps_root), mu, nu)
        return steps, AdamState(count, mu, nu)

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
        steps = tree.map(lambda g, m: _rules.lion_step(g, m, b1), grads, mu)
        return steps, tree.map(lambda g, m: _rules.decaying_mean(g, m, b2), grads, mu)

    return chain(Optimizer(_zeros, update), add_decayed_weights(weight_decay), _stepped(learning_rate))


def _by_root(init, eps, squares):
    """The updates over the root of what `squares` makes of them and of what it made before."""

    def update(grads, before, params=None):
        now = tree.map(squares, grads, before)
        return tree.map(lambda g, v: _rules.over_root(g, v, eps), grads, now), now

    return Optimizer(init, update)


def rmsprop(learning_rate, decay=0.9, eps=1e-8, momentum=None, nesterov=False):
    """Gradients over the root of a decaying mean of their squares (Tieleman and Hinton, 2012)."""
    by_root = _by_root(lambda params: tree.map(lambda p: tnp.abs(tnp.zeros_like(p)), params), eps,
                       lambda g, v: _rules.decaying_mean_of_squares(g, v, decay))
    parts = [by_root, _stepped(learning_rate)]
    return chain(*parts) if momentum is None else chain(*parts, _trace(momentum, nesterov))


def adagrad(learning_rate, initial_accumulator_value=0.1, eps=1e-7):
    """Gradients over the root of the sum of their squares so far (Duchi, Hazan and Singer, 2011)."""
    by_root = _by_root(lambda params: tree.map(lambda p: tnp.abs(tnp.full_like(p, initial_accumulator_value)), params), eps,
                       lambda g, v: v + tnp.square(tnp.abs(g)))
    return chain(by_root, _stepped(learning_rate))


# --- schedules: learning rates as functions of the number of steps before ---


def constant_schedule(value):
    """Always the same."""
    return lambda count: value


def linear_schedule(init_value, end_value, transition_steps):
    """A line from one value to another."""
    return lambda count: _rules.linear_schedule(init_value, end_value, transition_steps, count)


def exponential_decay(init_value, transition_steps, decay_rate):
    """init_value · decay_rate^(count / transition_steps)."""
    return lambda count: _rules.exponential_decay(init_value, transition_steps, decay_rate, count)


def cosine_decay_schedule(init_value, decay_steps, alpha=0.0):
    """Half a cosine from init_value to alpha · init_value."""
    return lambda count: _rules.cosine_decay_schedule(init_value, decay_steps, alpha, count)


def warmup_cosine_decay_schedule(init_value, peak_value, warmup_steps, decay_steps, end_value=0.0):
    """A line up to the peak, then half a cosine down."""
    return lambda count: _rules.warmup_cosine_decay_schedule(init_value, peak_value, warmup_steps, decay_steps, end_value,
                                                             count)
