"""The picture of threads.py: how near its programs are to NumPy, and how the time of its loops' gradients grows."""

import functools
import timeit

import numpy as np

import tenon as tn

from pictures import BLUE, GREEN, GREY, ORANGE, PURPLE, panels
from threads_loops import LOOPS, plainly, stacked


def seconds(call):
    """The least of five, after a first one, which compiles."""
    call()
    return min(timeit.repeat(call, number=1, repeat=5))


def times(lengths):
    """{loop: microseconds a step of value and gradient, by length}; first of NumPy's complex step, in Python."""
    calls = {"NumPy, stacked": lambda xs: plainly(stacked)(0.7 + 1e-30j, xs)}
    calls.update((name, functools.partial(tn.jit(tn.value_and_grad(loop)), 0.7)) for name, loop in LOOPS.items())
    return {name: [1e6 / n * seconds(functools.partial(f, np.full(n, 2.0))) for n in lengths] for name, f in calls.items()}


def draw(path, differences, lengths=(250, 500, 1000, 2000, 4000)):
    groups = list(dict.fromkeys(group for group, _ in differences))[::-1]
    with panels(path, [["near", "times"]], 4.2, 3) as axes:
        for row, group in enumerate(groups):
            found = np.array([d for (g, _), d in differences.items() if g == group])
            axes["near"].plot(np.maximum(found, 1e-18), row + np.linspace(0.3, -0.3, len(found)), ".", color=BLUE)
        axes["near"].axvline(2.0 ** -52, color=ORANGE, ls="--", label="machine epsilon")
        axes["near"].set(xscale="log", xlim=(4e-19, 2e-14), xlabel="difference from NumPy / largest element")
        axes["near"].set_yticks(range(len(groups)), groups)
        axes["near"].set_xticks([1e-18, 1e-16, 1e-15, 1e-14], ["none", "1e-16", "1e-15", "1e-14"])
        axes["near"].minorticks_off()
        for (name, took), style in zip(times(lengths).items(), zip((GREY, BLUE, ORANGE, PURPLE, GREEN, "black"), "o^sDvP")):
            axes["times"].loglog(lengths, took, color=style[0], marker=style[1], label=name)
        axes["times"].set_xticks(lengths, lengths)
        axes["times"].minorticks_off()
        axes["times"].set(xlabel="steps of the loop", ylabel="value and gradient, µs a step")
