#!/usr/bin/env python3
"""Writes tests that compile and run the examples in the comments of the public headers: Google Test in C++.

    examples.py FILE.cpp [FILE.cpp ...]

The examples of a comment are its lines that are indented behind //; together they are one test, which stands in the namespace of
the comment, or where they say tn:: outside of the library's, as a user's program does. An expression is run, and where // and
numbers stand behind it, the elements of all leaves of its result are compared with them: 1 0, 0 2; those behind the last = where
there is one, as in log 24 = 3.178054. A statement is run. What is indented further where no bracket is open is what an example
prints. Names that examples of a header use and do not define are those of tests/headers/names.h.
"""

import dataclasses
import pathlib
import re
import sys

from public_headers import ROOT, rooms

NAMES = "tests/headers/names.h"
DEFINITION = re.compile(r"\w+ \w+\([^()]*\) \{$", flags=re.M)  # of a function
LINE = re.compile(r" *//( {3,})(\S.*)")
REAL = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?"
WORDS = {"true": "1", "false": "0", "nan": "NAN", "inf": "INFINITY", "-inf": "-INFINITY"}


@dataclasses.dataclass
class Example:
    """A statement or an expression, with what is said behind it, at a line of a header."""

    line: int
    code: str
    said: str = ""


@dataclasses.dataclass
class Comment:
    """The examples of a comment."""

    header: str
    space: str
    examples: list[Example]


def _number(text):
    """A number as C++ says it; None where the text is none."""
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    if re.fullmatch(REAL, text):
        return text
    match = re.fullmatch(rf"({REAL}(?=[-+]))?([-+]?(?:[\d.]+(?:e[-+]?\d+)?)?)i", text)
    if not match:
        return None
    imaginary = match[2] if re.search(r"\d", match[2]) else match[2] + "1"
    return f"{{{match[1] or '0'}, {imaginary}}}"


def numbers(said):
    """The numbers that stand behind an example, as C++ says them; none where words stand there, too."""
    text = re.sub(r" ([-+]) ([\d.e-]+i)", r"\1\2", said.split("= ")[-1])
    found = [_number(each) for each in re.split(r"[\s,]+", re.sub(r"[{}\[\]()]", " ", text).strip())]
    return found if all(found) else []


def _is_open(code):
    plain = re.sub(r'"[^"]*"', "", code)
    return any(plain.count(a) > plain.count(b) for a, b in ("()", "[]", "{}"))


def _examples(lines):
    """Those of a comment's (number, indentation, text)."""
    made = []
    for number, indented, text in lines:
        continued = made and (_is_open(made[-1].code) or re.search(r"[-+*/=,(]$", made[-1].code))
        if indented > 3 and not continued:
            continue  # what is printed
        code, _, said = text.partition(" // ")
        if continued:
            made[-1].code += "\n" + code.rstrip()
            made[-1].said = said.strip()
        else:
            made.append(Example(number, code.rstrip(), said.strip()))
    return made


def comments(header):
    """The comments of a header that have examples."""
    spaces, block, opened = [], [], 0
    for number, line in enumerate([*(ROOT / header).read_text().splitlines(), ""], 1):
        match = LINE.fullmatch(line)
        if match:
            block.append((number, len(match[1]), match[2]))
            continue
        if block and not re.match(r" *//", line):
            yield Comment(header, "::".join(spaces), _examples(block))
            block = []
        if match := re.match(r"namespace ([\w:]+) \{", line):
            spaces.append(match[1])
            opened = number
        elif re.match(r"\}  // namespace \w", line) or line == "}" and number == opened + 2:  # of one line it says no name
            spaces.pop()


def _statement(example):
    """What runs an example."""
    expected = numbers(example.said)
    if example.code.endswith(";"):
        return example.code
    if expected:
        return f"EXPECT_TRUE(headers::gives(({example.code}), {{{', '.join(expected)}}}));"
    return f"headers::run([&] {{ return {example.code}; }});"


def _test(comment, named):
    """The text of a test. Functions that are examples stand in front of it."""
    suite = re.sub(r"\W", "_", comment.header.removeprefix("tenon/").removesuffix(".h"))
    names = [f"using namespace ::names_of::{suite};"] if suite in named else []
    functions, statements = [], []
    for example in comment.examples:
        place = f'#line {example.line} "{comment.header}"'
        if DEFINITION.match(example.code):
            functions += ["namespace {", *names, place, example.code, "}"]
        else:
            statements += [place, _statement(example)]
    users = any("tn::" in example.code for example in comment.examples)
    around = "namespace {" if users else f"namespace {comment.space or 'tenon'} {{"
    return "\n".join([around, *functions, f"TEST(Headers_{suite}, Line{comment.examples[0].line}) {{", *names,
                      *statements, "}", "}", ""])


def main(files):
    named = re.findall(r"^namespace names_of::(\w+) \{", (ROOT / NAMES).read_text(), flags=re.M)
    found = [comment for header in rooms() for comment in comments(header) if comment.examples]
    tests = [_test(comment, named) for comment in found]
    each = -(-len(tests) // len(files))
    for i, file in enumerate(files):
        head = ["// The examples of public headers. Written by tools/functions/examples.py.", f'#include "{NAMES}"',
                '#include "tests/headers/gives.h"', ""]
        pathlib.Path(file).write_text("\n".join([*head, *tests[i * each:(i + 1) * each]]))
    examples = [example for comment in found for example in comment.examples]
    compared = sum(bool(numbers(example.said)) for example in examples)
    print(f"{len(examples)} examples in {len(found)} comments, of {compared} the numbers too")


if __name__ == "__main__":
    main(sys.argv[1:])
