"""Statements that read and write by indices: NumPy's, take and its kin, .at[], slices whose place is data."""

from program import FLOATS, bshape

import numpy as np


class Indices:
    def index_expr(self, env, sh):
        """A NumPy index into sh: source with placeholders from {2}, operand names, resulting shape."""
        r = self.r
        parts, ops, out = [], [], []
        self.inside = True
        adv_shape, adv_at = None, []
        ints = [x for x in env if x[1][0] in ("i32", "u8", "i8") and len(x[1][1]) <= 2]
        n = r.randint(1, len(sh))
        for i in range(n):
            d = sh[i]
            k = r.choice(["arr", "arr", "lit", "slice", "scalar", "traced"])
            if k == "traced" and ints:
                x = r.choice(ints)
                try:
                    s = bshape(adv_shape, x[1][1]) if adv_shape is not None else x[1][1]
                except ValueError:
                    k = "arr"
                else:
                    adv_shape = s
                    adv_at.append(i)
                    parts.append("{%d}" % (len(ops) + 2))
                    ops.append(x[0])
                    continue
            if k == "arr" or k == "traced":
                m = adv_shape[-1] if adv_shape else r.choice([1, 2, 3, 4])
                vals = [r.choice([0, 1, -1, 2, d - 1, -d, d, d + 3, -d - 2, 0]) for _ in range(m)]
                if d and r.random() < 0.4:
                    vals = [r.randrange(-d, d) for _ in vals]
                self.inside &= all(-d <= v < d for v in vals)
                adv_shape = (m,) if adv_shape is None or adv_shape == () else bshape(adv_shape, (m,))
                adv_at.append(i)
                parts.append("jnp.array(%r, jnp.int32)" % (vals,))
            elif k == "slice":
                a, b, s = r.choice([None, 0, 1, -1]), r.choice([None, None, 2, -1]), r.choice([None, None, 2, -1])
                parts.append(f"{'' if a is None else a}:{'' if b is None else b}:{'' if s is None else s}")
                out.append((i, len(range(d)[slice(a, b, s)])))
                continue
            elif k == "scalar":
                if d == 0:
                    return None
                adv_at.append(i)
                adv_shape = () if adv_shape is None else adv_shape
                parts.append(str(r.randrange(-d, d)))
            else:
                m = adv_shape[-1] if adv_shape else r.choice([2, 3])
                if d == 0:
                    return None
                adv_shape = (m,) if adv_shape is None or adv_shape == () else bshape(adv_shape, (m,))
                adv_at.append(i)
                parts.append("np.array(%r)" % ([r.randrange(-d, d) for _ in range(m)],))
        # NumPy's placement is left to numpy itself: compute the shape by indexing an array of that shape
        src = ", ".join(parts)
        try:
            fake = eval("np.empty(%r)[%s,]" % (tuple(max(d, 0) for d in sh), self.fake(parts, ops, env, sh)), {"np": np})
        except Exception:
            return None
        return src, ops, fake.shape

    def fake(self, parts, ops, env, sh):
        types = dict(env)
        res = []
        for i, p in enumerate(parts):
            if p.startswith("{"):
                s = types[ops[int(p[1:-1]) - 2]][1]
                if sh[i] == 0:
                    raise ValueError
                res.append("np.zeros(%r, int)" % (s,))
            elif p.startswith("jnp.array"):
                if sh[i] == 0:
                    raise ValueError
                res.append(
                    "np.zeros(%d, int)" % (p.count(",") if "]," in p else 0)
                    if False
                    else "np.zeros(len(%s), int)" % p[p.index("[") : p.index("]") + 1]
                )
            else:
                res.append(p)
        return ", ".join(res)

    def s_index(self, env):
        r = self.r
        e = self.pick(env, lambda t: len(t[1]) > 0)
        dt, sh = e[1]
        k = r.random()
        if k < 0.2 and len(sh) and 0 not in sh:
            ax = r.randrange(len(sh))
            m = r.randint(1, 3)
            vals = [r.randint(-sh[ax] - 1, sh[ax] + 1) for _ in range(m)]
            mode = r.choice(["None", "'clip'", "'wrap'", "'fill'"])
            if dt in ("u8", "u32", "i8", "i16", "b") and mode in ("None", "'fill'"):
                mode = "'clip'"
            return self.one(
                (dt, sh[:ax] + (m,) + sh[ax + 1 :]),
                (
                    "jnp.nan_to_num(jnp.take({0}, jnp.array(%r), axis=%d, mode=%s))" % (vals, ax, mode)
                    if dt in FLOATS
                    else "jnp.take({0}, jnp.array(%r), axis=%d, mode=%s)" % (vals, ax, mode)
                ),
                e,
            )
        if k < 0.3 and len(sh) and 0 not in sh:
            ax = r.randrange(len(sh))
            idx = sh[:ax] + (r.randint(1, 4),) + sh[ax + 1 :]
            return self.one(
                (dt, idx),
                "jnp.take_along_axis({0}, (jnp.arange(%d) %% %d).reshape(%r), axis=%d)" % (int(np.prod(idx)), sh[ax], idx, ax),
                e,
            )
        if k < 0.4 and len(sh) and 0 not in sh:
            ks = [x for x in env if x[1] == ("i32", ())]
            if ks:
                keep = r.random() < 0.5
                ax = r.randrange(len(sh))
                out = sh[:ax] + ((1,) if keep else ()) + sh[ax + 1 :]
                return self.one(
                    (dt, out), "lax.dynamic_index_in_dim({0}, {1}, axis=%d, keepdims=%r)" % (ax, keep), e, r.choice(ks)
                )
        x = self.index_expr(env, sh)
        if not x:
            return None
        src, ops, out = x
        if np.prod(out) > 200:
            return None
        src = self.shift(src, 1)
        if r.random() < 0.3:
            mode = r.choice(["clip", "fill", "drop"])
            fill = ", fill_value=%s" % r.choice(["0", "1"]) if mode == "fill" or dt != "F" else ""
            f = "{0}.at[%s].get(mode=%r%s)" % (src, mode, fill or ", fill_value=0")
        else:
            # the gradient of a plain read outside differs by convention (jax leaves it out, tenon gives it to the nearest element)
            safe = not ops and self.inside
            f = "{0}[%s]" % src if safe else "{0}.at[%s].get(mode='clip')" % src
        return self.one((dt, tuple(out)), f, e, *ops)

    def shift(self, src, by):
        for i in range(2, 9):
            src = src.replace("{%d}" % i, "{%d}" % (i - 2 + by))
        return src

    def s_update(self, env):
        r = self.r
        e = self.pick(env, lambda t: len(t[1]) > 0 and t[0] != "b")
        dt, sh = e[1]
        if 0 in sh:
            return None
        k = r.random()
        if k < 0.15:
            ups = [x for x in env if x[1][0] == dt and len(x[1][1]) == len(sh) and all(a <= b for a, b in zip(x[1][1], sh))]
            ks = [x for x in env if x[1] == ("i32", ())]
            if ups:
                u = r.choice(ups)
                st = ", ".join(
                    (
                        r.choice(["jnp.asarray({2}, jnp.int32)", "jnp.asarray(1, jnp.int32)"])
                        if ks
                        else f"jnp.asarray({r.randint(-2, 3)}, jnp.int32)"
                    )
                    for _ in sh
                )
                return self.one(
                    (dt, sh), "lax.dynamic_update_slice({0}, {1}, (%s,))" % st, e, u, *([r.choice(ks)] if ks else [])
                )
        x = self.index_expr(env, sh)
        if not x:
            return None
        src, ops, out = x
        op = r.choice(["set", "set", "add", "add", "multiply", "min", "max", "apply", "subtract"])
        mode = r.choice(
            [
                "",
                "",
                ", mode='drop'",
                ", mode='clip'",
                ", mode='fill'",
                ", mode='drop'",
            ]
        )
        if op in ("min", "max") and "clip" in mode:
            mode = ""  # JAX's derivative is that of other elements
        if op == "apply":
            if dt in FLOATS:
                return self.one((dt, sh), "{0}.at[%s].apply(jnp.sin)" % self.shift(src, 1), e, *ops)
            op = "subtract"
        ups = []
        for y in env:
            if y[1][0] == dt:
                try:
                    if bshape(y[1][1], out) == tuple(out):
                        ups.append(y)
                except ValueError:
                    pass
        if op == "multiply" and dt == "F" and r.random() < 0.5:
            op = "add"
        if ups and r.random() < 0.85:
            return self.one((dt, sh), "{0}.at[%s].%s({1}%s)" % (src, op, mode), e, r.choice(ups), *ops)
        return self.one((dt, sh), "{0}.at[%s].%s(%s%s)" % (self.shift(src, 1), op, r.choice(["1", "2", "0"]), mode), e, *ops)
