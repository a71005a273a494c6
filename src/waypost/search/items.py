"""Conditions that the items of an account match the words of a search; `links.quick_search` does so for links."""

import re
from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, and_, false, func, literal, or_, true

from waypost.core.text_folding import INVISIBLE, unfolded
from waypost.db.schema import campaigns, channel_items, domains
from waypost.db.schema.nouns import OWN, Noun
from waypost.search.words import Word

_MIN_ALIAS = 3
"""A shorter word is part of too many random aliases."""
_LIST_PAGE = re.compile(r"u/[^/]+/.+-([0-9]{1,18})")
"""The path of a campaign's list page, which ends with its id."""


def matches(tx: Connection, noun: Noun, words: Sequence[Word]) -> ColumnElement[bool]:
    """Return the condition that a row of the noun's table matches all words."""
    return and_(true(), *(_matches_word(tx, noun, word) for word in words))


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


def _matches_word(tx: Connection, noun: Noun, word: Word) -> ColumnElement[bool]:
    columns = noun.table.c
    alternatives = [contains(tx, columns[name], word.text) for name in _texts(noun)]
    if noun.alias is not None:
        alias = columns[noun.alias.column]
        host: ColumnElement[str] = columns.host if noun.alias.host is None else literal(OWN)
        if len(word.text) >= _MIN_ALIAS:
            alternatives.append(contains(tx, alias, word.text))
        alternatives += (word.begins_short_url(host, alias, folder=folder) for folder in noun.alias.folders)
        alternatives.append(host.in_(word.hosts) if word.hosts else false())
    if noun.table is domains and word.hosts:
        alternatives.append(columns.host.in_(word.hosts))
    if noun.channel_item and word.channels:
        alternatives.append(columns.id.in_(word.items_of_channels(channel_items.c[noun.channel_item])))
    if noun.table is campaigns and word.short and (page := _LIST_PAGE.fullmatch(word.short[1])):
        alternatives.append(columns.id == int(page[1]))
    return or_(*alternatives)


def _texts(noun: Noun) -> Sequence[str]:
    """Return the columns with the texts of items. Their alias is matched in another way."""
    alias = noun.alias.column if noun.alias else ""
    return [name for name in (*noun.names, *noun.searched) if name != alias]
