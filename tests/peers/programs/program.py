"""A random program: blocks of statements, its text as Python, its inputs, and smaller programs made from it.

A statement's `fmt` is an expression with {0}, {1} … for its operands and {b0}, {b1} … for the functions of its blocks. A type is
(dtype, shape).
"""

import numpy as np

FLOATS = ("F", "f16", "bf16")  # F is float32, or float64 where a difference is run again
INTS = ("i32", "i8", "u8", "u32", "i16")
NAMES = {
    "F": "F",
    "f16": "jnp.float16",
    "bf16": "jnp.bfloat16",
    "i32": "jnp.int32",
    "i8": "jnp.int8",
    "u8": "jnp.uint8",
    "u32": "jnp.uint32",
    "i16": "jnp.int16",
    "b": "jnp.bool_",
}


class Stmt:
    def __init__(self, outs, fmt, args, blocks=()):
        self.outs, self.fmt, self.args, self.blocks = outs, fmt, list(args), list(blocks)


class Block:
    def __init__(self, params):
        self.params, self.stmts, self.results, self.result_types = params, [], [], []
        self.tuple_result = True


def bshape(a, b):
    return tuple(np.broadcast_shapes(a, b))


def source(b, name="f", ind=""):
    lines = [f"{ind}def {name}({', '.join(n for n, _ in b.params)}):"]
    i2 = ind + "    "
    for s in b.stmts:
        names = {}
        for k, blk in enumerate(s.blocks):
            bn = f"g{id(blk) % 10**7}_{k}" if not hasattr(blk, "label") else blk.label
            if not hasattr(blk, "label"):
                source.counter += 1
                blk.label = f"g{source.counter}"
                bn = blk.label
            lines += source(blk, bn, i2)
            names[f"b{k}"] = bn
        rhs = s.fmt
        for k, bn in names.items():
            rhs = rhs.replace("{%s}" % k, bn)
        for k, a in enumerate(s.args):
            rhs = rhs.replace("{%d}" % k, a)
        single = len(s.outs) == 1 and not s.blocks and not s.fmt.endswith(",")
        lhs = s.outs[0][0] if single else ", ".join(n for n, _ in s.outs) + ","
        if len(s.outs) == 1 and not single:
            lhs = s.outs[0][0] + ","
        lines.append(f"{i2}{lhs} = {rhs}")
    lines.append(f"{i2}return [{', '.join(b.results)}]" if b.results else f"{i2}return []")
    return lines


source.counter = 0


def to_source(b):
    source.counter = 0
    strip(b)
    return "\n".join(source(b))


def strip(b):
    for s in b.stmts:
        for x in s.blocks:
            if hasattr(x, "label"):
                del x.label
            strip(x)


def inputs(b, seed):
    rs = np.random.RandomState(seed % 2**31)
    out = []
    for _, (dt, sh) in b.params:
        if dt == "F":
            v = rs.randn(*sh)
            out.append(np.asarray(v, np.float64))
        elif dt == "b":
            out.append(np.asarray(rs.rand(*sh) > 0.5))
        else:
            lo, hi = (-4, 7) if dt[0] == "i" else (0, 7)
            out.append(
                np.asarray(
                    rs.randint(lo, hi, size=sh),
                    {"i32": np.int32, "i8": np.int8, "u8": np.uint8, "u32": np.uint32, "i16": np.int16}[dt],
                )
            )
    return out


def has_half(b):
    return any(
        s.outs
        and any(t[0] in ("f16", "bf16") for _, t in s.outs)
        or any(has_half(x) or any(t[0] in ("f16", "bf16") for _, t in x.params) for x in s.blocks)
        for s in b.stmts
    )


def dce(b, keep_params=True):
    """Drop statements whose results nothing reads."""

    def uses(s):
        u = set(s.args)
        for x in s.blocks:
            u |= free(x)
        return u

    def free(x):
        bound = {n for n, _ in x.params} | {n for s in x.stmts for n, _ in s.outs}
        u = set(x.results)
        for s in x.stmts:
            u |= uses(s)
        return u - bound

    def go(x):
        live = set(x.results)
        keep = []
        for s in reversed(x.stmts):
            if any(n in live for n, _ in s.outs):
                for y in s.blocks:
                    go(y)
                live |= uses(s)
                keep.append(s)
        x.stmts = keep[::-1]

    go(b)


def blocks_of(b):
    yield b
    for s in b.stmts:
        for x in s.blocks:
            yield from blocks_of(x)


def size_of(b):
    return sum(len(x.stmts) for x in blocks_of(b))


def inline_copies(b):
    def subst(x, m):
        x.results = [m.get(r, r) for r in x.results]
        for s in x.stmts:
            s.args = [m.get(a, a) for a in s.args]
            for y in s.blocks:
                subst(y, m)

    for x in list(blocks_of(b)):
        i = 0
        while i < len(x.stmts):
            s = x.stmts[i]
            if s.fmt == "{0}" and len(s.outs) == 1 and not s.blocks:
                m = {s.outs[0][0]: s.args[0]}
                del x.stmts[i]
                subst(x, m)
            else:
                i += 1
