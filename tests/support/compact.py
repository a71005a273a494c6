"""HTML without the whitespace of the templates' layout, so that tests can search it by plain patterns."""

import re

_VERBATIM = re.compile(r"<(pre|textarea|script|style)\b.*?</\1>", re.DOTALL)
_TAG = re.compile(r"""<[a-zA-Z](?:[^>"']++|"[^"]*"|'[^']*')*+>""")
_SPACE_BEFORE_END = re.compile(r"\s/?>$")
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
    html = _TAG.sub(_joined_match, html)
    first, *others = re.split(r"\n\s*", re.sub(r">\s*\n\s*|>\s+(?=<)", ">", html))
    joined = [first]
    for line in others:
        joined[-1] = joined[-1].rstrip(" \t")
        joined += [line] if line.startswith("<") else [" ", line]
    return "".join(joined)


def _joined_match(match: re.Match[str]) -> str:
    """Join a tag if it is on several lines or has a space before its end: few tags are. Most need no pattern."""
    tag = match[0]
    may_end_with_space = tag[-2] == "/" or tag[-2].isspace()
    is_spread = "\n" in tag or (may_end_with_space and _SPACE_BEFORE_END.search(tag))
    return _joined_tag(tag) if is_spread else tag


def _joined_tag(tag: str) -> str:
    parts = _QUOTED.split(tag)
    parts[::2] = [_BREAK.sub(" ", part) for part in parts[::2]]
    return re.sub(r"\s+(/?>)$", r"\1", "".join(parts))


def _joined_verbatim(element: str) -> str:
    tag = _TAG.match(element)
    return element if tag is None else _joined_tag(tag[0]) + element[tag.end() :]
