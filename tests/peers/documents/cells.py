"""The cells of code in a document: notebooks in Markdown, blocks of Python, doctests, scripts."""

import doctest
import re
import textwrap

NOTEBOOK = re.compile(r"^( *)```+ *\{code-cell\}[^\n]*\n(.*?)^ *```+ *$", re.S | re.M)
BLOCK = re.compile(r"^ *```+ *(?:\{code-block\} *)?(?:python|py|pycon|\{doctest\})[^\n]*\n(.*?)^ *```+ *$", re.S | re.M)
DIRECTIVE = re.compile(r"^( *)\.\. (?:code-block|code|testcode)::? *(?:python)?\n\n?((?:\1 +[^\n]*\n|\n)+)", re.M)


def is_notebook(text):
    return NOTEBOOK.search(text) is not None


def cells_of(path):
    text = path.read_text()
    if path.suffix == ".py":
        return [text]
    if is_notebook(text):
        return [without_options(m.group(2)) for m in NOTEBOOK.finditer(text)]
    cells = []
    for block in BLOCK.findall(text) if path.suffix == ".md" else [text]:
        if ">>>" in block:
            try:
                cells += [example.source for example in doctest.DocTestParser().get_examples(block)]
            except ValueError:
                cells.append(block)
        elif path.suffix == ".md":
            cells.append(block)
    if path.suffix == ".rst":
        cells += [m.group(2) for m in DIRECTIVE.finditer(text) if ">>>" not in m.group(2)]
    return cells


def without_options(cell):
    """A notebook's cell without the lines that say how it is shown."""
    lines = re.sub(r"\A---\n.*?\n---\n", "", cell, flags=re.S).split("\n")
    while lines and re.match(r"\s*:[\w-]+:", lines[0]):
        lines.pop(0)
    return "\n".join(lines)


def as_python(cell):
    """Without what only a notebook understands: times are not measured, commands of the shell are left out."""
    lines = []
    for line in textwrap.dedent(cell).split("\n"):
        code = line.lstrip()
        if re.match(r"%%?(timeit|time)\b", code):
            line = line[:len(line) - len(code)] + re.sub(r"^%%?(timeit|time)\s*(-[nro]\s*\d*\s*)*", "", code)
        elif code.startswith(("%", "!")):
            line = ""
        lines.append(line)
    return textwrap.dedent("\n".join(lines))
