"""Conditions that the items of an account match the words of a search; `links.quick_search` does so for links."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Table, and_, false, func, literal, or_, true

from waypost.db.schema import (
    bios,
    campaigns,
    channel_items,
    channels,
    domains,
    files,
    overlays,
    pixels,
    qrs,
    splashes,
    utm_templates,
)
from waypost.search.words import Word
from waypost.text_folding import INVISIBLE, unfolded
from waypost.urls import alias_namespace

_OWN_HOST = literal(alias_namespace.OWN)
_MIN_ALIAS = 3
"""A shorter word is part of too many random aliases."""
_LIST_PAGE = re.compile(r"u/[^/]+/.+-([0-9]{1,18})")
"""The path of a campaign's list page, which ends with its id."""


@dataclass(frozen=True)
class Searchable:
    """A kind of items: its table, the columns with its texts, and where its short URLs are, if it has any.

    `alias_folders`: the folders of its aliases, such as `qr/`; "" for the top. `channel_item`: its column in
    channel_items.
    """

    table: Table
    texts: Sequence[ColumnElement[str]]
    alias: ColumnElement[str] | None = None
    alias_folders: Sequence[str] = ("",)
    host: ColumnElement[str] = _OWN_HOST
    channel_item: ColumnElement[int] | None = None


KINDS = {
    "files": Searchable(files, (files.c.name, files.c.filename), files.c.alias, host=files.c.host),
    "qr": Searchable(qrs, (qrs.c.name,), qrs.c.alias, ("", "qr/"), channel_item=channel_items.c.qr),
    "bios": Searchable(bios, (bios.c.name, bios.c.title), bios.c.alias, channel_item=channel_items.c.bio),
    "campaigns": Searchable(campaigns, (campaigns.c.name,), campaigns.c.slug, ("r/",)),
    "channels": Searchable(channels, (channels.c.name,)),
    "splash": Searchable(splashes, (splashes.c.name,)),
    "overlays": Searchable(overlays, (overlays.c.name,)),
    "pixels": Searchable(pixels, (pixels.c.name,)),
    "utm": Searchable(utm_templates, (utm_templates.c.name,)),
    "domains": Searchable(domains, (domains.c.host,)),
}
"""By the folder of the items below /dashboard."""


def matches(tx: Connection, kind: Searchable, words: Sequence[Word]) -> ColumnElement[bool]:
    """Return the condition that a row of the kind's table matches all words."""
    return and_(true(), *(_matches_word(tx, kind, word) for word in words))


def contains(tx: Connection, column: ColumnElement[str], content: str) -> ColumnElement[bool]:
    """Return the condition that a text contains another one, which is folded.

    SQLite's connections have the function `folded`. PostgreSQL's `lower` depends on the locale of the database, so the
    characters that can be those of `content` are translated.
    """
    if tx.dialect.name == "sqlite":
        return func.instr(func.folded(column), content) > 0
    visible = func.normalize(func.regexp_replace(column, f"[{INVISIBLE}]", "", "g"))
    letters, forms = unfolded(content)
    translated = func.normalize(func.replace(func.translate(visible, letters, forms), "ß", "ss"))
    return func.strpos(translated, content) > 0


def _matches_word(tx: Connection, kind: Searchable, word: Word) -> ColumnElement[bool]:
    alternatives = [contains(tx, column, word.text) for column in kind.texts]
    if kind.alias is not None:
        if len(word.text) >= _MIN_ALIAS:
            alternatives.append(contains(tx, kind.alias, word.text))
        alternatives += (word.begins_short_url(kind.host, kind.alias, folder=folder) for folder in kind.alias_folders)
        alternatives.append(kind.host.in_(word.hosts) if word.hosts else false())
    if kind.channel_item is not None and word.channels:
        alternatives.append(kind.table.c.id.in_(word.items_of_channels(kind.channel_item)))
    if kind.table is campaigns and word.short and (page := _LIST_PAGE.fullmatch(word.short[1])):
        alternatives.append(campaigns.c.id == int(page[1]))
    return or_(*alternatives)
