"""E-mails with the brand: a text part, and HTML that mail programs show without scripts and external pictures."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from waypost.core.settings import Settings
from waypost.dashboard.i18n import current_language, gettext
from waypost.dashboard.templating import render_template
from waypost.http.mail import Email
from waypost.media.branding import colors
from waypost.media.branding.brand import PRODUCT, Brand
from waypost.media.branding.colors import Surfaces

_LINE_LENGTH = 78
_LIGHT, _DARK = ("#17201c", "#dcdfd9"), ("#eceeec", "#38413d")
"""The colors of text and lines."""


class Sender(Protocol):
    """The installation that sends an e-mail: the context of a request, or that of a command."""

    @property
    def settings(self) -> Settings: ...

    @property
    def brand(self) -> Brand: ...

    @property
    def service_name(self) -> str: ...


@dataclass(frozen=True)
class Installation:
    """The installation as the sender of an e-mail that no request causes."""

    settings: Settings
    brand: Brand

    @property
    def service_name(self) -> str:
        return self.brand.name or PRODUCT


class Button(NamedTuple):
    """A link with a label; the text part has its URL."""

    label: str
    url: str


class Lines(list[str]):
    """A list of short texts."""


Part = str | Button | Lines
"""A paragraph, a button, or a list."""


@contextmanager
def written_in(language: str) -> Iterator[None]:
    """Translate texts into the language of the recipient of an e-mail."""
    token = current_language.set(language)
    try:
        yield
    finally:
        current_language.reset(token)


def compose(
    sender: Sender,
    recipient: str,
    subject: str,
    parts: Sequence[Part],
    *,
    life: int,
    footer: str = "",
    unsubscribe: str = "",
    template: str = "mail/layout.html",
    text: str = "",
    **values: Any,
) -> Email:
    """Return an e-mail in the language of `written_in`.

    `text` is the part of the text before the paragraphs that the template has as HTML, made of `values`.
    """
    brand, subject = sender.brand, " ".join(subject.split())
    light, dark = colors.accents(brand.shown_color)
    html = render_template(
        template,
        subject=subject,
        service=sender.service_name,
        logo=brand.picture,
        light=_palette(light, colors.LIGHT, *_LIGHT),
        dark=_palette(dark, colors.DARK, *_DARK),
        parts=parts,
        footer=footer,
        unsubscribe=unsubscribe,
        **values,
    )
    end = [*([footer] if footer else []), *([gettext("Unsubscribe"), unsubscribe] if unsubscribe else [])]
    body = "\n\n".join([*([text] if text else []), *map(_as_text, [*parts, *end])]) + "\n"
    return Email(recipient, subject, body, brand.name, html, brand.logo, unsubscribe, life)


def _palette(accent: colors.Accent, surfaces: Surfaces, text: str, line: str) -> Mapping[str, str]:
    return {
        "page": surfaces.background,
        "sheet": surfaces.card,
        "muted": surfaces.muted,
        "text": text,
        "line": line,
        "accent": accent.accent,
        "fill": accent.fill,
        "on_fill": accent.on_fill,
    }


def _as_text(part: Part) -> str:
    """Return a part with broken lines. Links stay in one piece."""
    if isinstance(part, Button):
        return part.url
    if isinstance(part, Lines):
        return "\n".join(_fill(line, "- ", "  ") for line in part)
    return _fill(part)


def _fill(text: str, first: str = "", others: str = "") -> str:
    options: Any = {"initial_indent": first, "subsequent_indent": others}
    return textwrap.fill(text, _LINE_LENGTH, break_long_words=False, break_on_hyphens=False, **options)
