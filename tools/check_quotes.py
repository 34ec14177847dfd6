#!/usr/bin/env python3
"""Checks what documents say about the repository: that the paths they name exist, and that the code they quote is in its file.

    python3 tools/check_quotes.py [ROOT]

A path is a word in backticks with a slash or an ending of a source file; it may leave out its first folders; * and NAME stand for
anything, and what a build makes is not looked for. Before each block of C++ stands a line <!-- FILE -->: the block quotes
FILE, which is compiled, and its code stands there, whatever the layout.
"""
import fnmatch
import os
import re
import sys
from pathlib import Path

ENDINGS = (".cpp", ".h", ".py", ".md", ".json", ".sh", ".txt", ".csv", ".cmake", ".tn")
MADE = re.compile(r"^(build[-\w]*|\.fresh|\.venv[-\w]*)(/|$)|[<>(){}$=:]|^\.?/?run |^/|^-|//")


def named_paths(text):
    """(line number, path) of each word in backticks, outside blocks, that names a file or a folder of the repository."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        for word in [] if fenced else re.findall(r"`([^`]+)`", line):
            word = word.split(" ")[0] if word.startswith("tools/") else word
            if " " not in word and not MADE.search(word) and ("/" in word or word.endswith(ENDINGS)):
                yield number, word


def paths_of(root):
    """Every file and folder below root, but for what builds make."""
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith((".", "build", "__"))]
        found += [str(Path(folder, name).relative_to(root)) for name in (*folders, *files)]
    return found


def exists(root, document, name, paths):
    """Whether the name is a path from the root or from the document's folder, or the end of one."""
    pattern = re.sub(r"\bNAME\b", "*", name).rstrip("/")
    return any(any(folder.glob(pattern)) for folder in (root, document.parent)) or any(
        fnmatch.fnmatch(path, f"*/{pattern}") for path in paths)


def quotes(text):
    """(line number, file, lines) of each block that quotes a file."""
    for match in re.finditer(r"<!-- (\S+) -->\n```cpp\n(.*?)```", text, re.S):
        yield text.count("\n", 0, match.start()) + 1, match.group(1), match.group(2).splitlines()


def without_file(text):
    """The line number of each block of C++ that quotes nothing, and so may not even compile."""
    for match in re.finditer(r"^(.*)\n```(?:cpp|c\+\+)\n", "\n" + text, re.M):
        if not re.fullmatch(r"<!-- \S+ -->", match.group(1)):
            yield text.count("\n", 0, match.end() - 1)


def stands_in(lines, source):
    """Whether the lines follow one another in the source, however either is laid out."""
    plain = lambda text: "".join(text.split())
    return plain("".join(lines)) in plain(source)


def errors_of(root, document, paths):
    text, here = document.read_text(), document.relative_to(root)
    for line, name in named_paths(text):
        if not exists(root, document, name, paths):
            yield f"{here}:{line}: names `{name}`, which is not there"
    for line in without_file(text):
        yield f"{here}:{line}: a block of C++ without the file that it quotes; write <!-- FILE --> before it"
    for line, name, lines in quotes(text):
        if not (root / name).is_file():
            yield f"{here}:{line}: quotes {name}, which is not there"
        elif not stands_in(lines, (root / name).read_text()):
            yield f"{here}:{line}: the quoted code is not in {name}"


def main(root):
    documents = sorted([*root.glob("*.md"), *root.glob("docs/*.md"), *root.glob("bench/**/*.md"), *root.glob("examples/**/*.md")])
    paths = paths_of(root)
    errors = [error for document in documents for error in errors_of(root, document, paths)]
    for error in errors:
        print(f"error: {error}")
    print(f"quotes: {len(documents)} documents, {len(errors)} errors")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent)))
