#!/usr/bin/env python3
"""Checks that generated documents are what their generators print now; with --write, writes them.

docs/generated.json maps a document to the command (run in the repository's root, after a build) that prints it.
"""
import difflib
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def main(write):
    stale = 0
    documents = json.loads((ROOT / "docs/generated.json").read_text())
    for name, command in documents.items():
        text = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
        path = ROOT / name
        old = path.read_text() if path.exists() else ""
        if text == old:
            continue
        if write:
            path.write_text(text)
            print(f"wrote {name}")
            continue
        stale += 1
        print(f"{name} is not what `{' '.join(command)}` prints; run ./run docs. First differences:")
        lines = difflib.unified_diff(old.splitlines(), text.splitlines(), "in the repository", "generated", lineterm="")
        print("\n".join(list(lines)[:20]))
    print(f"documents: {len(documents)} generated, {stale} out of date")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main("--write" in sys.argv[1:]))
