"""The description of nouns agrees with what it describes: the API, the schema, the icons and the functions."""

import json
import re
from pathlib import Path

import pytest
from fastapi.routing import APIRoute

from waypost.bulk import api
from waypost.db import schema
from waypost.db.schema.nouns import NOUNS, Noun, referred_first
from waypost.items.functions import FUNCTIONS
from waypost.server.routers import API_ROUTERS, DASHBOARD_PAGES
from waypost.trash.snapshots import references_of

_NOUNS = pytest.mark.parametrize("noun", NOUNS.values(), ids=NOUNS)
_OTHERS = {"share", "webhook"}
"""The names of other rows in paths of the API."""
_ICONS = Path(__file__).parents[2] / "web/icons.json"


@_NOUNS
def test_noun_has_endpoints(noun: Noun) -> None:
    endpoints = {getattr(route, "path", "") for router in API_ROUTERS for route in router.routes}
    assert any(path.startswith(f"/{noun.api}/{{") for path in endpoints), f"API_ROUTERS has no row for {noun.kind}"


@_NOUNS
def test_noun_has_pages(noun: Noun) -> None:
    pages = {getattr(route, "path", "") for route in DASHBOARD_PAGES}
    assert {noun.path, f"{noun.path}/new"} <= pages, f"DASHBOARD_PAGES has no row for {noun.kind}"


@_NOUNS
def test_noun_has_functions(noun: Noun) -> None:
    assert noun.kind in FUNCTIONS, f"FUNCTIONS has no row for {noun.kind}"


@_NOUNS
def test_columns_of_noun_exist(noun: Noun) -> None:
    names = {*noun.names, *noun.searched, *noun.totals, *noun.imported, *noun.same}
    names |= {noun.alias.column} if noun.alias else set()
    names |= {noun.limit} if noun.limit else set()
    assert names <= set(noun.table.c.keys())
    assert bool(noun.limit) == (len(noun.totals) > 2)  # the third one is the counter of the limit
    assert not noun.channel_item or noun.channel_item in schema.channel_items.c
    assert noun.icon in json.loads(_ICONS.read_text())


def test_kinds_of_all_parts_are_the_nouns() -> None:
    assert set(api.NOUNS) == {noun.api for noun in NOUNS.values()} | {"share"}
    paths = {route.path for router in API_ROUTERS for route in router.routes if isinstance(route, APIRoute)}
    deleted = {path.split("/")[1] for path in paths if re.fullmatch(r"/\w+/\{id\}/delete", path)}
    described = {noun.api for noun in NOUNS.values()} | _OTHERS
    assert deleted <= described, f"NOUNS has no row for {', '.join(deleted - described)}"
    assert FUNCTIONS.keys() <= NOUNS.keys(), f"NOUNS has no row for {', '.join(FUNCTIONS.keys() - NOUNS.keys())}"


def test_nouns_come_after_those_that_they_refer_to() -> None:
    """The trash and imports create items in this order, the deletion of an account deletes them in the other one."""
    order = [noun.table for noun in referred_first().values()]
    for noun in NOUNS.values():
        for reference in references_of(noun.table):
            assert order.index(reference.parent) < order.index(noun.table), reference.key
    assert next(iter(NOUNS)) == "link"
