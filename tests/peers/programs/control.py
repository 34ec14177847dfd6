"""Statements with blocks: loops, branches, calls, mapped functions, functions with rules of their own, derivatives."""

from program import Stmt


class Control:
    def carries(self, env, depth):
        r = self.r
        n = r.randint(1, 3)
        fl = [e for e in env if e[1][0] == "F"] or env
        cs = [r.choice(fl)] + [r.choice(env) for _ in range(n - 1)]
        return cs

    def fresh_params(self, types):
        return [(self.name("p"), t) for t in types]

    def s_scan(self, env, depth):
        r = self.r
        cs = self.carries(env, depth)
        ct = [e[1] for e in cs]
        xs = [e for e in env if len(e[1][1]) > 0]
        L = None
        use = []
        if xs and r.random() < 0.75:
            x = r.choice(xs)
            L = x[1][1][0]
            use = [x] + [e for e in xs if e[1][1][0] == L and r.random() < 0.2][:1]
        if L is None or not use:
            L, use = r.randint(0, 4), []
        xp = self.fresh_params([(e[1][0], e[1][1][1:]) for e in use])
        cp = self.fresh_params(ct)
        ny = r.randint(0, 2)
        yt = [("F", self.shape(1)) for _ in range(ny)]
        b = self.block(cp + xp, env, r.randint(1, 4), depth + 1, ct + yt)
        outs = [(self.name(), t) for t in ct] + [(self.name(), (t[0], (L,) + t[1])) for t in yt]
        nc = len(ct)
        body = "lambda c, x: (lambda o: (tuple(o[:%d]), tuple(o[%d:])))({b0}(*c, *x))" % (nc, nc)
        opts = ", reverse=True" if r.random() < 0.3 else ""
        if r.random() < 0.15:
            opts += ", unroll=2"
        if r.random() < 0.2:
            body = "jx.checkpoint(%s)" % body
        f = "flat(lax.scan(%s, (%s,), (%s), length=%d%s))" % (
            body,
            ", ".join("{%d}" % i for i in range(nc)),
            "".join("{%d}, " % (nc + i) for i in range(len(use))),
            L,
            opts,
        )
        return Stmt(outs, f, [e[0] for e in cs] + [e[0] for e in use], [b])

    def s_fori(self, env, depth):
        r = self.r
        cs = self.carries(env, depth)
        ct = [e[1] for e in cs]
        ip = (self.name("i"), ("i32", ()))
        cp = self.fresh_params(ct)
        b = self.block([ip] + cp, env, r.randint(1, 4), depth + 1, ct)
        ks = [x for x in env if x[1] == ("i32", ())]
        outs = [(self.name(), t) for t in ct]
        nc = len(ct)
        ops = [e[0] for e in cs]
        if ks and r.random() < 0.4:
            bounds = "jnp.minimum({%d}, 1), jnp.clip({%d}, 0, 4)" % (nc, nc)
            ops.append(r.choice(ks)[0])
            self.has_while = True
        else:
            lo = r.choice([0, 0, 1, -2])
            bounds = f"{lo}, {lo + r.randint(0, 4)}"
        f = "lax.fori_loop(%s, lambda i, c: tuple({b0}(jnp.asarray(i, jnp.int32), *c)), (%s,))" % (
            bounds,
            ", ".join("{%d}" % i for i in range(nc)),
        )
        return Stmt(outs, f, ops, [b])

    def s_while(self, env, depth):
        r = self.r
        cs = self.carries(env, depth)
        ct = [e[1] for e in cs]
        cp = self.fresh_params(ct)
        self.has_while = True
        b = self.block(cp, env, r.randint(1, 4), depth + 1, ct)
        cp2 = self.fresh_params(ct)
        c = self.block(cp2, env, r.randint(0, 2), depth + 2, [("b", ())])
        outs = [(self.name(), t) for t in ct]
        nc = len(ct)
        m = r.randint(0, 4)
        f = (
            "lax.while_loop(lambda c: (c[0] < %d) & {b1}(*c[1])[0], lambda c: (c[0] + 1, tuple({b0}(*c[1]))), (0, (%s,)))[1]"
            % (m, ", ".join("{%d}" % i for i in range(nc)))
        )
        return Stmt(outs, f, [e[0] for e in cs], [b, c])

    def pred(self, env):
        c = [e for e in env if e[1] == ("b", ())]
        if c and self.r.random() < 0.7:
            return "{%d}", self.r.choice(c)[0]
        e = self.pick(env, lambda t: t[0] != "b")
        return "(jnp.sum({%d}) > 0.2)", e[0]

    def s_cond(self, env, depth):
        r = self.r
        p, pn = self.pred(env)
        ops = [r.choice(env) for _ in range(r.randint(0, 2))]
        ot = [e[1] for e in ops]
        want = [r.choice(env)[1] if r.random() < 0.5 else ("F", self.shape(2)) for _ in range(r.randint(1, 2))]
        bs = [self.block(self.fresh_params(ot), env, r.randint(0, 3), depth + 1, want) for _ in range(2)]
        f = "lax.cond(%s, lambda *a: tuple({b0}(*a)), lambda *a: tuple({b1}(*a))%s)" % (
            p % len(ops),
            "".join(", {%d}" % i for i in range(len(ops))),
        )
        return Stmt([(self.name(), t) for t in want], f, [e[0] for e in ops] + [pn], bs)

    def s_switch(self, env, depth):
        r = self.r
        ks = [x for x in env if x[1] == ("i32", ())]
        n = r.randint(1, 4)
        if ks and r.random() < 0.7:
            i, ino = "{%d}", r.choice(ks)[0]
        else:
            e = self.pick(env, lambda t: t[0] == "F")
            i, ino = "jnp.floor(jnp.sum({%d})).astype(jnp.int32)", e[0]
        ops = [r.choice(env) for _ in range(r.randint(0, 2))]
        ot = [e[1] for e in ops]
        want = [("F", self.shape(2))]
        bs = [self.block(self.fresh_params(ot), env, r.randint(0, 2), depth + 1, want) for _ in range(n)]
        f = "lax.switch(%s, [%s]%s)" % (
            i % len(ops),
            ", ".join("lambda *a: tuple({b%d}(*a))" % k for k in range(n)),
            "".join(", {%d}" % i for i in range(len(ops))),
        )
        return Stmt([(self.name(), t) for t in want], f, [e[0] for e in ops] + [ino], bs)

    def s_map(self, env, depth):
        r = self.r
        e = self.pick(env, lambda t: len(t[1]) > 0)
        L = e[1][1][0]
        b = self.block(self.fresh_params([(e[1][0], e[1][1][1:])]), env, r.randint(1, 3), depth + 1, [("F", self.shape(1))])
        t = b.result_types[0]
        bs = r.choice(["", "", ", batch_size=2"])
        return Stmt([(self.name(), (t[0], (L,) + t[1]))], "lax.map(lambda x: {b0}(x)[0], {0}%s)," % bs, [e[0]], [b])

    def s_vmap(self, env, depth):
        r = self.r
        e = self.pick(env, lambda t: len(t[1]) > 0)
        ax = r.randrange(len(e[1][1]))
        L = e[1][1][ax]
        if L == 0:
            return None
        o = r.choice(env)
        sh = e[1][1][:ax] + e[1][1][ax + 1 :]
        b = self.block(self.fresh_params([(e[1][0], sh), o[1]]), env, r.randint(1, 3), depth + 1, [("F", self.shape(1))])
        t = b.result_types[0]
        oa = r.randint(0, len(t[1]))
        return Stmt(
            [(self.name(), (t[0], t[1][:oa] + (L,) + t[1][oa:]))],
            "jx.vmap(lambda x, y: {b0}(x, y)[0], in_axes=(%d, None), out_axes=%d)({0}, {1})," % (ax, oa),
            [e[0], o[0]],
            [b],
        )

    def s_assoc(self, env, depth):
        r = self.r
        e = self.pick(env, lambda t: t[0] == "F" and len(t[1]) > 0)
        f = r.choice(
            [
                "lax.associative_scan(jnp.add, {0}%s),",
                "lax.associative_scan(lambda a, b: a * b, {0}%s),",
                "lax.associative_scan(jnp.maximum, {0}%s),",
                "lax.associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (jnp.tanh({0}), {0})%s)[1],",
            ]
        )
        ax = r.randrange(len(e[1][1]))
        return Stmt([(self.name(), e[1])], f % (r.choice(["", ", reverse=True"]) + f", axis={ax}"), [e[0]])

    def s_written(self, env, depth):
        """A reference that a loop writes."""
        e = self.pick(env, lambda t: t[0] == "F" and len(t[1]) > 0 and t[1][0] > 0)
        f = self.r.choice(["lambda v, c: v * 2 + c", "lambda v, c: jnp.sin(v) * c", "lambda v, c: v * v"])
        count = self.r.randint(0, 2 * e[1][1][0])
        return Stmt([(self.name(), e[1])], "written(%s, {0}, %d)," % (f, count), [e[0]])

    def s_call(self, env, depth):
        r = self.r
        ops = [r.choice(env) for _ in range(r.randint(1, 3))]
        want = [r.choice([e[1] for e in env]) for _ in range(r.randint(1, 2))]
        b = self.block(self.fresh_params([e[1] for e in ops]), env, r.randint(1, 4), depth + 1, want)
        wrap = (
            r.choice(["jx.jit(%s)", "jx.checkpoint(%s)", "%s", "jx.jit(jx.checkpoint(%s))", "jx.checkpoint(jx.jit(%s))"])
            % "lambda *a: tuple({b0}(*a))"
        )
        return Stmt(
            [(self.name(), t) for t in want],
            "(%s)(%s)" % (wrap, ", ".join("{%d}" % i for i in range(len(ops)))),
            [e[0] for e in ops],
            [b],
        )

    def s_custom(self, env, depth):
        r = self.r
        fl = [e for e in env if e[1][0] == "F"]
        ops = [r.choice(fl) for _ in range(r.randint(1, 2))]
        want = [("F", self.shape(1)) for _ in range(r.randint(1, 2))]
        if r.random() < 0.5:
            w = "cjvp"
        else:
            w = "cvjp"
            self.has_cvjp = True
        b = self.block(self.fresh_params([e[1] for e in ops]), [], r.randint(1, 3), 3, want)
        return Stmt(
            [(self.name(), t) for t in want],
            "%s(lambda *a: tuple({b0}(*a)))(%s)" % (w, ", ".join("{%d}" % i for i in range(len(ops)))),
            [e[0] for e in ops],
            [b],
        )

    def s_grad(self, env, depth):
        r = self.r
        fl = [e for e in env if e[1][0] == "F"]
        e = r.choice(fl)
        w0 = self.has_while
        self.has_while = False
        b = self.block(self.fresh_params([e[1]]), env, r.randint(1, 3), depth + 1, [("F", self.shape(1))])
        if self.has_while:  # reverse mode of a while: jax has none
            self.has_while = True
            return None
        self.has_while = w0
        k = r.choice(
            [
                "jx.grad(lambda x: total({b0}(x)))({0}),",
                "jx.jvp(lambda x: {b0}(x)[0], ({0},), (jnp.ones_like({0}),))",
                "jx.value_and_grad(lambda x: total({b0}(x)))({0})[1],",
            ]
        )
        if "jvp" in k:
            t = b.result_types[0]
            return Stmt([(self.name(), t), (self.name(), t)], k, [e[0]], [b])
        return Stmt([(self.name(), e[1])], k, [e[0]], [b])
