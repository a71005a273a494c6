"""Sources of the public pages without the comments of style sheets and scripts, which visitors would download."""

import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader

_TEXT = r""""(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`"""
_BLOCK = r"\s*/\*.*?\*/"
# A text is kept, so that `//` in an address is none of the comments behind it.
_CSS_COMMENT = re.compile(f"({_TEXT})|{_BLOCK}", re.DOTALL)
_JS_COMMENT = re.compile(rf"({_TEXT})|{_BLOCK}|\s*//[^\n]*", re.DOTALL)
_COMMENTS = {".css": _CSS_COMMENT, ".js": _JS_COMMENT}


class TemplateLoader(PackageLoader):
    """Loads the templates, their style sheets and scripts without comments."""

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool] | None]:
        source, path, is_current = super().get_source(environment, template)
        return without_comments(source, template), path, is_current


@cache
def script(name: str) -> str:
    """Return a script that is no template."""
    return without_comments(files("waypost.visits").joinpath("templates", name).read_text(), name)


def without_comments(source: str, name: str) -> str:
    """Return a source without comments. Its name says whether it is a style sheet or a script; others are unchanged."""
    comments = _COMMENTS.get(name[name.rfind(".") :])
    return source if comments is None else comments.sub(lambda match: match[1] or "", source).lstrip("\n")
