"""Losses: the plan names what a link of each source lacks here, or does differently."""

import copy
from typing import Any

import pytest

from tests.conftest import Person
from tests.support import import_services
from tests.support.import_services import running
from tests.support.imports import MOVED, applied_links, read_service
from waypost.core.settings import Settings
from waypost.transfer.imports import plans, undo
from waypost.transfer.imports.source_row import Record


@pytest.mark.parametrize(
    ("name", "path", "setting"),
    [
        ("shlink", "/rest/v3/short-urls", "forwardQuery"),
        ("rebrandly", "/links", "forwardParameters"),
        ("short.io", "/api/links", "skipQS"),
    ],
)
def test_parameters_that_the_source_kept_back_are_kept_back(
    ana: Person, settings: Settings, domain: None, name: str, path: str, setting: str
) -> None:
    service = getattr(import_services, name.replace(".", "_"))()
    read = service.answers[path]
    kept_back, passed_on = (True, False) if setting == "skipQS" else (False, True)
    for value, is_kept_back in ((kept_back, True), (passed_on, False), (None, False)):
        service.answers[path] = lambda parameters, value=value: _with_setting(read(parameters), setting, value)
        with running(service):
            rows = read_service(ana, settings, service, name, options=MOVED)
        assert not any("parameters" in row.losses for row in rows)
        links = applied_links(ana, settings)
        assert {link["dropquery"] for link in links.values()} == {is_kept_back}, value
        undo.undo(ana.database, ana.account)


def test_settings_that_waypost_lacks_are_losses(ana: Person, settings: Settings, domain: None) -> None:
    service = import_services.dub()
    with running(service):
        row, *_ = read_service(ana, settings, service, "dub", options=MOVED)
    for words in ("the external id 77", "leads and sales", "the A/B test"):
        assert words in row.losses
    assert "search engines" not in row.losses  # a frame, which search engines leave out
    with running(import_services.short_io()) as server:
        row, *_ = read_service(ana, settings, server, "short.io", options=MOVED)
    assert "the redirect type 301 becomes 302" in row.losses
    assert ana.database.read(lambda tx: plans.current(tx, ana.account)).ignored == ["clicks"]


@pytest.mark.parametrize(
    ("rewrite", "indexed", "words"),
    [
        (False, False, ""),  # the default of Dub; search engines follow redirects
        (False, True, ""),
        (True, False, ""),
        (True, True, "search engines are asked to leave it out"),
    ],
)
def test_request_to_search_engines_that_differs_is_a_loss(
    ana: Person, settings: Settings, domain: None, *, rewrite: bool, indexed: bool, words: str
) -> None:
    service = import_services.dub()
    link = {**service.answers["/links"]({})[0], "rewrite": rewrite, "doIndex": indexed}
    service.answers["/links"] = lambda parameters: [] if parameters.get("startingAfter") else [link]
    with running(service):
        (row,) = read_service(ana, settings, service, "dub", options=MOVED)
    assert ("search engines" in row.losses, words in row.losses) == (bool(words), True)


def _with_setting(answer: Any, name: str, value: object) -> Any:
    """Set a field of each link of an answer."""
    answer = copy.deepcopy(answer)
    links = answer if isinstance(answer, list) else answer.get("links") or answer.get("shortUrls", {}).get("data", [])
    for link in links:
        link[name] = value
    return answer


def test_notes_of_a_file_are_bounded_and_can_be_stored() -> None:
    """The process that reads files is not trusted, and no database stores a NUL character."""
    record = Record(1, notes=["The date\x00 was read", "x" * 10_000, *("a note" for _ in range(1000))])
    record.shorten()
    assert record.notes[0] == "The date  was read"
    assert (len(record.notes[1]), len(record.notes)) == (500, 100)
