"""What is known not to hold, with reasons: expected.toml."""

import re
import tomllib
from pathlib import Path

_PATH = Path(__file__).parent / "expected.toml"
_RULES = {
    subject: [(kind, rule["reason"], re.compile(rule["pattern"])) for kind in ("out of scope", "expected")
              for rule in kinds.get(kind.replace(" ", "_"), [])]
    for subject, kinds in tomllib.loads(_PATH.read_text()).items()
}


def match(subject, text):
    """("out of scope" or "expected", its reason) of the first rule whose pattern is in the text; (None, "") where none is."""
    return next(((kind, reason) for kind, reason, pattern in _RULES.get(subject, []) if pattern.search(text)), (None, ""))
