"""Statements that change shapes: reductions, running sums, sorts, products, pieces and their joining, linear algebra."""

import numpy as np


class Shapes:
    def s_reduce(self, env):
        e = self.pick(env, lambda t: len(t[1]) > 0 and t[0] in ("F", "F", "i32", "f16", "b"))
        dt, sh = e[1]
        r = self.r
        kind = r.choice(["None", "one", "one", "two"])
        nd = len(sh)
        if kind == "None":
            ax, axes = "None", list(range(nd))
        elif kind == "one" or nd < 2:
            k = r.randrange(-nd, nd)
            ax, axes = str(k), [k % nd]
        else:
            axes = sorted(r.sample(range(nd), 2))
            ax = str(tuple(axes))
        keep = r.random() < 0.25
        out = (
            tuple((1 if i in axes else d) for i, d in enumerate(sh))
            if keep
            else tuple(d for i, d in enumerate(sh) if i not in axes)
        )
        empty = any(sh[a] == 0 for a in axes)
        k = f"axis={ax}, keepdims={keep}"
        if dt == "b":
            return self.one(("b", out), r.choice([f"jnp.any({{0}}, {k})", f"jnp.all({{0}}, {k})"]), e)
        fs = [f"jnp.sum({{0}}, {k})", f"jnp.sum({{0}}, {k})", f"jnp.sum({{0}}, {k}, where={{0}} > 0)"]
        if dt == "i32":
            if not empty:
                fs += [f"jnp.max({{0}}, {k})", f"jnp.min({{0}}, {k})", f"jnp.prod({{0}} % 7, {k})"]
            return self.one((dt, out), r.choice(fs), e)
        if not empty:
            fs += [f"jnp.mean({{0}}, {k})", f"jnp.max({{0}}, {k})", f"jnp.min({{0}}, {k})"]
            if dt == "F":
                spread = "std" if all(sh[a] > 1 for a in axes) else "var"  # of one element: its root at 0 has no derivative in JAX
                fs += [
                    f"jnp.var({{0}}, {k})",
                    f"jnp.prod({{0}}, {k})",
                    f"nn.logsumexp({{0}}, {k})",
                    f"jnp.max({{0}}, {k}, initial=0.2)",
                    f"jnp.{spread}({{0}} + jnp.arange({{0}}.size).reshape({{0}}.shape), {k})",
                    f"jnp.nanmean({{0}}, {k})",
                ]
                if len(axes) == 1:
                    fs += [f"jnp.median({{0}}, {k})", f"jnp.quantile({{0}}, 0.3, {k})", f"jnp.linalg.norm({{0}} + 2, {k})"]
        if len(axes) == 1 and not empty and not keep and r.random() < 0.15:
            return self.one(
                ("i32", out),
                r.choice(
                    [
                        f"jnp.argmax({{0}}, axis={ax})",
                        f"jnp.argmin({{0}}, axis={ax})",
                        f"jnp.count_nonzero({{0}} > 0, axis={ax})",
                    ]
                )
                + ".astype(jnp.int32)",
                e,
            )
        return self.one((dt, out), r.choice(fs), e)

    def s_shape(self, env):
        r = self.r
        e = self.pick(env, lambda t: len(t[1]) > 0)
        dt, sh = e[1]
        nd, size = len(sh), int(np.prod(sh))
        opts = [
            "reshape",
            "transpose",
            "flip",
            "roll",
            "expand",
            "bcast",
            "pad",
            "laxpad",
            "slice",
            "squeeze",
            "tile",
            "repeat",
            "rot",
            "tri",
            "dslice",
            "ravel",
        ]
        o = r.choice(opts)
        if o == "reshape" and size:
            divs = [d for d in range(1, size + 1) if size % d == 0]
            d = r.choice(divs)
            return self.one((dt, (d, size // d)), "{0}.reshape(%d, -1)" % d, e)
        if o == "ravel":
            return self.one((dt, (size,)), "jnp.ravel({0})", e)
        if o == "transpose":
            p = list(range(nd))
            r.shuffle(p)
            return self.one((dt, tuple(sh[i] for i in p)), "jnp.transpose({0}, %r)" % (tuple(p),), e)
        if o == "flip":
            return self.one((dt, sh), "jnp.flip({0}, %d)" % r.randrange(-nd, nd), e)
        if o == "roll":
            ks = [x for x in env if x[1] == ("i32", ())]
            if ks and r.random() < 0.5:
                return self.one((dt, sh), "jnp.roll({0}, {1} %% 9, %d)" % r.randrange(nd), e, r.choice(ks))
            return self.one((dt, sh), "jnp.roll({0}, %d, %d)" % (r.randint(-9, 9), r.randrange(nd)), e)
        if o == "expand":
            k = r.randint(0, nd)
            return self.one((dt, sh[:k] + (1,) + sh[k:]), "jnp.expand_dims({0}, %d)" % k, e) if nd < 4 else None
        if o == "bcast":
            d = r.choice([1, 2, 3])
            if size * d > 200 or nd > 3:
                return None
            t = (d,) + tuple(r.choice([1, 2, 3]) if x == 1 else x for x in sh)
            return self.one((dt, t), "jnp.broadcast_to({0}, %r)" % (t,), e)
        if o == "pad" and size and size < 60:
            w = [(r.randint(0, 2), r.randint(0, 2)) for _ in sh]
            mode = r.choice(["constant", "edge", "wrap", "reflect", "symmetric"])
            if mode in ("reflect", "symmetric"):
                w = [(min(a, d - 1), min(b, d - 1)) for (a, b), d in zip(w, sh)]
            return self.one((dt, tuple(d + a + b for d, (a, b) in zip(sh, w))), "jnp.pad({0}, %r, mode=%r)" % (w, mode), e)
        if o == "laxpad" and size < 60:
            cfg, out = [], []
            for d in sh:
                lo, hi, i = r.randint(-1, 2), r.randint(-1, 2), r.choice([0, 0, 1, 2])
                m = lo + hi + d + max(d - 1, 0) * i
                if m < 0:
                    lo = hi = i = 0
                    m = d
                cfg.append((lo, hi, i))
                out.append(m)
            return self.one((dt, tuple(out)), "lax.pad({0}, jnp.asarray(%s, {0}.dtype), %r)" % (r.choice(["0", "1"]), cfg), e)
        if o == "slice":
            parts, out = [], []
            for d in sh:
                a = r.choice([None, 0, 1, -1, -2, 2, 100, -100])
                b = r.choice([None, None, 1, 2, -1, 3, 100])
                s = r.choice([None, None, 1, 2, -1, -2])
                sl = slice(a, b, s)
                parts.append(f"{'' if a is None else a}:{'' if b is None else b}:{'' if s is None else s}")
                out.append(len(range(d)[sl]))
            return self.one((dt, tuple(out)), "{0}[%s]" % ", ".join(parts), e)
        if o == "squeeze" and 1 in sh:
            k = sh.index(1)
            return self.one((dt, sh[:k] + sh[k + 1 :]), "jnp.squeeze({0}, %d)" % k, e)
        if o == "tile" and size < 60:
            rep = tuple(r.choice([1, 2]) for _ in sh)
            return self.one((dt, tuple(a * b for a, b in zip(sh, rep))), "jnp.tile({0}, %r)" % (rep,), e)
        if o == "repeat" and size < 60:
            a = r.randrange(nd)
            return self.one((dt, sh[:a] + (sh[a] * 2,) + sh[a + 1 :]), "jnp.repeat({0}, 2, axis=%d)" % a, e)
        if o == "rot" and nd >= 2:
            return self.one((dt, sh[:-2] + (sh[-1], sh[-2])), "jnp.swapaxes({0}, -1, -2)", e)
        if o == "tri" and nd >= 2 and dt != "b":
            return self.one((dt, sh), "jnp.%s({0}, %d)" % (r.choice(["tril", "triu"]), r.randint(-1, 1)), e)
        if o == "dslice" and size:
            out = tuple(r.randint(1, d) for d in sh)
            ks = [x for x in env if x[1] == ("i32", ())]
            if ks:
                k = r.choice(ks)
                st = ", ".join(r.choice(["{1}", "{1} + 1", "-{1}", "1", "0"]) for _ in sh)
                return self.one(
                    (dt, out),
                    "lax.dynamic_slice({0}, (%s,), %r)"
                    % (", ".join(f"jnp.asarray({s}, jnp.int32)" for s in st.split(", ")), out),
                    e,
                    k,
                )
            return self.one(
                (dt, out), "lax.dynamic_slice({0}, (%s,), %r)" % (", ".join(str(r.randint(-3, 4)) for _ in sh), out), e
            )
        return None

    def s_dot(self, env):
        r = self.r
        a = self.pick(env, lambda t: len(t[1]) > 0 and t[0] in ("F", "F", "i32", "bf16", "f16"))
        dt, sh = a[1]
        c = [e for e in env if e[1][0] == dt and len(e[1][1]) > 0]
        b = r.choice(c)
        sb = b[1][1]
        # einsum: label axes of a; axes of b reuse labels of equal size, at random
        la = "abcd"[: len(sh)]
        used, lb = set(), ""
        fresh = iter("uvwxyz")
        for d in sb:
            m = [l for l, x in zip(la, sh) if x == d and l not in used]
            if m and r.random() < 0.75:
                l = r.choice(m)
                used.add(l)
            else:
                l = next(fresh)
            lb += l
        sizes = dict(zip(la, sh)) | dict(zip(lb, sb))
        alll = list(dict.fromkeys(la + lb))
        out = [l for l in alll if r.random() < (0.35 if l in used else 0.8)]
        r.shuffle(out)
        osh = tuple(sizes[l] for l in out)
        if np.prod(osh) > 150 or len(osh) > 4:
            return None
        if r.random() < 0.3 and len(sh) >= 1 and len(sb) >= 1 and len(sh) <= 2 and len(sb) <= 2 and sh[-1] == sb[0]:
            f = r.choice(["{0} @ {1}", "jnp.dot({0}, {1})", "jnp.tensordot({0}, {1}, 1)"])
            return self.one((dt, sh[:-1] + sb[1:]), f, a, b)
        return self.one((dt, osh), "jnp.einsum('%s,%s->%s', {0}, {1})" % (la, lb, "".join(out)), a, b)

    def s_sort(self, env):
        r = self.r
        e = self.pick(env, lambda t: len(t[1]) > 0 and t[0] in ("F", "i32", "u8"))
        dt, sh = e[1]
        ax = r.randrange(len(sh))
        k = r.random()
        if k < 0.35:
            return self.one((dt, sh), "jnp.sort({0}, axis=%d%s)" % (ax, r.choice(["", ", descending=True"])), e)
        if k < 0.55:
            return self.one(("i32", sh), "jnp.argsort({0}, axis=%d).astype(jnp.int32)" % ax, e)
        if k < 0.7 and sh[-1] > 0:
            m = r.randint(1, sh[-1])
            return self.one((dt, sh[:-1] + (m,)), "lax.top_k({0}, %d)[0]" % m, e)
        if k < 0.85 and dt == "F":
            c = [x for x in env if x[1] == e[1]]
            return self.one((dt, sh), "lax.sort_key_val({0}, {1}, dimension=%d)[1]" % ax, e, r.choice(c))
        if dt == "F" and len(sh) == 1 and sh[0]:
            c = [x for x in env if x[1][0] == "F"]
            y = r.choice(c)
            return self.one(("i32", y[1][1]), "jnp.searchsorted(jnp.sort({0}), {1}).astype(jnp.int32)", e, y)
        return self.one((dt, sh), "lax.sort({0}, dimension=%d)" % ax, e)

    def s_axis(self, env):
        r = self.r
        e = self.pick(env, lambda t: len(t[1]) > 0 and t[0] in ("F", "F", "i32"))
        dt, sh = e[1]
        ax = r.randrange(len(sh))
        rev = r.choice(["False", "True"])
        if dt == "i32":
            return self.one(
                (dt, sh),
                r.choice(
                    [
                        f"jnp.cumsum({{0}}, axis={ax})",
                        f"lax.cummax({{0}}, axis={ax}, reverse={rev})",
                        f"lax.cumprod({{0}} % 3, axis={ax}, reverse={rev})",
                    ]
                ),
                e,
            )
        fs = [
            f"jnp.cumsum({{0}}, axis={ax})",
            f"lax.cumsum({{0}}, axis={ax}, reverse={rev})",
            f"lax.cummax({{0}}, axis={ax}, reverse={rev})",
            f"lax.cummin({{0}}, axis={ax}, reverse={rev})",
            f"jnp.cumprod({{0}}, axis={ax})",
            f"lax.cumprod({{0}}, axis={ax}, reverse={rev})",
            f"lax.cumlogsumexp({{0}}, axis={ax}, reverse={rev})",
        ]
        if sh[ax] > 0:
            fs += [
                f"nn.softmax({{0}}, axis={ax})",
                f"nn.log_softmax({{0}}, axis={ax})",
                f"nn.softmax({{0}}, axis={ax}, where={{0}} > -0.2)",
                f"nn.standardize({{0}} + jnp.arange({sh[ax]}).reshape({tuple(sh[ax] if i == ax else 1 for i in range(len(sh)))}), axis={ax})",
            ]
        if sh[ax] > 1 and r.random() < 0.15:
            return self.one((dt, sh[:ax] + (sh[ax] - 1,) + sh[ax + 1 :]), f"jnp.diff({{0}}, axis={ax})", e)
        return self.one((dt, sh), r.choice(fs), e)

    def s_linalg(self, env):
        r = self.r
        e = self.pick(env, lambda t: len(t[1]) == 2 and t[0] == "F" and t[1][0] > 0)
        n = e[1][1][0]
        a = "({0} @ {0}.T + %d. * jnp.eye(%d, dtype=F))" % (n + 1, n)
        f, sh = r.choice(
            [
                ("jnp.linalg.cholesky(%s)", (n, n)),
                ("jnp.linalg.inv(%s)", (n, n)),
                ("jnp.linalg.solve(%s, jnp.ones((%d,), F))" % ("%s", n), (n,)),
                ("jnp.linalg.slogdet(%s)[1]", ()),
                ("jnp.log(jnp.linalg.det(%s))", ()),
                ("jx.scipy_solve_triangular(%s)" if False else "jnp.linalg.inv(%s)", (n, n)),
                ("jnp.linalg.qr(%s)[1]", (n, n)),
            ]
        )
        return self.one(("F", sh), f % a, e)

    def s_join(self, env):
        r = self.r
        e = self.pick(env, lambda t: len(t[1]) > 0)
        dt, sh = e[1]
        k = r.random()
        if k < 0.4:
            c = [x for x in env if x[1] == e[1]]
            b = r.choice(c)
            ax = r.randint(0, len(sh))
            if len(sh) > 3 or np.prod(sh) > 80:
                return None
            return self.one((dt, sh[:ax] + (2,) + sh[ax:]), "jnp.stack([{0}, {1}], axis=%d)" % ax, e, b)
        ax = r.randrange(len(sh))
        c = [
            x
            for x in env
            if x[1][0] == dt and len(x[1][1]) == len(sh) and all(i == ax or p == q for i, (p, q) in enumerate(zip(x[1][1], sh)))
        ]
        b = r.choice(c)
        if np.prod(sh) + np.prod(b[1][1]) > 200:
            return None
        if k < 0.5 and sh[ax] >= 2:
            m = r.randint(1, sh[ax] - 1)
            return self.one((dt, sh[:ax] + (m,) + sh[ax + 1 :]), "jnp.split({0}, [%d], axis=%d)[0]" % (m, ax), e)
        if k < 0.6 and dt == "F" and len(sh) >= 1 and sh[0] > 0:
            m = r.randint(2, 4)
            ids = [r.randint(0, m) for _ in range(sh[0])]
            return self.one((dt, (m,) + sh[1:]), "jx.ops.segment_sum({0}, jnp.array(%r), %d)" % (ids, m), e)
        return self.one(
            (dt, sh[:ax] + (sh[ax] + b[1][1][ax],) + sh[ax + 1 :]), "jnp.concatenate([{0}, {1}], axis=%d)" % ax, e, b
        )
