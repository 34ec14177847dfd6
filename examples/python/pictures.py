"""How the other programs tell what they found, and draw it, if they are given the name of a picture. This needs matplotlib,
and nothing else does."""

import contextlib

import numpy as np

import tenon as tn

BLUE, ORANGE, GREEN, PURPLE, GREY = "#0072b2", "#d55e00", "#009e73", "#aa4499", "#80868c"  # told apart by all eyes
STYLE = {"font.size": 11, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "axes.axisbelow": True,
         "grid.color": "#e4e6e8", "legend.fontsize": 10, "legend.frameon": False}


@contextlib.contextmanager
def panels(path, mosaic, height, columns=6):
    """The axes of a mosaic by name, as subplot_mosaic of matplotlib has them, 10 inches wide; then each gets its legend
    above it, in so many columns, and they are saved, as PNG or SVG by the path's ending."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
        from PIL import Image
    except ImportError:
        raise SystemExit("pictures need matplotlib: pip install matplotlib") from None
    with rc_context(STYLE):
        figure = Figure((10, height), dpi=110, layout="constrained")
        yield figure.subplot_mosaic(mosaic)
        for axes in figure.axes:
            axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=columns, columnspacing=1.2, handlelength=1.5)
        figure.savefig(path)
    if str(path).endswith(".png"):  # so many colours are enough, at a third of the bytes
        Image.open(path).convert("RGB").quantize(128).save(path, optimize=True)


def tell(results, picture, draw, found):
    """Prints results by name, and draws what was found, as arrays of NumPy, where a picture is wanted."""
    print("\n".join(f"{name}: {value}" for name, value in results.items()))
    if picture:
        draw(picture, {name: tn.tree.map(np.asarray, value) for name, value in found.items()})
    return results
