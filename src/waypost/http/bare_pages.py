"""Error pages that need no database, session or template, because these can be what failed."""

from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from html import escape
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import HTMLResponse

from waypost.core.languages import direction, negotiate_language, translatable, translations
from waypost.core.source_comments import without_comments

_TITLE = translatable("Something went wrong")
_TEXT = translatable("An unexpected error occurred. Please try again later.")
_REPORT = translatable("If it happens again, report this request id to the administrator:")
_UNAVAILABLE = translatable("Temporarily unavailable")
_BUSY = translatable("This service cannot answer right now. Please try again in a moment.")
_RETRY = translatable("Try again")
_HOME = translatable("Go to the front page")
_STYLES = files("waypost.visits").joinpath("templates", "styles")
_STYLE = "".join(
    without_comments(_STYLES.joinpath(name).read_text("utf-8"), name) for name in ("tokens.css", "layout.css")
)
"""The style of the pages for visitors, read at the start of the process."""
_STYLE_HASH = b64encode(sha256(_STYLE.encode()).digest()).decode()
_HEADERS = {
    "Cache-Control": "private, no-store",
    "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; img-src data:;"
    " frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Vary": "Accept, Accept-Language",
}
_ICON = """<svg class="state-icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d="m12 4 9 16H3zm0 6v4m0 2.5v.5" />
    </svg>"""
_PAGE = """<!DOCTYPE html>
<html lang="{language}" dir="{direction}">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="robots" content="noindex">
    <title>{title}</title>
    <link rel="icon" href="data:,">
    <style>{style}</style>
  </head>
  <body>
    <main>
    {icon}
    <h1>{title}</h1>
    {content}
    </main>
    <div id="end" hidden></div>
  </body>
</html>
"""


def internal_error(request: Request, request_id: str, *, home: str = "", language: str = "") -> HTMLResponse:
    """Return the page of an error that a request did not expect, with the id by which the log names it.

    `home` is the path of a page that the visitor can continue with. Without a `language`, it is the browser's.
    """
    language = language or negotiate_language(request.headers.get("accept-language", ""))
    texts = _translated(language, _TITLE, _TEXT, _REPORT, _RETRY, _HOME)
    report = f"{escape(texts[_REPORT])}</p>\n    <p><code>{escape(request_id)}</code>"
    links = {"": texts[_RETRY]} if request.method in ("GET", "HEAD") else {}
    links |= {home: texts[_HOME]} if home else {}
    return page(language, texts[_TITLE], [escape(texts[_TEXT]), report], status=500, links=links)


def overloaded(request: Request, headers: Mapping[str, str]) -> HTMLResponse:
    """Return the page of a request that load shedding refuses."""
    language = negotiate_language(request.headers.get("accept-language", ""))
    texts = _translated(language, _UNAVAILABLE, _BUSY, _RETRY)
    links = {"": texts[_RETRY]} if request.method in ("GET", "HEAD") else {}
    return page(language, texts[_UNAVAILABLE], [escape(texts[_BUSY])], status=503, links=links, headers=headers)


def _translated(language: str, *texts: str) -> Mapping[str, str]:
    """Return the translations of texts; a damaged catalog leaves them in English."""
    with suppress(Exception):
        catalog = translations("waypost.visits", language)
        return {text: catalog.gettext(text) for text in texts}
    return {text: text for text in texts}


def page(
    language: str,
    title: str,
    paragraphs: list[str],
    *,
    status: int,
    links: Mapping[str, str],
    headers: Mapping[str, str] | None = None,
) -> HTMLResponse:
    """Return a page. `paragraphs` are HTML. `links` are labels by path; the path "" is the page's own address."""
    lines = [f"<p>{paragraph}</p>" for paragraph in paragraphs]
    for number, (path, label) in enumerate(links.items()):
        style = "" if number else 'class="button" '
        lines.append(f'<p><a {style}href="{escape(path)}">{escape(label)}</a></p>')
    text = _PAGE.format(
        language=escape(language),
        direction=direction(language),
        title=escape(title),
        style=_STYLE,
        icon=_ICON,
        content="\n    ".join(lines),
    )
    return HTMLResponse(text, status, headers={**_HEADERS, "Content-Language": language, **(headers or {})})
