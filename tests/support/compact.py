"""HTML without the whitespace of the templates' layout, so that tests can search it by plain patterns."""

import re

_VERBATIM = re.compile(r"<(pre|textarea|script|style)\b.*?</\1>", re.DOTALL)
_TAG = re.compile(r"""<[a-zA-Z](?:"[^"]*"|'[^']*'|[^>"'])*>""")
_SPREAD = re.compile(r"\n|\s/?>$")
"""A tag on several lines, or with a space before its last character: few tags are."""
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
    html = _TAG.sub(lambda tag: _joined_tag(tag[0]) if _SPREAD.search(tag[0]) else tag[0], html)
    html = re.sub(r">\s*\n\s*|>\s+(?=<)", ">", html)
    return _BREAK.sub(" ", re.sub(r"[ \t]*\n\s*<", "<", html))


def _joined_tag(tag: str) -> str:
    parts = _QUOTED.split(tag)
    parts[::2] = [_BREAK.sub(" ", part) for part in parts[::2]]
    return re.sub(r"\s+(/?>)$", r"\1", "".join(parts))


def _joined_verbatim(element: str) -> str:
    tag = _TAG.match(element)
    return element if tag is None else _joined_tag(tag[0]) + element[tag.end() :]
