#!/usr/bin/env python3
"""Writes random.h: what JAX (0.10, threefry_partitionable) draws. Usage: python3 make_random.py > random.h"""
import jax
import jax.numpy as jnp
import numpy as np
import scipy.special

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_threefry_partitionable", True)
jax.config.update("jax_platforms", "cpu")
R = jax.random


def literal(x):
    x = np.asarray(x)
    if x.dtype.kind == "f" and np.isinf(x):
        return ("-" if x < 0 else "") + f"std::numeric_limits<{CPP[x.dtype.str[1:]]}>::infinity()"
    if x.dtype.kind == "f":
        return float(x).hex() + ("f" if x.dtype == np.float32 else "")
    if x.dtype == np.bool_:
        return "true" if x else "false"
    if x.dtype == np.uint64:
        return f"{int(x)}u"
    return f"{int(x)}u" if x.dtype.kind == "u" else str(int(x))


CPP = {"f4": "float", "f8": "double", "b1": "bool", "i1": "std::int8_t", "i4": "std::int32_t", "i8": "std::int64_t",
       "u1": "std::uint8_t", "u2": "std::uint16_t", "u4": "std::uint32_t", "u8": "std::uint64_t"}


def show(name, x):
    x = np.asarray(x)
    items = ", ".join(literal(v) for v in x.ravel())
    print(f"inline constexpr {CPP[x.dtype.str[1:]]} {name}[] = {{{items}}};")


def raw(key):
    return R.key_data(key)


k = R.key(42)
print("// Made by make_random.py from JAX " + jax.__version__ + "; do not edit.")
print("#pragma once\n\n#include <cstdint>\n#include <limits>\n\nnamespace tenon::golden {\n\n// clang-format off")
show("key_42", raw(k))
show("key_wide", raw(R.key(-1234567890123)))
show("split_3", raw(R.split(k, 3)))
show("fold_in_7", raw(R.fold_in(k, 7)))
show("fold_in_negative", raw(R.fold_in(k, np.int32(-5))))
for dtype in ["uint8", "uint16", "uint32", "uint64"]:
    show("bits_" + dtype, R.bits(k, (2, 5), dtype))
show("uniform_f32", R.uniform(k, (3, 4), "float32"))
show("uniform_f64", R.uniform(k, (7,), "float64"))
show("uniform_f16", R.uniform(k, (7,), "float16").astype("float32"))
show("uniform_bf16", R.uniform(k, (7,), "bfloat16").astype("float32"))
show("uniform_range", R.uniform(k, (5,), "float32", -3.0, 2.5))
show("normal_f32", R.normal(k, (3, 100), "float32"))
show("normal_f64", R.normal(k, (3, 100), "float64"))
show("randint_i32", R.randint(k, (10,), -5, 17, "int32"))
show("randint_i64", R.randint(k, (5,), -(10**12), 10**15, "int64"))
show("randint_u8_full", R.randint(k, (12,), 0, 256, "uint8"))
show("randint_i8", R.randint(k, (12,), -128, 128, "int8"))
show("randint_empty", R.randint(k, (3,), 5, 5, "int32"))
show("bernoulli", R.bernoulli(k, jnp.float32(0.3), (20,)))
show("exponential_f32", R.exponential(k, (8,), "float32"))
show("gumbel_f32", R.gumbel(k, (8,), "float32"))
show("categorical", R.categorical(k, jnp.zeros((6, 5), "float32") + jnp.arange(5, dtype="float32") / 2).astype("int32"))
e = np.concatenate([np.linspace(-1, 1, 81), 1 - 2.0 ** -np.arange(2, 53, 3), [1e-300, -1e-10, 0.0]])
show("erf_inv_of", e)
show("erf_inv_exact", scipy.special.erfinv(e))
show("erf_inv_f32", jax.scipy.special.erfinv(jnp.asarray(e, "float32")))
print("// clang-format on\n\n}  // namespace tenon::golden")
