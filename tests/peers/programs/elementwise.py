"""Statements of one element at a time: functions of floats and integers, comparisons, conversions, choices, random numbers."""

from program import FLOATS, INTS, NAMES, Stmt, bshape

import numpy as np


class Elementwise:
    def one(self, t, fmt, *args, blocks=()):
        return Stmt([(self.name(), t)], fmt, [a[0] if isinstance(a, tuple) else a for a in args], blocks)

    def mates(self, env, pred):
        a = self.pick(env, pred)
        c = []
        for e in env:
            if e[1][0] == a[1][0]:
                try:
                    s = bshape(a[1][1], e[1][1])
                    if np.prod(s) <= 200 and len(s) <= 4:
                        c.append(e)
                except ValueError:
                    pass
        return a, self.r.choice(c)

    def s_unary(self, env):
        e = self.pick(env, lambda t: t[0] in FLOATS)
        dt, sh = e[1]
        f = self.r.choice(
            [
                "jnp.sin({0})",
                "jnp.cos({0})",
                "jnp.tanh({0})",
                "jnp.exp({0} * 0.3)",
                "jnp.log(jnp.abs({0}) + 0.5)",
                "jnp.sqrt(jnp.abs({0}) + 0.1)",
                "jnp.square({0})",
                "jnp.abs({0})",
                "-{0}",
                "jnp.sign({0})",
                "jnp.floor({0})",
                "jnp.round({0})",
                "lax.stop_gradient({0}) * {0}",
                "{0} + lax.stop_gradient(jnp.round({0}) - {0})",
                "chain(lambda v: v * v * 0.9, 33, jnp.tanh({0}))",
                "chain(nn.gelu, 14, {0})",
                "chain(lambda v: v + jnp.sin(v) * v * 0.1, 31, jnp.tanh({0}))",
                "guarded(lambda v: jnp.sqrt(v) + jnp.log(v), {0})",
                "guarded(lambda v: v / (v * v), {0})",
                "lax.fori_loop(0, 3, lambda i, c: c * 0.5 + i, {0})",
                "lax.fori_loop(1, 4, lambda i, c: c * jnp.where(i > 2, 1.0, 0.3), {0})",
                "jnp.where({0} > 0.5, 1.0, {0})",
                "nn.relu({0})",
                "nn.sigmoid({0})",
                "nn.softplus({0})",
                "nn.gelu({0})",
                "lax.erf({0})",
                "jnp.expm1({0} * 0.5)",
                "jnp.log1p(jnp.abs({0}))",
                "1 / ({0} * {0} + 1)",
                "jnp.cbrt({0} * {0} + 0.3)",
                "lax.rsqrt({0} * {0} + 0.5)",
                "jnp.arctan({0})",
                "jnp.sinh(jnp.clip({0}, -2, 2))",
                "{0} * 2",
                "{0} + 1.5",
                "3 - {0}",
                "{0} / 3",
                "{0} ** 2",
                "{0} ** 3",
                "lax.integer_pow({0}, 3)",
                "jnp.clip({0}, -0.7, 0.6)",
                "nn.silu({0})",
                "nn.elu({0})",
                "jnp.nan_to_num({0})",
                "jnp.trunc({0})",
                "jnp.arcsinh({0})",
                "jnp.logaddexp({0}, 0.3)",
                "2.0 ** jnp.clip({0}, -3, 3)",
                "jnp.exp2(jnp.clip({0}, -3, 3))",
                "jnp.sinc({0})",
                "nn.leaky_relu({0})",
                "jnp.where({0} > 0, {0}, 0.1 * {0})",
                "jnp.heaviside({0}, 0.5)",
                "jnp.modf({0})[0]",
                "lax.logistic({0})",
                "lax.lgamma(jnp.abs({0}) + 1)",
                "lax.digamma(jnp.abs({0}) + 1)",
                "jnp.arccos(jnp.tanh({0}) * 0.9)",
                "jnp.arctanh(jnp.tanh({0}) * 0.9)",
                "jnp.tan(jnp.clip({0}, -1, 1))",
                "jnp.cosh(jnp.clip({0}, -2, 2))",
                "nn.log_sigmoid({0})",
                "jnp.reciprocal({0} * {0} + 0.7)",
            ]
        )
        if dt != "F" and ("gamma" in f or "sinc" in f):
            f = "jnp.tanh({0})"
        return self.one((dt, sh), f, e)

    def s_binary(self, env):
        a, b = self.mates(env, lambda t: t[0] in FLOATS)
        if self.r.random() < 0.5:
            a, b = b, a
        f = self.r.choice(
            [
                "{0} + {1}",
                "{0} - {1}",
                "{0} * {1}",
                "{0} / ({1} * {1} + 1)",
                "jnp.maximum({0}, {1})",
                "jnp.minimum({0}, {1})",
                "jnp.where({0} > {1}, {0}, {1})",
                "(jnp.abs({0}) + 0.3) ** jnp.clip({1}, -2, 2)",
                "jnp.arctan2({0}, {1} + 3)",
                "jnp.hypot({0} + 2, {1})",
                "jnp.logaddexp({0}, {1})",
                "jnp.copysign({0}, {1})",
                "jnp.fmod({0}, jnp.abs({1}) + 0.7)",
                "jnp.mod({0}, jnp.abs({1}) + 0.7)",
                "{0} * jnp.sin({1})",
                "jnp.fmax({0}, {1})",
                "{0} + 0.5 * {1}",
                "{0} * {1} + {0}",
                "jnp.float_power(jnp.abs({0}) + 0.5, jnp.tanh({1})).astype({0}.dtype)",
                "lax.clamp(jnp.asarray(-1, {0}.dtype), {0} + {1}, jnp.asarray(1, {0}.dtype))",
                "jnp.heaviside({0}, {1})",
                "jnp.remainder({0}, jnp.where({1} > 0, 1.3, -1.1).astype({0}.dtype))",
            ]
        )
        return self.one((a[1][0], bshape(a[1][1], b[1][1])), f, a, b)

    def s_int(self, env):
        r = self.r
        if not any(e[1][0] in INTS for e in env) or r.random() < 0.12:
            if r.random() < 0.5:
                return Stmt([(self.name(), ("i32", ()))], "jnp.asarray(%d, jnp.int32)" % r.randint(-3, 6), [])
            n = r.randint(1, 5)
            return Stmt(
                [(self.name(), ("i32", (n,)))],
                "jnp.arange(%d, dtype=jnp.int32) * %d - %d" % (n, r.randint(1, 3), r.randint(0, 3)),
                [],
            )
        a, b = self.mates(env, lambda t: t[0] in INTS)
        dt = a[1][0]
        f = r.choice(
            [
                "{0} + {1}",
                "{0} - {1}",
                "{0} * {1}",
                "{0} // jnp.where({1} == 0, 3, {1})",
                "{0} % jnp.where({1} == 0, 2, {1})",
                "{0} & {1}",
                "{0} | {1}",
                "{0} ^ {1}",
                "jnp.left_shift({0}, {1} & 7)",
                "jnp.right_shift({0}, {1} & 7)",
                "jnp.maximum({0}, {1})",
                "jnp.minimum({0}, {1})",
                "-{0} + {1}",
                "~{0} + {1}",
                "jnp.abs({0}) - {1}",
                "jnp.sign({0}) * {1}",
                "{0} * {0} + {1}",
                "jnp.where({0} > {1}, {0}, {1} + 1)",
                "lax.shift_right_logical({0}, {1} & jnp.asarray(7, {0}.dtype))",
                "lax.shift_left({0}, {1})",
                "lax.shift_right_arithmetic({0}, {1})",
                "lax.population_count({0}) + {1}",
                "lax.fori_loop(0, 3, lambda i, c: c + i, {0}) - {1}",
                "lax.rem({0}, {1})",
                "lax.clz({0}) - {1}",
                "{0} ** 2 - {1}",
                "lax.div({0}, jnp.asarray(3, {0}.dtype)) - {1}",
                "lax.rem({0}, jnp.asarray(5, {0}.dtype)) + {1}",
                "jnp.gcd({0} % 30, {1} % 30)",
                "jnp.clip({0}, 0, 5) + {1}",
            ]
        )
        if dt in ("u8", "u32") and f.startswith("-"):
            f = "{0} - {1}"
        return self.one((dt, bshape(a[1][1], b[1][1])), "(" + f + ").astype(%s)" % NAMES[dt], a, b)

    def s_bool(self, env):
        r = self.r
        if r.random() < 0.6 or not any(e[1][0] == "b" for e in env):
            a, b = self.mates(env, lambda t: t[0] != "b")
            f = r.choice(
                [
                    "{0} > {1}",
                    "{0} <= {1}",
                    "{0} == {1}",
                    "{0} != {1}",
                    "{0} < 0.4",
                    "jnp.isfinite({0}) & ({1} > 0)",
                    "jnp.logical_not({0} > {1})",
                ]
            )
            if a[1][0] not in FLOATS and ("isfinite" in f or "0.4" in f):
                f = "{0} < {1}"
        else:
            a, b = self.mates(env, lambda t: t[0] == "b")
            f = r.choice(["{0} & {1}", "{0} | {1}", "{0} ^ {1}", "~{0} | {1}", "{0} == {1}", "{0} < {1}", "{0} >= {1}"])
        return self.one(("b", bshape(a[1][1], b[1][1]) if "{1}" in f else a[1][1]), f, a, *([b] if "{1}" in f else []))

    def s_cast(self, env):
        r = self.r
        e = self.pick(env)
        dt, sh = e[1]
        to = r.choice(["F", "F", "F", "f16", "bf16", "i32", "u8", "i8", "u32", "i16", "b"])
        if dt in FLOATS and to in INTS:
            lo, hi = {"i32": (-1000, 1000), "u8": (0, 255), "i8": (-128, 127), "u32": (0, 1000), "i16": (-300, 300)}[to]
            return self.one((to, sh), "jnp.clip(jnp.nan_to_num({0}) * 3, %d, %d).astype(%s)" % (lo, hi, NAMES[to]), e)
        if to == "F" and dt in INTS:
            return self.one(("F", sh), "jnp.sin({0}.astype(F))", e)
        if to in ("f16", "bf16") and dt in INTS:
            return self.one((to, sh), "({0} %% 16).astype(%s)" % NAMES[to], e)
        return self.one((to, sh), "{0}.astype(%s)" % NAMES[to], e)

    def s_where(self, env):
        r = self.r
        c = self.pick(env, lambda t: t[0] == "b")
        if not c:
            return self.s_bool(env)
        ok = []
        for e in env:
            try:
                if np.prod(bshape(c[1][1], e[1][1])) <= 200:
                    ok.append(e)
            except ValueError:
                pass
        a = r.choice(ok)
        same = [e for e in ok if e[1] == a[1]]
        b = r.choice(same)
        dt = a[1][0]
        f = r.choice(
            [
                "jnp.where({0}, {1}, {2})",
                "jnp.where({0}, {1}, 0)",
                "jnp.where({0}, 1, {2})",
                "jnp.select([{0}, ~{0}], [{1}, {2}])",
            ]
        )
        if dt == "b":
            f = "jnp.where({0}, {1}, {2})"
        return self.one((dt, bshape(c[1][1], a[1][1])), f + ".astype(%s)" % NAMES[dt], c, a, b)

    def s_random(self, env):
        r = self.r
        self.random_key = True
        ks = [x for x in env if x[1] == ("i32", ())]
        if ks and r.random() < 0.5:
            key = r.choice(["random.fold_in(random.PRNGKey(%d), {0})" % r.randint(0, 9), "random.PRNGKey({0})"])
        else:
            key = "random.fold_in(random.PRNGKey(%d), %d)" % (r.randint(0, 99), r.randint(0, 9))
        sh = self.shape(2)
        f, t = r.choice(
            [
                ("random.uniform(%s, %r, F)", "F"),
                ("random.normal(%s, %r, F)", "F"),
                ("random.bits(%s, %r, jnp.uint32)", "u32"),
                ("random.randint(%s, %r, -5, 9, jnp.int32)", "i32"),
                ("random.bernoulli(%s, 0.4, %r)", "b"),
                ("random.gumbel(%s, %r, F)", "F"),
                ("random.exponential(%s, %r, F)", "F"),
                ("random.bits(%s, %r, jnp.uint8)", "u8"),
                ("random.truncated_normal(%s, -1., 2., %r, F)", "F"),
            ]
        )
        return Stmt([(self.name(), (t, sh))], f % (key, sh), [r.choice(ks)[0]] if "{0}" in key else [])
