"""Style sheets and scripts without their comments, which visitors do not download."""

import re

_MARK = re.compile(r"""["'`]|/\*|//""")


def without_comments(source: str, name: str) -> str:
    """Return a source without comments. Its name says whether it is a style sheet or a script; others are unchanged."""
    if not name.endswith((".css", ".js")):
        return source
    parts, end = [], 0
    while mark := _MARK.search(source, end):
        start = mark.start()
        if mark[0] == "/*":
            parts.append(source[end:start].rstrip())
            end = source.index("*/", start) + 2
        elif mark[0] == "//" and name.endswith(".js"):
            parts.append(source[end:start].rstrip())
            end = source.index("\n", start)
        else:
            after = mark.end() if mark[0] == "//" else _end_of_text(source, start)
            parts.append(source[end:after])
            end = after
    return "".join([*parts, source[end:]]).lstrip()


def _end_of_text(source: str, start: int) -> int:
    """Return the position after a text, whose quote is at `start`."""
    end = start + 1
    while source[end] != source[start]:
        end += 2 if source[end] == "\\" else 1
    return end + 1
