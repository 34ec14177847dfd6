"""Random well-typed programs, by a seed."""

import random

from control import Control
from elementwise import Elementwise
from indices import Indices
from program import FLOATS, INTS, NAMES, Block, Stmt
from shapes import Shapes

import numpy as np


class Generator(Elementwise, Shapes, Indices, Control):
    def __init__(self, seed, size=10, control=0.22):
        self.r = random.Random(seed)
        self.size, self.control = size, control
        self.n = 0
        self.has_while = False
        self.has_cvjp = False
        self.random_key = False

    def name(self, p="v"):
        self.n += 1
        return f"{p}{self.n}"

    def dim(self):
        return self.r.choices([1, 2, 3, 4, 5, 0, 7], [14, 26, 26, 16, 8, 2, 8])[0]

    def shape(self, most=3):
        return tuple(
            self.dim() for _ in range(self.r.choices(range(4), [18, 40, 30, 12])[0] if most == 3 else self.r.randint(0, most))
        )

    def dtype(self):
        return self.r.choices(["F", "i32", "b", "f16", "bf16", "i8", "u8", "u32", "i16"], [70, 12, 5, 3, 3, 2, 2, 2, 1])[0]

    def pick(self, env, pred=lambda t: True, make=None):
        c = [e for e in env if pred(e[1])]
        if not c:
            return None
        # prefer late ones
        k = min(len(c) - 1, int(self.r.expovariate(0.35)))
        return c[len(c) - 1 - k]

    def program(self):
        nf = self.r.randint(1, 3)
        params = [(self.name("x"), ("F", self.shape())) for _ in range(nf)]
        for _ in range(self.r.randint(0, 2)):
            params.append((self.name("k"), (self.r.choice(["i32", "i32", "b", "u8", "i8"]), self.shape(2))))
        b = self.block(params, [], self.r.randint(max(2, self.size // 2), self.size), 0)
        floats = [e for s in b.stmts for e in s.outs]
        k = min(len(floats), self.r.randint(1, 3))
        outs = floats[-k:]
        if not any(t[0] == "F" for _, t in outs):
            fl = [e for e in floats if e[1][0] == "F"]
            if fl:
                outs.append(fl[-1])
        b.results = [n for n, _ in outs]
        b.result_types = [t for _, t in outs]
        return b

    def block(self, params, env, count, depth, want=None):
        b = Block(params)
        scope = list(env) + list(params)
        local = list(params)
        for _ in range(count):
            s = None
            for _try in range(8):
                # statements in inner blocks mostly use local variables, sometimes captured ones
                use = scope if (self.r.random() < 0.3 or not local) else local
                try:
                    s = self.stmt(use, depth)
                except (IndexError, TypeError):
                    s = None
                if s:
                    break
            if s:
                b.stmts.append(s)
                scope += s.outs
                local += s.outs
        if want is not None:
            for t in want:
                b.results.append(self.coerce(b, local if local else scope, t))
            b.result_types = list(want)
        return b

    def emit(self, b, t, fmt, args):
        n = self.name()
        b.stmts.append(Stmt([(n, t)], fmt, args))
        return n

    def coerce(self, b, env, t):
        """A variable of type t: an existing one of the same type, else one made from what there is."""
        dt, sh = t
        c = [e for e in env if e[1] == t]
        if c and self.r.random() < 0.8:
            n = c[-1][0]
        else:
            e = self.pick(env)
            src, (sdt, ssh) = e
            if dt == "b":
                expr = "({0} != 0)" if sdt == "b" or sdt in INTS else "({0} > 0.1)"
                n, st = self.emit(b, ("b", ssh), expr if sdt != "b" else "({0})", [src]), ssh
            elif dt in INTS and sdt in FLOATS:
                n, st = (
                    self.emit(
                        b,
                        (dt, ssh),
                        (
                            "jnp.clip(jnp.nan_to_num({0}), -90, 90).astype(%s)" % NAMES[dt]
                            if dt[0] == "i"
                            else "jnp.clip(jnp.abs(jnp.nan_to_num({0})), 0, 90).astype(%s)" % NAMES[dt]
                        ),
                        [src],
                    ),
                    ssh,
                )
            else:
                n, st = self.emit(b, (dt, ssh), "{0}.astype(%s)" % NAMES[dt], [src]), ssh
            if st != sh:
                size_s, size_t = int(np.prod(st)), int(np.prod(sh))
                if size_s == size_t:
                    n = self.emit(b, t, "{0}.reshape(%r)" % (sh,), [n])
                elif size_s == 0:
                    n = self.emit(
                        b,
                        t,
                        (
                            "jnp.zeros(%r, %s) + jnp.sum({0}).astype(%s)" % (sh, NAMES[dt], NAMES[dt])
                            if dt != "b"
                            else "jnp.zeros(%r, jnp.bool_) | jnp.any({0})" % (sh,)
                        ),
                        [n],
                    )
                else:
                    n = self.emit(b, t, "jnp.resize({0}, %r)" % (sh,), [n])
        if dt == "F":  # keep carries bounded
            n = self.emit(b, t, self.r.choice(["jnp.tanh({0})", "({0} * 0.5)", "jnp.sin({0})", "jnp.clip({0}, -3., 3.)"]), [n])
        return n

    def stmt(self, env, depth):
        r = self.r
        if depth < 3 and r.random() < self.control * (1.0 if depth < 2 else 0.5):
            return r.choice(
                [
                    self.s_scan,
                    self.s_scan,
                    self.s_fori,
                    self.s_while,
                    self.s_cond,
                    self.s_cond,
                    self.s_switch,
                    self.s_map,
                    self.s_assoc,
                    self.s_call,
                    self.s_written,
                    self.s_call,
                    self.s_custom,
                    self.s_vmap,
                    self.s_grad,
                ]
            )(env, depth)
        return r.choices(
            [
                self.s_unary,
                self.s_binary,
                self.s_reduce,
                self.s_shape,
                self.s_index,
                self.s_update,
                self.s_dot,
                self.s_sort,
                self.s_int,
                self.s_bool,
                self.s_cast,
                self.s_where,
                self.s_random,
                self.s_linalg,
                self.s_join,
                self.s_axis,
            ],
            [20, 20, 9, 14, 11, 11, 7, 4, 8, 4, 4, 5, 3, 2, 6, 8],
        )[0](env)


def generate(seed, size, control):
    for k in range(20):
        g = Generator(seed * 31 + k, size, control)
        b = g.program()
        if b.results and any(t[0] == "F" for t in b.result_types):
            return g, b
    return g, b
