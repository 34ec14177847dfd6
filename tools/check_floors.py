#!/usr/bin/env python3
"""A file includes only from its own floor or those below it; LLVM stays in the native back end.

Prints every breach and exits with 1 if there is one; warns of files over 600 lines.
"""
import pathlib
import re
import sys

FLOORS = ["base", "runtime", "kernel", "ir", "ops", "eval", "transform", "rewrite", "compile", "api"]
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.MULTILINE)


def floor_of(path: str) -> int | None:
    parts = path.split("/")
    return FLOORS.index(parts[1]) if len(parts) > 2 and parts[0] == "tenon" and parts[1] in FLOORS else None


def breaches(name: str, text: str) -> list[str]:
    found = []
    floor = floor_of(name)
    for include in INCLUDE.findall(text):
        other = floor_of(include)
        if floor is not None and other is not None and other > floor:
            found.append(f"{name}: {FLOORS[floor]} includes {include}, of the floor {FLOORS[other]} above it")
        if include.startswith("llvm") and not name.startswith("tenon/compile/cpu/"):
            found.append(f"{name}: includes {include}; LLVM stays in tenon/compile/cpu")
    return found


def self_test() -> None:
    assert breaches("tenon/ir/x.cpp", '#include "tenon/ops/y.h"\n'), "a breach upwards must be seen"
    assert breaches("tenon/api/x.cpp", "#include <llvm/IR/Module.h>\n"), "LLVM outside its room must be seen"
    assert not breaches("tenon/ops/x.cpp", '#include "tenon/ir/y.h"\n'), "downwards is allowed"


def main() -> int:
    self_test()
    root = pathlib.Path(__file__).resolve().parent.parent
    bad = []
    for path in sorted(root.glob("tenon/**/*")):
        if path.suffix not in (".h", ".cpp"):
            continue
        text = path.read_text(encoding="utf-8")
        name = path.relative_to(root).as_posix()
        bad += breaches(name, text)
        if (lines := text.count("\n")) > 600:
            print(f"warning: {name} has {lines} lines; look for the seam")
    print("\n".join(bad) or "floors: every include points downwards")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
