"""The kinds of errors. Each is also the built-in kind that NumPy and JAX raise there."""

import builtins

_AT = "\n  at "


class Error(Exception):
    """What the library says is wrong: what was asked, of which op, with which operands, on which line, and what to do."""

    def __init__(self, *args):
        from tenon import _core

        super().__init__(*args)
        self._line = "" if _AT in super().__str__() else _core.user_line()  # the library's own errors have theirs

    def __str__(self):
        text = super().__str__()
        said, end, advice = text.partition("\n")
        return f"{said}{_AT}{self._line}{end}{advice}" if text and self._line else text


class ShapeError(Error, ValueError, TypeError, IndexError):
    """Sizes, axes or ranks do not fit."""


class DTypeError(Error, TypeError, ValueError):
    """Element types do not fit, or what is given is no array."""


class OptionError(Error, ValueError, TypeError):
    """An option has a value that it cannot have."""


class TreeError(Error, ValueError, TypeError):
    """The structure of arguments or results is another one than it has to be."""


class ConcretizationError(Error, TypeError, IndexError):
    """The value of an array was asked for while a function is traced."""


class TracerBoolConversionError(ConcretizationError):
    """Python asked for a traced array's truth value: `if` and `while` do."""


class TracerArrayConversionError(ConcretizationError):
    """NumPy asked for a traced array's elements."""


class TracerIntegerConversionError(ConcretizationError):
    """Python asked for a traced array as an integer: indices of lists, sizes, axes and counts do."""


class NonConcreteBooleanIndexError(ShapeError, ConcretizationError):
    """A mask that differs from lane to lane chooses elements: lanes would have different sizes. Under jit masks do."""


class LeakError(Error, TypeError):
    """An array of a traced function was used after its trace has ended."""


class DifferentiationError(Error, TypeError, ValueError):
    """There is no derivative, or not of this kind."""


class CaptureError(DifferentiationError, LeakError):
    """A function with a rule captures what is differentiated: the rule gives derivatives in arguments alone."""


class ParseError(Error, ValueError):
    """A file or a text has not the form that it should."""


class VerifyError(Error):
    """A Program breaks a rule of its form: an error of the library's."""


class CompileError(Error):
    """Code could not be generated."""


class RewriteError(Error, ValueError):
    """A rule is none, does not hold, or rules do not end."""


class RuntimeError(Error, builtins.RuntimeError):  # noqa: A001
    """What a call met while it ran: donated memory, a file that is not there."""


class MemoryError(RuntimeError, builtins.MemoryError):  # noqa: A001
    """More bytes were asked for than there are."""


class NonFiniteError(Error, FloatingPointError):
    """A result holds NaN or an infinity, and tn.debug_nans or tn.debug_infs ask to be told."""


class NestingError(Error, RecursionError):
    """A jitted function calls itself while it is traced, without an end; or functions, loops or branches nest deeper
    than the thread's stack reaches."""


class RetraceWarning(UserWarning):
    """A jitted function is traced again and again, which takes more time than running: for ever new types or static
    values, or since jit is called anew each time."""


class UnsupportedError(Error, NotImplementedError, ValueError):
    """Right, and not there: the message says what to write instead."""


class CancelledError(Error, KeyboardInterrupt):
    """A call was stopped."""


class KeyReuseError(Error, builtins.RuntimeError):
    """A key was used twice. JAX raises it under a setting of its own; here nothing does."""


# JAX's names of these kinds.
ConcretizationTypeError = ConcretizationError
UnexpectedTracerError = LeakError
JaxRuntimeError = RuntimeError
