"""How notebooks show Programs and explanations: their text, with what matters marked."""

# What stands in a line of a Program, first match first: the user's line, a variable, an op behind '= ', a type.
_PARTS = r"(?P<place>//.*$)|(?P<var>%\d+)|(?<== )(?P<op>\w+)|(?P<type>(?<=: )[a-z]\w*(?:<[^=]*>)?(?:\[[^\]]*\])?)"
_STYLES = {"place": "color:#888", "var": "color:#1a5fb4", "op": "font-weight:bold", "type": "color:#26731f"}
# What an explanation begins its lines with, and where these are.
_HEADS = r"(?P<head>^[a-z][a-z ]*(?= ?\d*:))|(?P<place>\bat \S+:\d+)"
_HEAD_STYLES = {"head": "font-weight:bold", "place": "color:#888"}


def _marked(text, parts, styles):
    import html
    import re

    out, at = [], 0
    for match in re.finditer(parts, text, re.MULTILINE):
        out.append(html.escape(text[at:match.start()]))
        out.append(f'<span style="{styles[match.lastgroup]}">{html.escape(match.group())}</span>')
        at = match.end()
    out.append(html.escape(text[at:]))
    return f'<pre style="line-height:1.3">{"".join(out)}</pre>'


def of_program(program):
    return _marked(program.text(lines=True), _PARTS, _STYLES)


class Explanation(str):
    """What explain() tells: text, which notebooks show marked."""

    __slots__ = ()

    def _repr_html_(self):
        return _marked(self, _HEADS, _HEAD_STYLES)
