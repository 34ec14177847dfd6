"""jax._src.test_util: the class of JAX's tests, sampling of their cases, and a machine that is one CPU."""

import contextlib
import functools
import io
import itertools
import math
import os
import random
import re
import unittest
import warnings
import zlib

import gradients
import inputs
import numpy as np
import tenon as tn
from absl.testing import parameterized
from dtype_table import canonicalize, dtype_of
from gradients import GRADIENT_TOLERANCE, TOLERANCE, close_by_dtype, tolerance, widened
from holes import Alias, Hole, MissingFeature, OutOfScope, out_of_scope

CASES = int(os.environ.get("JAX_NUM_GENERATED_CASES", "3"))
NOTES = []   # of the running test: texts of errors that differ from JAX's
TEXTS = []   # of the errors that it has caught


# ---- sampling of cases

def sample_product_testcases(*groups, **lists):
    """CASES of the product of the given lists, always the same."""
    groups, lists = [list(g) for g in groups], {k: list(v) for k, v in lists.items()}
    count = math.prod(map(len, groups)) * math.prod(map(len, lists.values()))
    draw = random.Random(zlib.crc32(repr((count, sorted(lists))).encode()))
    cases = []
    for i in sorted(draw.sample(range(count), min(count, CASES))):
        case = {}
        for group in groups:
            case.update(group[i % len(group)])
            i //= len(group)
        for name, values in lists.items():
            case[name] = values[i % len(values)]
            i //= len(values)
        cases.append(case)
    return cases


def sample_product(*groups, **lists):
    cases = sample_product_testcases(*groups, **lists)
    if cases:
        return parameterized.parameters(*cases)

    def without_cases(f):
        @functools.wraps(f)
        def test(self):
            raise MissingFeature("missing: what this test's cases are made of")
        return test
    return without_cases


def parameterized_filterable(*, kwargs, testcase_name=None, one_containing=None):
    return parameterized.parameters(*({k: v for k, v in case.items() if k != "testcase_name"} for case in kwargs))


def cases_from_gens(*generators):
    sizes = itertools.chain.from_iterable([size] * max(1, CASES // 2) for size in (1, 3, 6))
    return [(f"_{i}", *(g(size) for g in generators)) for i, size in enumerate(sizes)]


# ---- a machine that is one CPU

def skipper(why):
    def decorate(f):
        return f if isinstance(f, type) else functools.wraps(f)(lambda *args, **kwargs: out_of_scope(why))
    return decorate


def as_it_is(f):
    return f


def skip_on_devices(*devices, **kwargs):
    return skipper("JAX skips it on CPU") if "cpu" in devices else as_it_is


def run_on_devices(*devices, **kwargs):
    return as_it_is if "cpu" in devices else skipper("not on CPU")


def test_device_matches(devices):
    return "cpu" in devices


test_device_matches.__test__ = False


@contextlib.contextmanager
def ignore_warning(*, message="", category=Warning, **kwargs):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=message, category=category if isinstance(category, type) else Warning)
        yield


@contextlib.contextmanager
def capture_stdout():
    with contextlib.redirect_stdout(io.StringIO()) as out:
        yield out.getvalue


# ---- errors: kinds have to be JAX's; texts are only noted

class ErrorKind(AssertionError):
    """An error of another kind than JAX's."""


class NoError(AssertionError):
    """None where JAX raises."""


class Raises:
    def __init__(self, expected, pattern):
        self.expected, self.pattern = expected, pattern

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        text = getattr(self.pattern, "pattern", self.pattern)
        if kind is None:
            raise NoError(f"no error; JAX: {getattr(self.expected, '__name__', self.expected)}({text!r})")
        if issubclass(kind, (OutOfScope, KeyboardInterrupt)) or "Timeout" in kind.__name__ or kind.__name__ == "Failed":
            return False
        self.exception = value
        TEXTS.append(str(value))
        if not issubclass(kind, self.expected):
            raise ErrorKind(f"error kind: {kind.__name__}({str(value)[:200]!r}); JAX: {self.expected}({text!r})") from value
        if self.pattern is not None and not re.search(self.pattern, str(value)):
            NOTES.append(f"text: {kind.__name__}({str(value)[:200]!r}); JAX: {text[:200]!r}")
        return True


def check_raises(thunk, error, text):
    with Raises(error, "^" + re.escape(text)):
        thunk()


def check_raises_regexp(thunk, error, pattern):
    with Raises(error, pattern):
        thunk()


class JaxTestCase(parameterized.TestCase):
    maxDiff = 2000

    def setUp(self):
        super().setUp()
        self._rng = np.random.RandomState(zlib.adler32(self._testMethodName.encode()))
        tn.config.x64 = False
        TEXTS.clear()
        self.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")

    def rng(self):
        return self._rng

    def _raises(self, expected, pattern, args, kwargs):
        for kind in expected if isinstance(expected, tuple) else (expected,):
            if isinstance(kind, Hole):
                kind._use()
        context = Raises(expected, pattern)
        if not args:
            return context
        with context:
            args[0](*args[1:], **kwargs)

    def assertRaises(self, expected, *args, msg=None, **kwargs):
        return self._raises(expected, None, args, kwargs)

    def assertRaisesRegex(self, expected, pattern, *args, msg=None, **kwargs):
        return self._raises(expected, pattern, args, kwargs)

    def assertRaisesWithLiteralMatch(self, expected, text, *args, **kwargs):
        return self._raises(expected, re.escape(text), args, kwargs)

    def assertIn(self, member, container, msg=None):
        if container in TEXTS and member not in container:
            NOTES.append(f"text: {container[:200]!r}; JAX: {member[:200]!r}")
        else:
            super().assertIn(member, container, msg)

    def assertDtypesMatch(self, a, b, *, canonicalize_dtypes=True):
        a, b = (canonicalize(dtype_of(x)) if canonicalize_dtypes else np.dtype(dtype_of(x)) for x in (a, b))
        self.assertEqual(a, b, "dtypes differ")

    def assertArraysEqual(self, a, b, *, check_dtypes=True, err_msg="", allow_object_dtype=False, verbose=True):
        if check_dtypes:
            self.assertDtypesMatch(a, b)
        if np.ndim(a) and np.ndim(b):   # one number is compared with arrays of any shape
            self.assertEqual(np.shape(a), np.shape(b), "shapes differ")
        np.testing.assert_array_equal(widened(a), widened(b), err_msg=err_msg)

    def assertArraysAllClose(self, a, b, *, check_dtypes=True, atol=None, rtol=None, err_msg=""):
        self.assertEqual(np.shape(a), np.shape(b), "shapes differ")
        close_by_dtype(a, b, atol, rtol, err_msg)
        if check_dtypes:
            self.assertDtypesMatch(a, b)

    def assertAllClose(self, a, b, *, check_dtypes=True, canonicalize_dtypes=True, **options):
        def inner(x, y):
            self.assertAllClose(x, y, check_dtypes=check_dtypes, canonicalize_dtypes=canonicalize_dtypes, **options)
        if isinstance(a, dict):
            self.assertIsInstance(b, dict)
            self.assertEqual(set(a), set(b))
            for key in a:
                inner(a[key], b[key])
        elif isinstance(a, (list, tuple)) and not hasattr(a, "__array__"):
            self.assertIsInstance(b, (list, tuple))
            self.assertEqual(len(a), len(b))
            for x, y in zip(a, b):
                inner(x, y)
        elif a is None or b is None:
            self.assertIs(a, b)
        elif hasattr(a, "__array__") or np.isscalar(a):
            self.assertTrue(hasattr(b, "__array__") or np.isscalar(b), f"{type(b)}")
            if check_dtypes:
                self.assertDtypesMatch(a, b, canonicalize_dtypes=canonicalize_dtypes)
            self.assertArraysAllClose(a, b, check_dtypes=False, **options)
        else:
            raise TypeError((type(a), type(b)))

    def assertMultiLineStrippedEqual(self, a, b):
        out_of_scope("text of a jaxpr")

    def assertDeprecationWarnsOrRaises(self, *args, **kwargs):
        out_of_scope("deprecation")

    def assertCacheMisses(self, *args, **kwargs):
        out_of_scope("caches")

    @contextlib.contextmanager
    def assertNoWarnings(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield

    def _CompileAndCheck(self, f, args_maker, *, check_dtypes=True, tol=None, rtol=None, atol=None, check_cache_misses=True):
        """f as it is and compiled, called twice, on the same arguments and on others."""
        compiled = tn.jit(lambda *args: f(*args))
        options = dict(check_dtypes=check_dtypes, atol=atol or tol, rtol=rtol or tol)
        for _ in range(2):
            args = args_maker()
            plain = f(*args)
            self.assertAllClose(plain, compiled(*args), **options)
        self.assertAllClose(plain, compiled(*args), **options)

    def _CheckAgainstNumpy(self, numpy_op, op, args_maker, check_dtypes=True, tol=None, atol=None, rtol=None,
                           canonicalize_dtypes=True):
        args = args_maker()
        got = op(*args)
        self.assertAllClose(numpy_op(*args), got, check_dtypes=check_dtypes, atol=atol or tol, rtol=rtol or tol,
                            canonicalize_dtypes=canonicalize_dtypes)


class BufferDonationTestCase(JaxTestCase):
    def assertDeleted(self, x):
        self.assertTrue(x.is_deleted())

    def assertNotDeleted(self, x):
        self.assertFalse(x.is_deleted())


# ---- the module

@contextlib.contextmanager
def nothing(*args, **kwargs):
    yield


def decorator_without_effect(*args, **kwargs):
    return as_it_is


def no(*args, **kwargs):
    return False


def _jit(*args, **kwargs):
    return tn.jit(*args, **kwargs)


_jit._name = "jit"


def parse_version(text):
    return tuple(int(x) for x in re.findall(r"\d+", text)[:3])


def _check_dtypes_match(a, b):
    assert np.dtype(dtype_of(a)) == np.dtype(dtype_of(b))


def make_module():
    table = {n: v for room in (inputs, gradients) for n, v in vars(room).items() if not n.startswith("_")}
    table |= {n: v for n, v in globals().items() if not n.startswith("__")}
    for name in ("np", "tn", "td", "tree", "os", "inputs", "gradients", "random"):
        table.pop(name, None)
    table |= dict.fromkeys("""is_device_rocm is_device_cuda is_device_oneapi is_device_tpu is_device_tpu_at_least
      is_cuda_compute_capability_at_least is_cuda_version_at_least is_sanitized is_asan is_msan is_tsan is_gil_disabled is_cloud_tpu
      is_test_rbe""".split(), no)
    table |= dict.fromkeys("""device_supports_buffer_donation thread_unsafe_test thread_unsafe_test_class with_config
      with_global_config skip_on_flag skip_under_pytest pytest_mark_if_available""".split(), decorator_without_effect)
    table |= {n: functools.partial(lambda n, *args, **kwargs: out_of_scope(n), n)
              for n in ("assert_dot_precision", "assert_dot_preferred_element_type", "iter_eqns", "named_cases_from_sampler")}
    table |= dict(
        numpy_version=lambda: parse_version(np.__version__), jaxlib_version=lambda: (0, 11, 1), device_under_test=lambda: "cpu",
        is_optimized_build=lambda: True, JIT_IMPLEMENTATION=[_jit], JaxTestLoader=unittest.TestLoader,
        request_cpu_devices=lambda n: None, strict_promotion_if_dtypes_match=nothing, set_host_platform_device_count=nothing,
        default_gradient_tolerance=GRADIENT_TOLERANCE, default_tolerance=lambda: TOLERANCE, tolerance=tolerance,
        runtime_environment=lambda: None, dtype_str=lambda d: np.dtype(d).name, _dims_of_shape=inputs.dims,
        _cast_to_shape=inputs.cast, _dtype=dtype_of, is_sequence=lambda x: isinstance(x, (list, tuple)),
        NUM_GENERATED_CASES=type("Number", (), {"value": CASES}))
    return Alias("jax._src.test_util", table)
