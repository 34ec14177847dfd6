#!/usr/bin/env python3
"""Writes docs/python-names.md: each public name of JAX 0.10, and whether tenon has it. Needs tenon, not JAX: JAX's names
are in python/tests/jax_names.json (`--collect` writes that file, where JAX is installed)."""

import argparse
import importlib
import json
import pathlib
import types

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAMES = ROOT / "python/tests/jax_names.json"
DOCUMENT = ROOT / "docs/python-names.md"
DISTRIBUTIONS = ("bernoulli beta betabinom binom cauchy chi2 dirichlet expon gamma gennorm geom gumbel_l gumbel_r laplace "
                 "logistic multinomial multivariate_normal nbinom norm pareto poisson t truncnorm uniform vonmises wrapcauchy").split()
MODULES = {"jax": "tenon", "jax.numpy": "tenon.numpy", "jax.numpy.linalg": "tenon.linalg", "jax.numpy.fft": "tenon.fft",
           "jax.scipy.linalg": "tenon.scipy.linalg", "jax.scipy.special": "tenon.scipy.special",
           "jax.scipy.fft": "tenon.scipy.fft", "jax.scipy.signal": "tenon.scipy.signal", "jax.scipy.ndimage": "tenon.scipy.ndimage",
           "jax.scipy.interpolate": "tenon.scipy.interpolate", "jax.scipy.integrate": "tenon.scipy.integrate",
           "jax.scipy.cluster.vq": "tenon.scipy.cluster.vq", "jax.scipy.spatial.transform": "tenon.scipy.spatial.transform",
           "jax.image": "tenon.image", "jax.scipy.stats": "tenon.scipy.stats",
           "jax.scipy.optimize": "tenon.scipy.optimize", "jax.scipy.sparse.linalg": "tenon.scipy.sparse.linalg",
           **{f"jax.scipy.stats.{name}": f"tenon.scipy.stats.{name}" for name in DISTRIBUTIONS}, "jax.lax": "tenon.lax", "jax.lax.linalg": "tenon.lax.linalg",
           "jax.dtypes": "tenon.dtypes", "jax.ops": "tenon.ops", "jax.random": "tenon.random",
           "jax.nn": "tenon.nn", "jax.nn.initializers": "tenon.nn.initializers",
           "jax.tree": "tenon.tree", "jax.tree_util": "tenon.tree_util", "jax.export": "tenon.export", "jax.ref": "tenon.ref"}

DIFFERS = {
    "jax.jit": "of its functions `trace`, `lower`, `eval_shape`, `clear_cache`; a lowered one is a Program; no `device`, `backend`, `keep_unused`, `in_shardings`, `out_shardings`, `compiler_options`",
    "jax.Array": "no `sharding`, `addressable_shards` and their kin, which tell of several devices: `device` names the one",
    "jax.errors": "kinds of tenon's by these names; no KeyReuseError is raised, and masks are refused under vmap alone",
    "jax.random.fold_in": "no real numbers, which JAX cuts to integers",
    "jax.random.uniform": "between other bounds than 0 and 1 the last bit may differ where it is called outside of jit",
    **dict.fromkeys([f"jax.random.{name}" for name in "ball beta chisquare dirichlet f gamma generalized_normal loggamma t".split()],
                    "of float16 and bfloat16 other numbers, drawn in float32"),
    "jax.random.poisson": "of rates beyond 10 another number where rounding decides whether one is taken",
    "jax.nn.dot_product_attention": "of arrays of three or four axes alone",
    "jax.lax.custom_root": "`tangent_solve` is run, and its result compared, where a derivative is taken",
    "jax.jacobian": "as jacrev", "jax.vmap": "`spmd_axis_name` has no effect",
    "jax.custom_vjp": "cotangents arrive as zeros, not as SymbolicZeros; `optimize_remat` has no effect",
    "jax.checkpoint": "policies are not asked of ops inside loop bodies and branches of the function, which are computed again; "
                      "with everything_saveable there is no checkpoint",
    "jax.remat": "as checkpoint", "jax.checkpoint_policies": "offloading is keeping: there is one memory",
    "jax.custom_derivatives": "CustomVJPPrimal, SymbolicZero, closure_convert, custom_gradient, custom_jvp, custom_vjp, "
                              "custom_vjp_primal_tree_values, linear_call, zero_from_primal",
    "jax.ad": "DidntWant, DontWant, GradRef, GradValue",
    "jax.custom_batching": "custom_vmap, sequential_vmap",
    "jax.check_tracer_leaks": "no effect: leaks are always found", "jax.checking_leaks": "no effect: leaks are always found",
    "jax.default_matmul_precision": "no effect: products are as exact as their operands' dtype",
    "jax.enable_x64": "a context and a decorator; on by default", "jax.fwd_and_bwd": "the residuals are the arguments",
    "jax.linear_transpose": "of a function that is not linear its vjp at 0", "jax.make_jaxpr": "a Program",
    "jax.named_scope": "no effect: ops know the user's line", "jax.typeof": "a ShapeDtypeStruct",
    "jax.empty_ref": "zeros; `memory_space` has no effect", "jax.effects_barrier": "nothing is to be waited for",
    "jax.dtypes": "its table is below", "jax.ops": "its table is below", "jax.typing": "Array, ArrayLike, DTypeLike",
    "jax.device_put": "there is one device", "jax.named_call": "returns the function: ops know the user's line",
    "jax.debug": "`callback` and `print`", "jax.pure_callback": "`sharding` has no effect",
    "jax.new_ref": "`memory_space` has no effect", "jax.config": "64 bits, which are on by default, `debug_nans`, `debug_infs` and `disable_jit`",
    "jax.debug_nans": "a context and a decorator; results that functions leave out again are not looked at",
    "jax.debug_infs": "as debug_nans", "jax.export": "its table is below", "jax.ref": "its table is below, without AbstractRef",
    "jax.export.Exported": "derivatives and batches of any order; `mlir_module` is the Program's text; one device",
    "jax.export.export": "`platforms` and `disabled_checks` have no effect: a Program is good for every machine",
    "jax.export.register_pytree_node_serialization": "`from_children` has no effect",
    "jax.numpy.asarray": "memory of NumPy is shared, not copied: it must not be written any more",
    "jax.numpy.partition": "all elements are in order", "jax.numpy.argpartition": "all elements are in order",
    "jax.numpy.einsum": "`precision` has no effect",
    "jax.numpy.quantile": "more: the methods of Hyndman and Fan", "jax.numpy.percentile": "as quantile",
    "jax.numpy.nanquantile": "as quantile", "jax.numpy.nanpercentile": "as quantile",
    "jax.lax.linalg.eig": "vectors have derivatives, whatever `enable_eigvec_derivs` says",
    "jax.scipy.linalg.eigh": "more: `b`, and `type` 2 and 3 with it", "jax.scipy.linalg.polar": "by singular values, of any shape and side",
    "jax.scipy.linalg.eigh_tridiagonal": "by the whole matrix; `tol` has no effect",
    "jax.scipy.linalg.solve_sylvester": "more: derivatives by either `method`",
    "jax.scipy.optimize.minimize": "more: trees, derivatives, L-BFGS by that name, `tol`", "jax.scipy.sparse.linalg.gmres": "`M` is applied before `A`",
    "jax.lax.GatherScatterMode": "no ONE_HOT", "jax.lax.Precision": "no effect: products are as exact as their operands' dtype",
    "jax.lax.PrecisionLike": "as Precision", "jax.lax.approx_max_k": "all are found", "jax.lax.approx_min_k": "all are found",
    "jax.lax.composite": "the decomposition", "jax.lax.dce_sink": "no effect", "jax.lax.optimization_barrier": "no effect",
    "jax.lax.platform_dependent": "the branch `cpu` alone is traced", "jax.lax.padtype_to_pads": "not of `PaddingType`",
    "jax.lax.linalg.symmetric_product": "the whole product is made",
    "jax.lax.scaled_dot": "more: derivatives; summed in f32 at least", "jax.lax.scan": "more: `checkpoint`; no `_split_transpose`", "jax.lax.while_loop": "more: `checkpoints`",
    "jax.lax.fori_loop": "more: `checkpoint`; `unroll` has no effect; reverse mode also where bounds are traced",
    "jax.lax.cond": "no `linear`", "jax.lax.all_gather": "along axes of vmap; groups of one size too", "jax.lax.psum": "along axes of vmap; groups of one size too",
    "jax.lax.ppermute": "along axes of vmap; sources and destinations may be left out", "jax.lax.top_k": "", "jax.lax.sort": "",
    "jax.random.key": "the numbers u32[2], as PRNGKey", "jax.random.key_data": "the key itself",
    "jax.random.multinomial": "`unroll` has no effect", "jax.random.randint": "",
    "jax.lax.betainc": "more: derivatives in a and b", "jax.lax.igamma_grad_a": "more: derivatives of its own",
    "jax.lax.random_gamma_grad": "more: derivatives of its own",
    "jax.random.normal": "within 2 units in the last place",
    "jax.scipy.fft.dct": "more: `norm` forward", "jax.scipy.fft.dctn": "as dct", "jax.scipy.fft.idct": "as dct", "jax.scipy.fft.idctn": "as dct",
    "jax.scipy.signal.istft": "as SciPy where `noverlap` is 0 and `nperseg` odd; the times are those of the signal, whatever axes it has",
    "jax.scipy.signal.convolve": "more: of sizes of which neither is the larger along every axis; infinite elements meet no zeros around",
    "jax.scipy.signal.correlate": "as convolve", "jax.scipy.signal.convolve2d": "as convolve", "jax.scipy.signal.correlate2d": "as convolve",
    "jax.scipy.cluster.vq.vq": "i32",
    "jax.scipy.spatial.transform.Rotation": "derivatives at no rotation too", "jax.scipy.spatial.transform.Slerp": "behind the last time the motion goes on",
    "jax.nn.one_hot": "", "jax.scipy": "`cluster`, `fft`, `integrate`, `interpolate`, `linalg`, `ndimage`, `optimize`, `signal`, `sparse.linalg`, `spatial`, `special`, `stats`", "jax.tree_util.KeyEntry": "any type",
}
for name in "numpy.max numpy.min numpy.amax numpy.amin numpy.ptp numpy.maximum numpy.minimum lax.max lax.min lax.reduce_max lax.reduce_min".split():
    DIFFERS[f"jax.{name}"] = "of complex numbers NaN where any is, as in NumPy"
DIFFERS = {name: text for name, text in DIFFERS.items() if text}

SHARDED = "one device, one process"
RULES = [  # (words in the name, why it is absent)
    ("live_arrays array_garbage_collection_guard", "the library does not tell of its arrays"),
    ("log_compiles explain_cache_misses", "`TENON_LOG` and `explain` tell of compilation"),
    ("softmax_custom_jvp", "not part of this module"),
    ("allow_f16_reductions numpy_dtype_promotion numpy_rank_promotion enable_checks no_execution no_tracing thread_guard make_user_context "
     "threefry_partitionable jax2tf_associative_scan_reductions", "settings of JAX's"),
    ("symbolic_ is_symbolic_dim SymbolicScope", "exported functions have sizes that are numbers"),
    ("calling_convention DisabledSafetyCheck default_export_platform AbstractRef", "JAX's own machinery"),
    ("dlpack version Device TypePromotionError AccuracyMode Tolerance DotAlgorithm EigImplementation "
     "EighImplementation SvdAlgorithm Initializer", "a name of JAX's own for what is elsewhere or not chosen here"),
    ("scaled_dot_general", "its configurations are cuDNN's; `lax.scaled_dot` takes blocks and scales"),
    ("key_dtype", "keys are numbers: no dtype of their own"),
    ("float4 float6 int1 int2 int4 uint1 uint2 uint4", "no such dtype"),
    ("object_ ComplexWarning place_ character", "NumPy's machinery"),
    ("pcast precv psend "
     "ragged_all_to_all with_sharding_constraint after_all create_token axis_name shard mesh device process host pmap smap reshard "
     "distributed transfer_guard Sharding Shard P backend memory", SHARDED),
    ("default_registry callback debug monitoring profiler stages experimental ffi interpreters lib core api_util extend", "JAX's own machinery"),
    ("rng_uniform", "it draws from a state that is kept nowhere: random.uniform() takes a key"),
    ("random_ rng_ prng", "the numbers of a key say its generator: threefry, or that of `rbg`"),
]


def reason(name):
    short = name.rsplit(".", 1)[1]
    for words, why in RULES:
        for word in words.split():
            if short == word or (len(word) > 3 and word in short):
                return why
    return "not yet"


def collect():
    names = {}
    for module in MODULES:
        m = importlib.import_module(module)
        names[module] = sorted(n for n in dir(m) if not n.startswith("_") and not n.endswith("_p")
                               and not (isinstance(getattr(m, n), types.ModuleType) and module != "jax"))
    NAMES.write_text(json.dumps(names, indent=0) + "\n")


def table():
    lines = ["# Names of JAX in tenon's Python module", "",
             "Generated by `tools/python_names.py`. Each public name of JAX 0.10 in these modules: *same*: there, with the same",
             "arguments and meaning; *differs*: there, and how it differs; *absent*: and why.", ""]
    for module, names in json.loads(NAMES.read_text()).items():
        ours = importlib.import_module(MODULES[module])
        there = [n for n in names if hasattr(ours, n)]
        same = [n for n in there if f"{module}.{n}" not in DIFFERS]
        lines += [f"## `{module}` in `{MODULES[module]}`: {len(there)} of {len(names)}", "",
                  "**Same**: " + (", ".join(f"`{n}`" for n in same) or "none") + ".", ""]
        differing = [n for n in there if f"{module}.{n}" in DIFFERS]
        if differing:
            lines += ["| differs | how |", "|---|---|", *(f"| `{n}` | {DIFFERS[f'{module}.{n}']} |" for n in differing), ""]
        why = {}
        for n in names:
            if n not in there:
                why.setdefault(reason(f"{module}.{n}"), []).append(n)
        if why:
            lines += ["| absent | why |", "|---|---|",
                      *(f"| {', '.join(f'`{n}`' for n in group)} | {text} |" for text, group in sorted(why.items())), ""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--collect", action="store_true", help="write JAX's names, where JAX is installed")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    options = parser.parse_args()
    if options.collect:
        collect()
    elif options.check:
        raise SystemExit(0 if DOCUMENT.read_text() == table() else "docs/python-names.md is old: run tools/python_names.py")
    else:
        DOCUMENT.write_text(table())


if __name__ == "__main__":
    main()
