"""Signals, with the names of jax.scipy.signal: convolutions, trends and spectra, with derivatives."""

import functools
import operator
import warnings

import numpy as np

from tenon import _core, _repeated
from tenon.numpy import asarray
from tenon.numpy._shapes import _axis

__all__ = ["convolve", "convolve2d", "correlate", "correlate2d", "csd", "detrend", "fftconvolve", "istft", "stft", "welch"]


def convolve(in1, in2, mode="full", method="auto", precision=None):
    """The sums of products of each element with each, over all axes: all of them ("full"), as many as in1 has from the
    middle ("same"), or those that all elements of the smaller array contribute to ("valid"). `method`: sums of products
    ("direct", "auto"), or Fourier transforms ("fft").

    >>> convolve(asarray([1.0, 2.0, 3.0]), asarray([1.0, 1.0])).tolist()
    [1.0, 3.0, 5.0, 3.0]
    """
    return _core.tn.signal.convolve(asarray(in1), asarray(in2), mode=mode, method=method)


def correlate(in1, in2, mode="full", method="auto", precision=None):
    """convolve() of in1 and in2's conjugate turned around.

    >>> correlate(asarray([1.0, 2.0, 3.0]), asarray([0.0, 1.0])).tolist()
    [1.0, 2.0, 3.0, 0.0]
    """
    return _core.tn.signal.correlate(asarray(in1), asarray(in2), mode=mode, method=method)


def _require_zeros(name, boundary, fillvalue):
    if boundary != "fill" or not (isinstance(fillvalue, (int, float)) and fillvalue == 0):
        raise NotImplementedError(f"{name}: only boundary='fill' with fillvalue=0 is here; pad in1 before the call.")


def convolve2d(in1, in2, mode="full", boundary="fill", fillvalue=0, precision=None):
    """convolve() of matrices, with zeros around.

    >>> convolve2d(asarray([[1.0, 2.0]]), asarray([[1.0], [1.0]])).tolist()
    [[1.0, 2.0], [1.0, 2.0]]
    """
    _require_zeros("convolve2d", boundary, fillvalue)
    return _core.tn.signal.convolve2d(asarray(in1), asarray(in2), mode)


def correlate2d(in1, in2, mode="full", boundary="fill", fillvalue=0, precision=None):
    """correlate() of matrices, with zeros around.

    >>> correlate2d(asarray([[1.0, 2.0]]), asarray([[0.0], [1.0]])).tolist()
    [[1.0, 2.0], [0.0, 0.0]]
    """
    _require_zeros("correlate2d", boundary, fillvalue)
    return _core.tn.signal.correlate2d(asarray(in1), asarray(in2), mode)


def fftconvolve(in1, in2, mode="full", axes=None):
    """convolve() along axes (None: all) by Fourier transforms; the other axes have equal sizes.

    >>> fftconvolve(asarray([1.0, 2.0, 3.0]), asarray([1.0, 1.0])).round(6).tolist()
    [1.0, 3.0, 5.0, 3.0]
    """
    if axes is not None:
        axes = [operator.index(a) for a in (axes if isinstance(axes, (tuple, list)) else [axes])]
    return _core.tn.signal.fftconvolve(asarray(in1), asarray(in2), mode=mode, axes=axes)


def detrend(data, axis=-1, type="linear", bp=0, overwrite_data=None):
    """The data without their mean along an axis ("constant"), or without the straight lines with the least squares of what
    remains ("linear"); `bp`: where another line begins.

    >>> detrend(asarray([1.0, 2.0, 3.0])).round(6).tolist()
    [0.0, 0.0, 0.0]
    """
    if overwrite_data is not None:
        raise NotImplementedError("detrend: overwrite_data is not here; the result is an array of its own.")
    breaks = [int(b) for b in np.ravel(bp) if b != 0]
    return _core.tn.signal.detrend(asarray(data), axis=operator.index(axis), type=type, bp=breaks)


# Windows of n samples, with SciPy's names, that NumPy has: symmetric ones, of which the periodic ones are all but the last.
_WINDOWS = {"boxcar": np.ones, "hann": np.hanning, "hamming": np.hamming, "blackman": np.blackman, "bartlett": np.bartlett,
            "kaiser": np.kaiser}


def _window(name, window, length):
    """A window by its name as an array of as many elements (None: Hann's, which the functions know); an array itself."""
    if isinstance(window, str) and window == "hann":
        return None
    if not isinstance(window, (str, tuple)):
        return asarray(window)
    kind, *parameters = (window,) if isinstance(window, str) else window
    if kind in _WINDOWS and len(parameters) == (kind == "kaiser"):
        return _WINDOWS[kind](length + 1, *parameters)[:-1] if length > 1 else np.ones(length)
    try:
        from scipy.signal import get_window
    except ImportError:
        raise ImportError(f"{name}: of the windows that SciPy names, {window!r} is there where SciPy is installed; those that are "
                          f"always there are {', '.join(_WINDOWS)}. Install SciPy, or give an array.") from None
    return get_window(window, length)


def _segment(name, x, axis, window, nperseg, by_default=None):
    """The length of a segment, where that is known without the window."""
    if nperseg is not None:
        nperseg = operator.index(nperseg)
        if nperseg < 1:
            raise _core.OptionError("nperseg must be a positive integer")
    if not isinstance(window, (str, tuple)):
        return nperseg
    n = x.shape[_axis(axis, x.ndim, f"{name}: axis")]
    length = by_default if nperseg is None else nperseg
    if not isinstance(n, int) or n == 0:
        return length
    if length is not None and length > n:
        warnings.warn(f"{name}: nperseg = {length} is more than there are samples, {n}: segments have {n}.", stacklevel=3)
    return n if length is None else min(length, n)


def _two_sided(x, y, onesided):
    if onesided and any(a is not None and a.dtype.kind == "c" for a in (x, y)):
        warnings.warn("Of complex samples there are frequencies of both signs: return_onesided=True has no effect.", stacklevel=3)
    return bool(onesided)


def _trend(name, detrend):
    """What is taken from segments, as the library's functions take it: by name, by a function, or nothing."""
    if not callable(detrend) and detrend not in ("constant", "linear", False):
        raise _core.OptionError(f"{name}: detrend is {detrend!r}; it is 'constant', 'linear', a function or False.")
    return detrend or "none"


def csd(x, y, fs=1.0, window="hann", nperseg=None, noverlap=None, nfft=None, detrend="constant", return_onesided=True,
        scaling="density", axis=-1, average="mean"):
    """Frequencies, and the cross spectrum of x and y there: the average over segments (Welch). Segments have `nperseg` samples
    (None: as many as there are), of which `noverlap` lie in the one before (None: half of them). `detrend` says what is taken
    from each: "constant", "linear", nothing (False), or what a function leaves of segments along the last axis.

    >>> f, values = csd(asarray([1.0, -1.0, 1.0, -1.0]), asarray([1.0, 0.0, 1.0, 0.0]), window="boxcar")
    >>> f.tolist(), values.shape
    ([0.0, 0.25, 0.5], (3,))
    """
    name = "welch" if y is None else "csd"
    x, y = asarray(x), None if y is None else asarray(y)
    if y is None or x.ndim != y.ndim:
        longer = x
    else:
        at = _axis(axis, x.ndim, f"{name}: axis")
        longer = x if y.shape[at] <= x.shape[at] else y
    segment = _segment(name, longer, axis, window, nperseg)
    f = _core.tn.signal.welch if y is None else functools.partial(_core.tn.signal.csd, x)
    return f(x if y is None else y, fs=fs, window=_window(name, window, segment), nperseg=segment, noverlap=noverlap, nfft=nfft,
             return_onesided=_two_sided(x, y, return_onesided), axis=operator.index(axis), detrend=_trend(name, detrend), scaling=scaling, average=average)


def welch(x, fs=1.0, window="hann", nperseg=None, noverlap=None, nfft=None, detrend="constant", return_onesided=True,
          scaling="density", axis=-1, average="mean"):
    """csd() of x and itself: frequencies, and the power there.

    >>> welch(asarray([1.0, -1.0, 1.0, -1.0]), window="boxcar")[1].tolist()
    [0.0, 0.0, 4.0]
    """
    return csd(x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average)


def stft(x, fs=1.0, window="hann", nperseg=256, noverlap=None, nfft=None, detrend=False, return_onesided=True,
         boundary="zeros", padded=True, axis=-1):
    """Frequencies, times, and the transforms of segments there, times along a last axis. Before and behind the samples stands
    what `boundary` says: "zeros", "even", "odd", "constant", or None.

    >>> [a.shape for a in stft(asarray([1.0] * 16), nperseg=4)]
    [(3,), (9,), (3, 9)]
    """
    x = asarray(x)
    segment = _segment("stft", x, axis, window, nperseg, 256)
    return _core.tn.signal.stft(x, fs=fs, window=_window("stft", window, segment), nperseg=segment, noverlap=noverlap,
                                 nfft=nfft, return_onesided=_two_sided(x, None, return_onesided), axis=operator.index(axis),
                                 detrend=_trend("stft", detrend), boundary="none" if boundary is None else boundary, padded=bool(padded))


def istft(Zxx, fs=1.0, window="hann", nperseg=None, noverlap=None, nfft=None, input_onesided=True, boundary=True,
          time_axis=-1, freq_axis=-2):
    """Times, and the signal whose stft() is nearest to Zxx there.

    >>> istft(stft(asarray([1.0, 2.0, 3.0, 4.0]), nperseg=4)[2])[1].round(6).tolist()
    [1.0, 2.0, 3.0, 4.0]
    """
    x = asarray(Zxx)
    segment = None if nperseg is None else operator.index(nperseg)
    if segment is None and isinstance(window, (str, tuple)) and x.ndim > 1:
        bins = x.shape[_axis(freq_axis, x.ndim, "istft: freq_axis")]
        segment = 2 * (bins - 1) if input_onesided else bins
    return _core.tn.signal.istft(x, fs=fs, window=_window("istft", window, segment), nperseg=segment, noverlap=noverlap,
                                  nfft=nfft, input_onesided=bool(input_onesided), boundary=bool(boundary),
                                  time_axis=operator.index(time_axis), freq_axis=operator.index(freq_axis))

_repeated.public(globals())
