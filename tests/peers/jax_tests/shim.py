"""`import jax` gives modules over Tenon's, so that JAX's own files of tests run against it; no test's line is changed.

This is no port of JAX: what Tenon lacks is a hole (holes.py).
"""

import functools
import importlib
import importlib.util
import inspect
import os
import sys
import types

import numpy as np
import tenon as tn
from holes import RUNNING, Alias, Finder, Hole, MissingFeature, out_of_scope
from settings import config

SOURCE = os.environ["JAX_SOURCE"]
VERSION = "0.11.1"

# Names of JAX's that are about several devices, XLA, jaxprs or JAX's own checks.
OUT_OF_JAX = """devices local_devices device_count local_device_count pmap shard_map smap sharding make_mesh set_mesh default_device
  process_index process_count NamedSharding P Shard reshard ffi profiler interpreters lib core stages distributed memory
  transfer_guard live_arrays debug_key_reuse enable_checks log_compiles explain_cache_misses monitoring experimental
  api_util xla_computation array_garbage_collection_guard make_array_from_callback Device no_tracing no_execution
  default_prng_impl enable_custom_prng legacy_prng_key numpy_dtype_promotion numpy_rank_promotion threefry_partitionable
  make_user_context softmax_custom_jvp make_array_from_single_device_arrays thread_guard mesh AxisType copy_to_host_async ad""".split()
OUT_OF_LAX = """all_gather_invariant axis_size pbroadcast pcast psum_scatter pshuffle pswapaxes ragged_all_to_all
  with_sharding_constraint after_all create_token parallel control_flow rng_uniform pvary infeed outfeed
  composite AccuracyMode DotAlgorithm DotAlgorithmPreset Tolerance""".split()
OUT_OF_NUMPY = """float4_e2m1fn float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz
  float8_e5m2 float8_e5m2fnuz float8_e8m0fnu int1 int2 int4 uint1 uint2 uint4""".split()
OUT_OF_JIT = ("device", "backend", "in_shardings", "out_shardings", "compiler_options")


# ---- transformations whose further parameters are out of scope

def jit(*args, **kwargs):
    for name in OUT_OF_JIT:
        if kwargs.pop(name, None) is not None and RUNNING[0]:
            out_of_scope("jit " + name)
    return tn.jit(*args, **kwargs)


def vmap(f, *args, **kwargs):
    if kwargs.pop("spmd_axis_name", None) is not None:
        out_of_scope("vmap spmd_axis_name")
    if "axis_name" in kwargs and "axis_name" not in inspect.signature(tn.vmap).parameters:
        out_of_scope("vmap axis_name")
    return tn.vmap(f, *args, **kwargs)


functools.update_wrapper(jit, tn.jit, updated=())
functools.update_wrapper(vmap, tn.vmap, updated=())


class Jaxpr:
    """What make_jaxpr returns: its text and its parts are JAX's own."""

    def __init__(self, program):
        self._program = program

    def __getattr__(self, name):
        out_of_scope("jaxpr." + name)

    def __str__(self):
        out_of_scope("text of a jaxpr")

    __repr__ = __str__

    def __format__(self, spec):
        out_of_scope("text of a jaxpr")


def make_jaxpr(f, static_argnums=(), axis_env=None, return_shape=False, **kwargs):
    if return_shape or axis_env:
        out_of_scope("make_jaxpr return_shape, axis_env")
    made = tn.make_jaxpr(f, static_argnums=static_argnums)
    program = functools.wraps(made)(lambda *args, **kw: Jaxpr(made(*args, **kw)))
    program.__module__ = "jax"
    return program


def device_put(x, device=None, **kwargs):
    if device is not None or kwargs:
        out_of_scope("device_put to a device")
    return tn.device_put(x)


class Policies:
    """jax.checkpoint_policies: a policy that Tenon lacks is found when it is used."""

    def __getattr__(self, name):
        found = getattr(tn.checkpoint_policies, name, None)
        if found is not None:
            return found

        def policy(*names):
            if RUNNING[0]:
                raise MissingFeature("missing: jax.checkpoint_policies." + name)
            return Hole("jax.checkpoint_policies." + name, False)
        return policy


# ---- classes that JAX's tests ask for

def is_traced(x):
    if not isinstance(x, tn.Array):
        return False
    try:
        np.asarray(x)
        return False
    except Exception:
        return True


class _Traced(type):
    def __instancecheck__(cls, x):
        return is_traced(x)


class _Concrete(type):
    def __instancecheck__(cls, x):
        return isinstance(x, tn.Array) and not is_traced(x)


class Tracer(metaclass=_Traced):
    pass


class ArrayImpl(metaclass=_Concrete):
    pass


# ---- modules

def module(name):
    """Tenon's module of that name, if there is one."""
    try:
        return [importlib.import_module("tenon." + name)]
    except ImportError:
        return [getattr(tn, name)] if hasattr(tn, name) else []


def from_checkout(name, path):
    """A file of JAX's source that needs public names alone, run as it is over these modules."""
    spec = importlib.util.spec_from_file_location(name, os.path.join(SOURCE, path))
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[name] = loaded
    try:
        spec.loader.exec_module(loaded)
    except Exception as error:
        del sys.modules[name]
        print(f"shim: {name}: {type(error).__name__}: {error}", file=sys.stderr)
        return
    parent, _, child = name.rpartition(".")
    if parent in sys.modules:
        sys.modules[parent].__dict__[child] = loaded


def error_names():
    """JAX's names of kinds of errors, which tenon.errors has too."""
    names = ("ConcretizationTypeError", "TracerArrayConversionError", "TracerBoolConversionError",
             "TracerIntegerConversionError", "NonConcreteBooleanIndexError", "UnexpectedTracerError", "JaxRuntimeError")
    return {name: getattr(tn.errors, name) for name in names}


def public_modules():
    policies = Policies()
    table = dict(
        jit=jit, vmap=vmap, make_jaxpr=make_jaxpr, device_put=device_put, config=config, default_backend=lambda: "cpu",
        enable_x64=config.enable_x64, __version__=VERSION, checkpoint_policies=policies, enable_checks=config.enable_checks,
        numpy_rank_promotion=config.numpy_rank_promotion, numpy_dtype_promotion=config.numpy_dtype_promotion,
        threefry_partitionable=config.threefry_partitionable)
    Alias("jax", table, [tn], scope=False, out=OUT_OF_JAX)
    Alias("jax.errors", error_names())
    Alias("jax.numpy", {}, module("numpy"), scope=False, out=OUT_OF_NUMPY)
    Alias("jax.numpy.linalg", {}, module("linalg"), scope=False)
    Alias("jax.numpy.fft", {}, module("fft"), scope=False)
    Alias("jax.lax", {}, module("lax"), scope=False, out=OUT_OF_LAX)
    Alias("jax.lax.linalg", {}, module("lax.linalg"), scope=False)
    Alias("jax.nn", {}, module("nn"), scope=False, out=["get_scaled_dot_general_config", "scaled_matmul", "scaled_dot_general"])
    Alias("jax.nn.initializers", {}, module("nn.initializers"), scope=False)
    Alias("jax.tree_util", {}, module("tree_util"), scope=False, out=["default_registry"])
    for name in ("random", "tree", "ops", "debug", "typing", "image", "flatten_util", "scipy", "scipy.linalg",
                 "scipy.special", "scipy.stats", "scipy.signal", "scipy.optimize", "scipy.sparse", "scipy.sparse.linalg", "export"):
        Alias("jax." + name, {}, module(name), scope=name == "export")
    Alias("jax.ad_checkpoint", dict(checkpoint=tn.checkpoint, checkpoint_policies=policies, remat=tn.remat,
                                    print_saved_residuals=tn.print_saved_residuals), module("ad_checkpoint") + [tn], scope=False)
    Alias("jax.custom_batching", {}, module("custom_batching") + [tn], scope=False)
    Alias("jax.custom_derivatives", {}, module("custom_derivatives") + [tn], scope=False, out=["custom_jvp_call", "zero_from_primal"])
    Alias("jax.dlpack", dict(from_dlpack=tn.numpy.from_dlpack), scope=False)
    Alias("jax.lib", dict(__version__=VERSION))
    Alias("jax.experimental", dict(io_callback=tn.io_callback, enable_x64=config.enable_x64,
                                   disable_x64=lambda: config.enable_x64(False)))
    Alias("jax.experimental.ode", {}, module("experimental.ode"), scope=False)
    Alias("jax.interpreters")
    Alias("jax.core", dict(Tracer=Tracer))


class _ConfigModule(Alias):
    """jax._src.config, whose names are settings."""

    def __getattr__(self, name):
        return Alias.__getattr__(self, name) if name.startswith("__") or name[0].isupper() else getattr(config, name)


def inner_modules():
    """JAX's inner modules, as far as they hold names that are public elsewhere."""
    errors, jax = error_names(), sys.modules["jax"]
    Alias("jax._src")
    _ConfigModule("jax._src.config", dict(_cfg=config, config=config, parse_flags_with_absl=lambda: None, update=config.update))
    Alias("jax._src.core", dict(new_ref=tn.new_ref, ref=tn.new_ref, freeze=tn.freeze, Tracer=Tracer, ShapedArray=tn.ShapeDtypeStruct,
                                typeof=tn.typeof, get_aval=tn.typeof, **errors))
    Alias("jax._src.errors", errors)
    Alias("jax._src.array", dict(ArrayImpl=ArrayImpl))
    Alias("jax._src.api", dict(NotNeeded=tn.ad.NotNeeded) | {n: getattr(jax, n) for n in """jit vmap make_jaxpr grad value_and_grad jvp vjp linearize linear_transpose
      eval_shape device_put device_get ShapeDtypeStruct jacfwd jacrev named_call checkpoint hessian block_until_ready""".split()})
    for name in ("tree_util", "lax", "lax.linalg"):
        Alias("jax._src." + name, {}, module(name))
    Alias("jax._src.lax.lax", {}, module("lax"))
    Alias("jax._src.custom_derivatives", dict(closure_convert=tn.closure_convert, custom_jvp=tn.custom_jvp, custom_vjp=tn.custom_vjp))
    Alias("jax._src.ad_checkpoint", dict(nothing_saveable=tn.checkpoint_policies.nothing_saveable, checkpoint=tn.checkpoint,
                                         everything_saveable=tn.checkpoint_policies.everything_saveable))
    Alias("jax._src.lax.control_flow", dict(common=types.SimpleNamespace(_dedup_consts=_Quiet(), _pad_constvars=_Quiet())))
    Alias("jax._src.dispatch", dict(runtime_tokens=_Quiet()))
    Alias("jax._src.indexing", dict(Slice=type(tn.ds(1))))
    Alias("jax._src.debugging", dict(debug_print=tn.debug.print, debug_callback=tn.debug.callback))
    for name in ("random", "numpy", "numpy.indexing", "literals", "interpreters", "state", "cudnn", "lib", "internal_test_util"):
        Alias("jax._src." + name)


class _Quiet:
    def __getattr__(self, name):
        return lambda *args, **kwargs: None


def install():
    """Puts the modules in JAX's place."""
    assert "jax" not in sys.modules
    tn.config.x64 = False
    sys.meta_path.insert(0, Finder())
    import dtype_table
    public_modules()
    inner_modules()
    dtype_table.install()
    import inner_functions
    inner_functions.install()
    import test_case
    sys.modules["jax._src.test_util"] = sys.modules["jax._src"].__dict__["test_util"] = test_case.make_module()
    import gradients
    Alias("jax.test_util", dict(check_grads=gradients.check_grads, check_jvp=gradients.check_jvp, check_vjp=gradients.check_vjp))
    from_checkout("jax._src.lax_reference", "jax/_src/lax_reference.py")
    from_checkout("jax._src.internal_test_util.lax_test_util", "jax/_src/internal_test_util/lax_test_util.py")
