"""HTML without the whitespace of the templates' layout, so that tests can search it by plain patterns."""

import re

_VERBATIM = re.compile(r"<(pre|textarea|script|style)\b.*?</\1>", re.DOTALL)
# A tag that is on several lines or has a space before its end: few tags are, and a call for each tag would cost more.
_SPREAD = re.compile(
    r"""<[a-zA-Z](?:[^<>"'\n]++|"[^"]*"|'[^']*')*+(?:\n(?:[^>"']++|"[^"]*"|'[^']*')*+|(?<=\s)|(?<=\s/))>"""
)
_TAG = re.compile(r"""<[a-zA-Z](?:[^>"']++|"[^"]*"|'[^']*')*+>""")
_QUOTED = re.compile(r"""("[^"]*"|'[^']*')""")
_BREAK = re.compile(r"[ \t]*\n\s*")


def compact(html: str) -> str:
    """Join the lines of a page: line breaks next to and in tags are removed, those in text become spaces.

    Attribute values and the contents of <pre>, <textarea>, <script> and <style> stay as they are.
    """
    parts, end = [], 0
    for verbatim in _VERBATIM.finditer(html):
        parts += [_joined(html[end : verbatim.start()]), _joined_verbatim(verbatim[0])]
        end = verbatim.end()
    return "".join([*parts, _joined(html[end:])])


def _joined(html: str) -> str:
    html = _SPREAD.sub(lambda tag: _joined_tag(tag[0]), html)
    first, *others = re.split(r"\n\s*", re.sub(r">\s*\n\s*|>\s+(?=<)", ">", html))
    joined = [first]
    for line in others:
        joined[-1] = joined[-1].rstrip(" \t")
        joined += [line] if line.startswith("<") else [" ", line]
    return "".join(joined)


def _joined_tag(tag: str) -> str:
    parts = _QUOTED.split(tag)
    parts[::2] = [_BREAK.sub(" ", part) for part in parts[::2]]
    return re.sub(r"\s+(/?>)$", r"\1", "".join(parts))


def _joined_verbatim(element: str) -> str:
    tag = _TAG.match(element)
    return element if tag is None else _joined_tag(tag[0]) + element[tag.end() :]
