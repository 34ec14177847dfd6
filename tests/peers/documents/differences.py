"""What differs between a cell that ran with Tenon and one that ran with JAX."""

import re

import numpy as np

NUMBER = re.compile(r"(?<![\w])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|nan|inf")
NOISE = re.compile(r"0x[0-9a-f]+|at line \d+|<cell \d+>|\d+(\.\d+)? ?(µs|us|ms|ns|sec|s)\b")


def of_texts(ours, theirs):
    """"" where they are the same up to numbers' last digits, else "numbers" or "words"."""
    ours, theirs = NOISE.sub("", ours), NOISE.sub("", theirs)
    if "".join(NUMBER.sub("#", ours).split()) != "".join(NUMBER.sub("#", theirs).split()):
        return "words"
    pairs = list(zip(map(float, NUMBER.findall(ours)), map(float, NUMBER.findall(theirs))))
    same = all(a == b or a != a and b != b or abs(a - b) <= 1e-5 + 2e-3 * abs(b) for a, b in pairs)
    return "" if same else "numbers"


def of_numbers(ours, theirs, at):
    """A line for each array that differs."""
    if ours is None or theirs is None:
        return
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in ours.keys() & theirs.keys():
            yield from of_numbers(ours[key], theirs[key], f"{at}[{key}]")
    elif isinstance(ours, dict) or isinstance(theirs, dict):
        yield f"{at}: a container in one of them"
    elif ours.shape != theirs.shape:
        yield f"{at}: shape {ours.shape}, JAX {theirs.shape}"
    else:
        if ours.dtype != theirs.dtype:
            yield f"{at}: {ours.dtype}, JAX {theirs.dtype}"
        if ours.dtype.kind in "biufc" and theirs.dtype.kind in "biufc":
            if not np.allclose(ours.astype(complex), theirs.astype(complex), rtol=2e-3, atol=1e-5, equal_nan=True):
                yield f"{at}: {ours.ravel()[:3]}, JAX {theirs.ravel()[:3]}"


def of_cells(ours, theirs):
    """(values and dtypes that differ, how printed text differs)"""
    names = {name for name in ours["variables"].keys() & theirs["variables"].keys() if "time" not in name}
    values = [d for n in sorted(names) for d in of_numbers(ours["variables"][n], theirs["variables"][n], n)]
    values += of_numbers(ours["numbers"], theirs["numbers"], "the value")
    text = of_texts(ours["printed"], theirs["printed"])
    if not text and ours["numbers"] is None:
        text = of_texts(ours["value"] or "", theirs["value"] or "")
    return values, text


def same_kind(ours, theirs):
    plain = {"Exception", "BaseException", "object"}
    return bool(set(ours["kinds"]) & set(theirs["kinds"]) - plain)
