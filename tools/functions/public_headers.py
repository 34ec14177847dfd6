"""The headers of functions that tenon/tenon.h includes."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
UMBRELLA = ROOT / "tenon/tenon.h"
INCLUDED = r'#include "(tenon/(?:api|ops)/[^"]+)"'


def names():
    """The public headers of functions."""
    return re.findall(INCLUDED, UMBRELLA.read_text())


def rooms():
    """The same, with those that a header includes which declares nothing itself in its place."""
    inside = {header: re.findall(INCLUDED, (ROOT / header).read_text()) for header in names()}
    return [each for header, found in inside.items()
            for each in (found if not re.search(r"^namespace", (ROOT / header).read_text(), flags=re.M) else [header])]
