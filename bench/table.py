#!/usr/bin/env python3
"""Writes the measured figures of `./run bench --peers --json FILE` into a document, between its two marks: into the one that is
given, or into docs/speed.md, and those of the cases that figures.json lists as shown into README.md.

    python3 bench/table.py FILE "the kind of machine" [DOCUMENT [CASES]]

Where CASES is given, of the cases alone that begin so.

Figures of one case share a row where they are forward and reverse mode. Exponents, by which costs grow, are summed up in one
sentence. What misses its target is said below the table.
"""
import json
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
BEGIN, END = "<!-- measured -->\n", "<!-- /measured -->\n"
PAIRED = {"value and gradient": "forward", "gradient": "forward", "derivative": "forward", "gradient, slowest": "forward, slowest"}


def number(value):
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def own(row):
    beside = [number(value) for value in row.get("beside", {}).values() if value is not None]
    return number(row["value"]) + "".join(f" beside {value}" for value in beside)


def rival(row):
    return "–" if row["rival"] is None else f"{number(row['rival'])} {row['rival_name']}"


def groups(rows):
    """Lists of rows that stand in one line: forward and gradient of a case, and each other figure alone."""
    group = []
    for row in rows:
        if (group and row["figure"] in PAIRED and group[0]["case"] == row["case"]
                and group[0]["figure"] == PAIRED[row["figure"]]):
            group.append(row)
            continue
        if group:
            yield group
        group = [row]
    if group:
        yield group


def line(group):
    title = group[0]["case"] + ("" if group[0]["figure"] == "forward" else f": {group[0]['figure']}")
    cell = lambda of: " / ".join(of(row) for row in group)
    return (f"| {title} | {group[0]['unit'].replace('ns/iter', 'ns a step').replace('us', 'µs')} | "
            f"{cell(own)} | {cell(lambda r: number(r['limit']))} | {cell(rival)} |")


def miss(row):
    beside = {name: value for name, value in row.get("beside", {}).items() if value}
    over = [] if row["limit"] or row["rival"] or beside else [number(row["value"])]
    over += [f"{row['value'] / value:.2f} of {name}" for name, value in beside.items()]
    over += [f"{row['value'] / row['limit']:.2f} of the limit"] if row["limit"] else []
    over += [f"{row['value'] / row['rival']:.2f} of {row['rival_name']}"] if row["rival"] else []
    return f"- {row['case']}, {row['figure']}: {', '.join(over)}; wanted: {row['target'].replace('<=', '≤').replace(' x ', ' × ')}."


def table(rows, machine):
    return [f"Measured on {machine}, by `./run bench --peers`; less is better; forward / with gradient. The",
            "limit is C++ written by hand for the case; the rival is the best of the other libraries that have the case. Beside a figure",
            "stands another of Tenon's own that it is not to exceed by much. All have two threads, but for what is said to have one, and for",
            "limits of which `bench/limits/README.md` says so.", "",
            "| case | unit | Tenon | limit | best rival |", "|---|---|---|---|---|",
            *(line(g) for g in groups([row for row in rows if row["unit"] != "exponent"])), ""]


def count(rows):
    unmeasured = sum(row["holds"] is None for row in rows)
    return (f"of {len(rows)} targets {sum(row['holds'] is True for row in rows)} hold"
            + (f", {unmeasured} are unmeasured" if unmeasured else ""))


def whole(rows, machine):
    missed = [row for row in rows if row["holds"] is False]
    exponents = [row for row in rows if row["unit"] == "exponent"]
    text = [*table(rows, machine),
            *([f"{len(exponents)} exponents say how time and memory grow with the steps of loops (`docs/cost.md`): "
               f"{sum(row['holds'] is True for row in exponents)} of them are at most what is wanted.", ""] if exponents else []),
            count(rows).capitalize() + (". Those that do not:" if missed else "."), *([""] if missed else []), *map(miss, missed)]
    return "\n".join(text) + "\n"


def summary(rows, machine, shown):
    of_cases = [row for case in shown for row in rows if row["case"] == case]
    text = [*table(of_cases, machine), f"[Speed](docs/speed.md) has the other cases, and says what misses its target: {count(rows)}."]
    return "\n".join(text) + "\n"


def replaced(document, text):
    before, begin, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"bench/table.py: the marks {BEGIN.strip()} and {END.strip()} are not there")
    return before + begin + text + end + after


def write(path, text):
    path.write_text(replaced(path.read_text(), text))


def main(file, machine, document=None, cases=""):
    rows = [row for row in json.loads(Path(file).read_text())["rows"] if row["case"].startswith(cases)]
    if document:
        return write(Path(document), whole(rows, machine))
    shown = json.loads((ROOT / "bench/figures.json").read_text())["shown"]
    write(ROOT / "docs/speed.md", whole(rows, machine))
    write(ROOT / "README.md", summary(rows, machine, shown))


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4, 5):
        sys.exit(__doc__)
    main(*sys.argv[1:])
